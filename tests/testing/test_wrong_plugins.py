"""A plugin that is wrong, or defines what nothing calls, is refused by name, never certified."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cases import cases
from wrong_plugins import Classes, Segments, mutant, recordings

from structsvm import ChangePoint, MetricLearner, Status, partitions
from structsvm.errors import (
    DataError,
    LearningError,
    MasterError,
    OracleWarning,
    PluginError,
    SettingsError,
)
from structsvm.interop import risk_of
from structsvm.oracles import SequentialOracle, all_segmentations
from structsvm.partitions import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    EquivalenceMatrix,
    MetricObjective,
    Oracle,
    PartitionProblem,
    Quality,
    SearchedInstance,
    TraceObjective,
    Traits,
)
from structsvm.problem import (
    PSD,
    Custom,
    Nonnegative,
    Problem,
    RegularizedRisk,
    Separation,
    SquaredNorm,
)
from structsvm.problems import Clustering, NormalizedCut, SegmentProblem
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.first_order import BlockFrankWolfe
from structsvm.testing import check_problem

# ---- problems that are no partitions


def risk(broken: str = "", **changed: Any) -> RegularizedRisk:
    rng = np.random.default_rng(0)
    ys = [np.array(k % 3) for k in range(6)]
    given = {
        "problem": Classes(broken),
        "xs": [np.array([y == 0, y == 1]) * 2.0 + rng.standard_normal(2) for y in ys],
        "ys": ys,
        "regularizer": SquaredNorm(0.2),
        "sample_weight": np.ones(6),
        "null": np.zeros(6),
    }
    return RegularizedRisk(**(given | changed))


SOLVERS = [
    CuttingPlane(Stopping(1e-3, max_iter=100)),
    CuttingPlane(Stopping(1e-3, max_iter=100), slack="one"),
    BlockFrankWolfe(Stopping(1e-2, max_iter=100)),
]


@pytest.mark.parametrize("solver", SOLVERS, ids=["n", "one", "frank-wolfe"])
@cases(
    ("truth costs", r"Classes\.loss\(y, y\) is 0.1 .* the truth must not cost anything"),
    ("writes x", "Classes changed the instance that it was given.*copy before writing"),
    ("writes y", "Classes changed the labelling that it was given.*copy before writing"),
    ("negative", r"Classes\.loss returned -1.0: a loss must not be negative"),
    ("subtracted", r"separate found a labelling with the loss 0 where another.* worth 1 more"),
    ("bare", r"Classes\.separate returned \d \(an int\): return Separation\(y, slack, quality"),
    ("table", r"joint_feature returned an array of float64 of shape \(3, 2\).* dimension 6"),
    ("list", r"joint_feature returned .*list.*: return one vector of floats of shape \(6,\)"),
    ("integers", r"joint_feature returned an array of int64 .*: return one vector of floats"),
    ("text", r"Classes\.loss returned 'much' \(a str\): return a float"),
    ("quality", "and the quality 'exact': return Separation"),
    ("slack", "returned the slack -1.0"),
    ("no slack", "returned the slack None"),
    ("vector of slacks", "returned the slack array"),
    ("another feature", r"separate returned the feature .* where joint_feature gives its"),
    (
        "another size",
        r"returned the feature an array of float64 of shape \(1,\) .* dimension 6",
    ),
    ("buffer", "joint_feature writes to an array that it returned before"),
)
def test_a_broken_problem_is_named_before_the_first_round_ends(
    solver: Any, broken: str, complaint: str
) -> None:
    with pytest.raises(PluginError, match=f"instance 0: .*{complaint}"):
        solver.solve(risk(broken))


@pytest.mark.parametrize("solver", SOLVERS, ids=["n", "one", "frank-wolfe"])
def test_a_feature_returned_by_separate_is_not_computed_again(solver: Any) -> None:
    given, asked = (solver.solve(risk(broken)) for broken in ("same feature", ""))
    np.testing.assert_array_equal(given.w, asked.w)
    assert (given.lower, given.upper) == (asked.lower, asked.upper)


class Waves(Classes):
    """Joint features that are nowhere zero, of single precision."""

    dtype = np.float32

    def joint_feature(self, x: Any, y: Any) -> Any:
        waves = np.sin(np.outer([1.0, 3.0, 5.0], x[:2]).ravel() * (1.0 + float(y)))
        return waves.astype(np.float32).astype(self.dtype)


@pytest.mark.parametrize("solver", SOLVERS, ids=["n", "one", "frank-wolfe"])
def test_features_of_single_precision_are_summed_in_double(solver: Any) -> None:
    """Their differences would be rounded to seven digits, and the bounds allow for fifteen."""
    single, double = (
        solver.solve(risk(problem=problem())) for problem in (Waves, mutant(Waves, dtype=float))
    )
    np.testing.assert_array_equal(single.w, double.w)
    assert (single.lower, single.upper) == (double.lower, double.upper)
    assert single.status is double.status


@pytest.mark.parametrize("omega", [1.0, 0.0])
def test_an_infinite_slack_is_named_unless_its_sample_does_not_count(omega: float) -> None:
    """It was said that nothing is to learn, and times a weight of 0 it made every bound NaN."""

    class FirstUnknown(Classes):
        def separate(self, w: Any, x: Any, y: Any) -> Separation:
            unknown = np.array_equal(x, given.xs[0])
            return replace(super().separate(w, x, y), slack=np.inf if unknown else 0.0)

    given = risk(problem=FirstUnknown(), sample_weight=[omega, 1, 1, 1, 1, 1])
    if omega:
        with pytest.raises(LearningError, match="the slack of an answer is infinite"):
            SOLVERS[0].solve(given)
    else:
        assert SOLVERS[0].solve(given).status.name == "OPTIMAL"


@pytest.mark.parametrize("scale", [1e4, 1e10])
def test_an_exact_oracle_is_exact_at_any_scale_of_the_losses(scale: float) -> None:
    given = risk(sample_weight=np.full(6, scale), regularizer=SquaredNorm(0.2 * scale))
    for seed in range(2):
        solver = BlockFrankWolfe(Stopping(1e-4, max_iter=200), random_state=seed)
        assert "heuristic" not in solver.solve(given).bound


@pytest.mark.parametrize("solver", SOLVERS, ids=["n", "one", "frank-wolfe"])
def test_the_right_problem_is_solved_and_asked_no_more_than_before(solver: Any) -> None:
    asked: list[int] = []

    class Counting(Classes):
        def separate(self, w: Any, x: Any, y: Any) -> Separation:
            asked.append(1)
            return super().separate(w, x, y)

    solution = solver.solve(risk(problem=Counting()))
    assert solution.status.converged
    assert len(asked) == solution.oracle_calls


@cases(
    ({"xs": [], "ys": []}, DataError, "ys has 0 labellings for 0 instances"),
    ({"ys": [0, 1]}, DataError, "ys has 2 labellings for 6 instances"),
    ({"sample_weight": np.ones(9)}, DataError, "sample_weight is an array .*give 6 finite"),
    ({"sample_weight": [1, 1, -1, 1, 1, 1]}, DataError, "sample_weight is .*give 6 finite"),
    ({"sample_weight": [1, 1, 1, np.nan, 1, 1]}, DataError, "sample_weight is .*6 finite"),
    ({"sample_weight": np.zeros(6)}, DataError, "sample_weight is .*but not for all"),
    ({"null": None}, SettingsError, r"null is .*None.* such as np\.zeros\(6\)"),
    ({"null": np.zeros(5)}, SettingsError, r"null is an array of float64 of shape \(5,\)"),
    ({"start": np.full(6, np.inf)}, SettingsError, "start is .* 6 finite numbers"),
)
def test_a_risk_that_makes_no_sense_is_refused_by_argument(
    changed: dict[str, Any], error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        risk(**changed)


@pytest.mark.parametrize("name", ["null", "start"])
@cases((Nonnegative(6), [1, -1, 0, 0, 0, 0]), (PSD(3), [1, 5, 0, 1, 0, 1]))
def test_a_weight_outside_of_its_cone_is_refused(name: str, space: Any, outside: Any) -> None:
    class Coned(Classes):
        def weight_space(self) -> Any:
            return space

    with pytest.raises(SettingsError, match=f"{name} is .* away from the cone .* space.project"):
        risk(problem=Coned(), **{name: outside})
    inside = space.project(np.asarray(outside, dtype=float))
    assert np.array_equal(getattr(risk(problem=Coned(), **{name: inside}), name), inside)


def test_constraints_that_are_no_list_are_named() -> None:
    with pytest.raises(SettingsError, match=r"constraints returned .*: return a list"):
        SOLVERS[0].solve(risk(constraints=lambda w: w[0] >= 0))


def test_constraints_with_an_open_parameter_are_named() -> None:
    open_ = lambda w: [cp.sum(w) <= cp.Parameter(name="most")]  # noqa: E731
    with pytest.raises(SettingsError, match="constraints use most: parameters need"):
        SOLVERS[0].solve(risk(constraints=open_))


def test_a_regularizer_that_may_be_negative_is_named() -> None:
    with pytest.raises((MasterError, SettingsError), match="the regularizer is not nonnegative"):
        SOLVERS[0].solve(risk(regularizer=Custom(cp.sum)))


# ---- oracles, labels and samples of partition problems


def test_fit_names_a_class_in_place_of_a_problem() -> None:
    with pytest.raises(
        SettingsError, match=r"problem must be a .*: make an instance, Segments\(\)"
    ):
        MetricLearner(Segments).fit(*recordings())


class CountingOracle(SequentialOracle):
    """Writes down how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "asked", 0)

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        object.__setattr__(self, "asked", self.asked + 1)
        return SequentialOracle().maximize(objective, constraint)


