"""check_problem: honest problems pass, each kind of broken problem is caught and told why."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import wrong_plugins

from structsvm import ChangePoint
from structsvm.data.sample import Sample
from structsvm.errors import DataError, PluginError
from structsvm.oracles.clustering import ClusteringOracle
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import LabelledSample, Scoring, SearchedSample
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, Quality
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.partitions.traits import Traits
from structsvm.problem import Problem, Separation
from structsvm.problems.clustering import Clustering
from structsvm.testing import check_problem
from structsvm.weights import Free

CLASSES = range(3)
ASKED: set[bytes] = set()  # what the fickle problem was asked: it remembers where nobody looks


@dataclass(frozen=True)
class Classes(Problem):
    """Multiclass classification by enumeration, with one promise broken perhaps."""

    broken: Any = None
    memory: dict = field(default_factory=dict)

    def weight_space(self):
        return Free(6) if self.broken != "no space" else "R^6"

    def joint_feature(self, x, y):
        if self.broken == "short":
            return np.zeros(5)
        if self.broken == "infinite":
            return np.full(6, np.inf)
        if self.broken == "writes":
            x *= 2.0
        return np.kron(np.eye(3)[y], x)

    def loss(self, y, y_hat):
        if self.broken == "truth costs":
            return 1.0
        if self.broken == "negative":
            return -float(y != y_hat)
        if self.broken == "no number":
            return "much"
        return float(y != y_hat)

    def separate(self, w, x, y):
        if self.broken == "remembers":
            self.memory["last"] = w
        if self.broken == "failing":
            raise ZeroDivisionError("no luck")
        if self.broken == "bare answer":
            return y
        if self.broken == "negative slack":
            return Separation(y, -1.0, Quality.HEURISTIC)
        if self.broken == "slack though exact":
            return Separation(y, 1.0, Quality.EXACT)
        if self.broken == "truth only":
            return Separation(y, 0.0, Quality.EXACT)
        scores = [w @ self.joint_feature(x, k) for k in CLASSES]
        if self.broken != "forgets the loss":
            scores = [s + self.loss(y, k) for s, k in zip(scores, CLASSES, strict=True)]
        if self.broken == "minimises":
            return Separation(int(np.argmin(scores)), math.inf, Quality.HEURISTIC)
        if self.broken == "fickle":
            question = w.tobytes() + x.tobytes()
            best = int(np.argmax(scores))
            answer = y if question in ASKED and y != best else best
            ASKED.add(question)
            return Separation(answer, math.inf, Quality.HEURISTIC)
        return Separation(int(np.argmax(scores)), 0.0, Quality.EXACT)

    def predict(self, w, x):
        if self.broken == "decodes wrongly":
            return 0
        scores = np.array([w @ self.joint_feature(x, k) for k in CLASSES])
        if self.broken == "nonlinear":
            scores = scores - np.arange(3.0)
        return int(np.argmax(scores))


rng = np.random.default_rng(0)
XS = [rng.standard_normal(2) for _ in range(4)]
YS = [0, 1, 2, 1]


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ("no space", r"weight_space returned 'R\^6': return Free"),
        ("short", r"joint_feature returned an array \(5,\) where weight_space\(\) has dimension 6"),
        ("infinite", "not a vector of finite floats"),
        ("writes", "joint_feature modified its input"),
        ("remembers", "separate modified its input or the problem"),
        ("truth costs", r"loss\(y, y\) is 1.0: the truth must not cost anything"),
        ("negative", "a loss must not be negative"),
        ("no number", "loss returned 'much': return a finite float"),
        ("failing", r"Classes\.separate failed with ZeroDivisionError: no luck \[sample 0\]"),
        ("bare answer", r"separate returned 0: return Separation\(y, slack, quality\)"),
        ("negative slack", "slack -1.0: it is an upper bound"),
        ("slack though exact", "exact with slack 1.0: return 0, or another quality"),
        ("truth only", "no labelling should be worth more than their sum"),
        ("forgets the loss", "worse than the truth|no labelling should be worth more"),
        ("minimises", "worse than the truth, which has 0"),
        ("fickle", "another labelling on a second call"),
        ("decodes wrongly", r"predict reached the score .* maximise <w, joint_feature"),
        ("nonlinear", "not linear in w"),
    ],
)
def test_a_broken_promise_is_named(broken: str, complaint: str) -> None:
    everything = lambda x: CLASSES  # noqa: E731
    ASKED.clear()
    with pytest.raises(PluginError, match=complaint):
        check_problem(Classes(broken), XS, YS, labellings=everything)


def test_the_samples_are_left_as_they_were() -> None:
    before = [x.copy() for x in XS]
    check_problem(Classes(), XS, YS, labellings=lambda x: CLASSES)
    assert all(map(np.array_equal, XS, before))


def test_only_the_labellings_given_show_a_lazy_oracle() -> None:
    """It knows two of three classes: consistent with itself, wrong against the enumeration."""

    with pytest.raises(PluginError, match=r"one of labellings\(x\)"):
        check_problem(TwoOfThree(), XS[:2], [0, 1], labellings=lambda x: CLASSES)
    check_problem(TwoOfThree(), XS[:2], [0, 1])


@dataclass(frozen=True)
class TwoOfThree(Problem):
    def weight_space(self):
        return Free(6)

    def joint_feature(self, x, y):
        return np.kron(np.eye(3)[y], x)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def separate(self, w, x, y):
        best = max((0, 1), key=lambda k: w @ self.joint_feature(x, k) + self.loss(y, k))
        return Separation(best, 0.0, Quality.EXACT)

    def predict(self, w, x):
        return max((0, 1), key=lambda k: w @ self.joint_feature(x, k))


def test_approximate_inference_has_to_be_declared() -> None:
    check_problem(Classes("decodes wrongly"), XS, YS, exact_inference=False)


def test_what_cannot_be_pickled_is_named() -> None:
    with pytest.raises(PluginError, match="Classes cannot be pickled"):
        check_problem(Classes(lambda: None), XS, YS)


def test_another_answer_after_pickling_is_named() -> None:
    @dataclass(frozen=True)
    class Other(TwoOfThree):
        def __reduce__(self):
            return Classes, ("truth only",)

    with pytest.raises(PluginError, match="another labelling after pickling"):
        check_problem(Other(), XS[:2], [0, 1])


def test_input_of_the_kit_is_checked() -> None:
    with pytest.raises(PluginError, match="got 3 for 4"):
        check_problem(Classes(), XS, YS[:3])
    with pytest.raises(PluginError, match="derive from Problem or from PartitionProblem"):
        check_problem(object(), XS, YS)


# ---- partition problems


def segments(seed: int = 0, n: int = 3, T: int = 30) -> tuple[list, list]:
    rng = np.random.default_rng(seed)
    ys = [np.repeat([0, 1, 2], [6 + i, 10, T - 16 - i]) for i in range(n)]
    return [2.0 * y[:, None] * [1, 0] + rng.standard_normal((T, 2)) for y in ys], ys


@pytest.mark.parametrize("segment_count", ["known", "unknown"])
@pytest.mark.parametrize(("penalty", "kappa"), [("learned", 1.0), ("fixed", 0.5)])
def test_change_points_pass(segment_count: str, penalty: str, kappa: float) -> None:
    check_problem(ChangePoint(segment_count, penalty, kappa), *segments())


@pytest.mark.parametrize("cluster_count", ["known", "unknown"])
@pytest.mark.parametrize("oracle", ["relaxed", "rounded"])
def test_clustering_passes(cluster_count: str, oracle: str) -> None:
    check_problem(Clustering(cluster_count, oracle), *segments())


@dataclass(frozen=True)
class Segments(wrong_plugins.Segments):
    """Change-points in three definitions, and a setting."""

    extra: Any = None


class Mutable(Segments):
    """No dataclass of its own, yet it has the settings of one."""

    traits = Traits(contiguous=True, shrinkage=3.0)


class Partitions(Segments):
    def decoder(self, sample: Sample) -> Oracle:
        return ClusteringOracle(relaxation=False)


class Accepting(Segments):
    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        return EquivalenceMatrix.from_labels(np.cumsum(np.ravel(y)[: sample.n_samples]))


class Crashing(Segments):
    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        if np.shape(y) != (sample.n_samples,):
            raise IndexError("no luck")
        return super().encode(y, sample)


class Forgetting(Segments):
    def decode(self, M: EquivalenceMatrix, sample: Sample) -> Any:
        return np.zeros(M.n_samples, dtype=np.int64)


class Listing(Segments):
    def decode(self, M: EquivalenceMatrix, sample: Sample) -> Any:
        return M.labels.tolist()


class Counting(Segments):
    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        return super().encode([*y, 0], Sample(np.vstack([sample.X, sample.X[:1]])))


class Indulgent(Segments):
    def check_training(self, truths: Any) -> None:
        """Accepts anything."""


class Contrary(Segments):
    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        return -super().agreement(truth, guess)


class Unitless(Segments):
    def unit(self, samples: Any, truths: Any, weights: Any = None) -> float | None:
        return 0.0


class Unweighed(Segments):
    def unit(self, samples: Any, truths: Any, weights: Any = None) -> float | None:
        return float(sum(np.var(x.X) for x in samples))


@dataclass(frozen=True, eq=False)
class Doubled(LabelledSample):
    inner: SearchedSample

    @property
    def truth(self) -> EquivalenceMatrix:
        return self.inner.truth

    @property
    def n_samples(self) -> int:
        return self.inner.n_samples

    def gram(self, y: Any) -> Any:
        return 2.0 * self.inner.gram(y)

    def gram_diagonal(self, y: Any) -> Any:
        return self.inner.gram_diagonal(y)

    def separate(self, scoring: Scoring, given_k: bool) -> Separation:
        return self.inner.separate(scoring, given_k)


class WrongGram(Segments):
    def training_sample(self, sample: Sample, truth: EquivalenceMatrix) -> LabelledSample:
        return Doubled(super().training_sample(sample, truth))


@dataclass(frozen=True)
class Lazy(Oracle):
    """Says that everything or nothing is the best segmentation, and that this is exact."""

    quality: Quality = Quality.EXACT

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        T = objective.n_samples
        some = [K for K in (constraint.n_clusters or 1, T) if constraint.n_clusters in (None, K)]
        tried = [EquivalenceMatrix.from_labels(np.minimum(np.arange(T), K - 1)) for K in some]
        if objective.truth is not None and constraint.n_clusters in (
            None,
            objective.truth.n_clusters,
        ):
            tried.append(objective.truth)
        y = max(tried, key=objective.value)
        return Argmax(y, objective.value(y), math.inf, self.quality)


class Anything(Segments):
    def decoder(self, sample: Sample) -> Oracle:
        return ClusteringOracle(relaxation=False)

    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        if np.shape(y) != (sample.n_samples,):
            raise DataError("labels of another shape")
        return EquivalenceMatrix.from_labels(y)


class LazyDecoder(Segments):
    def decoder(self, sample: Sample) -> Oracle:
        return Lazy()

    def training_sample(self, sample: Sample, truth: EquivalenceMatrix) -> LabelledSample:
        return SearchedSample(sample.X, truth, SequentialOracle())


@dataclass(frozen=True)
class Coarse(Oracle):
    """Segments of even length only."""

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        odd = tuple(range(1, objective.n_samples, 2))
        return SequentialOracle().maximize(objective, replace(constraint, forbidden=odd))


class CoarseDecoder(Segments):
    def decoder(self, sample: Sample) -> Oracle:
        return Coarse()


class LazyLearner(Segments):
    def training_sample(self, sample: Sample, truth: EquivalenceMatrix) -> LabelledSample:
        return SearchedSample(sample.X, truth, Lazy())


class Noting(Segments):
    def training_sample(self, sample: Sample, truth: EquivalenceMatrix) -> LabelledSample:
        X = sample.X
        X += 1.0
        return super().training_sample(sample, truth)


@pytest.mark.parametrize(
    ("problem", "complaint"),
    [
        (Mutable(), "shrinkage is 3.0: None or 0 to 1"),
        (Partitions(), "the decoder and encode speak of different families"),
        (Accepting(), "encode accepted"),
        (
            Crashing(),
            "encode raised IndexError for a table of labels of 30 samples: raise Data",
        ),
        (Forgetting(), r"encode\(decode\(M\)\) is another partition"),
        (Listing(), "return one integer for each of 30 samples"),
        (Counting(), "encode made 31 of 30 samples, sample 0"),
        (Indulgent(), "check_training accepted samples of one single cluster"),
        (Contrary(), "larger must be better"),
        (Unitless(), "unit is 0.0"),
        (Unweighed(), "with that sample twice"),
        (WrongGram(), r"gram of the truth of sample 0 is not X\^T M X"),
        (LazyDecoder(), r"decoder, T=.* but .* has .* see structsvm\.testing\.check_oracle"),
        (CoarseDecoder(), "refused .* decoder and encode speak of different families"),
        (LazyLearner(), "exact with slack inf: return 0, or another quality"),
        (Anything(), "contiguous is True, but encode accepts clusters that are no segments"),
        (Noting(), "training_sample modified (X|its input)"),
        (Segments(lambda: None), "cannot be pickled"),
        (Segments(object()), "a pickled copy is not equal"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Segments) else "",
)
def test_a_broken_partition_problem_is_named(problem: Segments, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        check_problem(problem, *segments())


def test_a_setting_may_be_an_array() -> None:
    check_problem(Segments(np.arange(3)), *segments())


def test_three_definitions_are_enough() -> None:
    check_problem(Segments(), *segments())


@dataclass(frozen=True)
class Grades(Classes):
    """Separates by the distance of grades, and declares a multiple of it."""

    factor: float = 1.0

    def loss(self, y, y_hat):
        return self.factor * abs(y - y_hat)

    def separate(self, w, x, y):
        distances = np.abs(np.arange(3) - y)
        best = int(np.argmax(distances + w.reshape(3, 2) @ x))
        return Separation(best, 0.0, Quality.EXACT)

    def predict(self, w, x):
        return int(np.argmax(w.reshape(3, 2) @ x))


@pytest.mark.parametrize("factor", [0.999, 1.00001])
def test_a_loss_that_is_almost_the_one_maximised_is_named(factor) -> None:
    check_problem(Grades(), XS, YS)
    with pytest.raises(PluginError, match=r"separate (found|reached)"):
        check_problem(Grades(factor=factor), XS, YS)
