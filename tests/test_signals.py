"""Real SIGINTs to real processes, at spread moments: no crash, no SystemError, nothing lost.

``STRUCTSVM_SIGNALS=40`` sends forty to each command instead of a few.
"""

import collections
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from structsvm import MetricLearner, load, save
from structsvm.partitions.learning import Learning
from structsvm.partitions.metric import Calibration

MOMENTS = int(os.environ.get("STRUCTSVM_SIGNALS", "2"))
T, N, P = 1000, 6, 4


def recordings():
    rng = np.random.default_rng(5)
    y = np.repeat(np.arange(10), T // 10)
    return [rng.normal(size=(T, P)) + 0.7 * rng.normal(size=(10, P))[y] for _ in range(N)], [y] * N


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Recordings as files, and a model."""
    folder = tmp_path_factory.mktemp("signals")
    (folder / "train").mkdir()
    Xs, ys = recordings()
    for i, (X, y) in enumerate(zip(Xs, ys, strict=True)):
        np.savez(folder / "train" / f"{i}.npz", X=X, y=y)
    small = MetricLearner(metric="diagonal").fit(Xs[:3], ys[:3])
    save(small, folder / "small.structsvm")
    return folder


def command(folder, words):
    """A command in a process of its own."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-m", "structsvm", *words.split()]
    return subprocess.Popen(
        program, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.fixture(scope="module")
def seconds(folder):
    """How long each command takes."""
    taken = {}
    for name, words in COMMANDS.items():
        started = time.perf_counter()
        command(folder, words.format(out="warm-" + name)).communicate()
        taken[name] = time.perf_counter() - started
    return taken


COMMANDS = {
    "fit": "fit change-point train --lam .01 --set solver.tol=1e-5 --set solver.max_iter=8 "
    "-o {out}",
    "predict": "predict small.structsvm train -o {out}",
    "evaluate": "evaluate small.structsvm train",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_any_moment_ends_a_command_in_order(folder, seconds, name):
    codes = collections.Counter()
    for k in range(MOMENTS):
        out = folder / f"{name}-{k}"
        process = command(folder, COMMANDS[name].format(out=out.name))
        # Python itself answers during its first tenth of a second, before any code of ours.
        moment = 0.15 + (seconds[name] - 0.15) * (k + 0.5) / MOMENTS
        sent = time.perf_counter() + moment
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        err = err.decode()
        waited = time.perf_counter() - sent
        codes[process.returncode] += 1
        assert process.returncode in (0, 130), err
        assert "Error" not in err, err
        assert "Traceback" not in err, err
        if name == "fit":
            assert out.exists() == ("saved in" in err), err
            if out.exists():
                assert load(out).solution_.lower <= load(out).solution_.upper
        elif process.returncode == 130:
            assert err.splitlines()[-1] == "interrupted", err
            assert not out.exists() or len(list(out.iterdir())) == N
        print(f"{name} at {moment:.2f} s of {seconds[name]:.2f}: {process.returncode}, ", end="")
        print(f"{waited:.2f} s later, {'saved' if out.exists() else 'nothing written'}")
    print(name, dict(codes))


@pytest.mark.parametrize(
    ("program", "status", "told"),
    [
        ("exec('signal.raise_signal(signal.SIGINT)')", 130, "interrupted\n"),
        ("atexit.register(signal.raise_signal, signal.SIGINT)", 0, ""),
    ],
    ids=["in code made from text", "while Python ends"],
)
def test_the_exit_status_is_that_of_the_command(program, status, told, tmp_path):
    """A signal in code that a library makes from text, or after the end, changes nothing of it."""
    (tmp_path / "program.py").write_text(
        f"""
import atexit, signal, sys
import structsvm.cli.app

def run(arguments):
    {program}
    return 0

structsvm.cli.app.run = run
sys.exit(structsvm.cli.main())
"""
    )
    done = subprocess.run(
        [sys.executable, "-m", "program"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, told)


LOOP = """
    import collections, os, signal, sys, threading, time, warnings
    sys.path.insert(0, {tests!r})
    from structsvm import MetricLearner
    from structsvm.solvers.base import Stopping
    from structsvm.solvers.cutting_plane import CuttingPlane
    from test_signals import recordings

    warnings.simplefilter("ignore")
    Xs, ys = recordings()
    fitted = MetricLearner(metric="diagonal").fit(Xs[:3], ys[:3])
    learner = MetricLearner(lam=.01, solver=CuttingPlane(Stopping(tol=1e-5, max_iter=5)))
    do = {{
        "fit": lambda: learner.fit(Xs, ys).solution_.status.name,
        "predict": lambda: bool(fitted.predict(Xs * 4)) and "finished",
    }}[{name!r}]
    started = time.perf_counter()
    do()
    seconds, ends = time.perf_counter() - started, collections.Counter()
    for k in range({n}):
        timer = threading.Timer(seconds * (k + .5) / {n}, os.kill, (os.getpid(), signal.SIGINT))
        try:
            try:
                timer.start()
                end = do()
            finally:
                timer.cancel()
                timer.join()
        except BaseException as error:
            end = type(error).__name__
        ends[end] += 1
    print(*ends)
    print(dict(ends), file=sys.stderr)
"""


@pytest.mark.parametrize(("name", "least"), [("fit", 20), ("predict", 12)])
def test_many_signals_to_one_process(name, least, tmp_path):
    """At moments from the first to the last: the metric there is is returned, or Ctrl-C raised."""
    script = tmp_path / "loop.py"
    script.write_text(
        textwrap.dedent(LOOP).format(
            tests=os.path.dirname(__file__), name=name, n=max(MOMENTS, least)
        )
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    print(done.stderr)
    assert done.returncode == 0, done.stderr
    allowed = {"KeyboardInterrupt", "INTERRUPTED", "OPTIMAL", "MAX_ITER", "finished"}
    assert set(done.stdout.split()) <= allowed, done.stderr


def test_a_metric_outlives_the_calibration_of_its_penalty(monkeypatch):
    """The penalty is the one that was learned; a second Ctrl-C while learning has ended is this."""
    Xs, ys = recordings()
    Xs, ys = [X[::10] for X in Xs[:4]], [y[::10] for y in ys[:4]]
    calibrated = MetricLearner(metric="diagonal").fit(Xs, ys)

    calls, calibrate = [], Learning.calibrate

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) > 1:  # the first one is of the untrained metric
            signal.raise_signal(signal.SIGINT)
        return calibrate(*arguments)

    monkeypatch.setattr(Learning, "calibrate", interrupted)
    with pytest.warns(UserWarning, match="interrupted while the price of a cluster"):
        learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    assert learner.calibration_.missing
    assert np.array_equal(learner.metric_.factor.T, calibrated.metric_.factor.T)
    assert learner.solution_.status is calibrated.solution_.status
    assert 0.1 < learner.metric_.price / calibrated.metric_.price < 10
    assert learner.score(Xs, ys) < 0


def test_a_penalty_that_was_not_calibrated_is_stored(tmp_path):
    Xs, ys = recordings()
    learner = MetricLearner(metric="diagonal").fit([X[::10] for X in Xs[:4]], [ys[0][::10]] * 4)
    learner.calibration_ = Calibration.none(learner.metric_.price)
    save(learner, tmp_path / "m")
    assert load(tmp_path / "m").calibration_.missing
    assert load(tmp_path / "m").metric_.price == learner.metric_.price
