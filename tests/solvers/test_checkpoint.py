"""A run that is killed, fails or is cut short goes on from its file to the same answer."""

import signal
import textwrap
from dataclasses import replace
from functools import partial
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from cases import cases
from enumerated import Listed, Once, column, listed_risk
from programs import loaded
from recording_cases import recordings_of_four_segments as recordings

from structsvm import MetricLearner
from structsvm.errors import CheckpointError, PluginError, SettingsError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.problem import PSD, Custom, Quality, RegularizedRisk, Separation, SquaredNorm, Status
from structsvm.solvers import checkpoint
from structsvm.solvers.auto import solver_from
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.checkpoint import identity
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.planes import Memory
from structsvm.support.codec import fingerprint

SPACE = PSD(3)
OMEGA = SquaredNorm(0.05)

METHODS = ["cutting-plane", "one-slack", "frank-wolfe", "subgradient"]


def risk_of(**changes):
    return listed_risk(SPACE, OMEGA, **({"n_samples": 12, "n_labels": 60, "seed": 6} | changes))


def assert_same(first, second):
    np.testing.assert_array_equal(first.w, second.w)
    assert (first.lower, first.upper) == (second.lower, second.upper)
    assert (first.n_iter, first.oracle_calls) == (second.n_iter, second.oracle_calls)
    assert first.status is second.status
    for name in ("lower", "upper", "oracle_calls", "n_cuts"):
        assert column(first, name) == column(second, name)
    assert np.all(np.diff(column(second, "seconds")) >= 0)


class PowerCut(BaseException):
    """Ends a run without a word, as far as one process can."""