def test_an_oracle_that_keeps_state_is_named() -> None:
    changed = r"instance 0: CountingOracle\.asked was changed .* keep settings only"
    with pytest.raises(PluginError, match=changed):
        MetricLearner(mutant(Segments, decoder=lambda *_: CountingOracle())()).fit(*recordings())


class OneAnswer(Oracle):
    """Every other sample, whatever is asked: never the truth, and worse in a good metric."""

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        y = EquivalenceMatrix.from_labels(np.arange(objective.n_samples) % 2)
        value = objective.value(y)
        return Argmax(y, value, value, Quality.EXACT)


def test_an_answer_worse_than_the_truth_is_none_of_an_exact_oracle() -> None:
    problem = mutant(Segments, decoder=lambda *_: OneAnswer())()
    with pytest.warns(OracleWarning, match="^OneAnswer found, of instance 0: .* than the true one"):
        learner = MetricLearner(problem, metric="diagonal").fit(*recordings())
    assert learner.solution_.status is Status.HEURISTIC
    assert learner.solution_.certified_upper == np.inf
    assert "found by a heuristic oracle" in learner.solution_.bound


# ---- rules for segments


JUMP = np.repeat([0, 3], [14, 16])[:, None]
XS = [np.random.default_rng(i).normal(size=(30, 2)) + JUMP for i in (0, 1)]
YS = [[14, 30]] * 2


