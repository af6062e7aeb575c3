"""Weights of pooled classifiers come from held-out probabilities."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from structsvm import StateSegmenter
from structsvm.features.pooling import pool_weights, pooled


def plain_weights(likelihoods, counts, prior):
    """The same weights as a convex program."""
    w = cp.Variable(likelihoods.shape[1])
    gain = counts @ cp.log(likelihoods @ w) + prior * cp.sum(cp.log(w))
    cp.Problem(cp.Maximize(gain), [cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
    return w.value


@pytest.mark.parametrize("prior", [0.1, 3.0])
@pytest.mark.parametrize("n_classifiers", [2, 5])
def test_pooling_weights_solve_their_convex_program(prior, n_classifiers):
    rng = np.random.default_rng(n_classifiers)
    likelihoods = rng.uniform(0.02, 1.0, (60, n_classifiers))
    counts = rng.uniform(0.1, 1.0, 60)
    expected = plain_weights(likelihoods, counts, prior)
    assert pool_weights(likelihoods, counts, prior) == pytest.approx(expected, abs=1e-3)


def test_a_single_classifier_has_pooling_weight_one():
    assert pool_weights(np.full((3, 1), 0.5), np.ones(3)).tolist() == [1.0]


def test_pooling_weights_of_a_recording_come_from_other_folds():
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, 2, 20) for _ in range(3)]
    held_out = [[rng.dirichlet([1, 1], 20) for _ in codes] for _ in range(2)]
    fold = np.arange(3)
    means, _ = pooled(held_out, codes, fold, fold, least=0.02)
    changed = [codes[0], codes[1], 1 - codes[2]]
    again, _ = pooled(held_out, changed, fold, fold, least=0.02)
    np.testing.assert_array_equal(again[2], means[2])
    assert np.abs(again[0] - means[0]).max() > 0


def test_samples_without_a_label_do_not_change_pooling_weights():
    p = [[np.array([[0.9, 0.1], [0.2, 0.8]])], [np.array([[0.6, 0.4], [0.9, 0.1]])]]
    _, weights = pooled(p, [np.array([0, -1])], np.zeros(1, int), np.zeros(1, int), least=0.02)
    expected = pool_weights(np.array([[0.92, 0.62]]), np.ones(1))
    assert weights.tolist() == expected.tolist()


def test_an_uninformative_classifier_has_a_small_pooling_weight():
    rng = np.random.default_rng(0)
    y = np.repeat(["rest", "walk", "rest"], 15)
    Xs = [np.c_[(y == "walk") + rng.normal(scale=0.2, size=45)] for _ in range(6)]
    segmenter = StateSegmenter(["lda", DummyClassifier()]).fit(Xs, [y] * 6)
    assert segmenter.estimator_weights_[1] < 0.1
    assert segmenter.estimator_weights_.sum() == pytest.approx(1.0)
