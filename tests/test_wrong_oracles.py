"""The kit looks at the samples it is given: families with a scale, and what they lack, included."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from wrong_plugins import MinDwellOracle, Segments, recordings

from structsvm import MetricLearner, Status
from structsvm.data.sample import Sample
from structsvm.errors import DataError, OracleError, OracleWarning, PluginError, SettingsError
from structsvm.oracles.clustering import ClusteringOracle
from structsvm.oracles.exhaustive import all_segmentations
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, Quality, Region
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.partitions.traits import Traits
from structsvm.problem import Problem, Separation
from structsvm.solvers.certificate import Certificate
from structsvm.solvers.planes import Planes
from structsvm.testing import check_oracle, check_problem
from structsvm.weights import Free


@dataclass(frozen=True)
class ExactDwell(Oracle):
    """Segments of a minimum length, at any K, exactly; ``strict`` has none of fewer samples."""

    min_length: int
    strict: bool = False

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        T, K = objective.n_samples, constraint.n_clusters
        constraint.validate(T)
        least = self.min_length if self.strict else min(self.min_length, T)
        allowed, forced = constraint.boundary_masks(T)
        sums = np.zeros((T + 1, T + 1))
        sums[1:, 1:] = np.cumsum(np.cumsum(objective.dense(), axis=0), axis=1)
        layers = K or T
        best = np.full((layers + 1, T + 1), -np.inf)
        start = np.zeros((layers + 1, T + 1), dtype=int)
        best[0, 0] = 0.0
        for t in np.flatnonzero(allowed[1:]) + 1:
            s = np.arange(np.flatnonzero(forced[:t]).max(initial=0), t - least + 1)
            if s.size:
                total = sums[t, t] - sums[s, t] - sums[t, s] + sums[s, s]
                values = best[:-1, s] + total / (t - s)
                best[1:, t], start[1:, t] = values.max(axis=1), s[values.argmax(axis=1)]
        k = K or int(best[:, T].argmax())
        if not np.isfinite(best[k, T]):
            raise OracleError(f"no segmentation of {T} samples satisfies {constraint}")
        ends = [T]
        for layer in range(k, 1, -1):
            ends.insert(0, int(start[layer, ends[0]]))
        y = EquivalenceMatrix.from_breakpoints(ends)
        value = objective.value(y)
        return Argmax(y, value, value, Quality.EXACT)


@dataclass(frozen=True)
class Lazy(ExactDwell):
    """The best of the truth, one segment and an even split."""

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        T, K = objective.n_samples, constraint.n_clusters
        tried = [np.zeros(T, dtype=int)]
        n = K or max(1, T // self.min_length)
        tried.append(np.minimum(np.arange(T) // max(1, T // n), n - 1))
        found = [EquivalenceMatrix.from_labels(labels) for labels in tried]
        if objective.truth is not None:
            found.append(objective.truth)
        kept = [M for M in found if constraint.violation(M) is None]
        if not kept:
            return ExactDwell(self.min_length).maximize(objective, constraint)
        y = max(kept, key=objective.value)
        value = objective.value(y)
        return Argmax(y, value, value, Quality.EXACT)


@dataclass(frozen=True)
class MinDwell(Segments):
    """Segments of a minimum length; shorter recordings are one segment, or none if strict."""

    min_length: int
    oracle: Any = None
    strict: bool = False

    def decoder(self, sample: Sample) -> Oracle:
        return self.oracle or ExactDwell(self.min_length, self.strict)

    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        M = super().encode(y, sample)
        least = self.min_length if self.strict else min(self.min_length, sample.n_samples)
        if M.sizes.min() < least:
            raise DataError(f"a segment of {M.sizes.min()} samples is shorter than {least}")
        return M


LONG = recordings(2, (14, 10, 16))


@pytest.mark.parametrize("m", [2, 5, 8])
@pytest.mark.parametrize("strict", [False, True])
def test_an_honest_family_with_a_scale_passes(m: int, strict: bool) -> None:
    report = check_problem(MinDwell(m, strict=strict), *LONG)
    assert min(report.given) > 5
    assert ("nothing was compared" in str(report)) == (m >= 5)


@pytest.mark.parametrize("m", [3, 5, 8])
@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (Lazy, "declared exact with .*, but .*, which encode accepts, has"),
        (lambda m: ExactDwell(m - 1), "is no partition of this family|different families"),
        (
            lambda m: ExactDwell(m + 1),
            "refused|which encode accepts, has|but .* has",
        ),
    ],
    ids=["lazy", "too short", "too long"],
)
def test_a_wrong_oracle_of_a_family_with_a_scale_is_named(
    m: int, wrong: Any, complaint: str
) -> None:
    with pytest.raises(PluginError, match=complaint):
        check_problem(MinDwell(m, wrong(m)), *LONG)


@dataclass(frozen=True)
class OnTheHour(Oracle):
    period: int

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        T = objective.n_samples
        off = set(range(1, T)) - set(range(0, T, self.period))
        rest = replace(constraint, forbidden=tuple(sorted(off.union(constraint.forbidden))))
        return SequentialOracle().maximize(objective, rest)


@dataclass(frozen=True)
class AnyTime(Oracle):
    """Forgets the hour as soon as there is more than one."""

    period: int

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        if objective.n_samples <= self.period:
            return OnTheHour(self.period).maximize(objective, constraint)
        return SequentialOracle().maximize(objective, constraint)


@dataclass(frozen=True)
class Hourly(Segments):
    oracle: Oracle

    def decoder(self, sample: Sample) -> Oracle:
        return self.oracle

    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        M = super().encode(y, sample)
        if (M.boundaries[1:-1] % 12).any():
            raise DataError("a change off the hour")
        return M


def test_an_oracle_that_ignores_the_hour_is_named() -> None:
    hours = recordings(2, (24, 12, 36, 24))
    report = check_problem(Hourly(OnTheHour(12)), *hours)
    assert report.compared_nothing
    with pytest.raises(PluginError, match="is no partition of this family"):
        check_problem(Hourly(AnyTime(12)), *hours)


@dataclass(frozen=True)
class Forgetful(Oracle):
    """Exact, but for one kind of constraint that it drops."""

    dropped: str
    takes = frozenset({"n_clusters", "boundaries", "regions"})

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        kept = replace(constraint, **{self.dropped: getattr(UNCONSTRAINED, self.dropped)})
        return SequentialOracle().maximize(objective, kept)


@dataclass(frozen=True)
class Forgetting(Segments):
    dropped: str

    def decoder(self, sample: Sample) -> Oracle:
        return Forgetful(self.dropped)


@pytest.mark.parametrize("dropped", ["n_clusters", "forced", "forbidden", "regions"])
def test_a_constraint_that_is_dropped_is_named_by_both_kits(dropped: str) -> None:
    with pytest.raises(PluginError):
        check_problem(Forgetting(dropped), *recordings())
    with pytest.raises(PluginError, match=r"obey the constraint|accepted: raise OracleError"):
        check_oracle(Forgetful(dropped), contiguous=True, processes=False)


@dataclass(frozen=True)
class Unlinked(Oracle):
    takes = frozenset({"n_clusters", "links"})

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        return ClusteringOracle(relaxation=False).maximize(
            objective, Constraint(constraint.n_clusters)
        )


def test_links_are_asked_for_where_they_are_taken() -> None:
    for oracle in (ClusteringOracle(relaxation=False), ClusteringOracle()):
        check_oracle(oracle, processes=False, n_instances=40)
    with pytest.raises(PluginError, match="obey the constraint"):
        check_oracle(Unlinked(), processes=False)


def strict_dwell(T: int) -> list[Any]:
    sizes = [EquivalenceMatrix.from_labels(row).sizes for row in all_segmentations(T)]
    return [row for row, n in zip(all_segmentations(T), sizes, strict=True) if n.min() >= 2]


def test_a_family_that_lacks_some_sizes_and_numbers_is_checked() -> None:
    check_oracle(ExactDwell(2, strict=True), contiguous=True, family=strict_dwell, processes=False)


@dataclass(frozen=True)
class Obliging(ExactDwell):
    """Answers something where there is nothing to answer."""

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        try:
            return super().maximize(objective, constraint)
        except OracleError:
            return SequentialOracle().maximize(objective, constraint)


def test_what_no_partition_answers_has_to_be_refused() -> None:
    with pytest.raises(PluginError, match=r"no partition of the family answers this.*OracleError"):
        check_oracle(Obliging(2, True), contiguous=True, family=strict_dwell, processes=False)


def test_a_family_of_single_partitions_is_refused() -> None:
    @dataclass(frozen=True)
    class Given(Segments):
        def decoder(self, sample: Sample) -> Oracle:
            return OnTheHour(12)

        def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
            M = super().encode(y, sample)
            if sample.n_samples > 1 and M.n_clusters != -(-sample.n_samples // 12):
                raise DataError("not every hour is a segment")
            return M

    with pytest.raises(PluginError):
        check_problem(Given(), *recordings(2, (12, 12, 12)))


@dataclass(frozen=True)
class Answering(Oracle):
    answer: Any

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        return self.answer(SequentialOracle().maximize(objective, constraint))


@dataclass(frozen=True)
class Answered(Segments):
    oracle: Oracle

    def decoder(self, sample: Sample) -> Oracle:
        return self.oracle


def bare(answer: Argmax) -> Any:
    return answer.y


def labels(answer: Argmax) -> Any:
    return replace(answer, y=answer.y.labels)


def text(answer: Argmax) -> Any:
    return replace(answer, quality="exact")


def failing(answer: Argmax) -> Any:
    raise ZeroDivisionError("no luck")


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (bare, "Argmax"),
        (labels, r"EquivalenceMatrix\.from_labels"),
        (text, r"quality (is )?'exact': return Quality\.EXACT"),
        (failing, "ZeroDivisionError: no luck"),
    ],
)
def test_what_is_no_answer_is_named_by_both_kits(answer: Any, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        check_oracle(Answering(answer), contiguous=True, processes=False)
    with pytest.raises(PluginError, match=complaint):
        check_problem(Answered(Answering(answer)), *recordings())


def test_an_oracle_that_cannot_be_pickled_is_named() -> None:
    unpicklable = Answering(lambda answer: answer)
    with pytest.raises(PluginError, match="Answering cannot be pickled"):
        check_oracle(unpicklable, contiguous=True, processes=False)


def test_a_kind_of_constraint_that_does_not_exist_is_named() -> None:
    class Odd(ExactDwell):
        takes = frozenset({"boundary"})

    with pytest.raises(PluginError, match=r"Odd\.takes holds 'boundary': it may hold n_clusters"):
        check_oracle(Odd(2), contiguous=True)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (MinDwell, r"MinDwell is a class: make an instance, MinDwell\(\)"),
        (MinDwellOracle(2), "derive from Problem or from PartitionProblem"),
    ],
)
def test_what_is_no_problem_is_named(wrong: Any, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        check_problem(wrong, *recordings())


def test_fit_names_a_class_in_place_of_a_problem() -> None:
    with pytest.raises(
        SettingsError, match=r"problem must be a .*: make an instance, MinDwell\(\)"
    ):
        MetricLearner(MinDwell).fit(*recordings())


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


BUFFER = np.zeros(3)


@dataclass(frozen=True)
class Buffered(Problem):
    """Writes every joint feature into the same array."""

    buffered: bool = True

    def weight_space(self) -> Free:
        return Free(3)

    def joint_feature(self, x: Any, y: Any) -> Any:
        phi = BUFFER if self.buffered else np.zeros(3)
        phi[:] = 0.0
        phi[y] = x
        return phi

    def loss(self, y: Any, y_hat: Any) -> float:
        return float(y != y_hat)

    def separate(self, w: Any, x: Any, y: Any) -> Separation:
        return Separation(
            int(np.argmax([w[k] * x + (k != y) for k in range(3)])), 0.0, Quality.EXACT
        )

    def predict(self, w: Any, x: Any) -> int:
        return int(np.argmax(w * x))


def test_a_shared_buffer_is_named() -> None:
    check_problem(Buffered(False), [1.0, 2.0], [0, 1])
    with pytest.raises(PluginError, match="joint_feature writes to an array that it returned"):
        check_problem(Buffered(), [1.0, 2.0], [0, 1])


DICE = np.random.default_rng(0)


class Random(Buffered):
    def separate(self, w: Any, x: Any, y: Any) -> Separation:
        return Separation(int(DICE.integers(3)), 0.0, Quality.EXACT)


def test_a_random_answer_is_called_random() -> None:
    with pytest.raises(PluginError, match="another labelling on a second call"):
        check_problem(Random(False), [1.0, 2.0, 1.0, 1.0], [0, 1, 2, 2])


def test_the_messages_name_the_problem_of_the_author() -> None:
    @dataclass(frozen=True)
    class Half(Segments):
        def training_sample(self, sample: Sample, truth: EquivalenceMatrix) -> Any:
            return replace(super().training_sample(sample, truth), oracle=Answering(text))

    with pytest.raises(PluginError) as refusal:
        check_problem(Half(), *recordings())
    assert "MetricObjective" not in str(refusal.value)
    assert "Half" in str(refusal.value)


def test_a_missing_method_is_shown_with_its_default_by_name() -> None:
    with pytest.raises(PluginError, match="constraint: Constraint = UNCONSTRAINED") as refusal:
        type("Empty", (Oracle,), {})()
    assert str(Region(0, 1, 0)) not in str(refusal.value)


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


class WritesLabels(Segments):
    def encode(self, y: Any, sample: Any) -> Any:
        M = super().encode(y, sample)
        y[-1] = 7
        return M


def test_a_problem_that_writes_to_the_labels_is_named_by_the_check() -> None:
    with pytest.raises(PluginError, match="encode modified its input, of sample 0: copy before"):
        check_problem(WritesLabels(), *recordings())


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
    with pytest.raises(PluginError, match=r"modified its input .*, CountingOracle\.asked"):
        check_problem(Counts(), *recordings())


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
