"""The price of a cluster: calibrated by decoding, and paths of prices."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import eigh
from sequential_cases import random_samples, random_truth
from sklearn.metrics import adjusted_rand_score
from tables import table

from structsvm import ChangePoint, Clustering, EquivalenceMatrix
from structsvm.data.instance import Instance
from structsvm.errors import SettingsError
from structsvm.learner import closed_forms as tuned_metrics
from structsvm.oracles import AllowedSegmentsOracle, SequentialOracle
from structsvm.oracles.sequential import SHORT_ENOUGH
from structsvm.partitions import Examples, TraceObjective
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.metric import Calibration, Metric, calibrate_by, penalty_grid

ORACLE = SequentialOracle()
PROBLEM = ChangePoint()


def sample(rng, T=50, P=2, jump=3.0):
    ends = [*np.sort(rng.choice(np.arange(5, T - 4, 6), 3, replace=False)).tolist(), T]
    truth = EquivalenceMatrix.from_breakpoints(ends)
    return rng.normal(size=(T, P)) + jump * rng.normal(size=(4, P))[truth.labels], truth


def calibrated(Zs, truths):
    """In the metric in which the samples are."""
    data = Examples(list(map(Instance, Zs)), truths)
    return PROBLEM.calibrate(np.eye(Zs[0].shape[1]), data)


def test_the_calibration_curve_is_that_of_decoding_at_every_penalty(rng):
    samples = [sample(rng) for _ in range(4)]
    Zs = [Z for Z, _ in samples]
    truths = [M for _, M in samples]
    calibration = calibrated(Zs, truths)
    for penalty, loss in zip(calibration.penalties, calibration.losses, strict=True):
        metric = Metric(np.eye(2), float(penalty))
        pairs = zip(truths, Zs, strict=True)
        assert loss == pytest.approx(
            np.mean([partition_loss(M, PROBLEM.partition(Instance(Z), metric)) for M, Z in pairs])
        )


def test_the_middle_of_the_best_penalties_is_taken():
    losses = np.array([9, 9, 9, 9, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 9, 9, 9, 9], dtype=float)
    calibration = Calibration(np.arange(19.0), losses)
    assert calibration.best == 9
    assert calibration.penalty == 9.0
    assert calibration.loss == 5.0


def test_a_metric_that_sees_nothing_calibrates_to_one_segment(rng):
    _, truth = sample(rng)
    for Z in (np.zeros((50, 2)), np.zeros((50, 0))):
        calibration = calibrated([Z], [truth])
        assert calibration.loss == truth.n_clusters - 1
        metric = Metric(np.eye(Z.shape[1]), calibration.penalty)
        assert PROBLEM.partition(Instance(Z), metric).n_clusters == 1


def test_rca_whitens_within_segments(rng):
    samples = [sample(rng, P=3) for _ in range(6)]
    mixing = np.array([[3.0, 0, 0], [1, 0.5, 0], [0, 0, 1]])
    Xs = [Z @ mixing for Z, _ in samples]
    truths = [M for _, M in samples]
    given = PROBLEM, [Instance(X) for X in Xs], truths
    metric = tuned_metrics.fit("rca", *given, shrinkage=0.0)
    deviations = [(X - M.dense() @ X) @ metric.factor for X, M in zip(Xs, truths, strict=True)]
    stacked = np.vstack(deviations)
    np.testing.assert_allclose(stacked.T @ stacked / len(stacked), np.eye(3), atol=1e-10)
    identity = tuned_metrics.fit("rca", *given, shrinkage=1.0).factor
    np.testing.assert_allclose(
        identity @ identity.T * (1 / (identity @ identity.T)[0, 0]), np.eye(3)
    )


def test_olda_solves_the_eigenproblem_of_neighbouring_segments(rng):
    """The factor is that of the generalised eigenvectors, each by the root of its eigenvalue."""
    pairs = [sample(rng, P=3) for _ in range(4)]
    Xs = [Z for Z, _ in pairs]
    truths = [M for _, M in pairs]
    metric = tuned_metrics.fit("olda", PROBLEM, [Instance(X) for X in Xs], truths, shrinkage=0.2)
    within = np.zeros((3, 3))
    between = np.zeros((3, 3))
    for X, M in zip(Xs, truths, strict=True):
        segments = np.split(X, M.breakpoints[:-1])
        within += sum(len(s) * np.cov(s.T, bias=True) for s in segments) / sum(map(len, Xs))
        for s, t in pairwise(segments):
            mean = np.vstack([s, t]).mean(axis=0)
            for one in (s, t):
                between += len(one) * np.outer(one.mean(axis=0) - mean, one.mean(axis=0) - mean)
    between /= sum(map(len, Xs))
    shrunk = 0.8 * within + 0.2 * np.trace(within) / 3 * np.eye(3)
    values, vectors = eigh(between, shrunk)
    np.testing.assert_allclose(metric.matrix, vectors * values @ vectors.T, rtol=1e-9)


def test_olda_sees_changes_and_not_what_varies_within_segments(rng):
    """A direction of noise that is as large as the changes, and levels that drift slowly."""
    noise = np.array([1.0, 1.0]) / np.sqrt(2)

    def draw():
        Z, truth = sample(rng, P=2, jump=0.0)
        levels = np.where(truth.labels % 2, 3.0, -3.0)[:, None] * np.array([1.0, -1.0])
        return Instance(Z + levels + 9 * rng.normal(size=(50, 1)) * noise), truth

    samples, truths = zip(*(draw() for _ in range(12)), strict=True)
    mean = {}
    for name in ("untrained", "olda"):
        metric = tuned_metrics.fit(name, PROBLEM, samples[:6], truths[:6])
        rest = zip(samples[6:], truths[6:], strict=True)
        mean[name] = np.mean([partition_loss(M, PROBLEM.partition(x, metric)) for x, M in rest])
    assert mean["olda"] == 0 < mean["untrained"]


def test_pca_keeps_the_leading_directions(rng):
    samples = [sample(rng, P=5) for _ in range(6)]
    Xs = [Instance(Z * np.array([1, 1, 9, 1, 1])) for Z, _ in samples]
    metric = tuned_metrics.fit("pca", PROBLEM, Xs, [M for _, M in samples])
    assert abs(metric.factor[2, 0]) > 0.99
    np.testing.assert_allclose(metric.factor.T @ metric.factor, np.eye(metric.factor.shape[1]))


# ---- paths of prices


KINDS = ("gaussian", "ties", "offset", "null", "steps")


def recording(seed: int, most: int) -> tuple[np.ndarray, EquivalenceMatrix, np.ndarray]:
    """Samples, some of them full of ties, their truth, and a grid of prices."""
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, most + 1))
    r = int(rng.integers(0, 5))
    truth = random_truth(rng, T)
    Z = random_samples(rng, KINDS[seed % 5], truth, r)
    scatter = float(((Z - Z.mean(axis=0)) ** 2).sum()) if r else 0.0
    return Z, truth, penalty_grid(max(scatter / max(1, truth.n_clusters - 1), 1e-3))


def alone(Z: np.ndarray, price: float) -> EquivalenceMatrix:
    """The answer to one question."""
    return ORACLE.ask(TraceObjective(Z, shift=-float(price))).y


@pytest.mark.parametrize("most", [12, 70, 300])
def test_a_path_of_prices_agrees_with_single_searches(most: int) -> None:
    for seed in range(40 if most < 300 else 15):
        Z, _, prices = recording(seed, most)
        for price, M in zip(prices, ORACLE.price_path(Z, prices), strict=True):
            assert M == alone(Z, price), (seed, price)


@pytest.mark.parametrize("T", [SHORT_ENOUGH, SHORT_ENOUGH + 1, SHORT_ENOUGH + 500])
def test_a_path_of_prices_agrees_with_single_searches_on_long_recordings(T: int) -> None:
    rng = np.random.default_rng(T)
    Z = rng.standard_normal((T, 3)) + rng.standard_normal((T // 50 + 1, 3))[np.arange(T) // 50]
    prices = penalty_grid(50.0)[::5]
    for price, M in zip(prices, ORACLE.price_path(Z, prices), strict=True):
        assert M == alone(Z, price)


def test_a_path_of_prices_is_optimal_on_a_long_recording_full_of_ties() -> None:
    rng = np.random.default_rng(0)
    Z = rng.integers(-1, 2, (SHORT_ENOUGH + 100, 2)).astype(float)
    prices = penalty_grid(50.0)[::5]
    for price, M in zip(prices, ORACLE.price_path(Z, prices), strict=True):
        objective = TraceObjective(Z, shift=-float(price))
        assert objective.value(M) == pytest.approx(ORACLE.ask(objective).value, rel=1e-12)


def test_a_path_of_prices_has_the_losses_of_repeated_segments() -> None:
    Z, _, prices = recording(4, 60)
    truth = EquivalenceMatrix.from_labels(np.arange(Z.shape[0]) % 2)
    losses = [partition_loss(truth, M) for M in ORACLE.price_path(Z, prices)]
    np.testing.assert_allclose(ORACLE.loss_curve(Z, truth, prices), losses)


def test_recordings_of_several_oracles_are_calibrated_together() -> None:
    """Those of one kind in one call; the curve is the same as of each alone."""
    rng = np.random.default_rng(1)
    truths = [EquivalenceMatrix.from_breakpoints([20, 50, 80])] * 4
    Zs = [rng.standard_normal((80, 2)) + 3 * rng.standard_normal((3, 2))[truths[0].labels]] * 4
    whatever = AllowedSegmentsOracle(_any_length)
    same = calibrated(Zs, truths)
    losses = [partial(partition_loss, M) for M in truths]
    oracles = [ORACLE, ORACLE, whatever, SequentialOracle()]
    mixed = calibrate_by(oracles, Zs, losses, same.penalties, truths=truths)
    np.testing.assert_allclose(mixed.losses, same.losses, rtol=0, atol=1e-12)


def _any_length(starts: np.ndarray, end: int, n_samples: int) -> np.ndarray:
    return starts < end


# ---- baselines by name, on tables; those of segmentations are in test_calibration.py


def test_baselines_of_tables_are_tuned_by_name():
    X, y = table()
    truth = EquivalenceMatrix.from_labels(y)
    labelled = Clustering(), [Instance(X)], [truth]
    for name in ("untrained", "pca", "rca", "lda"):
        metric = tuned_metrics.fit(name, *labelled)
        assert isinstance(metric, Metric)
        assert metric.factor.shape[0] == 4
    with pytest.raises(SettingsError, match=r"metric must be one of .*'lda'.*, got 'lfda'"):
        tuned_metrics.fit("lfda", *labelled)
    with pytest.raises(SettingsError, match="clusters of a table have no neighbours: use lda"):
        tuned_metrics.fit("olda", *labelled)


def test_pca_is_not_fooled_by_few_clusters():
    """Eight overlapping clusters: by the loss, fewer clusters in one direction would win."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 20)
    X = 0.8 * rng.standard_normal((8, 4))[y] + rng.standard_normal((160, 4))
    truths = [EquivalenceMatrix.from_labels(y)]
    instance = Instance(X)
    problem = Clustering()
    data = Examples([instance], truths)
    calibration = problem.calibrate(np.eye(4), data)
    assert calibration.losses.min() == 7.0 < calibration.loss  # that of one single cluster
    metric = tuned_metrics.fit("pca", problem, [instance], truths)
    one = problem.calibrate(metric.factor[:, :1], data)
    assert metric.factor.shape[1] == 2
    assert one.loss < problem.calibrate(metric.factor, data).loss


def test_lda_finds_the_directions_that_tell_clusters_apart():
    X, y = table()
    metric = tuned_metrics.fit(
        "lda", Clustering(), [Instance(X)], [EquivalenceMatrix.from_labels(y)]
    )
    assert metric.factor.shape == (4, 2)
    guess = Clustering().partition(Instance(X), metric, 3)
    assert adjusted_rand_score(y, guess.labels) > 0.9
