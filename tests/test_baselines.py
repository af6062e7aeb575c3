"""Baselines by name, on tables; those of segmentations are in test_calibration.py."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from tables import table

from structsvm import Clustering, EquivalenceMatrix
from structsvm.baselines import metrics as tuned_metrics
from structsvm.data.sample import Sample
from structsvm.errors import SettingsError
from structsvm.partitions.metric import Metric


def test_each_by_its_name():
    X, y = table()
    truth = EquivalenceMatrix.from_labels(y)
    labelled = Clustering(), [Sample(X)], [truth]
    for name in ("untrained", "pca", "rca", "lda"):
        metric = tuned_metrics.fit(name, *labelled)
        assert isinstance(metric, Metric)
        assert metric.factor.shape[0] == 4
    with pytest.raises(SettingsError, match=r"of this problem is one of .*'lda'.*, got 'lfda'"):
        tuned_metrics.fit("lfda", *labelled)
    with pytest.raises(SettingsError, match="clusters of a table have no neighbours: use lda"):
        tuned_metrics.fit("olda", *labelled)


def test_pca_is_not_fooled_by_few_clusters():
    """Eight overlapping clusters: by the loss, fewer clusters in one direction would win."""
    rng, y = np.random.default_rng(0), np.repeat(np.arange(8), 20)
    X = 0.8 * rng.standard_normal((8, 4))[y] + rng.standard_normal((160, 4))
    truths, sample = [EquivalenceMatrix.from_labels(y)], Sample(X)
    problem = Clustering()
    calibration = problem.learning.calibrate(np.eye(4), [sample], truths)
    assert calibration.losses.min() == 7.0 < calibration.loss  # that of one single cluster
    metric = tuned_metrics.fit("pca", problem, [sample], truths)
    one = problem.learning.calibrate(metric.factor[:, :1], [sample], truths)
    assert metric.factor.shape[1] == 2
    assert one.loss < problem.learning.calibrate(metric.factor, [sample], truths).loss


def test_lda_finds_the_directions_that_tell_clusters_apart():
    X, y = table()
    metric = tuned_metrics.fit("lda", Clustering(), [Sample(X)], [EquivalenceMatrix.from_labels(y)])
    assert metric.factor.shape == (4, 2)
    guess = Clustering().partition(Sample(X), metric, 3)
    assert adjusted_rand_score(y, guess.labels) > 0.9
