"""Changes of distribution: the moments, and changes that leave the mean where it was."""

import numpy as np
import pytest
from cases import cases

from structsvm import ChangePoint, MetricLearner
from structsvm.data.instance import Instance
from structsvm.data.standardize import Standardizer
from structsvm.errors import SettingsError
from structsvm.features import HermiteMoments
from structsvm.features.hermite import hermite_functions, robust_scale
from structsvm.learner import closed_forms
from structsvm.learner.preparing import encode
from structsvm.partitions.losses import margin_f1, partition_loss


def test_hermite_functions_are_orthonormal() -> None:
    """To 1e-10 by the trapezoid rule, which is exact for such functions; the first by hand."""
    x = np.linspace(-20, 20, 8001)
    psi = hermite_functions(x, 20)
    np.testing.assert_allclose(psi.T @ psi * (x[1] - x[0]), np.eye(20), atol=1e-10)
    np.testing.assert_allclose(psi[:, 0], np.sqrt(2) * np.pi**-0.25 * x * np.exp(-(x**2) / 2))
    far = hermite_functions(np.array([1e3, -1e200, 50.0]), 5)
    np.testing.assert_array_equal(far, 0.0)


def test_the_scale_of_a_channel_is_robust_to_outliers() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([3 + 2 * rng.standard_normal(4000), np.ones(4000), np.arange(4000) < 9])
    X[:400, 0] = 1e6
    location, sigma = robust_scale(X)
    assert location[0] == pytest.approx(3, abs=0.4)
    assert sigma[0] == pytest.approx(2, rel=0.2)
    assert sigma[1] == 1.0  # constant
    assert sigma[2] == pytest.approx(X[:, 2].std())  # constant mostly


def recordings(kind: str, n: int, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """One channel, mean 0 throughout; what changes is the variance or the shape alone."""
    rng = np.random.default_rng(seed)
    Xs = []
    ys = []
    for _ in range(n):
        lengths = rng.integers(60, 120, 5)
        parts = []
        for k, T in enumerate(lengths):
            normal = rng.standard_normal(T)
            if kind == "variance":
                parts.append(normal * (2.5 if k % 2 else 1.0))
            else:  # mean 0 and variance 1 in both, but two-valued in one
                two = rng.choice([-1.0, 1.0], T) * 0.97 + 0.24 * rng.standard_normal(T)
                parts.append(two if k % 2 else normal)
        Xs.append(np.concatenate(parts)[:, None])
        ys.append(np.repeat(np.arange(5), lengths))
    return Xs, ys


@pytest.mark.parametrize("kind", ["variance", "shape"])
def test_hermite_moments_show_changes_that_leave_the_mean(kind: str) -> None:
    """Segmentation by the mean, penalty tuned on the same labels, finds none of them."""
    (Xs, ys) = recordings(kind, 8, 0)
    (others, truths) = recordings(kind, 6, 1)

    learner = MetricLearner(features=HermiteMoments()).fit(Xs, ys)
    pairs = list(
        zip(encode(learner, others, truths), learner.predict_partitions(others), strict=True)
    )
    assert np.mean([margin_f1(t, g, tolerance=10) for t, g in pairs]) > 0.8
    assert np.mean([partition_loss(t, g) for t, g in pairs]) < 1.0

    standardize = Standardizer("recording")
    problem = ChangePoint()
    instances = [Instance(standardize(X)) for X in Xs]
    by_mean = closed_forms.fit("untrained", problem, instances, encode(learner, Xs, ys))
    unseen = [Instance(standardize(X)) for X in others]
    assert all(problem.partition(x, by_mean).n_clusters == 1 for x in unseen)


def test_hermite_moments_scale_each_recording_by_itself() -> None:
    Xs, _ = recordings("variance", 3, 3)
    Xs = [10.0**i * np.column_stack([X, 7 + 2 * X]) for i, X in enumerate(Xs)]
    for X, features in zip(Xs, HermiteMoments(3).fit_transform(Xs), strict=True):
        location, sigma = robust_scale(X)
        psi = hermite_functions((X - location) / sigma, 3)
        np.testing.assert_array_equal(features, psi.reshape(len(X), -1))


@cases(
    (HermiteMoments(0), "from 1 to 50"),
    (HermiteMoments(2.5), "from 1 to 50"),
    ("moments", "features must be a transformer of structsvm.features or None"),
)
def test_impossible_settings_of_hermite_moments_are_refused(given, message) -> None:
    Xs, ys = recordings("variance", 2, 3)
    with pytest.raises(SettingsError, match=message):
        MetricLearner(features=given).fit(Xs, ys)
