"""The kit checks problems with side information, and those whose objective is not convex."""

from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from wrong_plugins import Segments, recordings

from structsvm import NormalizedCut
from structsvm.errors import DataError, PluginError
from structsvm.oracles import SequentialOracle
from structsvm.partitions import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    EquivalenceMatrix,
    Oracle,
    Quality,
    Sample,
    TraceObjective,
    Traits,
)
from structsvm.partitions.metric import Calibration
from structsvm.problem import Problem, Separation
from structsvm.problems.normalized_cut import CutObjective, CutRisk
from structsvm.testing import check_problem
from structsvm.weights import Free


def graphs(n: int = 2) -> tuple[list[Any], list[Any]]:
    """Grids of nodes, whose first feature tells the side they are on."""
    rng = np.random.default_rng(0)
    Xs, ys = [], []
    for i in range(n):
        grid = nx.grid_2d_graph(5, 4)
        y = np.array([int(row >= 2 + i % 2) for row, _ in grid])
        X = np.outer(y, [2.0, 0.0]) + rng.standard_normal((20, 2)) * [0.5, 1.0]
        Xs.append((nx.to_numpy_array(grid), X))
        ys.append(y)
    return Xs, ys


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"cluster_count": "unknown"},
        {"objective_kind": "plain"},
        {"oracle": "rounded"},
        {"rounding": "qr"},
        {"decoding": "plain"},
    ],
    ids=str,
)
def test_normalized_cuts_of_graphs_pass(settings: dict[str, str]) -> None:
    report = check_problem(NormalizedCut(**settings), *graphs())
    assert str(report) == "every check passed"


def test_normalized_cuts_of_images_pass() -> None:
    rng = np.random.default_rng(0)
    labels = np.kron([[0, 1], [0, 1]], np.ones((8, 8), dtype=int))
    images = [np.clip(labels + 0.1 * rng.standard_normal((16, 16)), 0, 1) for _ in range(2)]
    check_problem(NormalizedCut(), images, [labels, labels])


class WrongGradient(CutRisk):
    def losses(self, w: Any) -> Any:
        value, gradient = super().losses(w)
        return value, 2.0 * gradient


class WrongShape(CutRisk):
    def losses(self, w: Any) -> Any:
        value, gradient = super().losses(w)
        return value, gradient[:1]


class WrongPart(CutRisk):
    def part(self, which: Any) -> Any:
        return self


class WrongModel(CutRisk):
    def model(self, w: Any, regularizer: Any) -> Any:
        model = super().model(w, regularizer)
        return replace(model, sample_weight=3.0 * model.sample_weight)


@dataclass(frozen=True)
class Wrong(CutObjective):
    kind: type[CutRisk] = CutRisk

    def risk(self, *arguments: Any, **named: Any) -> CutRisk:
        return self.kind(**vars(super().risk(*arguments, **named)))


@dataclass(frozen=True)
class WrongObjective(NormalizedCut):
    kind: type[CutRisk] = CutRisk

    def objective(self, metric: str, n_features: int) -> Any:
        return Wrong(self, metric, n_features, self.kind)


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (WrongGradient, "the gradient of losses agrees with .* differences"),
        (WrongShape, r"the gradient of losses has shape \(1,\)"),
        (WrongPart, "the parts of the risk do not add up"),
        (WrongModel, r"model\(.*\) is .* where the losses are .*: it has to touch them there"),
    ],
)
def test_an_objective_that_is_not_convex_and_wrong_is_named(kind: Any, complaint: str) -> None:
    with pytest.raises(PluginError, match=f"WrongObjective: {complaint}.* metric]"):
        check_problem(WrongObjective(kind=kind), *graphs())


class OneTooMany(NormalizedCut):
    def calibrate(self, *given: Any) -> Any:
        return super().calibrate(*given)

    def partition(
        self, sample: Any, metric: Any, n_clusters: Any = None, constraint: Any = None
    ) -> Any:
        return super().partition(sample, metric, 1 + (n_clusters or 2))


class Linkless(NormalizedCut):
    def calibrate(self, *given: Any) -> Any:
        return super().calibrate(*given)

    def partition(
        self, sample: Any, metric: Any, n_clusters: Any = None, constraint: Any = None
    ) -> Any:
        return EquivalenceMatrix.from_labels(np.arange(sample.n_samples) % 2)


class Unweighed(NormalizedCut):
    def calibrate(self, factor: Any, samples: Any, truths: Any, weights: Any = None) -> Any:
        return Calibration(np.array([float(len(samples))]), np.zeros(1))


class Silent(NormalizedCut):
    def scores(self, truth: Any, guess: Any, tolerance: int) -> Any:
        return {"jaccard": 0.0}


class Halved(NormalizedCut):
    def restrict(self, sample: Any, rows: Any) -> Any:
        return Sample(sample.X[:1], sample.side)


class Lists(NormalizedCut):
    def read(self, Xs: Any, feature_names: Any = None, n_features: Any = None) -> Any:
        return Xs


