"""Calibration of the penalty, and the baselines it serves."""

import numpy as np
import pytest

from structsvm import ChangePoint, EquivalenceMatrix
from structsvm.baselines import metrics as tuned_metrics
from structsvm.data.sample import Sample
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.metric import Calibration, Metric, calibrate

ORACLE, PROBLEM = SequentialOracle(), ChangePoint()


def sample(rng, T=50, P=2, jump=3.0):
    ends = [*np.sort(rng.choice(np.arange(5, T - 4, 6), 3, replace=False)).tolist(), T]
    truth = EquivalenceMatrix.from_breakpoints(ends)
    return rng.normal(size=(T, P)) + jump * rng.normal(size=(4, P))[truth.labels], truth


def test_the_curve_is_that_of_decoding_at_every_penalty(rng):
    samples = [sample(rng) for _ in range(4)]
    Zs, truths = [Z for Z, _ in samples], [M for _, M in samples]
    calibration = calibrate([ORACLE] * 4, Zs, truths)
    for penalty, loss in zip(calibration.penalties, calibration.losses, strict=True):
        metric = Metric(np.eye(2), float(penalty))
        pairs = zip(truths, Zs, strict=True)
        assert loss == pytest.approx(
            np.mean([partition_loss(M, PROBLEM.partition(Sample(Z), metric)) for M, Z in pairs])
        )


def test_the_grid_reaches_from_many_segments_to_one(rng):
    Z, truth = sample(rng)
    penalties = calibrate([ORACLE], [Z], [truth]).penalties
    most, least = (
        PROBLEM.partition(Sample(Z), Metric(np.eye(2), float(p))).n_clusters
        for p in (penalties[0], penalties[-1])
    )
    assert most > 0.9 * Z.shape[0]
    assert least == 1


def test_the_middle_of_the_best_penalties_is_taken():
    losses = np.array([9, 9, 9, 9, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 9, 9, 9, 9], dtype=float)
    calibration = Calibration(np.arange(19.0), losses)
    assert calibration.best == 9
    assert calibration.penalty == 9.0
    assert calibration.loss == 5.0


def test_one_lucky_penalty_does_not_win():
    losses = np.full(40, 5.0)
    losses[5], losses[20:30] = 3.9, 4.0
    losses[4] = losses[6] = 9.0
    assert 20 <= Calibration(np.arange(40.0), losses).best < 30


def test_a_metric_that_sees_nothing_calibrates_to_one_segment(rng):
    _, truth = sample(rng)
    for Z in (np.zeros((50, 2)), np.zeros((50, 0))):
        calibration = calibrate([ORACLE], [Z], [truth])
        assert calibration.loss == truth.n_clusters - 1
        metric = Metric(np.eye(Z.shape[1]), calibration.penalty)
        assert PROBLEM.partition(Sample(Z), metric).n_clusters == 1


def test_rca_whitens_within_segments(rng):
    samples = [sample(rng, P=3) for _ in range(6)]
    mixing = np.array([[3.0, 0, 0], [1, 0.5, 0], [0, 0, 1]])
    Xs, truths = [Z @ mixing for Z, _ in samples], [M for _, M in samples]
    given = PROBLEM, [Sample(X) for X in Xs], truths
    metric = tuned_metrics.fit("rca", *given, shrinkage=0.0)
    deviations = [(X - M.dense() @ X) @ metric.factor for X, M in zip(Xs, truths, strict=True)]
    stacked = np.vstack(deviations)
    np.testing.assert_allclose(stacked.T @ stacked / len(stacked), np.eye(3), atol=1e-10)
    identity = tuned_metrics.fit("rca", *given, shrinkage=1.0).factor
    np.testing.assert_allclose(
        identity @ identity.T * (1 / (identity @ identity.T)[0, 0]), np.eye(3)
    )


def test_pca_keeps_the_leading_directions(rng):
    samples = [sample(rng, P=5) for _ in range(6)]
    Xs = [Sample(Z * np.array([1, 1, 9, 1, 1])) for Z, _ in samples]
    metric = tuned_metrics.fit("pca", PROBLEM, Xs, [M for _, M in samples])
    assert abs(metric.factor[2, 0]) > 0.99
    np.testing.assert_allclose(metric.factor.T @ metric.factor, np.eye(metric.factor.shape[1]))


@pytest.mark.parametrize("P", [1, 2, 3])
def test_pca_of_few_features(rng, P):
    X, truth = sample(rng, P=P)
    assert tuned_metrics.fit("pca", PROBLEM, [Sample(X)], [truth]).factor.shape[0] == P
