"""What learning a metric for normalized cuts minimises."""

import numpy as np
import pytest

from structsvm import MetricLearner, NormalizedCut
from structsvm.graphs import FeatureGraph
from structsvm.regularizers import SquaredNorm


@pytest.fixture
def clouds(rng):
    """Three graphs of two clouds each, and their labels."""
    ys = [np.arange(20) % 2] * 3
    return [FeatureGraph(rng.normal(size=(20, 2)) + 2.0 * y[:, None]) for y in ys], ys


@pytest.mark.parametrize("metric", ["diagonal", "full"])
@pytest.mark.parametrize("regularizer", ["squared", SquaredNorm(2.0)])
def test_a_strong_regularizer_keeps_the_metric_at_its_start(clouds, metric, regularizer):
    learner = MetricLearner(NormalizedCut(), metric, regularizer, lam=1e4).fit(*clouds)
    start = learner.baselines_["untrained"].matrix
    np.testing.assert_allclose(
        learner.get_mahalanobis_matrix(), start, atol=1e-3 * np.abs(start).max()
    )


def test_a_center_of_ones_own_is_kept(clouds):
    twice = SquaredNorm(center=2.0)
    learner = MetricLearner(NormalizedCut(), "diagonal", twice, lam=1e4).fit(*clouds)
    start = learner.baselines_["untrained"].matrix
    np.testing.assert_allclose(learner.get_mahalanobis_matrix(), 2 * start, rtol=1e-3)


def test_the_strength_is_that_of_the_regularizer_times_lam(clouds):
    risks = [
        MetricLearner(NormalizedCut(), "full", SquaredNorm(weight), lam).risk(*clouds)
        for weight, lam in ((1.0, 0.6), (3.0, 0.2))
    ]
    values = [risk.regularizer.value(np.zeros_like(risk.start), risk.space) for risk in risks]
    assert values == pytest.approx([0.6, 0.6])
