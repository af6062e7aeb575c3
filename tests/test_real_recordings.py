"""What learning is worth on real recordings, and on the paper's synthetic ones."""

import numpy as np
import pytest

from structsvm import MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels, read_recordings
from structsvm.learner.steps import decode_with, encode
from structsvm.partitions.losses import partition_loss


def mean_loss(learner, metric, Xs, ys, known):
    truths = encode(learner, Xs, ys)
    counts = [truth.n_clusters for truth in truths] if known else None
    pairs = zip(truths, decode_with(learner, metric, Xs, counts), strict=True)
    return np.mean([partition_loss(t, g) for t, g in pairs])


def learned_loss(learner, Xs, ys, known):
    truths = encode(learner, Xs, ys)
    counts = [truth.n_clusters for truth in truths] if known else None
    pairs = zip(truths, learner.predict_partitions(Xs, counts), strict=True)
    return np.mean([partition_loss(t, g) for t, g in pairs])


@pytest.fixture(scope="module")
def activities(shared_data):
    """Ten subjects to learn (95 recordings), five others to test (50)."""
    recordings = read_recordings(shared_data / "har_spsw")
    learn = [r for r in recordings if r.name[:3] <= "s10"]
    test = [r for r in recordings if r.name[:3] > "s10"]
    assert (len(learn), len(test)) == (95, 50)
    return arrays_and_labels(learn), arrays_and_labels(test)


@pytest.mark.parametrize(
    ("metric", "with_known", "with_unknown"), [("full", 2.85, 2.95), ("diagonal", 3.2, 3.2)]
)
def test_activities_of_people_never_seen(activities, metric, with_known, with_unknown):
    learn, test = activities
    learner = MetricLearner(metric=metric).fit(*learn)
    assert learner.converged_
    assert learned_loss(learner, *test, known=True) <= with_known
    assert learned_loss(learner, *test, known=False) <= with_unknown
    untrained = learner.baselines_["untrained"]
    assert mean_loss(learner, untrained, *test, known=True) == pytest.approx(4.55, abs=0.02)
    assert mean_loss(learner, untrained, *test, known=False) == pytest.approx(4.45, abs=0.1)


@pytest.mark.parametrize("seed", [0, 1])
def test_ten_relevant_dimensions_of_three_hundred(seed):
    """Fifty recordings to test: with ten, one change more or less found moves the mean by .1."""
    recordings = relevant_changes(60, random_state=seed)
    Xs, ys = [r.X for r in recordings], [r.y for r in recordings]
    learner = MetricLearner(metric="diagonal").fit(Xs[:10], ys[:10])
    test = Xs[10:], ys[10:]
    assert learned_loss(learner, *test, known=False) <= 0.3
    assert mean_loss(learner, learner.baselines_["untrained"], *test, known=False) > 4
    weights = np.diag(learner.get_mahalanobis_matrix())
    assert weights[:10].min() > 3 * weights[10:].max()
