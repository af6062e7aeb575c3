"""Ctrl-C is held back while compiled code runs, and answered right after it."""

import os
import signal
import threading

import numpy as np
import pytest

from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.oracle import Constraint, Region
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.interrupts import Interrupts, pieces, uninterrupted


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


class TestCompiledCalls:
    def test_a_signal_waits_for_the_end_of_the_call(self):
        seen = []
        with pytest.raises(KeyboardInterrupt):
            work(interrupt, lambda: seen.append("went on"))
        assert seen == ["went on"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert len(work(lambda: None)) == 1

    def test_the_users_handler_is_called_once_afterwards(self, handler):
        seen = []
        done = work(interrupt, lambda: seen.extend(handler))
        assert len(done) == 2
        assert seen == []
        assert handler == [signal.SIGINT]

    def test_the_handler_comes_back_after_an_error(self, handler):
        def fail():
            raise ValueError("its own")

        with pytest.raises(ValueError, match="its own"):
            work(interrupt, fail)
        assert handler == [signal.SIGINT]

    @pytest.mark.parametrize("ignored", [signal.SIG_IGN, signal.SIG_DFL])
    def test_what_is_no_python_handler_stays(self, ignored):
        before = signal.signal(signal.SIGINT, ignored)
        try:
            assert work(lambda: None) == [ignored]
        finally:
            signal.signal(signal.SIGINT, before)

    def test_other_threads_are_left_alone(self):
        seen = []
        thread = threading.Thread(target=lambda: seen.extend(work(lambda: None)))
        thread.start()
        thread.join()
        assert seen == [signal.default_int_handler]

    def test_a_handler_installed_meanwhile_stays(self, handler):
        def other(number, frame):
            handler.append("other")

        ours = signal.getsignal(signal.SIGINT)
        work(lambda: signal.signal(signal.SIGINT, other))
        assert signal.getsignal(signal.SIGINT) is other
        signal.signal(signal.SIGINT, ours)


class TestBlocks:
    def test_a_block_ends_before_the_signal_is_answered(self, handler):
        with Interrupts():
            interrupt()
            assert handler == []
        assert handler == [signal.SIGINT]

    def test_a_part_that_is_released_is_interrupted(self):
        with Interrupts() as interrupts:
            with pytest.raises(KeyboardInterrupt), interrupts.released():
                interrupt()
            interrupt()
            assert interrupts.taken()
            assert not interrupts.taken()

    def test_a_signal_that_waits_interrupts_the_next_part_that_is_released(self):
        with Interrupts() as interrupts:
            interrupt()
            with pytest.raises(KeyboardInterrupt), interrupts.released():
                raise AssertionError
            assert not interrupts.taken()

    def test_an_inner_release_reaches_through_an_outer_block(self):
        with Interrupts() as outer, Interrupts() as inner:
            with pytest.raises(KeyboardInterrupt), inner.released():
                interrupt()
            interrupt()
            inner.__exit__()
            assert outer.taken()

    def test_compiled_code_inside_a_part_that_is_released_still_waits(self):
        seen = []
        with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt), interrupts.released():
            work(interrupt, lambda: seen.append("went on"))
        assert seen == ["went on"]

    def test_what_a_library_makes_of_an_interruption_is_one_again(self):
        def wrap():
            try:
                interrupt()
            except KeyboardInterrupt as error:
                raise SystemError("returned a result with an exception set") from error

        with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt), interrupts.released():
            wrap()

    def test_other_errors_stay_what_they_are(self, handler):
        def fail():
            interrupt()
            raise ValueError("its own")

        with (
            Interrupts() as interrupts,
            pytest.raises(ValueError, match="own"),
            interrupts.released(),
        ):
            fail()


class TestPieces:
    @pytest.mark.parametrize("most", [1.0, 1e7, 1e12])
    def test_they_make_up_the_range(self, most):
        found = [number for piece in pieces(3, 1000, most) for number in range(*piece)]
        assert found == list(range(3, 1000))
        assert not list(pieces(3, 3, most))

    @pytest.mark.parametrize(
        ("constraint", "signs"),
        [
            (Constraint(), None),
            (Constraint(), [1.0, -1.0]),
            (Constraint(n_clusters=4), [1.0, -1.0]),
            (Constraint(regions=(Region(10, 30, 2),)), None),
            (Constraint(regions=(Region(10, 30, 2),), n_clusters=5), None),
        ],
    )
    def test_the_answer_does_not_depend_on_them(self, monkeypatch, constraint, signs):
        rng = np.random.default_rng(0)
        Z = rng.normal(size=(150, 2)) + 3 * rng.normal(size=(5, 2))[np.arange(150) // 30]
        signs = None if signs is None else np.array(signs)
        objective = TraceObjective(Z, shift=-2.0, signs=signs)
        whole = SequentialOracle().maximize(objective, constraint)
        monkeypatch.setattr("structsvm.support.interrupts.LONGEST", 1.0)
        monkeypatch.setattr("structsvm.support.interrupts.FIRST", 1.0)
        cut = SequentialOracle().maximize(objective, constraint)
        assert cut.y == whole.y
        assert cut.value == whole.value


def test_an_oracle_raises_no_system_error():
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