def written(start: Any, end: int) -> Any:
    start -= end
    return start <= -4


@dataclass(frozen=True)
class Ruled(SegmentProblem):
    rule: str

    def allows(self, start: Any, end: Any, n_samples: int) -> Any:
        return RULES[self.rule](start, end)


WRONG = {
    "one too few": (lambda s, e: (e - s >= 4)[:-1], "Ruled.allows returned an array of bool"),
    "too many": (lambda s, e: np.ones(99, dtype=bool), "Ruled.allows returned an array of bool"),
    "two dimensions": (lambda s, e: (e - s >= 4)[:, None], "Ruled.allows returned an array of boo"),
    "nothing": (lambda s, e: None, "Ruled.allows returned None"),
    "numbers": (lambda s, e: e - s, "Ruled.allows returned an array of int64"),
    "and": (
        lambda s, e: s % 2 == 0 and e - s >= 4,
        r"Ruled.allows raised ValueError.* with & and \|, not",
    ),
    "if": (
        lambda s, e: True if e - s >= 4 else e < 9,
        "Ruled.allows raised ValueError.* not with if",
    ),
    "one for all": (
        lambda s, e: bool(e - np.min(s) >= 4),
        r"Ruled\(rule='one for all'\) allows .* depending on the other starts",
    ),
    "written to": (written, "Ruled.allows modified its input .*copy before writing"),
}

