"""Learning from partial labels: the start, the alternation, the kinds of label, bad input."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from structsvm import Alternation, MetricLearner, PartialLabels
from structsvm.datasets import relevant_changes
from structsvm.errors import DataError, DataWarning
from structsvm.learner.steps import decode_with, encode
from structsvm.partitions.losses import partition_loss
from structsvm.solvers.base import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.status import Status


@pytest.fixture(scope="module")
def recordings():
    """Twelve recordings of 30 features, of which 5 matter."""
    made = relevant_changes(12, n_samples=300, n_features=30, n_relevant=5, random_state=3)
    return [r.X for r in made], [r.y for r in made]


def prefixes(ys, share: float) -> list[np.ndarray]:
    return [np.where(np.arange(y.size) < share * y.size, y, -1) for y in ys]


def regions_of(y: np.ndarray, length: int = 50) -> PartialLabels:
    """How many changes every 50 samples have: no time of any change."""
    return PartialLabels(
        regions=[
            (t, t + length, int(np.count_nonzero(np.diff(y[t : t + length]))))
            for t in range(0, y.size, length)
        ]
    )


def mean_loss(learner: MetricLearner, Xs, ys) -> float:
    truths = encode(learner, Xs, ys)
    pairs = zip(truths, learner.predict_partitions(Xs), strict=True)
    return float(np.mean([partition_loss(t, g) for t, g in pairs]))


def test_completed_labels_agree_and_the_objective_never_rises(recordings) -> None:
    Xs, ys = recordings
    partial = prefixes(ys[:4], 0.4)
    partial[1] = ys[1]  # one recording in full
    partial[2] = regions_of(ys[2])
    learner = MetricLearner(metric="diagonal").fit(Xs[:4], partial)
    done = learner.alternated_
    objectives = [v for r in done.rounds for v in (r.objective, r.completed)]
    assert np.all(np.diff(objectives) <= 1e-9)
    assert done.fixed_point
    assert "no label changed" in done.summary
    for i, M in enumerate(done.labels):
        known = ys[i][: int(0.4 * ys[i].size)]
        if i == 2:
            assert all(r.holds(M.boundaries) for r in partial[2].regions)
        else:
            found = np.diff(M.labels[: known.size]) != 0
            np.testing.assert_array_equal(found, np.diff(known) != 0)
    assert learner.training_data_.n_clusters[1] == ys[1].max() + 1


def test_unlabelled_samples_are_of_use(recordings) -> None:
    """Half of each training recording labelled: completing beats the untrained metric clearly."""
    Xs, ys = recordings
    learner = MetricLearner(metric="diagonal").fit(Xs[4:], prefixes(ys[4:], 0.5))
    full = MetricLearner(metric="diagonal").fit(Xs[4:], ys[4:])
    guesses = decode_with(full, full.baselines_["untrained"], Xs[:4])
    pairs = zip(encode(full, Xs[:4], ys[:4]), guesses, strict=True)
    untrained = np.mean([partition_loss(t, g) for t, g in pairs])
    assert mean_loss(full, Xs[:4], ys[:4]) < 0.3 * untrained
    assert mean_loss(learner, Xs[:4], ys[:4]) < 0.5 * untrained


def test_labels_that_are_complete_need_no_alternation(recordings) -> None:
    Xs, ys = recordings
    whole = [PartialLabels(y) for y in ys[:3]]
    learner = MetricLearner(metric="diagonal").fit(Xs[:3], whole)
    assert learner.alternated_ is None
    same = MetricLearner(metric="diagonal").fit(Xs[:3], ys[:3])
    np.testing.assert_array_equal(learner.metric_.factor.T, same.metric_.factor.T)


@pytest.mark.parametrize("alternation", [Alternation(max_rounds=0), Alternation(max_rounds=1)])
def test_other_lengths(recordings, alternation) -> None:
    Xs, ys = recordings
    learner = MetricLearner(metric="full").fit(
        Xs[:3], prefixes(ys[:3], 0.5), alternation=alternation
    )
    assert np.isfinite(learner.metric_.price)
    if alternation.max_rounds:
        assert len(learner.alternated_.rounds) <= alternation.max_rounds
    else:
        assert learner.alternated_ is None


def test_recordings_of_which_nothing_is_known_are_left_out(recordings) -> None:
    Xs, ys = recordings
    nothing = [PartialLabels(), np.full(300, -1)]
    half = prefixes(ys[:2], 0.5)
    learner = MetricLearner(metric="diagonal").fit(Xs[:4], half + nothing)
    same = MetricLearner(metric="diagonal").fit(Xs[:2], half)
    np.testing.assert_array_equal(learner.metric_.factor.T, same.metric_.factor.T)
    assert len(learner.training_data_) == len(learner.alternated_.labels) == 2


def test_ctrl_c_ends_with_the_metric_so_far(recordings) -> None:
    """In the first round of the alternation, and in learning from the stretches before it."""
    Xs, ys = recordings
    calls = []

    def interrupt(entry) -> None:
        calls.append(entry)
        raise KeyboardInterrupt

    learner = MetricLearner(metric="diagonal", solver=CuttingPlane(Stopping(tol=1e-6)))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        learner.fit(Xs[:3], prefixes(ys[:3], 0.5), callback=interrupt)
    assert len(calls) == 1
    assert len(learner.alternated_.rounds) == 1
    assert not learner.alternated_.fixed_point
    assert learner.solution_.status is Status.INTERRUPTED


@pytest.mark.parametrize("completes", [False, True])
def test_labels_that_speak_against_completing_are_heard(completes, monkeypatch) -> None:
    """Labels that have nothing to do with the features: held-out ones tell, or a zero metric does.

    The metric of the stretches alone is kept, and finds as many changes per sample as they have.
    """
    rng = np.random.default_rng(0)
    Xs = [rng.standard_normal((80, 6)) for _ in range(10)]
    stretch = np.r_[[-1] * 30, [0] * 5, [1] * 5, [-1] * 40]
    ys = [np.roll(stretch, rng.integers(-30, 30)) for _ in Xs]
    if completes:
        monkeypatch.setattr("structsvm.learner.fitting._beats_no_change", lambda *_: True)
    with pytest.warns(
        DataWarning, match="zero metric" if completes else "worse than predicting no change"
    ):
        kept = MetricLearner(lam=0.05).fit(Xs, ys)
    alone = MetricLearner(lam=0.05).fit(Xs, ys, alternation=Alternation(max_rounds=0))
    assert kept.alternated_ is None
    np.testing.assert_array_equal(kept.metric_.factor.T, alone.metric_.factor.T)
    found = np.mean([M.n_clusters - 1 for M in kept.predict_partitions(Xs)])
    assert 79 / 9 / 1.5 < found < 79 / 9 * 1.5


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([-1, -1, 2, 2, 2, -1], "no label says that anything changes"),
        (PartialLabels(regions=[(0, 6, 0)]), "no label says that anything changes"),
        (PartialLabels([0, 1, -1, -1, -1, -1], n_clusters=1), "recording 0: .*contradict"),
        (PartialLabels(must_link=[(0, 1)]), "recording 0: .*labels of clusterings"),
    ],
)
def test_labels_that_teach_nothing_are_refused(labels, message) -> None:
    X = np.random.default_rng(0).standard_normal((6, 2))
    with pytest.raises(DataError, match=message):
        MetricLearner().fit([X], [labels])
