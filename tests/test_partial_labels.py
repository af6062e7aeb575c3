"""Partial labels: their forms, what they allow, and the contradictions they are refused for."""

import itertools
from itertools import chain

import numpy as np
import pytest
from cases import cases, refused
from clocks import work_of
from recording_cases import changes
from sequential_cases import segmentations
from sklearn.exceptions import ConvergenceWarning

from structsvm import (
    Alternation,
    DataError,
    EquivalenceMatrix,
    MetricLearner,
    PartialLabels,
    Region,
    Status,
    partial_labels,
)
from structsvm.errors import DataWarning
from structsvm.learner.preparing import encode
from structsvm.learner.steps import decode_with
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partial_labels import as_partial
from structsvm.partitions import partition_loss
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.training_labels import Known


def agree(labels: PartialLabels, boundary: np.ndarray) -> np.ndarray:
    """By the definition of each kind of label; the rows of ``boundary`` mark 0..T."""
    segment = np.cumsum(boundary[:, :-1], axis=1)
    good = np.ones(len(boundary), dtype=bool)
    for region in labels.regions:
        changes = boundary[:, region.first : region.end].sum(axis=1)
        good &= changes >= 1 if region.or_more else changes == region.changes
    if labels.n_clusters is not None:
        good &= segment[:, -1] == labels.n_clusters
    if labels.codes is None:
        return good
    codes = labels.codes
    for i, j in itertools.combinations(np.flatnonzero(codes >= 0), 2):
        same = segment[:, i] == segment[:, j]
        if codes[i] != codes[j]:
            good &= ~same
        elif (codes[i:j] == codes[i]).all():
            good &= same
    return good


def random_labels(rng: np.random.Generator, T: int) -> PartialLabels:
    regions = []
    for _ in range(int(rng.integers(0, 4))):
        start, end = (int(t) for t in np.sort(rng.choice(T + 1, 2, replace=False)))
        regions.append((start, end, "1+" if rng.random() < 0.3 else int(rng.integers(0, 3))))
    labels = None
    if rng.random() < 0.7:
        labels = np.cumsum(rng.random(T) < 0.3)
        labels[rng.random(T) < 0.5] = -1
    K = int(rng.integers(1, T + 1)) if rng.random() < 0.3 else None
    return PartialLabels(labels=labels, regions=regions, n_clusters=K)


def constraint_or_reason(labels: PartialLabels, T: int) -> Constraint | str:
    try:
        return labels.constraint(T, contiguous=True)
    except DataError as error:
        return str(error)


def test_partial_labels_allow_exactly_the_segmentations_that_agree() -> None:
    """Thousands of label sets, T <= 8: refused if and only if none agrees, else the best found."""
    oracle = SequentialOracle()
    contradictions = 0
    answered = 0
    for seed in range(4_000):
        rng = np.random.default_rng(seed)
        T = int(rng.integers(2, 9))
        labels = random_labels(rng, T)
        boundary = segmentations(T)[0]
        good = agree(labels, boundary)
        constraint = constraint_or_reason(labels, T)
        if isinstance(constraint, str):
            assert "not supported" in constraint or not good.any(), (seed, constraint)
            contradictions += 1
            continue
        assert good.any(), seed
        objective = TraceObjective(rng.standard_normal((T, 2)), shift=-0.3)
        found = np.zeros(T + 1, dtype=bool)
        found[oracle.maximize(objective, constraint).y.boundaries] = True
        assert good[(boundary == found).all(axis=1)].all(), seed
        answered += 1
    assert contradictions > 1_000
    assert answered > 1_000


@cases(
    (PartialLabels(regions=[(0, 6, 0), (2, 5, 1)]), ("0..6 with no", "2..5 with 1 change")),
    (PartialLabels(regions=[(0, 9, 1), (2, 5, 2)]), ("0..9 with 1", "2..5 with 2")),
    (
        PartialLabels([0, 0, 0, 1, 1, 1, -1, -1, -1, -1], regions=[(1, 6, 0)]),
        ("1..6 with no changes", "samples 2 and 3, which differ"),
    ),
    (
        PartialLabels([0, 0, 0, 0, -1, -1, -1, -1, -1, -1], regions=[(0, 4, "1+")]),
        ("0..4 with at least 1", "samples 0..3, which leave room for 0"),
    ),
    (
        PartialLabels([0, -1, -1, 1, -1, -1, -1, -1, -1, -1], n_clusters=1),
        ("n_clusters=1", "samples 0 and 3, which have different labels"),
    ),
    (PartialLabels(regions=[(3, 8, 2)], n_clusters=2), ("3..8 with 2", "n_clusters=2")),
)
def test_contradicting_partial_labels_are_both_named(
    labels: PartialLabels, named: tuple[str, str]
) -> None:
    with pytest.raises(DataError, match="contradict each other") as caught:
        labels.constraint(10, contiguous=True)
    message = str(caught.value)
    assert all(name in message for name in named), message
    assert message.count(" and ") - sum(name.count(" and ") for name in named) == 1


