"""Ctrl-C waits for compiled code, and leaves the best metric so far; no file is ever half."""

import math
import os
import signal
import sys
import threading
import time
from contextlib import ExitStack, suppress

import numpy as np
import pytest
from cases import cases
from programs import Command, python

from structsvm import MetricLearner, MetricLearnerCV, Region, load, save
from structsvm.oracles import SequentialOracle
from structsvm.partitions import Constraint, PartitionProblem, TraceObjective
from structsvm.support.interrupts import Alarm, Interrupts, uninterrupted


@pytest.fixture
def handler():
    """A handler of the user's own, which counts and raises nothing."""
    calls = []

    def count(number, frame):
        calls.append(number)

    before = signal.signal(signal.SIGINT, count)
    yield calls
    assert signal.getsignal(signal.SIGINT) is count
    signal.signal(signal.SIGINT, before)


@uninterrupted
def work(*steps):
    """Stands for compiled code: what it has done when it ends."""
    done = []
    for step in steps:
        step()
        done.append(signal.getsignal(signal.SIGINT))
    return done


def interrupt():
    signal.raise_signal(signal.SIGINT)


def for_ever():
    while True:
        pass


class TestCompiledCalls:
    def test_a_signal_waits_for_the_end_of_a_compiled_call(self):
        seen = []
        with pytest.raises(KeyboardInterrupt):
            work(interrupt, lambda: seen.append("went on"))
        assert seen == ["went on"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert len(work(lambda: None)) == 1

    def test_the_signal_handler_is_restored_after_an_error(self, handler):
        def fail():
            raise ValueError("its own")

        with pytest.raises(ValueError, match="its own"):
            work(interrupt, fail)
        assert handler == [signal.SIGINT]

    def test_compiled_calls_in_other_threads_leave_the_signal_handler(self):
        seen = []
        thread = threading.Thread(target=lambda: seen.extend(work(lambda: None)))
        thread.start()
        thread.join()
        assert seen == [signal.default_int_handler]


class TestBlocks:
    def test_a_released_part_of_a_block_is_interrupted(self):
        with Interrupts() as interrupts:
            with pytest.raises(KeyboardInterrupt), interrupts.released():
                interrupt()
            interrupt()
            assert interrupts.taken()
            assert not interrupts.taken()

    def test_a_waiting_signal_interrupts_the_next_released_part(self):
        with Interrupts() as interrupts:
            interrupt()
            with pytest.raises(KeyboardInterrupt), interrupts.released():
                raise AssertionError
            assert not interrupts.taken()

    def test_an_error_that_a_library_makes_of_an_interruption_is_an_interruption_again(self):
        def wrap():
            try:
                interrupt()
            except KeyboardInterrupt as error:
                raise SystemError("returned a result with an exception set") from error

        with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt), interrupts.released():
            wrap()


class TestAlarm:
    """What ends work that tells nothing: here loops that have no other end."""

    def test_an_alarm_interrupts_endless_work(self):
        with pytest.raises(KeyboardInterrupt), Alarm(0.0):
            for_ever()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_an_unanswered_alarm_rings_again(self):
        def stubborn():
            with suppress(KeyboardInterrupt):
                for_ever()
            with suppress(KeyboardInterrupt):
                for_ever()
            for_ever()

        with pytest.raises(KeyboardInterrupt), Alarm(0.0):
            stubborn()

    def test_nothing_is_told_of_an_interrupt_that_came_while_memory_was_freed(self, monkeypatch):
        told = []
        monkeypatch.setattr(sys, "unraisablehook", told.append)

        class Freed:
            def __del__(self):
                for_ever()

        def freeing():
            Freed()
            for_ever()

        with pytest.raises(KeyboardInterrupt), Alarm(0.0):
            freeing()
        assert told == []

        class Faulty:
            def __del__(self):
                raise ValueError

        with Alarm(1e9):
            Faulty()
        assert [one.exc_type for one in told] == [ValueError]
        assert sys.unraisablehook == told.append

    def test_an_alarm_waits_for_blocks_that_must_end_in_order(self):
        ended = []

        def in_order():
            with Interrupts() as held:
                while not held._waiting:
                    pass
                ended.append(1)

        with pytest.raises(KeyboardInterrupt), Alarm(0.0):
            in_order()
        assert ended == [1]

    @pytest.mark.parametrize("n_alarms", [1, 2])
    def test_an_alarm_within_a_block_that_must_end_in_order_is_silent(self, n_alarms):
        with Interrupts() as held, ExitStack() as stack:
            alarms = [stack.enter_context(Alarm(0.0)) for _ in range(n_alarms)]
            while any(one._is_ours or not one.has_rung for one in alarms):
                pass  # until all that was sent is answered
            with pytest.raises(KeyboardInterrupt), held.released():
                for_ever()

    def test_an_alarm_does_not_ring_after_its_block(self, handler):
        for _ in range(300):
            with suppress(KeyboardInterrupt), Alarm(0.0):
                pass
        assert handler == []

    def test_the_users_own_signal_goes_to_the_users_own_handler(self, handler):
        with Alarm(1e9):
            interrupt()
        assert handler == [signal.SIGINT]

    def test_an_alarm_is_silent_without_an_end_and_in_other_threads(self):
        with Alarm(math.inf):
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        seen = []

        def work_in_time():
            with Alarm(0.0) as alarm:
                seen.append((signal.getsignal(signal.SIGINT), alarm.has_rung))

        thread = threading.Thread(target=work_in_time)
        thread.start()
        thread.join()
        assert seen == [(signal.default_int_handler, False)]


