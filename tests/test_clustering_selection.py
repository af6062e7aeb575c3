"""Choosing metrics for clustering on held-out tables."""

import numpy as np
import pytest
from tables import table

from structsvm import Clustering, MetricLearnerCV
from structsvm.learner.steps import encode
from structsvm.partitions.equivalence import adjusted_rand_index, partition_loss


def overlapping(n=4):
    """Tables of so many close clusters that one single cluster has less loss than the truth."""
    Xs, ys = [], []
    for seed in range(n):
        rng, y = np.random.default_rng(seed), np.arange(60) % 6
        centres = np.random.default_rng(99).standard_normal((6, 3))
        Xs.append(0.7 * centres[y] + rng.standard_normal((60, 3)) * [0.5, 0.5, 2.0])
        ys.append(y)
    return Xs, ys


@pytest.fixture(scope="module")
def fitted():
    Xs, ys = zip(*(table(3, 45, seed=s, spread=3.0) for s in range(24)), strict=True)
    search = MetricLearnerCV(Clustering(), lams=(0.1,), cv=3, random_state=0)
    return search.fit(list(Xs), list(ys)), list(Xs), list(ys)


def test_it_chooses_and_says_that_learning_pays(fitted):
    search, Xs, _ = fitted
    assert search.verdict_.pays
    assert str(search.verdict_).startswith("Learning pays")
    assert "On 24 tables, each held out once, the loss of the learned metric is" in str(
        search.verdict_
    )
    assert search.losses_.shape == (24, len(search.candidates_))
    assert search.cv_results_["failure"].count("") == len(search.candidates_)
    X, y = table(3, 50, seed=20, spread=3.0)
    assert np.bincount(search.predict(X, n_clusters=3)).size == 3
    assert search.score(X, y) > -0.5
    counts = list(range(2, 11))
    assert [len(set(p.tolist())) for p in search.predict(Xs[:9], counts)] == counts


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_one_single_cluster_is_no_candidate_to_fall_for():
    """Judged by the loss, it would be the best answer to tables like these."""
    Xs, ys = overlapping()
    problem = Clustering("unknown")
    search = MetricLearnerCV(problem, lams=(0.1,), cv=2).fit(Xs, ys)
    truths, guesses = encode(search.best_estimator_, Xs, ys), search.predict_partitions(Xs)
    losses = [partition_loss(t, g) for t, g in zip(truths, guesses, strict=True)]
    assert np.mean(losses) > 5  # what one single cluster would have
    assert min(g.n_clusters for g in guesses) > 1
    indices = [adjusted_rand_index(t, g) for t, g in zip(truths, guesses, strict=True)]
    assert search.score(Xs, ys) == pytest.approx(np.mean(indices))
    assert (search.losses_ >= 0).all()  # 1 - index, 0 being perfect
    assert (search.losses_ <= 1.1).all()
    assert "the disagreement of the learned metric is" in str(search.verdict_)