@cases(
    (
        PartialLabels(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)]),
        ("cannot-link (0, 2)", "rows 0, 1, 2 are together"),
    ),
    (
        PartialLabels([0, 1, -1, -1], must_link=[(0, 1)]),
        ("rows 0 and 1", "rows 0, 1 are together"),
    ),
    (
        PartialLabels(chunks=[5, -1, 5, 2], cannot_link=[(2, 0)]),
        ("cannot-link (2, 0)", "rows 0, 2 are together"),
    ),
    (PartialLabels(["a", "b", "c", None], n_clusters=2), ("n_clusters=2", "3 clusters")),
)
def test_contradicting_links_are_both_named(labels: PartialLabels, named: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match="contradict each other") as caught:
        labels.constraint(4, contiguous=False)
    assert all(name in str(caught.value) for name in named), str(caught.value)


test_partial_labels_that_do_not_suit_the_problem_are_refused = refused(
    DataError,
    lambda given, contiguous: PartialLabels(**given).constraint(4, contiguous),
    ({"labels": [0, 1, -1]}, True, "4 samples but labels of shape"),
    ({"chunks": [0, 0]}, False, "4 samples but chunks of shape"),
    ({"regions": [(0, 5, 1)]}, True, "not part of a recording of 4 samples"),
    ({"regions": [(1, 3, 3)]}, True, "no room"),
    ({"regions": [(0, 3, 1), (2, 4, 1)]}, True, "cut them"),
    ({"n_clusters": 9}, True, "n_clusters=9: there is no room"),
    ({"must_link": [(0, 1)]}, True, "labels of clusterings"),
    ({"regions": [(0, 3, 1)]}, False, "labels of segmentations"),
    ({"must_link": [(0, 7)]}, False, "row 7"),
    ({"chunks": [1, 1, 1, 1], "n_clusters": 2}, False, "leave 1 group"),
)


test_partial_labels_of_other_forms_are_refused = refused(
    DataError,
    lambda given: PartialLabels(**given),
    ({"labels": [[0]]}, "non-empty vector"),
    ({"labels": ["1", 1, None]}, "labels do not compare"),
    ({"regions": [(0, 1)]}, "start, end, changes"),
    ({"regions": [(0, 5, "2+")]}, "0, 1, 2, ... or"),
    ({"must_link": [(1, 1)]}, "pairs of different row numbers"),
    ({"cannot_link": [(1, 2, 3)]}, "pairs of different row numbers"),
    ({"n_clusters": 0}, "integer >= 1"),
)


def test_stretches_are_where_every_boundary_is_decided() -> None:
    labels = PartialLabels([-1, 7, 7, 8, -1, 8, -1, -1, -1, -1], regions=[(7, 9, 0)])
    constraint = labels.constraint(10, contiguous=True)
    rows, truths = Known(10, constraint, None, contiguous=True).part
    assert [some.tolist() for some in rows] == [[1, 2, 3], [6, 7, 8]]
    assert [M.breakpoints for M in truths] == [[2, 3], [3]]
    assert Known(1, Constraint(), None, contiguous=True).part == ([], [])


@pytest.mark.parametrize(("change", "holds"), [(19, False), (20, True), (29, True), (30, False)])
def test_regions_are_the_numbers_of_lopart(change: int, holds: bool) -> None:
    """Its (20, 30, 1), from 1 and with both ends, asks for a change after samples 20 to 29."""
    constraint = PartialLabels(regions=[(20, 30, 1)]).constraint(100, contiguous=True)
    answer = EquivalenceMatrix.from_breakpoints([change, 60, 100])
    assert (constraint.violation(answer) is None) == holds


def test_minus_one_marks_unlabelled_samples() -> None:
    partial = as_partial([0, 0, -1], 3)
    assert partial is not None
    assert not partial.is_complete
    assert as_partial([0, 0, 1], 3) is None
    assert as_partial([2, 3], 3) is None
    assert PartialLabels(["a", "b"]).is_complete
    assert PartialLabels(regions=[Region(0, 4, 1)]).regions[0].holds(np.array([0, 2, 4]))


# ---- learning from them: the start, the alternation, long recordings, bad input