class TestPieces:
    @cases(
        (Constraint(), True),
        (Constraint(), False),
        (Constraint(n_clusters=4), False),
        (Constraint(regions=(Region(10, 30, 2),)), True),
        (Constraint(regions=(Region(10, 30, 2),), n_clusters=5), True),
    )
    def test_answers_do_not_depend_on_the_ranges_of_compiled_calls(
        self, monkeypatch, constraint, pruning
    ):
        rng = np.random.default_rng(0)
        Z = rng.normal(size=(150, 2)) + 3 * rng.normal(size=(5, 2))[np.arange(150) // 30]
        objective = TraceObjective(Z, shift=-2.0)
        whole = SequentialOracle(pruning).maximize(objective, constraint)
        monkeypatch.setattr("structsvm.support.interrupts.FIRST_CALL", 1.0)
        cut = SequentialOracle(pruning).maximize(objective, constraint)
        assert cut.y == whole.y
        assert cut.value == whole.value


def test_an_interrupted_oracle_raises_no_system_error():
    """Before, the handler ran while numba unpickled the types of the arrays that it returns."""
    rng = np.random.default_rng(0)
    objective = TraceObjective(rng.normal(size=(30_000, 1)), shift=-10.0)
    for k in range(40):
        timer = threading.Timer(5e-4 * k, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            calling_until_interrupted(timer, objective)
        timer.join()


def calling_until_interrupted(timer, objective):
    timer.start()
    while True:
        SequentialOracle().maximize(objective)


# ---- while the choice of a search is learned


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    ys = [np.repeat([0, 1, 2], [12, 15, 13]) for _ in range(6)]
    return [np.eye(3)[y] @ np.diag([3, 0, 0]) + rng.normal(size=(40, 3)) for y in ys], ys


def small():
    return MetricLearnerCV(lams=(0.2,), candidates=("untrained", "rca", "diagonal"), random_state=0)


def test_a_search_hands_its_choice_over_before_baselines_are_tuned(data, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("structsvm.learner.menu.Menu.fitted", interrupt)
    learned = []
    search = small()
    with pytest.raises(KeyboardInterrupt):
        search.fit(*data, when_learned=learned.append)
    assert learned == [search.best_estimator_]
    assert len(search.predict(data[0])) == 6


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_an_interruption_within_a_fold_ends_the_search(data, monkeypatch):
    kept = MetricLearner._keep

    def unfinished(self, data, learned):
        kept(self, data, learned)
        self.interrupted_ = True
        return self

    monkeypatch.setattr(MetricLearner, "_keep", unfinished)
    search = small()
    with pytest.raises(KeyboardInterrupt, match="best_estimator_ is the best so far"):
        search.fit(*data)
    assert search.best_estimator_.interrupted_


# ---- real signals to real processes: STRUCTSVM_SIGNALS=40 sends forty to each command


MOMENTS = int(os.environ.get("STRUCTSVM_SIGNALS", "2"))
T, N, P = 400, 6, 4


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


LOADING = """
import signal, sys

class Loading:
    def find_spec(self, name, *_):
        if name == "structsvm.learner.form":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Loading())
from structsvm.cli import main
sys.exit(main())
"""
"""The command, which is interrupted while it loads what it needs."""

COMMANDS = {
    "fit": "fit change-point train --lam .01 --set solver.tol=1e-5 --set solver.max_iter=8 "
    "-o {out}",
    "predict": "predict small.structsvm train -o {out}",
    "evaluate": "evaluate small.structsvm train",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_any_moment_ends_a_command_in_order(folder, name):
    started = time.perf_counter()
    assert Command(COMMANDS[name].format(out="warm-" + name), folder).ended()[0] == 0
    seconds = time.perf_counter() - started  # only which moments are tried depends on it
    for k in range(MOMENTS):
        out = folder / f"{name}-{k}"
        command = Command(COMMANDS[name].format(out=out.name), folder)
        command.process.join(seconds * (k + 0.5) / MOMENTS)
        if command.process.is_alive():
            os.kill(command.process.pid, signal.SIGINT)
        status, err = command.ended()
        assert status in (0, 130), err
        assert "Error" not in err, err
        assert "Traceback" not in err, err
        if name == "fit":
            assert out.exists() == ("saved in" in err), err
            if out.exists():
                assert load(out).solution_.lower <= load(out).solution_.upper
        elif status == 130:
            assert err.splitlines()[-1] == "interrupted", err
            assert not out.exists() or len(list(out.iterdir())) == N


def test_a_signal_while_a_command_loads_libraries_ends_it_in_order(folder):
    done = python("-c", LOADING, *COMMANDS["fit"].format(out="never").split(), cwd=folder)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "interrupted", done.stderr
    assert not (folder / "never").exists()


def test_a_metric_outlives_the_calibration_of_its_penalty(monkeypatch):
    """The penalty is the one that was learned; a second Ctrl-C while learning has ended is this."""
    Xs, ys = recordings()
    Xs = [X[::10] for X in Xs[:4]]
    ys = [y[::10] for y in ys[:4]]
    calibrated = MetricLearner(metric="diagonal").fit(Xs, ys)

    calls = []
    calibrate = PartitionProblem.calibrate

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) > 1:  # the first one is of the untrained metric
            signal.raise_signal(signal.SIGINT)
        return calibrate(*arguments)

    monkeypatch.setattr(PartitionProblem, "calibrate", interrupted)
    with pytest.warns(UserWarning, match="interrupted while the price of a cluster"):
        learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    assert learner.calibration_.missing
    assert np.array_equal(learner.metric_.factor.T, calibrated.metric_.factor.T)
    assert learner.solution_.status is calibrated.solution_.status
    assert 0.1 < learner.metric_.price / calibrated.metric_.price < 10
    assert learner.score(Xs, ys) < 0
