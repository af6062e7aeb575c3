"""A weight of 2 is a recording that is there twice, a weight of 0 one that is not."""

import warnings

import numpy as np
import pytest
from cases import cases
from cut_cases import planted
from recording_cases import recordings_of_two_kinds as recordings
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, PredefinedSplit, cross_validate
from tables import table

from structsvm import (
    ChangePoint,
    Clustering,
    DataError,
    MetricLearner,
    MetricLearnerCV,
    NormalizedCut,
)
from structsvm.errors import VerdictWarning
from structsvm.learner.preparing import encode, prepare
from structsvm.partitions import Examples
from structsvm.partitions.learning import price_of_labels
from structsvm.solvers import CuttingPlane, QuasiNewton, Stopping

FINE = Stopping(tol=1e-9, max_iter=2000)
WEIGHTS = np.array([2.0, 0.0, 1.0, 1.0, 3.0, 1.0])
TWICE = np.repeat(np.arange(6), WEIGHTS.astype(int))


def metrics_of(learner):
    """The baselines of a learner that are metrics."""
    return {name: b.metric_ for name, b in learner.baselines_.items() if b.sees is not None}


def tables(n=6):
    """Tables of three clusters, of different spreads."""
    Xs, ys = zip(*(table(3, 30, seed=s, spread=2.0 + s) for s in range(n)), strict=True)
    return list(Xs), list(ys)


def listed(values):
    """As often as the weights say."""
    return [values[i] for i in TWICE]


def same(weighted, repeated, data):
    """Both certificates hold for one and the same optimum, which both have reached."""
    a = weighted.solution_
    b = repeated.solution_
    assert a.null == pytest.approx(b.null)
    assert max(a.lower, b.lower) <= min(a.upper, b.upper) + 1e-12
    assert max(a.gap, b.gap) <= FINE.tol
    B, C = (learner.get_mahalanobis_matrix() for learner in (weighted, repeated))
    np.testing.assert_allclose(B, C, atol=1e-3 * np.abs(B).max())
    for name, metric in metrics_of(repeated).items():
        np.testing.assert_allclose(
            weighted.baselines_[name].metric_.factor, metric.factor, atol=1e-8
        )
        assert weighted.baselines_[name].metric_.price == pytest.approx(metric.price, rel=1e-9)
    assert weighted.metric_.price == pytest.approx(repeated.metric_.price, rel=1e-3)
    truths = encode(repeated, *data)
    instances = prepare(repeated, data[0])
    factor = repeated.metric_.factor
    given = Examples(instances, truths, WEIGHTS), Examples(listed(instances), listed(truths))
    curves = [price_of_labels(repeated.problem_, factor, examples) for examples in given]
    np.testing.assert_allclose(*(curve.losses for curve in curves))
    np.testing.assert_allclose(*(curve.penalties for curve in curves))


@cases(
    (ChangePoint(), {"metric": "diagonal"}, recordings()),
    (ChangePoint(), {"whiten": 0.5}, recordings()),
    (ChangePoint(), {"metric": "diagonal", "standardize": "training"}, recordings()),
    (ChangePoint("known"), {"solver": CuttingPlane(FINE, slack="one")}, recordings()),
    (Clustering(), {}, tables()),
    (Clustering("unknown"), {"metric": "diagonal"}, tables()),
    ids=lambda value: "" if isinstance(value, tuple) else str(value),
)
def test_weights_of_recordings_stand_for_copies(problem, settings, data):
    Xs, ys = data
    settings = {"solver": CuttingPlane(FINE), **settings}
    learner = MetricLearner(problem, **settings)
    weighted = clone(learner).fit(Xs, ys, sample_weight=WEIGHTS, baselines="quick")
    repeated = clone(learner).fit(listed(Xs), listed(ys), baselines="quick")
    same(weighted, repeated, data)
    plain = learner.fit(Xs, ys).get_mahalanobis_matrix()
    assert plain.max() != pytest.approx(weighted.get_mahalanobis_matrix().max(), rel=1e-6)


