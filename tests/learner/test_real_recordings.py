"""Losses of learned metrics on real recordings, and on the paper's synthetic ones."""

import numpy as np
import pytest
from cases import cases

from structsvm import MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels, read_recordings
from structsvm.learner.preparing import encode
from structsvm.learner.steps import decode_with
from structsvm.partitions import partition_loss


def mean_loss(learner, Xs, ys, known, metric=None):
    """Of the learned metric, or another one; told the numbers of segments or not."""
    truths = encode(learner, Xs, ys)
    counts = [truth.n_clusters for truth in truths] if known else None
    found = decode_with(learner, metric or learner.metric_, Xs, counts)
    return np.mean([partition_loss(t, g) for t, g in zip(truths, found, strict=True)])


@pytest.fixture(scope="module")
def activities(shared_data):
    """Ten subjects to learn (95 recordings), five others to test (50)."""
    recordings = read_recordings(shared_data / "har_spsw")
    learn = [r for r in recordings if r.name[:3] <= "s10"]
    test = [r for r in recordings if r.name[:3] > "s10"]
    assert (len(learn), len(test)) == (95, 50)
    return arrays_and_labels(learn), arrays_and_labels(test)


@cases(("full", 2.85, 2.95), ("diagonal", 3.2, 3.2))
def test_learned_metrics_segment_activities_of_new_people_with_small_loss(
    activities, metric, with_known, with_unknown
):
    learn, test = activities
    learner = MetricLearner(metric=metric).fit(*learn)
    assert learner.converged_
    assert mean_loss(learner, *test, known=True) <= with_known
    assert mean_loss(learner, *test, known=False) <= with_unknown
    untrained = learner.baselines_["untrained"].metric_
    assert mean_loss(learner, *test, True, untrained) == pytest.approx(4.55, abs=0.02)
    assert mean_loss(learner, *test, False, untrained) == pytest.approx(4.45, abs=0.1)


def test_learning_finds_ten_relevant_of_three_hundred_dimensions():
    """Fifty recordings to test: with ten, one change more or less found moves the mean by .1."""
    recordings = relevant_changes(60, random_state=0)
    Xs = [r.X for r in recordings]
    ys = [r.y for r in recordings]
    learner = MetricLearner(metric="diagonal").fit(Xs[:10], ys[:10])
    test = Xs[10:], ys[10:]
    assert mean_loss(learner, *test, known=False) <= 0.3
    assert mean_loss(learner, *test, False, learner.baselines_["untrained"].metric_) > 4
    weights = np.diag(learner.get_mahalanobis_matrix())
    assert weights[:10].min() > 3 * weights[10:].max()