@pytest.fixture(scope="module")
def recordings():
    """Twelve recordings of 30 features, of which 5 matter."""
    return changes(12, n_samples=300, n_features=30, n_relevant=5, random_state=3)


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
    objectives = list(chain.from_iterable((r.objective, r.completed) for r in done.rounds))
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


def test_unlabelled_samples_improve_the_metric(recordings) -> None:
    """Half of each training recording labelled: completing beats the untrained metric clearly."""
    Xs, ys = recordings
    learner = MetricLearner(metric="diagonal").fit(Xs[4:], prefixes(ys[4:], 0.5))
    full = MetricLearner(metric="diagonal").fit(Xs[4:], ys[4:])
    guesses = decode_with(full, full.baselines_["untrained"].metric_, Xs[:4])
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


def test_ctrl_c_during_completion_returns_the_metric_so_far(recordings) -> None:
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
def test_labels_that_contradict_completion_are_warned_of(completes, monkeypatch) -> None:
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


@cases(
    ([-1, -1, 2, 2, 2, -1], "no label says that anything changes"),
    (PartialLabels(regions=[(0, 6, 0)]), "no label says that anything changes"),
    (PartialLabels([0, 1, -1, -1, -1, -1], n_clusters=1), "recording 0: .*contradict"),
    (PartialLabels(must_link=[(0, 1)]), "recording 0: .*labels of clusterings"),
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
def test_the_loss_of_partial_labels_is_the_sum_over_stretches(seed, length):
    rng = np.random.default_rng(seed)
    T = 120
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


def contradiction_in(T, **given):
    """An error about long labels with a contradiction in the middle, and the work to find it."""
    y = half_blank(T, np.random.default_rng(0))
    caught = []
    y[T // 2 : T // 2 + 5] = [0, 1, 0, 1, 0]
    labels = PartialLabels(y, **given)

    def refused():
        with pytest.raises(DataError, match="contradict each other: ") as found:
            labels.constraint(T, contiguous=True)
        caught.append(str(found.value))

    return work_of(refused, partial_labels), caught[0]


def test_a_contradiction_in_long_labels_is_found_and_named():
    work = {}
    for T in (2_000, 20_000):
        region = (T // 2, T // 2 + 5, 3)
        work[T], said = contradiction_in(T, regions=[region])
        assert f"region {T // 2}..{T // 2 + 5} with 3 changes" in said
    assert work[20_000] < 15 * work[2_000]  # 100 times if it were the square


def test_too_few_clusters_for_long_labels_are_found_and_named():
    work = {}
    for T in (2_000, 20_000):
        work[T], said = contradiction_in(T, n_clusters=3)
        assert "n_clusters=3" in said
    assert work[20_000] < 15 * work[2_000]


@pytest.mark.parametrize("every", [5, 6, 8])
@pytest.mark.parametrize("seed", [0, 1])
def test_scattered_labels_are_completed_with_the_fewest_changes(every, seed):
    """They forbid no change, so that the smallest prices agreed with them: all samples apart."""
    rng = np.random.default_rng(seed)
    lengths = [rng.integers(10, 20, 5) for _ in range(6)]
    truths = [np.repeat([0, 1, 2, 0, 1], some) for some in lengths]
    Xs = [rng.normal(size=(y.size, 2)) + 3.0 * np.eye(3)[y, :2] for y in truths]
    ys = [PartialLabels(np.where(np.arange(y.size) % every, -1, y).tolist()) for y in truths]
    found = MetricLearner().fit(Xs, ys).predict_partitions(Xs)
    partitions = [EquivalenceMatrix.from_breakpoints(np.cumsum(some)) for some in lengths]
    losses = [partition_loss(M, N) for M, N in zip(partitions, found, strict=True)]
    assert np.mean(losses) < 5.0  # that of all samples apart is 70


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([12], [9]),
        ([4, 7, 12], [9]),  # what was between may have been another segment
        ([5, 12], [4, 9]),
        ([4, 12], [4, 9]),
        ([2, 12], [2, 9]),
        ([10, 12], [7, 9]),
        ([4, 5, 10, 12], [7, 9]),
    ],
)
def test_segments_are_scored_on_labelled_samples(ends, expected):
    """Between equal labels, two changes or none are possible, and one is not."""
    labels = PartialLabels(labels=[0] * 4 + [-1] * 3 + [0] * 5)
    known = Known(12, labels.constraint(12, True), None, True, labels.codes)
    assert known.scored.breakpoints == [9]
    assert known.of_scored(EquivalenceMatrix.from_breakpoints(ends)).breakpoints == expected
    assert known.drawn.breakpoints == [4, 7, 12]
