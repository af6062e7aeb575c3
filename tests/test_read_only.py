"""What an oracle is given cannot be changed in place: a changed question has another answer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from wrong_plugins import Segments, recordings

from structsvm import MetricLearner
from structsvm.data.sample import Sample
from structsvm.errors import PluginError
from structsvm.oracles._segments import pelt, table
from structsvm.oracles._segments.pelt import Recordings
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.problems.change_point import ChangePoint
from structsvm.testing import check_problem


def test_the_arrays_of_an_objective_cannot_be_written_to() -> None:
    mine = np.ones((4, 2))
    truth = EquivalenceMatrix.from_labels([0, 0, 1, 1])
    objective = TraceObjective(mine, truth, 2.0, -1.0, signs=np.ones(2))
    held = (objective.Z, objective.signs, truth.labels, truth.sizes, truth.boundaries)
    for array in held:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    mine[0] = 5.0  # whoever made the array keeps the right to


@dataclass(frozen=True)
class Scales(Oracle):
    """The exact oracle, which shrinks what it was asked about after answering."""

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        answer = SequentialOracle().maximize(objective, constraint)
        objective.Z[:] *= 0.9
        return answer


@dataclass(frozen=True)
class Scaled(Segments):
    def decoder(self, sample: Sample) -> Oracle:
        return Scales()


@pytest.mark.parametrize(
    "use",
    [
        lambda problem, Xs, ys: check_problem(problem, Xs, ys),
        lambda problem, Xs, ys: MetricLearner(problem, metric="diagonal").fit(Xs, ys),
    ],
    ids=["check_problem", "fit"],
)
def test_an_oracle_that_writes_is_named(use: Any) -> None:
    with pytest.raises(PluginError, match=r"Scales\.maximize .*read-only.*copy"):
        use(Scaled(), *recordings())


@dataclass(frozen=True)
class WritesSamples(Segments):
    def training_sample(self, sample: Sample, truth: EquivalenceMatrix) -> Any:
        X = sample.X
        X *= 0.5
        return super().training_sample(sample, truth)


@dataclass(frozen=True)
class WritesLabels(Segments):
    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        y[0] = y[1]
        return super().encode(y, sample)


@pytest.mark.parametrize(
    ("problem", "who"),
    [
        (WritesSamples(), r"WritesSamples\.training_sample"),
        (WritesLabels(), "encode, of recording 0,"),
    ],
)
def test_samples_and_labels_cannot_be_written_to(problem: Segments, who: str) -> None:
    Xs, ys = recordings()
    before = [X.copy() for X in Xs], [y.copy() for y in ys]
    learner = MetricLearner(problem, metric="diagonal", standardize=None)
    with pytest.raises(PluginError, match=rf"{who} modified its input .*read-only"):
        learner.fit(Xs, ys)
    assert all(map(np.array_equal, Xs, before[0]))
    assert all(map(np.array_equal, ys, before[1]))


def test_the_kernels_are_compiled_for_one_kind_of_array() -> None:
    rng = np.random.default_rng(0)
    Z, truth = rng.standard_normal((40, 3)), EquivalenceMatrix.from_breakpoints([20, 40])
    for signs in (None, np.array([1.0, -1.0, 1.0])):
        objective = TraceObjective(Z, truth, 2.0, -1.0, signs)
        SequentialOracle().maximize(objective)
        SequentialOracle().maximize(objective, Constraint(3))
    SequentialOracle().maximize(TraceObjective(np.asfortranarray(Z), shift=-1.0))
    Xs, ys = recordings()
    MetricLearner(ChangePoint(), metric="full").fit(Xs, ys)
    kinds = {kind for s in compiled_for(table._fill_for_python) for kind in (s[0], s[4])}
    for side_by_side, *_ in compiled_for(pelt._segment_all):
        kinds |= {side_by_side.types[Recordings._fields.index(k)] for k in ("samples", "bounds")}
    assert {kind.mutable for kind in kinds} == {False}


def compiled_for(function: Any) -> Any:
    """The types of the arguments of each compiled version that Python has called."""
    return function.__wrapped__.signatures