@pytest.mark.parametrize(
    ("problem", "complaint"),
    [
        (OneTooMany(), "partition breaks what was asked for: it has 3 clusters where exactly 2"),
        (Linkless(), "partition breaks what was asked for: it (separates|puts)"),
        (Unweighed(), "calibrate finds the price 2.0 with a weight of 2, and 3.0 with that sample"),
        (Silent(), "scores returned .* among them 'loss' and 'disagreement'"),
        (Halved(), "restrict returned .* for 10 of the items of sample 0"),
        (Lists(), r"read returned .*: return a list of Sample\(X, side\)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, NormalizedCut) else "",
)
def test_a_problem_that_is_not_convex_and_wrong_is_named(problem: Any, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        check_problem(problem, *graphs())


# ---- side information


@dataclass(frozen=True)
class Quiet(Segments):
    """Segments that do not change where an instrument was off: pairs (X, the times it was)."""

    def read(self, Xs: Any, feature_names: Any = None, n_features: Any = None) -> Any:
        samples, names = super().read([X for X, _ in Xs], feature_names, n_features)
        return [replace(x, side=off) for x, (_, off) in zip(samples, Xs, strict=True)], names

    def decoder(self, sample: Sample) -> Any:
        return QuietOracle(sample.side)

    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        M = super().encode(y, sample)
        wrong = set(M.breakpoints) & set(sample.side)
        if wrong:
            raise DataError(f"the label changes at {min(wrong)}, where the instrument was off")
        return M

    def restrict(self, sample: Sample, rows: Any) -> Sample:
        place = {int(row): i for i, row in enumerate(rows)}
        off = tuple(place[t] for t in sample.side if t in place and place[t] > 0)
        return Sample(sample.X[rows], off)


@dataclass(frozen=True)
class QuietOracle(Oracle):
    """The exact oracle, with changes ruled out."""

    off: tuple[int, ...]

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        forbidden = tuple(sorted({*self.off, *constraint.forbidden}))
        return SequentialOracle().ask(objective, replace(constraint, forbidden=forbidden))


class Stale(Quiet):
    """Keeps the times of the whole recording."""

    def restrict(self, sample: Sample, rows: Any) -> Sample:
        return sample.with_features(sample.X[rows])


class Whole(Quiet):
    def restrict(self, sample: Sample, rows: Any) -> Sample:
        raise DataError("a part of a recording says nothing")


class Deaf(Quiet):
    """Its oracle does not know of the times."""

    def decoder(self, sample: Sample) -> Any:
        return SequentialOracle()


def instruments() -> tuple[list[Any], list[Any]]:
    Xs, ys = recordings(2)
    return [(X, (2, 5, 20, 35)) for X in Xs], ys


def test_side_information_goes_with_a_sample() -> None:
    report = check_problem(Quiet(), *instruments())
    assert report.enumerated == {1: 1, 2: 2, 4: 4, 6: 8}
    assert min(report.given) > 20


def test_a_problem_whose_samples_cannot_be_cut_down_is_checked_as_they_are() -> None:
    report = check_problem(Whole(), *instruments())
    assert not report.enumerated
    assert "none of them could be made smaller for enumeration" in str(report)


@pytest.mark.parametrize(
    ("problem", "complaint"),
    [
        (Stale(), "restrict has to cut the side information down"),
        (Deaf(), "the decoder and encode speak of different families|is no partition of this fam"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Quiet) else "",
)
def test_side_information_that_is_forgotten_is_named(problem: Any, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        check_problem(problem, *instruments())


class NoTraits(Segments):
    traits = "segments"


class NoDecoder(Segments):
    def decoder(self, sample: Sample) -> Any:
        return None


class Unstandardized(Segments):
    traits = Traits(contiguous=True, standardize="never")


@pytest.mark.parametrize(
    ("problem", "complaint"),
    [
        (NoTraits(), r"traits returned 'segments'.*: return an instance of Traits"),
        (NoDecoder(), "decoder returned None for sample 0|decoder returned .*None.* for sample 0"),
        (Unstandardized(), "standardize is 'never': one of"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Segments) else "",
)
def test_what_a_problem_says_of_itself_is_looked_at(problem: Any, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        check_problem(problem, *recordings())


@dataclass(frozen=True)
class Classes(Problem):
    """Two classes of samples (2,), by enumeration."""

    def weight_space(self) -> Free:
        return Free(4)

    def joint_feature(self, x: Any, y: Any) -> Any:
        return np.kron(np.eye(2)[y], x)

    def loss(self, y: Any, y_hat: Any) -> float:
        return float(y != y_hat)

    def separate(self, w: Any, x: Any, y: Any) -> Separation:
        values = [w @ self.joint_feature(x, k) + self.loss(y, k) for k in range(2)]
        return Separation(int(np.argmax(values)), 0.0, Quality.EXACT)

    def predict(self, w: Any, x: Any) -> int:
        return int(np.argmax([w @ self.joint_feature(x, k) for k in range(2)]))


@dataclass(frozen=True)
class Shifty(Classes):
    """Another answer for all samples of a round than for one."""

    def at(self, w: Any) -> Any:
        return Shifted()


class Shifted:
    def separate(self, x: Any, y: Any) -> Separation:
        return Separation(y, 0.0, Quality.EXACT)


def test_a_scorer_that_answers_otherwise_is_named() -> None:
    Xs = [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    check_problem(Classes(), Xs, [0, 1])
    with pytest.raises(PluginError, match=r"another labelling from at\(w\) than from separate"):
        check_problem(Shifty(), Xs, [0, 1])
