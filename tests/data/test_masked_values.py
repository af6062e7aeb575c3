"""Missing values that are masked: they add nothing to the distortion, exactly."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from structsvm import (
    ChangePoint,
    Clustering,
    DataError,
    EquivalenceMatrix,
    MetricLearner,
    MetricLearnerCV,
    SettingsError,
    evaluate,
    load,
    save,
)
from structsvm.errors import DataWarning, OracleError, VerdictWarning
from structsvm.features import Lags, MovingStatistics
from structsvm.learner.preparing import prepare
from structsvm.oracles import (
    AllowedSegmentsOracle,
    ExhaustiveOracle,
    SequentialOracle,
    all_segmentations,
)
from structsvm.partitions import Constraint, TraceObjective

MASK = ChangePoint(missing="mask")


def anything(starts, end, n):
    return end > starts


def at_least_two(starts, end, n):
    return end - starts >= 2


def distortion(X, weights, ends):
    """The squared distances to the means, over the values there are, by the definition."""
    total = 0.0
    for start, end in pairwise([0, *ends]):
        for column, weight in zip(X[start:end].T, weights, strict=True):
            values = column[~np.isnan(column)]
            if values.size:
                total += weight * np.sum((values - values.mean()) ** 2)
    return total


def with_gaps(rng, T, P, share=0.3):
    """A recording with single values, blocks, and perhaps a whole column missing."""
    X = rng.standard_normal((T, P)) + rng.choice([0.0, 30.0])
    X[rng.random((T, P)) < share] = np.nan
    if T > 4:
        start = int(rng.integers(0, T - 3))
        X[start : start + 3, int(rng.integers(P))] = np.nan
    if rng.random() < 0.1:
        X[:, 0] = np.nan
    return X


def segmentations(T):
    return [EquivalenceMatrix.from_labels(row) for row in all_segmentations(T)]


def recordings(n=6, seed=0, missing=True):
    """Two features, of which the first changes its mean."""
    rng = np.random.default_rng(seed)
    Xs = []
    ys = []
    for _ in range(n):
        y = np.repeat([0, 1, 0], rng.integers(12, 20, 3))
        X = np.column_stack([3.0 * y, np.zeros(y.size)]) + rng.standard_normal((y.size, 2))
        if missing:
            X[rng.random(X.shape) < 0.15] = np.nan
            X[20:26, 1] = np.nan
        Xs.append(X)
        ys.append(y)
    return Xs, ys


class TestExactness:
    @pytest.mark.parametrize("rule", [anything, at_least_two], ids=["any", "at least two"])
    def test_the_best_segmentation_with_gaps_is_that_of_enumeration(self, rule):
        rng = np.random.default_rng(0)
        for number in range(120):
            T = int(rng.integers(2, 10))
            P = int(rng.integers(1, 4))
            X = with_gaps(rng, T, P)
            weights = rng.uniform(0.2, 2.0, P)
            truth = EquivalenceMatrix.from_labels(np.cumsum(rng.random(T) < 0.3))
            c, price = (1.5, 0.7) if number % 2 else (0.0, 0.4)
            objective = TraceObjective(X * np.sqrt(weights), truth, c, -price, gaps=True)
            for K in (None, min(T // 2, 3) or 1):
                family = [
                    M
                    for M in segmentations(T)
                    if (rule is anything or M.sizes.min() >= 2) and K in (None, M.n_clusters)
                ]
                if not family:
                    continue
                costs = [
                    distortion(X, weights, M.breakpoints)
                    + price * M.n_clusters
                    + c * M.inner(truth)
                    for M in family
                ]
                answer = AllowedSegmentsOracle(rule).ask(objective, Constraint(K))
                at = family.index(answer.y)
                assert costs[at] == pytest.approx(min(costs), rel=1e-9, abs=1e-9)
                assert answer.value == pytest.approx(objective.value(answer.y))
                gaps = np.diff(
                    [objective.value(M) + cost for M, cost in zip(family, costs, strict=True)]
                )
                assert np.abs(gaps).max(initial=0.0) < 1e-9 * (1 + np.nansum(X**2))

    def test_the_distortion_with_gaps_is_the_least_over_all_values_in_them(self):
        rng = np.random.default_rng(1)
        X = with_gaps(rng, 9, 2, 0.4)
        ends = [4, 9]
        weights = np.array([1.0, 2.0])
        filled = X.copy()
        for start, end in pairwise([0, *ends]):
            means = np.nan_to_num(pd.DataFrame(X[start:end]).mean().to_numpy())
            filled[start:end] = np.where(np.isnan(X[start:end]), means, X[start:end])
        least = distortion(filled, weights, ends)
        assert least == pytest.approx(distortion(X, weights, ends))
        for _ in range(20):
            other = np.where(np.isnan(X), filled + rng.standard_normal(X.shape), X)
            assert distortion(other, weights, ends) >= least

    def test_without_gaps_the_masked_oracle_agrees_with_the_usual_one(self):
        Xs, ys = recordings(missing=False)
        masked = MetricLearner(MASK, metric="diagonal").fit(Xs, ys)
        usual = MetricLearner(metric="diagonal").fit(Xs, ys)
        assert np.array_equal(masked.metric_.factor, usual.metric_.factor)
        assert masked.predict_breakpoints(Xs) == usual.predict_breakpoints(Xs)

    def test_the_hinge_loss_with_gaps_is_that_of_enumeration(self):
        rng = np.random.default_rng(4)
        X = with_gaps(rng, 8, 2, 0.25)
        M = EquivalenceMatrix.from_breakpoints([3, 8])
        objective = MASK.objective("diagonal", 2)
        x = MASK.training_instance(MASK.read([X])[0][0], M)
        for w in (np.array([0.3, 1.0, 0.8]), np.array([2.0, 0.0, 0.1])):
            found = objective.separate(w, x, M)

            def violation(other, w=w):
                gain = objective.joint_feature(x, other) - objective.joint_feature(x, M)
                return objective.loss(M, other) + gain @ w

            most = max(violation(other) for other in segmentations(8))
            assert violation(found.y) == pytest.approx(most)


class TestLearning:
    def test_a_metric_with_gaps_learns_predicts_evaluates_and_is_saved(self, tmp_path):
        Xs, ys = recordings()
        learner = MetricLearner(MASK, metric="diagonal").fit(Xs[:4], ys[:4], baselines="quick")
        assert learner.solution_.gap < 0.01
        result = evaluate(learner, Xs[4:], ys[4:])
        assert {"untrained", "learned"} < set(result.scores)
        assert "pca" not in result.scores  # mixes features
        assert result.scores["learned"]["f1"] > 0.8
        weighed = learner.metric_.factor.any(axis=1)
        assert np.array_equal(np.isnan(learner.transform(Xs[4])), np.isnan(Xs[4][:, weighed]))
        assert all(change["margin"] > 0 for change in learner.predict_segments(Xs[4:])[0][1:])
        save(learner, tmp_path / "m.structsvm")
        again = load(tmp_path / "m.structsvm")
        assert again.problem == MASK
        assert again.predict_breakpoints(Xs) == learner.predict_breakpoints(Xs)

    @pytest.mark.parametrize("standardize", ["recording", "training", None])
    def test_standardisation_ignores_missing_values(self, standardize):
        Xs, ys = recordings()
        learner = MetricLearner(MASK, metric="diagonal", standardize=standardize).fit(Xs, ys)
        scaled = prepare(learner, Xs)
        if standardize == "recording":
            assert np.nanmean(scaled[0].X, axis=0) == pytest.approx(0.0, abs=1e-12)
            assert np.nanstd(scaled[0].X, axis=0) == pytest.approx(1.0)
        if standardize == "training":
            stacked = np.vstack([x.X for x in scaled])
            assert np.nanstd(stacked, axis=0) == pytest.approx(1.0)

    def test_lags_keep_what_is_missing_and_other_features_are_refused(self):
        Xs, ys = recordings()
        lagged = MetricLearner(MASK, metric="diagonal", features=Lags((-2, 0, 2))).fit(Xs, ys)
        n_missing = np.isnan(prepare(lagged, Xs[:1])[0].X[:, 2:4]).sum()
        assert n_missing == np.isnan(Xs[0]).sum()
        other = MetricLearner(MASK, metric="diagonal", features=MovingStatistics())
        with pytest.raises(DataError, match="recording 0 has missing values, and MovingStatistics"):
            other.fit(Xs, ys)


class TestWhatComesIn:
    @pytest.mark.parametrize(("gaps", "named"), [([0], False), ([1, 5], True), (range(6), False)])
    def test_baselines_that_do_not_take_gaps_are_left_out(self, gaps, named):
        Xs, ys = recordings(missing=False)
        for i in gaps:
            Xs[i][:, 1] = np.nan
        ys = [np.where(y % 2, "a", "b") for y in ys] if named else ys
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VerdictWarning)  # of six recordings
            search = MetricLearnerCV(MASK, cv=2, lams=[1.0]).fit(Xs, ys)
        assert len(search.predict(Xs)) == len(Xs)
        assert not any(search.cv_results_["failure"])

    @pytest.mark.parametrize("gaps", [[0], [5], [1, 4]])
    def test_candidates_that_mix_features_fail_on_gaps(self, gaps):
        Xs, ys = recordings(missing=False)
        for i in gaps:
            Xs[i][:, 1] = np.nan
        named = ["untrained", "full", "olda", "diagonal"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VerdictWarning)  # of six recordings
            warnings.filterwarnings("ignore", "full is not compared.*mixes features", DataWarning)
            warnings.filterwarnings("ignore", "olda is not compared.*mixes features", DataWarning)
            search = MetricLearnerCV(MASK, cv=2, lams=[1.0], candidates=named).fit(Xs, ys)
        names = search.cv_results_["candidate"]
        failures = search.cv_results_["failure"]
        failed = {
            name for name, why in zip(names, failures, strict=True) if "mixes features" in why
        }
        assert failed == {"full", "olda"}
        assert not failed & search.best_estimator_.baselines_.keys()
        assert len(search.predict(Xs)) == len(Xs)

    @pytest.mark.parametrize("metric", ["full", "olda", "pca"])
    def test_new_recordings_with_gaps_are_refused_by_number_if_the_metric_mixes_features(
        self, metric
    ):
        Xs, ys = recordings(missing=False)
        learner = MetricLearner(MASK, metric=metric).fit(Xs, ys)
        Xs[2][5, 1] = np.nan
        with pytest.raises(DataError, match=r"recording 2: values are missing.*metric='diagonal'"):
            learner.predict(Xs)

    def test_nan_in_data_frames_and_masks_of_arrays_are_gaps(self):
        Xs, ys = recordings()
        learner = MetricLearner(MASK, metric="diagonal").fit(Xs, ys)
        ends = learner.predict_breakpoints(Xs[:1])
        hidden = np.ma.masked_invalid(Xs[0])
        assert learner.predict_breakpoints([hidden]) == ends
        frame = pd.DataFrame(Xs[0]).astype("Float64")
        frame = frame.mask(pd.isna(frame))
        named = MetricLearner(MASK, metric="diagonal").fit(Xs, ys, feature_names=["0", "1"])
        assert named.predict_breakpoints([frame]) == ends

    def test_gaps_that_cannot_be_learned_from_are_refused_with_advice(self):
        Xs, ys = recordings()
        with pytest.raises(
            DataError, match=r"nan in row .*missing values .* blocks.*missing='mask'"
        ):
            MetricLearner().fit(Xs, ys)
        with pytest.raises(DataError, match="recording 0 has missing values, and a full metric"):
            MetricLearner(MASK).fit(Xs, ys)
        with pytest.raises(SettingsError, match="missing must be one of"):
            ChangePoint(missing="drop")
        Xs[0][3, 1] = np.inf
        with pytest.raises(DataError, match="recording 0 has inf in row 3"):
            MetricLearner(MASK, metric="diagonal").fit(Xs, ys)
        with pytest.raises(
            DataError, match="interpolate, impute or drop missing values"
        ) as refused:
            MetricLearner(Clustering(), metric="diagonal").fit(Xs[1:], ys[1:])
        assert "mask" not in str(refused.value)

    @pytest.mark.parametrize("oracle", [SequentialOracle(), ExhaustiveOracle()])
    def test_oracles_that_do_not_take_gaps_refuse_them(self, oracle):
        objective = TraceObjective(np.array([[1.0], [np.nan]]), shift=-1.0, gaps=True)
        with pytest.raises(OracleError, match="does not take missing values"):
            oracle.ask(objective)
        with pytest.raises(OracleError, match="has no matrix"):
            objective.dense()
        with pytest.raises(OracleError, match="not finite"):
            TraceObjective(np.array([[1.0], [np.nan]]))
