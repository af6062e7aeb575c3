"""The conformance kit: honest oracles pass, each kind of broken oracle is caught and told why."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from structsvm.errors import PluginError
from structsvm.oracles.exhaustive import ExhaustiveOracle
from structsvm.oracles.sequential import SequentialOracle
from structsvm.oracles.spectral import SpectralOracle
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, Quality
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.testing import check_oracle

SEQUENTIAL = SequentialOracle()


@dataclass(frozen=True)
class Altered(Oracle):
    """The exact oracle, with one promise broken."""

    alter: Callable[[Argmax, TraceObjective, Constraint], Argmax]

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        return self.alter(SEQUENTIAL.maximize(objective, constraint), objective, constraint)


def one_segment(T: int) -> EquivalenceMatrix:
    return EquivalenceMatrix.from_breakpoints([T])


def overstates(answer: Argmax, *_) -> Argmax:
    return replace(answer, value=answer.value + 1.0, upper_bound=answer.upper_bound + 1.0)


def bounds_below(answer: Argmax, *_) -> Argmax:
    return replace(answer, upper_bound=answer.value - 1.0)


def forgets_boundaries(_: Argmax, objective: TraceObjective, constraint: Constraint) -> Argmax:
    return SEQUENTIAL.maximize(objective, Constraint(constraint.n_clusters))


def forgets_k(_: Argmax, objective: TraceObjective, constraint: Constraint) -> Argmax:
    return SEQUENTIAL.maximize(objective, replace(constraint, n_clusters=None))


def drops_samples(answer: Argmax, objective: TraceObjective, _: Constraint) -> Argmax:
    return replace(answer, y=one_segment(objective.n_samples + 1))


def forgets_the_loss(_: Argmax, objective: TraceObjective, constraint: Constraint) -> Argmax:
    y = SEQUENTIAL.maximize(replace(objective, truth=None), constraint).y
    value = objective.value(y)
    return Argmax(y, value, value, Quality.EXACT)


def forgets_the_loss_and_says_so(
    answer: Argmax, objective: TraceObjective, constraint: Constraint
) -> Argmax:
    found = forgets_the_loss(answer, objective, constraint)
    return replace(found, upper_bound=math.inf, quality=Quality.HEURISTIC)


def writes_to_its_input(answer: Argmax, objective: TraceObjective, _: Constraint) -> Argmax:
    objective.Z[:] += 1.0
    return answer


def relaxes_in_secret(answer: Argmax, *_) -> Argmax:
    return replace(answer, y=EquivalenceMatrix.from_factor(answer.y.factor()))


def fails(*_) -> Argmax:
    raise ZeroDivisionError("no luck")


def returns_nothing(*_) -> Argmax:
    return None


@pytest.mark.parametrize(
    ("alter", "complaint"),
    [
        (overstates, r"return objective\.value\(y\)"),
        (bounds_below, "is below value"),
        (forgets_boundaries, "obey the constraint"),
        (forgets_k, "obey the constraint"),
        (drops_samples, "fix y"),
        (forgets_the_loss, r"fix the search or declare Quality\.HEURISTIC|below the maximum"),
        (forgets_the_loss_and_says_so, r"compare with objective\.truth"),
        (writes_to_its_input, "modified its input"),
        (relaxes_in_secret, r"declare Quality\.RELAXATION"),
        (fails, "ZeroDivisionError: no luck"),
        (returns_nothing, r"maximize returned None .*: return Argmax\(y, value"),
    ],
)
def test_a_broken_promise_is_named(alter: Callable[..., Argmax], complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        check_oracle(Altered(alter), contiguous=True, processes=False)


@dataclass(frozen=True)
class LowBound(Oracle):
    """A heuristic with a bound that is none."""

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        y = ExhaustiveOracle().maximize(objective, constraint).y
        simplest = one_segment(objective.n_samples)
        if constraint.n_clusters in (None, 1) and objective.value(simplest) < 0.0:
            y = simplest
        value = objective.value(y)
        return Argmax(y, value, value, Quality.HEURISTIC)


def test_a_bound_below_the_maximum_is_caught() -> None:
    with pytest.raises(PluginError, match=r"is below the maximum .* or math\.inf"):
        check_oracle(LowBound(), processes=False)


@dataclass(frozen=True)
class Restless(Oracle):
    """Ties fall to whatever the generator says; the generator lives on from call to call."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        answer = SEQUENTIAL.maximize(objective, constraint)
        self.rng.random()
        return answer


@dataclass(frozen=True)
class Fickle(Oracle):
    """Adds a bound that depends on the time of the day, so to say."""

    calls = [0]  # noqa: RUF012

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        self.calls[0] += 1
        answer = SEQUENTIAL.maximize(objective, constraint)
        return replace(answer, upper_bound=answer.value + self.calls[0])


@dataclass(frozen=True)
class Accepting(Oracle):
    """Answers questions that have no answer."""

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        if (constraint.n_clusters or 0) > objective.n_samples:
            constraint = UNCONSTRAINED
        return SEQUENTIAL.maximize(objective, constraint)


@dataclass(frozen=True)
class Rooted(Oracle):
    """Cannot leave its process."""

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        return SEQUENTIAL.maximize(objective, constraint)

    def __reduce__(self):
        import os

        return _revive, (os.getpid(),)


def _revive(home: int) -> Rooted:
    import os

    if os.getpid() != home:
        raise RuntimeError("not in this process")
    return Rooted()


@pytest.mark.parametrize(
    ("oracle", "complaint"),
    [
        (Restless(), "store settings only"),
        (Fickle(), "differs on a second call"),
        (Accepting(), "were accepted: raise OracleError"),
        (Rooted(), "worker process"),
    ],
)
def test_bad_manners_are_named(oracle: Oracle, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        check_oracle(oracle, contiguous=True)


@dataclass(frozen=True)
class Shared(Oracle):
    """Scratch memory that every call shares: right as long as calls do not overlap."""

    scratch = {}  # noqa: RUF012

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        import time

        self.scratch["objective"] = objective
        time.sleep(1e-3)
        return SEQUENTIAL.maximize(self.scratch["objective"], constraint)


def test_shared_scratch_memory_is_caught() -> None:
    with pytest.raises(PluginError, match=r"in threads|the oracle failed"):
        check_oracle(Shared(), contiguous=True, processes=False)


def test_a_question_without_k_is_required() -> None:
    with pytest.raises(PluginError, match="set one of the two"):
        check_oracle(SEQUENTIAL, known_k=False, unknown_k=False)


@pytest.mark.parametrize("kind", [{"known_k": False}, {"unknown_k": False}, {"boundaries": True}])
def test_honest_oracles_pass(kind: dict[str, bool]) -> None:
    check_oracle(ExhaustiveOracle(contiguous=True), contiguous=True, processes=False, **kind)


def test_a_relaxation_passes() -> None:
    check_oracle(SpectralOracle(), processes=False)