def test_only_proportions_of_weights_matter():
    Xs, ys = recordings()
    plain = MetricLearner(metric="diagonal").fit(Xs, ys)
    for weight in (1e-300, 3, 1e300):
        again = MetricLearner(metric="diagonal").fit(Xs, ys, sample_weight=[weight] * 6)
        np.testing.assert_array_equal(again.metric_.factor.T, plain.metric_.factor.T)


@cases(
    ([1, 1, -1, 1, 1, 1], r"sample_weight of recording 2 is -1\.0"),
    ([1, 1, 1, np.nan, 1, 1], "sample_weight of recording 3 is nan"),
    ([1, 1], r"6 recordings but sample_weight of shape \(2,\)"),
    ([0] * 6, "every sample_weight is 0: no recording is left"),
)
@pytest.mark.parametrize("estimator", [MetricLearner(), MetricLearnerCV()])
def test_impossible_weights_are_refused(estimator, weights, message):
    with pytest.raises(DataError, match=message):
        estimator.fit(*recordings(), sample_weight=weights)


def test_weights_of_partial_labels_stand_for_copies():
    Xs, ys = recordings()
    some = [np.where(np.arange(50) < 30 + 2 * i, y, -1) for i, y in enumerate(ys)]
    some[2] = ys[2]
    settings = {"metric": "diagonal", "solver": CuttingPlane(FINE)}
    weighted = MetricLearner(**settings).fit(Xs, some, sample_weight=WEIGHTS)
    repeated = MetricLearner(**settings).fit(listed(Xs), listed(some))
    same(weighted, repeated, (Xs, ys))
    assert len(weighted.alternated_.labels) == 5
    assert repeated.alternated_.labels[:2] == [weighted.alternated_.labels[0]] * 2