@pytest.mark.parametrize("name", METHODS)
def test_a_run_resumes_from_every_iteration(name, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
    method = solver_from(name, Stopping(1e-4, 14))
    file = tmp_path / "run.npz"
    whole = method.solve(risk_of())
    runs = 0

    def cut(entry, first):
        if entry.iteration >= first + 3:
            raise PowerCut

    while True:
        runs += 1
        try:
            solution = method.solve(risk_of(), partial(cut, first=4 * (runs - 1)), resume=file)
            break
        except PowerCut:
            continue
    assert runs == 1 + whole.n_iter // 4 > 1  # the last may find nothing left to do
    assert_same(whole, solution)
    assert_same(whole, method.solve(risk_of(), resume=file))  # there is nothing left to do


KILLED = """
    import os, signal, sys, threading, time
    from collections import Counter
    sys.path.insert(0, {tests!r})
    from enumerated import Listed, listed_risk
    from structsvm.support import archive
    from structsvm.problem import SquaredNorm
    from structsvm.solvers import checkpoint
    from structsvm.solvers.auto import solver_from
    from structsvm.solvers.base import Stopping
    from structsvm.problem import PSD

    seen, write = Counter(), archive.write_atomically

    def happens(event):
        seen[event] += 1
        if (event, seen[event]) == doom[:2]:  # the process cannot end before its timer does
            threading.Timer(doom[2], os.kill, (os.getpid(), signal.SIGKILL)).start()

    class Slow(Listed):
        def separate(self, w, x, y):
            happens("call")
            time.sleep(0.002)
            return super().separate(w, x, y)

    def slow_write(path, content):
        happens("write")
        write(path, content)

    checkpoint.SECONDS_BETWEEN, archive.write_atomically = 0.0, slow_write
    risk = listed_risk(
        PSD(3), SquaredNorm(0.05), n_samples=12, n_labels=60, seed=6, problem=Slow(PSD(3))
    )
    # Each run is a process that has seen nothing of those before; importing is done once for all.
    for doom in {dooms!r}:
        child = os.fork()
        if not child:
            solution = solver_from({name!r}, Stopping(1e-4, 40)).solve(risk, resume={file!r})
            print(solution.w.tobytes().hex(), solution.n_iter, seen["call"])
            print(solution.lower.hex(), solution.upper.hex(), flush=True)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

KILLS = [("call", 7, 0.0), ("write", 2, 0.0), ("write", 1, 0.002), ("call", 15, 0.0)]

"""What is under way, for the how-manieth time, and how many seconds later the process is killed."""


@pytest.mark.parametrize("name", ["cutting-plane", "frank-wolfe"])
def test_a_run_killed_at_any_moment_resumes_to_the_same_answer(name, tmp_path):
    """In an oracle, in the writing, a moment after; a machine's speed changes which exactly."""
    code = textwrap.dedent(KILLED).format(
        tests=str(Path(__file__).parents[1]),
        file=str(tmp_path / "run.npz"),
        name=name,
        dooms=[*KILLS, ("never", 0, 0.0)],
    )
    done = loaded(code)
    assert done.returncode == 0, done.stderr
    *killed, answer, bounds, last = map(str.split, done.stdout.splitlines())
    assert killed == [[str(-signal.SIGKILL)]] * len(KILLS), done.stderr
    assert last == ["0"], done.stderr
    whole = solver_from(name, Stopping(1e-4, 40)).solve(risk_of())
    (w, n_iter, calls), (lower, upper) = answer, bounds
    np.testing.assert_array_equal(np.frombuffer(bytes.fromhex(w)), whole.w)
    assert int(n_iter) == whole.n_iter
    assert (float.fromhex(lower), float.fromhex(upper)) == (whole.lower, whole.upper)
    # Earlier runs were not for nothing; two rounds show that the problem is the same.
    assert int(calls) < whole.oracle_calls - 12 + 2 * 12


class TestRefusals:
    @pytest.fixture
    def file(self, tmp_path):
        CuttingPlane(Stopping(1e-4, 3)).solve(risk_of(), resume=tmp_path / "run.npz")
        return tmp_path / "run.npz"

    @cases(
        ({"sample_weight": np.full(12, 0.1)}, "sample weights"),
        ({"regularizer": SquaredNorm(0.06)}, "regularizer"),
        ({"ys": [1] * 12}, "labels"),
        ({"xs": risk_of(seed=7).xs}, "recordings"),
        ({"constraints": lambda B: [B >= 0]}, "constraints"),
    )
    def test_a_checkpoint_of_other_data_or_settings_is_refused(self, file, changes, what):
        with pytest.raises(CheckpointError, match=f"a checkpoint with other {what}: give the same"):
            CuttingPlane().solve(replace(risk_of(), **changes), resume=file)

    def test_a_run_resumes_with_another_stopping_rule(self, file):
        solution = CuttingPlane(Stopping(1e-4, 100)).solve(risk_of(), resume=file)
        assert_same(CuttingPlane(Stopping(1e-4, 100)).solve(risk_of()), solution)

    @pytest.mark.parametrize("keep", [0, 100, -1])
    def test_a_truncated_checkpoint_is_refused(self, keep, file):
        file.write_bytes(file.read_bytes()[:keep])
        what = "damaged, or not a structsvm checkpoint; give another file to start again"
        with pytest.raises(CheckpointError, match=what):
            CuttingPlane().solve(risk_of(), resume=file)

    def test_a_file_that_is_no_checkpoint_is_not_overwritten(self, tmp_path):
        file = tmp_path / "data.npz"
        np.savez(file, X=np.eye(3))
        content = file.read_bytes()
        what = "not a structsvm checkpoint; give another file to start again"
        with pytest.raises(CheckpointError, match=what):
            CuttingPlane().solve(risk_of(), resume=file)
        assert file.read_bytes() == content


def test_a_failing_oracle_leaves_earlier_work_in_the_checkpoint(tmp_path):
    file = tmp_path / "run.npz"
    calls = []
    whole = CuttingPlane(Stopping(1e-4, 40)).solve(risk_of())

    class Flaky(Listed):
        def separate(self, w, x, y) -> Separation:
            calls.append(1)
            if len(calls) == 12 * 4 + 8:
                raise ZeroDivisionError("no labelling")
            return super().separate(w, x, y)

    risk = risk_of(problem=Flaky(SPACE))
    with pytest.raises(PluginError, match=r"instance 7: \w+\.separate raised ZeroDivision"):
        CuttingPlane(Stopping(1e-4, 40)).solve(risk, resume=file)
    solution = CuttingPlane(Stopping(1e-4, 40)).solve(risk, resume=file)
    assert len(calls) == 12 * 4 + 8 + 2 * 12 + solution.oracle_calls - 12 * 4
    assert solution.status is Status.OPTIMAL
    assert solution.lower <= whole.upper
    assert whole.lower <= solution.upper


@pytest.mark.filterwarnings("ignore::structsvm.errors.OracleWarning")
@pytest.mark.parametrize("name", METHODS)
def test_labellings_of_the_first_round_are_kept_after_an_interruption(name, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
    method = solver_from(name, Stopping(1e-4, 14))
    file = tmp_path / "run.npz"

    def cut(entry):
        if entry.iteration == 0:
            raise PowerCut

    with pytest.raises(PowerCut):
        method.solve(risk_of(problem=Once(SPACE)), cut, resume=file)
    found = method.solve(risk_of(problem=Once(SPACE)), resume=file)
    assert_same(method.solve(risk_of(problem=Once(SPACE))), found)
    assert found.status is not Status.OPTIMAL


@pytest.mark.filterwarnings("ignore::structsvm.errors.OracleWarning")
@pytest.mark.parametrize("name", METHODS)
def test_labellings_of_the_first_round_are_kept_in_a_memory(name):
    calls = []

    class Tired(Listed):
        def separate(self, w, x, y) -> Separation:
            calls.append(1)
            answer = super().separate(w, x, y)
            return answer if len(calls) <= 3 * 12 else Separation(y, 0.0, Quality.EXACT)

    method = solver_from(name, Stopping(1e-4, 14))
    risk = risk_of()
    memory = Memory()
    risk = replace(risk, problem=Tired(SPACE))
    for lam in (0.2, 0.1):
        found = method.solve(replace(risk, regularizer=SquaredNorm(lam)), memory=memory)
        assert found.status is not Status.OPTIMAL
        assert "heuristic" in found.bound


class TestFingerprint:
    def test_equal_values_have_equal_fingerprints(self):
        for make in (
            lambda: [np.arange(3.0), {"a": (1, None)}, OMEGA, {2, 1}],
            lambda: EquivalenceMatrix.from_breakpoints([2, 5]),
            lambda: partial(np.linalg.norm, ord=2),
            lambda: risk_of().xs,
        ):
            assert fingerprint(make()) == fingerprint(make())

    def test_cached_properties_do_not_change_a_fingerprint(self):
        M = EquivalenceMatrix.from_breakpoints([2, 5])
        before = fingerprint([M])
        assert M.breakpoints == [2, 5]
        assert fingerprint([M]) == before

    def test_different_values_have_different_fingerprints(self):
        def bounded(limit):
            return lambda B: [B <= limit]

        things = [
            np.arange(3.0),
            np.arange(3),
            np.arange(3.0)[:, None],
            [0.0, 1.0, 2.0],
            bounded(1.0),
            bounded(2.0),
            partial(np.linalg.norm, ord=1),
            partial(np.linalg.norm, ord=2),
            np.linalg.norm,
            len,
            OMEGA,
            SquaredNorm(0.05, center=1.0),
            PSD(3),
            PSD,
            EquivalenceMatrix.from_breakpoints([2, 5]),
            EquivalenceMatrix.from_breakpoints([3, 5]),
            "a",
            b"a",
            None,
            {"a": 1},
            {"a": 2},
        ]
        assert len({fingerprint(thing) for thing in things}) == len(things)


RATE = [1.0]


class Rated(Listed):
    """Reads a global, of which nothing is seen in its settings."""

    def loss(self, y, y_hat) -> float:
        return RATE[0] * super().loss(y, y_hat)


class Fewer(Listed):
    """Has as many labellings as a global says."""

    def separate(self, w, x, y) -> Separation:
        k = len(x.features) if RATE[0] == 1.0 else 1 + len(x.features) // 2
        losses = [self.loss(y, j) for j in range(k)]
        return Separation(int(np.argmax(losses + x.features[:k] @ w)), 0.0, Quality.EXACT)


@pytest.mark.parametrize("problem", [Rated, Fewer])
@pytest.mark.parametrize("name", METHODS)
def test_an_edited_problem_is_recognised_by_its_answers(name, problem, tmp_path, monkeypatch):
    risk = risk_of(problem=problem(SPACE))
    file = tmp_path / "run.npz"
    solver_from(name, Stopping(1e-4, 3)).solve(risk, resume=file)
    solver_from(name, Stopping(1e-4, 4)).solve(risk, resume=file)
    monkeypatch.setattr(f"{__name__}.RATE", [5.0])
    with pytest.raises(CheckpointError, match="a checkpoint of another problem: at its weight the"):
        solver_from(name, Stopping(1e-4, 6)).solve(risk, resume=file)


LIMIT = 50.0

STRENGTH = 1.0

SHIFT = 0.0


def at_most(B):
    return [cp.trace(B) <= LIMIT]


def scaled_norm(B):
    return STRENGTH * cp.norm1(B) + SHIFT


def marks(constraints=None, regularizer=None, order=3):
    risk = listed_risk(PSD(order), regularizer or SquaredNorm(0.5))
    changed = RegularizedRisk(
        Listed(PSD(order)),
        risk.xs,
        risk.ys,
        risk.regularizer,
        risk.sample_weight,
        risk.null,
        constraints,
    )
    return identity(changed, CuttingPlane())


def test_a_constraint_with_a_changed_global_is_recognised(tmp_path, monkeypatch):
    Xs, ys = recordings()
    learner = MetricLearner(constraints=at_most)
    free = learner.fit(Xs, ys, resume=tmp_path / "run").solution_
    again = learner.fit(Xs, ys, resume=tmp_path / "run").solution_
    np.testing.assert_array_equal(again.w, free.w)
    monkeypatch.setattr(f"{__name__}.LIMIT", 0.5)
    with pytest.raises(CheckpointError, match="a checkpoint with other constraints"):
        learner.fit(Xs, ys, resume=tmp_path / "run")


def test_a_regularizer_with_a_changed_global_is_recognised(monkeypatch):
    before = marks(regularizer=Custom(scaled_norm))
    assert marks(regularizer=Custom(scaled_norm)) == before
    for name, value in (("STRENGTH", 2.0), ("SHIFT", 0.25)):
        with monkeypatch.context() as changed:
            changed.setattr(f"{__name__}.{name}", value)
            after = marks(regularizer=Custom(scaled_norm))
        assert [mark for mark in before if before[mark] != after[mark]] == ["regularizer"]
    doubled = marks(regularizer=Custom(scaled_norm, weight=2.0))
    assert doubled["regularizer"] != before["regularizer"]


def test_constraints_with_equal_programs_resume_a_checkpoint():
    def first(B):
        return [cp.trace(B) <= 2.0, B[0, 0] >= 0.25]

    def second(B):
        for _ in range(7):
            cp.Variable(3)  # numbers of variables are no part of a problem
        floor = 1 / 4
        return [cp.trace(B) <= sum([1.0, 1.0]), B[0, 0] >= floor]

    assert marks(first) == marks(second)
    assert marks(first) != marks(lambda B: [cp.trace(B) <= 2.0])
    assert marks(lambda B: []) != marks(first)


def test_a_checkpoint_of_a_nonconvex_program_is_refused_before_any_work(tmp_path):
    Xs, ys = recordings()
    with pytest.raises(SettingsError, match="a constraint is not convex"):
        MetricLearner(constraints=lambda B: [cp.trace(B) ** 2 >= 1]).fit(
            Xs, ys, resume=tmp_path / "run"
        )


def test_a_run_with_a_custom_regularizer_resumes(tmp_path):
    risk = listed_risk(PSD(3), Custom(scaled_norm))
    whole = CuttingPlane(Stopping(1e-6)).solve(risk)
    CuttingPlane(Stopping(1e-6, max_iter=2)).solve(risk, resume=tmp_path / "run")
    resumed = CuttingPlane(Stopping(1e-6)).solve(risk, resume=tmp_path / "run")
    np.testing.assert_allclose(resumed.w, whole.w, atol=1e-4)
    assert resumed.lower <= resumed.upper
