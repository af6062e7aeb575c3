"""Blind baselines: equal segments, fixed times, and meaningless labels that must not pay."""

import itertools

import numpy as np
import pytest
from recording_cases import protocol, shuffled_protocol

from structsvm import MetricLearner, MetricLearnerCV, PartialLabels, evaluate
from structsvm.baselines import EqualSegments
from structsvm.baselines.blind import FixedTimes
from structsvm.errors import VerdictWarning
from structsvm.partitions import EquivalenceMatrix, TraceObjective

NOTHING = (
    "There is no evidence that the segments follow from the features: segments of equal length, "
    "whatever is in the recording, may do as well."
)


def at_random(rng, n, T=120, P=3, K=6):
    """Recordings of noise that are cut anywhere."""
    Xs = [rng.normal(size=(T, P)) for _ in range(n)]
    ys = [[*sorted(rng.choice(np.arange(1, T), K - 1, replace=False).tolist()), T] for _ in Xs]
    return Xs, ys


class TestLength:
    def test_the_length_of_equal_segments_is_that_of_the_labels(self):
        Xs = [np.zeros((T, 1)) for T in (60, 90)]
        ys = [list(range(15, len(X) + 1, 15)) for X in Xs]
        assert EqualSegments().fit(Xs, ys).predict_breakpoints(Xs) == ys

    def test_equal_segments_are_as_many_as_asked_for(self):
        baseline = EqualSegments().fit([np.zeros((40, 1))], [[10, 20, 30, 40]])
        X = [np.zeros((7, 1)), np.zeros((1, 1))]
        assert baseline.predict_breakpoints(X, [3, 1]) == [[2, 5, 7], [1]]
        assert [y.tolist() for y in baseline.predict(X, [2, 1])] == [[0, 0, 0, 0, 1, 1, 1], [0]]


class TestTimes:
    def test_fixed_times_scale_with_the_length_of_the_recording(self):
        Xs = [np.zeros((T, 1)) for T in (30, 60, 90)]
        fixed = FixedTimes().fit(Xs, [[10, 30], [20, 60], [30, 90]])
        assert fixed.loss_ == 0
        assert fixed.predict_breakpoints([np.zeros((300, 1))]) == [[100, 300]]

    @pytest.mark.parametrize(
        "protocol_of",
        [
            lambda T: [10, 20, 32],
            lambda T: [T - 40, T - 25],
            lambda T: [12, T - 15],
            lambda T: list(range(30, T, 30)),
            lambda T: list(range(T - 7, 0, -50))[::-1],
        ],
        ids=["start", "end", "both", "stopped", "begun-late"],
    )
    def test_each_fixed_time_is_counted_from_the_end_or_the_start_as_it_varies_least(
        self, rng, protocol_of
    ):
        sizes = sorted(map(int, rng.integers(60, 200, 12)), reverse=True)
        ys = [[*protocol_of(T), T] for T in sizes]
        fixed = FixedTimes().fit([np.zeros((T, 1)) for T in sizes[:8]], ys[:8])
        assert fixed.loss_ == 0
        assert fixed.predict_breakpoints([np.zeros((T, 1)) for T in sizes[8:]]) == ys[8:]
        (ends,) = fixed.predict_breakpoints([np.zeros((100, 1))], len(protocol_of(100)) + 1)
        assert ends == [*protocol_of(100), 100]

    def test_fixed_times_are_learned_from_labelled_stretches(self):
        y = np.full(60, None)
        y[15:45] = "rest"
        y[25:45] = "walk"
        fixed = FixedTimes().fit([np.zeros((60, 1))] * 2, [PartialLabels(labels=y)] * 2)
        assert fixed.loss_ == 0
        assert fixed.predict_breakpoints([np.zeros((80, 1))]) == [[33, 80]]

    @pytest.mark.parametrize("K", [1, 2, 3, 7, 12])
    def test_fixed_times_make_as_many_segments_as_asked_for(self, K):
        fixed = FixedTimes().fit([np.zeros((40, 1))] * 2, [[10, 40], [12, 20, 40]])
        (ends,) = fixed.predict_breakpoints([np.zeros((12, 1))], K)
        assert len(ends) == K
        assert ends == sorted({*ends})
        assert ends[-1] == 12


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
@pytest.mark.parametrize("counted_from", ["start", "end", "both"])
def test_labels_of_other_recordings_in_absolute_time_do_not_pay(counted_from):
    """A column of the time of the protocol lets a metric find it, whatever was labelled."""
    found = []
    for seed in range(3):
        Xs, ys = shuffled_protocol(np.random.default_rng(seed), counted_from)
        search = MetricLearnerCV(candidates=("untrained", "diagonal"), lams=(0.1,), random_state=0)
        found.append(search.fit(Xs, ys).verdict_.pays)
    assert sum(found) <= 1


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_labels_of_other_recordings_that_follow_a_protocol_do_not_pay():
    candidates = ("untrained", "diagonal")
    found = []
    for seed in range(3):
        Xs, ys = protocol(seed)
        search = MetricLearnerCV(candidates=candidates, lams=(0.1,), random_state=0).fit(Xs, ys)
        found.append(search.verdict_.code)
        learner = MetricLearner(metric="diagonal", lam=0.1).fit(Xs[:6], ys[:6])
        found.append(evaluate(learner, Xs[6:], ys[6:]).verdict.code)
    assert sum(code.startswith("pays") for code in found) <= 1


def test_labels_at_random_do_not_pay(rng):
    Xs, ys = at_random(rng, 12, T=60, K=4)
    with pytest.warns(VerdictWarning, match="There is no evidence that the segments follow"):
        search = MetricLearnerCV(lams=(0.1,), random_state=0).fit(Xs, ys)
    verdict = search.verdict_
    assert verdict.answer == NOTHING
    assert not verdict.pays
    assert "than that of segments of equal length" in verdict.found
    assert "equal-segments" in verdict.to_dict()["contrasts"]


# ---- the scores of segments add up to the objective of the segmentations that they make


@pytest.mark.parametrize("truth", [None, [0, 0, 1, 1, 1, 2], [0, 1, 0, 1, 1, 0]])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_segment_scores_add_up_to_the_value_of_a_segmentation(rng, truth, offset):
    objective = TraceObjective(
        rng.normal(size=(6, 2)) + offset,
        truth=None if truth is None else EquivalenceMatrix.from_labels(truth),
        truth_weight=0.0 if truth is None else 1.3,
        shift=-0.4,
    )
    scores = objective.segment_scores()
    size = 10.0 + np.sum(objective.Z**2)
    assert scores.shape == (7, 7)
    assert np.all(np.isneginf(scores[np.tril_indices(7)]))
    for inner in itertools.product([False, True], repeat=5):
        ends = [t for t in range(1, 6) if inner[t - 1]] + [6]
        found = sum(scores[s, t] for s, t in itertools.pairwise([0, *ends]))
        value = objective.value(EquivalenceMatrix.from_breakpoints(ends))
        assert found == pytest.approx(value, abs=1e-13 * size)