def test_score_is_a_weighted_mean():
    Xs, ys = recordings()
    learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    worse = [np.arange(50) // 10 for _ in ys]
    scores = [learner.score(Xs[i], [worse[i]]) for i in range(6)]
    expected = pytest.approx(np.average(scores, weights=WEIGHTS))
    assert learner.score(Xs, worse, sample_weight=WEIGHTS) == expected
    assert learner.score(Xs, worse) == pytest.approx(np.mean(scores))


# ---- cuts of graphs


@pytest.mark.parametrize("counts", ["known", "unknown"])
def test_weights_of_graphs_stand_for_copies(counts):
    rng = np.random.default_rng(1)
    graphs, ys = planted(rng, n=3)
    weights = [2.0, 0.0, 1.0]
    twice = [0, 0, 2]
    solver = QuasiNewton(Stopping(tol=1e-6))
    settings = {"problem": NormalizedCut(cluster_count=counts), "lam": 0.1, "solver": solver}
    weighted = MetricLearner(**settings).fit(graphs, ys, sample_weight=weights, baselines="quick")
    repeated = MetricLearner(**settings).fit(
        [graphs[i] for i in twice], [ys[i] for i in twice], baselines="quick"
    )
    Bs = [learner.get_mahalanobis_matrix() for learner in (weighted, repeated)]
    np.testing.assert_allclose(*Bs, atol=1e-4 * np.abs(Bs[1]).max())
    for name, metric in metrics_of(repeated).items():
        np.testing.assert_allclose(weighted.baselines_[name].metric_.factor, metric.factor)
        assert weighted.baselines_[name].metric_.price == (
            None if counts == "known" else pytest.approx(metric.price, rel=1e-12)
        )
    assert len(weighted.training_data_) == 2
    score = np.average([weighted.score([graphs[i]], [ys[i]]) for i in range(3)], weights=weights)
    assert weighted.score(graphs, ys, sample_weight=weights) == pytest.approx(score)
    with pytest.raises(DataError, match=r"sample_weight of graph 1 is -1\.0"):
        weighted.fit(graphs, ys, sample_weight=[1, -1, 1])


# ---- choosing by cross-validation


def chosen_from(Xs, ys, folds, weights=None, groups=None):
    search = MetricLearnerCV(
        candidates=("untrained", "rca", "diagonal"),
        lams=(0.2, 0.02),
        cv=PredefinedSplit(folds),
        solver=CuttingPlane(FINE),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerdictWarning)
        return search.fit(Xs, ys, sample_weight=weights, groups=groups)


def test_model_selection_and_verdict_count_weights_as_copies():
    """The copies of a recording are one group of it: it is no more independent than it was."""
    Xs, ys = recordings()
    folds = np.array([0, 1, 0, 1, 1, 0])
    weighted = chosen_from(Xs, ys, folds, WEIGHTS)
    repeated = chosen_from(listed(Xs), listed(ys), folds[TWICE], groups=TWICE)
    np.testing.assert_allclose(weighted.losses_[TWICE], repeated.losses_, atol=1e-9)
    assert weighted.losses_.shape == (6, 4)
    assert weighted.best_candidate_ == repeated.best_candidate_
    assert weighted.best_lam_ == repeated.best_lam_
    for a, b in ((v.verdict_.untrained, v.verdict_.tuned[0]) for v in (weighted, repeated)):
        assert a.units == b.units == 5
    ours = weighted.verdict_
    theirs = repeated.verdict_
    assert ours.loss == pytest.approx(theirs.loss)
    assert ours.untrained.n == 5
    for name in ("mean", "se", "low", "high"):
        found, expected = (getattr(v.untrained, name) for v in (ours, theirs))
        assert found == pytest.approx(expected, abs=1e-9)
    for column in ("mean_loss", "se_loss", "mean_criterion", "mean_gain", "se_gain", "split0_loss"):
        np.testing.assert_allclose(weighted.cv_results_[column], repeated.cv_results_[column])
    a = weighted.best_estimator_
    b = repeated.best_estimator_
    np.testing.assert_allclose(a.metric_.factor.T, b.metric_.factor.T, atol=1e-3)
    np.testing.assert_allclose(
        a.baselines_["rca"].metric_.factor, b.baselines_["rca"].metric_.factor, atol=1e-9
    )


# ---- scikit-learn


def test_weights_are_routed_by_scikit_learn():
    """Weights reach fit and score, sliced as the recordings are."""
    Xs, ys = recordings()
    folds = PredefinedSplit([0, 0, 0, 1, 1, 1])
    weights = np.array([1.0, 2.0, 1.0, 0.0, 1.0, 4.0])
    learner = MetricLearner(metric="diagonal")
    with config_context(enable_metadata_routing=True):
        learner.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_validate(
            learner, Xs, ys, cv=folds, params={"sample_weight": weights}, return_estimator=True
        )
        search = GridSearchCV(learner, {"lam": [0.1, 1.0]}, cv=folds, refit=True)
        search.fit(Xs, ys, sample_weight=weights)
    for k, (train, test) in enumerate(folds.split()):
        (train_Xs, train_ys), (test_Xs, test_ys) = (
            ([Xs[i] for i in rows], [ys[i] for i in rows]) for rows in (train, test)
        )
        by_hand = MetricLearner(metric="diagonal")
        by_hand.fit(train_Xs, train_ys, sample_weight=weights[train])
        np.testing.assert_array_equal(found["estimator"][k].metric_.factor, by_hand.metric_.factor)
        score = by_hand.score(test_Xs, test_ys, sample_weight=weights[test])
        assert found["test_score"][k] == pytest.approx(score)
        assert search.cv_results_[f"split{k}_test_score"][0] == pytest.approx(score)
    again = MetricLearner(metric="diagonal", lam=search.best_params_["lam"])
    again.fit(Xs, ys, sample_weight=weights)
    np.testing.assert_array_equal(search.best_estimator_.metric_.factor.T, again.metric_.factor.T)