RULES: dict[str, Callable[[Any, int], Any]] = {
    **{name: rule for name, (rule, _) in WRONG.items()},
    "the end alone": lambda s, e: e % 2 == 0,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_broken_rule_of_segments_is_named_by_fit(name):
    with pytest.raises(PluginError, match=WRONG[name][1]):
        MetricLearner(Ruled(name)).fit(XS, YS)


# ---- definitions are called, or refused


def zero_one(truth, guess):
    return float(truth != guess)


def short_recordings(n=4, T=9):
    rng = np.random.default_rng(0)
    ys = [np.repeat([0, 1], [4 + i % 2, T - 4 - i % 2]) for i in range(n)]
    return [rng.normal(size=(T, 2)) + 3.0 * y[:, None] for y in ys], ys


def by_tens(start, end, n_samples):
    return (end % 10 == 0) | (end == n_samples)


class Free_(SegmentProblem):
    def allows(self, start, end, n_samples):
        return end - start >= 1


# ---- a loss that learning does not maximise with


OTHER_LOSS = property(lambda self: zero_one)


@cases(
    (Free_, "loss", OTHER_LOSS, "zero_one, and SearchedInstance does not maximise with it"),
    (Clustering, "loss", OTHER_LOSS, "zero_one, and CompressedInstance"),
)
def test_fit_refuses_what_loss_augmented_inference_does_not_know(base, name, other, named):
    problem = mutant(base, **{name: other})()
    with pytest.raises(PluginError, match=rf"\d\.{name} is {named}"):
        MetricLearner(problem, metric="diagonal").fit(*short_recordings())


class ZeroOneInstance(SearchedInstance):
    """All segmentations of a few samples, looked at one by one."""

    losses = (zero_one,)

    def separate(self, scoring, given_k):
        def worth(M):
            score = M.gram_diagonal(scoring.in_metric(self.X)).sum() - scoring.price * M.n_clusters
            return score + scoring.kappa * zero_one(self.truth, M)

        rows = all_segmentations(self.truth.n_samples)
        best = max(map(EquivalenceMatrix.from_labels, rows), key=worth)
        return Separation(best, 0.0, Quality.EXACT)


@dataclass(frozen=True)
class ZeroOne(Free_):
    loss = OTHER_LOSS

    def training_instance(self, instance, truth):
        return ZeroOneInstance(instance.data, truth, SequentialOracle())


def test_another_loss_is_learned_by_a_training_instance_that_declares_it():
    Xs, ys = short_recordings()
    learner = MetricLearner(ZeroOne(), metric="diagonal").fit(Xs, ys)
    risk = risk_of(learner, Xs, ys)
    w = learner.solution_.w
    objective = risk.penalty(w)
    for x, y, omega in zip(risk.xs, risk.ys, risk.sample_weight, strict=True):
        family = [EquivalenceMatrix.from_labels(row) for row in all_segmentations(y.n_samples)]
        truth = risk.problem.joint_feature(x, y)
        worth = [
            risk.problem.loss(y, M) + (risk.problem.joint_feature(x, M) - truth) @ w for M in family
        ]
        objective += omega * max(worth)
    assert learner.solution_.certified_upper == pytest.approx(objective, rel=1e-9)
    assert learner.solution_.lower <= objective


# ---- overrides that are called


@dataclass(frozen=True)
class Tens(ChangePoint):
    allows = staticmethod(by_tens)


@dataclass(frozen=True)
class TensOracle(SequentialOracle):
    def maximize(self, objective, constraint=UNCONSTRAINED):
        never = {t for t in range(1, objective.n_samples) if t % 10} - set(constraint.forced)
        forbidden = tuple({*constraint.forbidden, *never})
        return super().maximize(objective, replace(constraint, forbidden=forbidden))


@dataclass(frozen=True)
class ByOracle(PartitionProblem):
    traits = Traits(contiguous=True)

    def decoder(self, instance):
        return TensOracle()

    def encode(self, y, instance):
        return ChangePoint().encode(y, instance)


@pytest.fixture(scope="module")
def long_recordings():
    rng = np.random.default_rng(0)
    Xs = []
    y = np.repeat(np.arange(4), 30)
    for _ in range(4):
        X = rng.normal(size=(120, 3))
        X[:, 0] += 4 * rng.normal(size=4)[y]
        Xs.append(X)
    return Xs, [y] * 4


@pytest.mark.parametrize("problem", [Tens(), ByOracle()], ids=["allows", "oracle"])
def test_a_rule_or_a_search_of_a_subclass_is_kept_in_learning_and_prediction(
    problem, long_recordings
):
    Xs, ys = long_recordings
    learner = MetricLearner(problem, metric="diagonal").fit(Xs, ys)
    for found in (learner.predict_breakpoints(Xs), learner.predict_breakpoints(Xs, 4)):
        assert all(t % 10 == 0 for t in chain.from_iterable(found))
    if isinstance(problem, Tens):  # encode of the other accepts more than its oracle searches
        check_problem(problem, Xs[:1], ys[:1])


def test_a_subclass_that_searches_anew_is_asked_for_every_price():
    oracle = TensOracle()
    question = TraceObjective(np.eye(30), shift=-0.5)
    assert oracle.price_path(np.eye(30), np.array([0.5]))[0] == oracle.ask(question).y


# ---- overrides that nothing would call


def same(*_args, **_kwargs):
    raise AssertionError("called")


@cases(
    (SegmentProblem, "partition", "calibrate"),
    (Clustering, "decoder", "training_instance"),
    (Clustering, "partition", "calibrate"),
    (NormalizedCut, "partition", "calibrate"),
    (NormalizedCut, "decoder", "partition"),
    (NormalizedCut, "training_instance", "objective"),
    (NormalizedCut, "loss", "objective"),
    (MetricObjective, "separate", "separate_each"),
    (MetricObjective, "loss", "separate_each"),
    (MetricObjective, "joint_feature", "separate_each"),
)
def test_a_definition_that_would_not_be_called_is_refused(base, name, partner):
    ours = {name: same}
    said = f"Mine.{name} would not be called: .*Define {partner} as well"
    with pytest.raises(PluginError, match=said):
        type(base)("Mine", (base,), ours)
    whole = (
        {**ours, partner: same, "calibrate": same} if name == "decoder" else {**ours, partner: same}
    )
    type(base)("Mine", (base,), whole)


@cases(
    (Clustering, "training_sample", "training_instance"),
    (SegmentProblem, "training_sample", "training_instance"),
    (Problem, "separate_all", "separate_each"),
)
def test_a_hook_under_its_older_name_is_refused(base, name, now):
    with pytest.raises(PluginError, match=f"Mine.{name} would not be called: it is {now} now"):
        type(base)("Mine", (base,), {name: same})


@pytest.mark.parametrize("name", ["Sample", "LabelledSample", "SearchedSample"])
def test_older_names_for_plugins_warn_with_the_present_name(name):
    now = name.replace("Sample", "Instance")
    with pytest.warns(FutureWarning, match=f"structsvm.partitions.{name} is called {now} now"):
        assert getattr(partitions, name) is getattr(partitions, now)
    assert name not in dir(partitions)


@cases(
    (SequentialOracle, "ask"),
    (SearchedInstance, "read"),
    (MetricObjective, "join"),
)
def test_a_definition_that_is_no_hook_cannot_be_replaced(base, name):
    with pytest.raises(PluginError, match=f"Mine.{name} would not always be called"):
        type(base)("Mine", (base,), {name: same})


@pytest.mark.parametrize("kappa", [np.nan, -1.0, 0.0, 5.0, np.inf, "1"])
def test_a_weight_of_the_loss_that_cannot_be_is_refused(kappa):
    with pytest.raises(SettingsError, match="kappa must be from"):
        Traits(kappa=kappa)


@pytest.mark.parametrize("setting", [{"shrinkage": 3.0}, {"standardize": "rows"}], ids=str)
def test_defaults_of_a_learner_that_cannot_be_are_refused(setting):
    with pytest.raises(SettingsError, match="must be"):
        Traits(**setting)
