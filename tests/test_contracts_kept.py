"""Definitions of a plugin are called, or refused: none is declared and silently ignored."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest

from structsvm import ChangePoint, MetricLearner
from structsvm.errors import PluginError, SettingsError
from structsvm.oracles import AllowedSegmentsOracle, SequentialOracle, all_segmentations
from structsvm.partitions import (
    UNCONSTRAINED,
    EquivalenceMatrix,
    MetricObjective,
    PartitionProblem,
    Quality,
    SearchedSample,
    TraceObjective,
    Traits,
)
from structsvm.partitions.comparison import Comparison
from structsvm.partitions.labelled import SecondMoment
from structsvm.partitions.learning import Learning
from structsvm.problem import Problem, Separation
from structsvm.problems import Clustering, NormalizedCut, SegmentProblem
from structsvm.problems.normalized_cut import CutLearning
from structsvm.testing import check_problem
from structsvm.weights import Free


def zero_one(truth, guess):
    return float(truth != guess)


def recordings(n=4, T=9):
    rng = np.random.default_rng(0)
    ys = [np.repeat([0, 1], [4 + i % 2, T - 4 - i % 2]) for i in range(n)]
    return [rng.normal(size=(T, 2)) + 3.0 * y[:, None] for y in ys], ys


def by_tens(start, end, n_samples):
    return (end % 10 == 0) | (end == n_samples)


class Free_(SegmentProblem):
    def allows(self, start, end, n_samples):
        return end - start >= 1


# ---- a loss or a feature map that learning does not maximise with


@dataclass(frozen=True)
class OtherLoss(Free_):
    loss = property(lambda self: zero_one)


@dataclass(frozen=True)
class OtherMap(Free_):
    feature_map = SecondMoment()  # another value, whatever it computes


@dataclass(frozen=True)
class OtherLossOfTables(Clustering):
    loss = property(lambda self: zero_one)


class Doubled(MetricObjective):
    def loss(self, y, y_hat):
        return 2.0 * super().loss(y, y_hat)


@dataclass(frozen=True)
class OtherObjective(Free_):
    @property
    def learning(self):
        return LearningDoubled(self)


class LearningDoubled(Learning):
    def objective(self, metric, n_features):
        return Doubled(self.problem, metric, n_features)


@pytest.mark.parametrize(
    ("problem", "named"),
    [
        (OtherLoss(), r"OtherLoss.loss is zero_one, and SearchedSample maximises with partition_"),
        (OtherMap(), r"OtherMap.feature_map is SecondMoment, and SearchedSample"),
        (OtherLossOfTables(), r"OtherLossOfTables.loss is zero_one, and CompressedSample"),
        (OtherObjective(), r"Doubled.loss is its own, and MetricObjective.separate_all maximises"),
    ],
    ids=["loss", "feature-map", "loss-of-tables", "objective"],
)
def test_fit_refuses_what_loss_augmented_inference_does_not_know(problem, named):
    Xs, ys = recordings()
    with pytest.raises(PluginError, match=named):
        MetricLearner(problem, metric="diagonal").fit(Xs, ys)


class ZeroOneSample(SearchedSample):
    """All segmentations of a few samples, looked at one by one."""

    losses = (zero_one,)

    def separate(self, scoring, given_k):
        def worth(M):
            score = M.gram_diagonal(scoring.in_metric(self.X)).sum() - scoring.price * M.n_clusters
            return score + scoring.kappa * zero_one(self.M, M)

        rows = all_segmentations(self.n_samples)
        best = max(map(EquivalenceMatrix.from_labels, rows), key=worth)
        return Separation(best, 0.0, Quality.EXACT)


@dataclass(frozen=True)
class ZeroOne(OtherLoss):
    def training_sample(self, sample, truth):
        return ZeroOneSample(sample.data, truth, SequentialOracle())


def test_another_loss_is_learned_by_a_training_sample_that_declares_it():
    Xs, ys = recordings()
    learner = MetricLearner(ZeroOne(), metric="diagonal").fit(Xs, ys)
    risk, w = learner.risk(Xs, ys), learner.solution_.w
    objective = risk.penalty(w)
    for x, y, omega in zip(risk.xs, risk.ys, risk.sample_weight, strict=True):
        family = [EquivalenceMatrix.from_labels(row) for row in all_segmentations(x.n_samples)]
        truth = risk.problem.joint_feature(x, y)
        worth = [
            risk.problem.loss(y, M) + (risk.problem.joint_feature(x, M) - truth) @ w for M in family
        ]
        objective += omega * max(worth)
    assert learner.certified_upper_ == pytest.approx(objective, rel=1e-9)
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

    def decoder(self, sample):
        return TensOracle()

    def encode(self, y, sample):
        return ChangePoint().encode(y, sample)


@pytest.fixture(scope="module")
def long_recordings():
    rng, Xs, y = np.random.default_rng(0), [], np.repeat(np.arange(4), 30)
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
        assert all(t % 10 == 0 for ends in found for t in ends)
    if isinstance(problem, Tens):  # encode of the other accepts more than its oracle searches
        check_problem(problem, Xs[:1], ys[:1])


def test_a_subclass_that_searches_anew_answers_many_questions_one_by_one():
    oracle, questions = TensOracle(), [TraceObjective(np.eye(30), shift=-0.5)] * 2
    assert SequentialOracle().answers_many
    assert not oracle.answers_many
    assert oracle.ask_all(questions) == [oracle.ask(question) for question in questions]
    assert oracle.price_path(np.eye(30), np.array([0.5]))[0] == oracle.ask(questions[0]).y
    assert type(oracle).maximize_all is not SequentialOracle.maximize_all


def test_a_subclass_may_define_both():
    class Both(TensOracle):
        def maximize_all(self, objectives):
            return [self.maximize(objective) for objective in objectives]

    assert Both().answers_many


@dataclass(frozen=True)
class Seeded(Free_):
    random_state: int = 0


def test_the_seed_of_a_learner_is_that_of_a_problem_with_the_setting():
    Xs, ys = recordings()
    learner = MetricLearner(Seeded(), metric="diagonal", random_state=7).fit(Xs, ys)
    assert learner.problem_.random_state == 7


# ---- overrides that nothing would call


def same(*_args, **_kwargs):
    raise AssertionError("called")


@pytest.mark.parametrize(
    ("base", "name", "partner"),
    [
        (SegmentProblem, "partition", "learning"),
        (Clustering, "decoder", "training_sample"),
        (Clustering, "partition", "learning"),
        (CutLearning, "unit", "units"),
        (NormalizedCut, "training_sample", "learning"),
        (NormalizedCut, "loss", "learning"),
        (NormalizedCut, "feature_map", "learning"),
        (MetricObjective, "separate", "separate_all"),
    ],
)
def test_a_definition_that_nothing_calls_is_refused(base, name, partner):
    ours = {name: property(same) if name in {"loss", "feature_map"} else same}
    theirs = property(same) if partner == "learning" else same
    said = f"Mine.{name} would not be called: .*Define {partner} as well"
    with pytest.raises(PluginError, match=said):
        type(base)("Mine", (base,), ours)
    type(base)("Mine", (base,), {**ours, partner: theirs})


@pytest.mark.parametrize(
    ("base", "name"),
    [
        (ChangePoint, "decoding_objective"),
        (Learning, "untrained"),
        (Comparison, "disagreement"),
        (SequentialOracle, "ask"),
        (AllowedSegmentsOracle, "ask_all"),
    ],
)
def test_what_is_no_hook_is_not_replaced(base, name):
    with pytest.raises(PluginError, match=f"Mine.{name} would not always be called"):
        type(base)("Mine", (base,), {name: same})


@pytest.mark.parametrize(("name", "part"), [("calibrate", "learning"), ("scores", "comparison")])
def test_a_hook_of_a_part_is_not_defined_in_the_problem(name, part):
    said = f"Mine.{name} would not be called: .* the property {part} returns"
    with pytest.raises(PluginError, match=said):
        type(ChangePoint)("Mine", (ChangePoint,), {name: same})


@pytest.mark.parametrize("kappa", [np.nan, -1.0, 0.0, 5.0, np.inf, "1"])
def test_a_weight_of_the_loss_that_cannot_be_is_refused(kappa):
    with pytest.raises(SettingsError, match="kappa must be from"):
        Traits(kappa=kappa)


@pytest.mark.parametrize("setting", [{"shrinkage": 3.0}, {"standardize": "rows"}], ids=str)
def test_defaults_of_a_learner_that_cannot_be_are_refused(setting):
    with pytest.raises(SettingsError, match="must be"):
        Traits(**setting)


# ---- answers that are no labellings


@dataclass(frozen=True)
class Grades(Problem):
    """Grades of a number."""

    beyond: tuple[int, ...] = ()
    """What separate finds although it is no grade."""

    def weight_space(self):
        return Free(5)

    def joint_feature(self, x, y):
        return np.eye(5)[y] * x

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def predict(self, w, x):
        return max((0, 2, 4), key=lambda y: w[y] * x)

    def separate(self, w, x, y):
        grades = (0, 2, 4, *self.beyond)
        worst = max(grades, key=lambda z: (z != y) + w[z] * x)
        return Separation(worst, 0.0, Quality.EXACT)


def test_the_kit_looks_for_answers_that_are_no_labellings():
    listed: Mapping = {"labellings": lambda _x: [0, 2, 4]}
    check_problem(Grades(), [1.0, 2.0], [0, 4], **listed)
    blamed = "the answer of separate, 1 .an int., is none of labellings"
    with pytest.raises(PluginError, match=blamed):
        check_problem(Grades(beyond=(1,)), [1.0, 2.0], [0, 4], **listed)
    said = str(check_problem(Grades(), [1.0, 2.0], [0, 4]))
    assert "not with all labellings: pass labellings=" in said


def test_as_many_breakpoints_as_columns_are_no_transposed_labels():
    Xs, _ = recordings()
    learner = MetricLearner(metric="diagonal").fit(Xs, [[4 + i % 2, 9] for i in range(4)])
    assert learner.metric_.factor.shape[0] == 2
