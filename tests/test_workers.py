"""Worker processes belong to the process that started them, and none outlives it or holds it up."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from structsvm.errors import DataError
from structsvm.parallel import Processes

FIT = """
    import multiprocessing, os, signal, sys, time, warnings
    import numpy as np
    from structsvm import MetricLearner

    def fit(backend="processes"):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], 20)
        Xs = [rng.normal(size=(40, 2)) + 2 * y[:, None] for _ in range(4)]
        return MetricLearner(n_jobs=2, backend=backend).fit(Xs, [y] * 4).solution_.w

    def len_of(part, argument):
        return len(part)

    def child(answers):
        answers.put(fit())

    def told_by_child(method):
        context = multiprocessing.get_context(method)
        answers = context.Queue()
        process = context.Process(target=child, args=(answers,))
        process.start()
        w = answers.get(timeout=60)
        answered = time.monotonic()
        process.join(60)
        assert process.exitcode == 0
        assert time.monotonic() < answered + 5
        return w

    if __name__ == "__main__":
        expected = fit("serial")
"""


def script(tmp_path, text):
    path = tmp_path / "run.py"
    path.write_text(textwrap.dedent(FIT) + textwrap.indent(textwrap.dedent(text), " " * 4))
    return [sys.executable, str(path)]


@pytest.mark.parametrize("before", [True, False])
def test_a_forked_child_exits_at_once(before, tmp_path):
    text = f"""
        if {before}:
            assert np.array_equal(fit(), expected)
        assert np.array_equal(told_by_child("fork"), expected)
        assert np.array_equal(fit(), expected)
    """
    subprocess.run(script(tmp_path, text), check=True, timeout=120)


def test_a_spawned_child_exits_at_once(tmp_path):
    text = 'assert np.array_equal(told_by_child("spawn"), expected)'
    subprocess.run(script(tmp_path, text), check=True, timeout=120)


def test_a_child_that_may_have_no_children_has_the_same_answers(tmp_path):
    text = """
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert np.array_equal(pool.apply_async(fit).get(60), expected)
            pool.apply_async(warnings.simplefilter, ["error"]).get(60)
            for backend in ("threads", "auto", "processes"):
                assert np.array_equal(pool.apply_async(fit, [backend]).get(60), expected)
    """
    subprocess.run(script(tmp_path, text), check=True, timeout=120)


def test_workers_end_with_a_process_that_is_killed_and_leave_no_files(tmp_path):
    text = """
        from structsvm.parallel import Processes
        from structsvm.parallel.local import workers
        with Processes(2).open([b"private", b"data"]) as session:
            assert session.map(len_of, None) == [7, 4]
            print(*workers(2)._processes, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    found = subprocess.run(
        script(tmp_path, text), stdout=subprocess.PIPE, timeout=120, check=False, env=environment
    )
    pids = [int(pid) for pid in found.stdout.split()]
    assert len(pids) == 2
    until = time.monotonic() + 10
    while any(is_running(pid) for pid in pids) or list(tmp_path.glob("structsvm-*")):
        assert time.monotonic() < until
        time.sleep(0.1)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


def add(part, argument):
    return part + argument


def refuse(part, argument):
    raise DataError(f"part {part}")


def test_errors_come_back_with_the_traceback_there():
    with Processes(2).open([1, 2, 3]) as session:
        with pytest.raises(DataError, match="part 1") as caught:
            session.map(refuse, 0)
        assert "in refuse" in str(caught.value.__cause__)
        assert session.map(add, 1) == [2, 3, 4]


def test_runs_at_once_share_their_workers():
    with Processes(2).open([1, 2]) as first, Processes(2).open([1, 2]) as second:
        assert first.map(add, 0) == [1, 2]
        assert second.map(add, 1) == [2, 3]
        assert first.map(add, 2) == [3, 4]
