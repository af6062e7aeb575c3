"""Learning from partial labels: the start, the alternation, long recordings, bad input."""

import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from structsvm import (
    Alternation,
    DataError,
    EquivalenceMatrix,
    MetricLearner,
    PartialLabels,
    Region,
    Status,
)
from structsvm.datasets import relevant_changes
from structsvm.errors import DataWarning
from structsvm.learner.steps import decode_with, encode
from structsvm.partial_labels import Known
from structsvm.partitions import partition_loss
from structsvm.solvers import CuttingPlane, Stopping


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
        monkeypatch.setattr("structsvm.learner.completing._beats_no_change", lambda *_: True)
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


# ---- long recordings: time in proportion to their length


def half_blank(T, rng, length=1):
    """Random labels, every other sample without one."""
    y = np.repeat(rng.integers(0, 4, T // length), length)
    return np.where(rng.random(T) < 0.5, -1, y)


def random_partition(T, rng):
    ends = np.flatnonzero(rng.random(T - 1) < 0.3) + 1
    return EquivalenceMatrix.from_breakpoints([*ends.tolist(), T])


@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize("seed", range(5))
def test_the_loss_is_the_sum_over_the_stretches(seed, length):
    rng, T = np.random.default_rng(seed), 120
    regions = [Region(80, 90, 1), Region(95, 110, 1, or_more=True), Region(112, 118, 0)]
    y = half_blank(T, rng, length)
    y[78:] = -1
    labels = PartialLabels(y, regions=regions)
    known = Known(T, labels.constraint(T, True), None, True)
    for _ in range(20):
        M = random_partition(T, rng)
        expected = sum(
            partition_loss(truth, EquivalenceMatrix.from_labels(M.labels[rows]))
            for rows, truth in zip(*known.part, strict=True)
        )
        regions = [r for r in known.constraint.regions if r.changes]
        expected += sum(not r.holds(M.boundaries) for r in regions)
        assert known.loss(M) == pytest.approx(expected, abs=1e-9)


def test_a_contradiction_in_long_labels_is_found_and_named():
    rng, T = np.random.default_rng(0), 20_000
    y = half_blank(T, rng)
    y[10_000:10_005] = [0, 1, 0, 1, 0]
    labels = PartialLabels(y, regions=[(10_000, 10_005, 3)])
    started = time.process_time()
    with pytest.raises(DataError, match="contradict each other: ") as caught:
        labels.constraint(T, contiguous=True)
    assert time.process_time() < started + 8
    assert "region 10000..10005 with 3 changes" in str(caught.value)
    with pytest.raises(DataError, match="n_clusters=3"):
        PartialLabels(y, n_clusters=3).constraint(T, contiguous=True)
    assert time.process_time() < started + 16
