"""Fit names the oracle or the problem that breaks its contract, and the sample."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from wrong_plugins import Segments, recordings

from structsvm import MetricLearner, Status
from structsvm.data.sample import Sample
from structsvm.errors import OracleWarning, PluginError, SettingsError
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, Quality
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.partitions.traits import Traits
from structsvm.solvers.certificate import Certificate
from structsvm.solvers.planes import Planes


def test_fit_names_a_class_in_place_of_a_problem() -> None:
    with pytest.raises(
        SettingsError, match=r"problem must be a .*: make an instance, Segments\(\)"
    ):
        MetricLearner(Segments).fit(*recordings())


def test_an_oracle_that_found_better_before_is_named_by_its_sample() -> None:
    certificate = Certificate(floor=0.0)
    nothing = np.zeros(3)
    asked = Planes(
        w=np.zeros(2),
        groups=np.arange(3),
        slopes=np.zeros((3, 2)),
        intercepts=nothing,
        values=nothing,
        slacks=nothing,
        quality=Quality.EXACT,
        size=0.0,
        calls=3,
        labellings=[(), (), ()],
    )
    certificate.update_upper(asked, known=np.array([0.0, 0.0, 1.0]))
    assert certificate.caught is not None
    assert "sample 2: a labelling worse than one found before" in certificate.caught


@dataclass(frozen=True)
class Encodes(PartitionProblem):
    """Makes of some labels what is no partition of the samples."""

    traits = Traits(contiguous=True)

    def decoder(self, sample: Any) -> Any:
        return SequentialOracle()

    def encode(self, y: Any, sample: Any) -> Any:
        if y[0] == 1:
            return list(y)
        return EquivalenceMatrix.from_labels(y[:3] if y[0] == 2 else y)


@pytest.mark.parametrize(
    ("y", "complaint"),
    [
        (
            [1, 1, 0, 0],
            r"recording 1: Encodes\.encode returned \[1, 1, 0, 0\] \(a list\)",
        ),
        (
            [2, 2, 0, 0],
            r"recording 1: Encodes\.encode returned a partition of 3 samples",
        ),
    ],
)
def test_fit_names_what_encode_returned(y: list[int], complaint: str) -> None:
    Xs = [np.arange(8.0).reshape(4, 2)] * 2
    with pytest.raises(PluginError, match=complaint):
        MetricLearner(Encodes()).fit(Xs, [[0, 0, 1, 1], y])


@dataclass(frozen=True)
class Reads(Segments):
    change: Any = None

    def read(self, Xs: Any, feature_names: Any = None, n_features: Any = None) -> Any:
        return self.change(super().read(Xs, feature_names, n_features))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda found: found[0], r"Reads\.read returned .*: return a list of Sample\(X, side\)"),
        (lambda found: ((s for s in found[0]), found[1]), r"Reads\.read returned a tuple"),
        (
            lambda found: ([Sample(s.X.astype(np.float32)) for s in found[0]], found[1]),
            r"X of recording 0 an array of float32 of shape .*: give an array \(T, P\)",
        ),
        (
            lambda found: ([Sample(s.X[:, 0]) for s in found[0]], found[1]),
            r"of float64 of shape \(\d+,\)",
        ),
    ],
    ids=["bare", "generator", "single precision", "vector"],
)
def test_fit_names_what_read_returned(change: Any, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        MetricLearner(Reads(change)).fit(*recordings())


class CountingOracle(SequentialOracle):
    """Writes down how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "asked", 0)

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        object.__setattr__(self, "asked", self.asked + 1)
        return SequentialOracle().maximize(objective, constraint)


class Counts(Segments):
    def decoder(self, sample: Sample) -> Oracle:
        return CountingOracle()


def test_what_an_oracle_writes_down_is_named() -> None:
    changed = r"sample 0: CountingOracle\.asked was changed .* keep settings only"
    with pytest.raises(PluginError, match=changed):
        MetricLearner(Counts()).fit(*recordings())


class OneAnswer(Oracle):
    """Every other sample, whatever is asked: never the truth, and worse in a good metric."""

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        y = EquivalenceMatrix.from_labels(np.arange(objective.n_samples) % 2)
        value = objective.value(y)
        return Argmax(y, value, value, Quality.EXACT)


class OneGuess(Segments):
    def decoder(self, sample: Sample) -> Oracle:
        return OneAnswer()


def test_an_answer_worse_than_the_truth_is_none_of_an_exact_oracle() -> None:
    with pytest.warns(OracleWarning, match="^OneAnswer found, of sample 0: .* than the true one"):
        learner = MetricLearner(OneGuess(), metric="diagonal").fit(*recordings())
    assert learner.solution_.status is Status.HEURISTIC
    assert learner.certified_upper_ == np.inf
    assert "found by a heuristic oracle" in learner.solution_.bound
