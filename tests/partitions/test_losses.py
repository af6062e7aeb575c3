"""Losses and scores against their definitions, scikit-learn, ruptures and the paper."""

import numpy as np
import pytest
import ruptures.metrics as rpt
from cases import cases, refused
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, rand_score
from strategies import examples, label_vectors, segmentations

from structsvm import EquivalenceMatrix
from structsvm.errors import DataError, OracleError
from structsvm.partitions.losses import (
    adjusted_rand_index,
    chi_square,
    covering,
    hausdorff,
    margin_f1,
    partition_loss,
    rand_index,
    time_errors,
)
from structsvm.partitions.trace_objective import TraceObjective

LOSSES = (partition_loss, chi_square, rand_index, adjusted_rand_index, covering)


def random_labels(rng, T, K, contiguous=False):
    labels = rng.integers(0, K, T)
    return np.sort(labels) if contiguous else labels


def random_pairs(rng, n=60, contiguous=False):
    for _ in range(n):
        T = int(rng.integers(2, 40))
        a, b = (random_labels(rng, T, int(rng.integers(1, 6)), contiguous) for _ in range(2))
        yield a, b, EquivalenceMatrix.from_labels(a), EquivalenceMatrix.from_labels(b)


def test_segmentation_scores_are_those_of_ruptures(rng):
    for _, _, M, N in random_pairs(rng, contiguous=True):
        if M.n_clusters == 1 or N.n_clusters == 1:
            continue
        assert hausdorff(M, N) == rpt.hausdorff(M.breakpoints, N.breakpoints)
        assert rand_index(M, N) == pytest.approx(rpt.randindex(M.breakpoints, N.breakpoints))


def segments(*ends):
    return EquivalenceMatrix.from_breakpoints(ends)


@cases(
    (segments(10), segments(10), 0, 1.0),
    (segments(5, 10), segments(5, 10), 0, 1.0),
    (segments(5, 10), segments(6, 10), 0, 0.0),
    (segments(5, 10), segments(6, 10), 1, 1.0),
    (segments(5, 20), segments(4, 6, 20), 1, 2 / 3),  # one true change, two near it
    (segments(4, 8, 20), segments(6, 7, 20), 2, 1.0),  # a nearest match alone would lose one
    (segments(20), segments(10, 20), 5, 0.0),
)
def test_the_f1_of_changes_counts_matches_within_a_margin(truth, guess, margin, expected):
    assert margin_f1(truth, guess, margin) == pytest.approx(expected)
    assert margin_f1(guess, truth, margin) == pytest.approx(expected)


def test_the_f1_counts_the_start_as_a_change_on_request():
    found = margin_f1(segments(5, 10), segments(6, 10), 0, count_start=True)
    assert found == margin_f1(segments(10), segments(10), count_start=True) / 2 == 0.5


def test_losses_of_one_cluster_and_one_sample_are_defined():
    one = segments(10)
    two = segments(4, 10)
    assert hausdorff(one, one) == 0.0
    assert hausdorff(one, two) == 10.0
    single = segments(1)
    assert [loss(single, single) for loss in LOSSES] == [0.0, 0.0, 1.0, 1.0, 1.0]


def test_losses_of_different_lengths_are_refused_with_the_numbers():
    with pytest.raises(DataError, match="of 10 and of 3 samples"):
        partition_loss(segments(10), segments(3))
    with pytest.raises(DataError, match="of 10 and of 3 samples"):
        hausdorff(segments(10), segments(3))
    with pytest.raises(DataError, match=r"tolerance must be >= 0 samples, got -1"):
        margin_f1(segments(10), segments(10), -1)
    with pytest.raises(DataError, match=r"tolerance must be >= 0 samples, got nan"):
        margin_f1(segments(10), segments(10), np.nan)
    with pytest.raises(DataError, match="of 10 and of 3 samples"):
        margin_f1(segments(10), segments(3))


# ---- whatever hypothesis thinks of


PAIRS = st.integers(1, 12).flatmap(lambda T: st.tuples(label_vectors(T), label_vectors(T)))
CUTS = st.integers(1, 12).flatmap(lambda T: st.tuples(segmentations(T), segmentations(T)))


@examples(60)
@given(CUTS, st.integers(0, 10))
def test_changes_are_matched_where_each_is_the_nearest_of_the_other(pair, seed):
    truth, guess = map(EquivalenceMatrix.from_labels, pair)
    clock = np.cumsum(np.random.default_rng(seed).exponential(size=truth.n_samples))
    a = clock[truth.boundaries[1:-1]]
    b = clock[guess.boundaries[1:-1]]
    far = np.abs(a[:, None] - b)
    expected = [
        far[i, j] for i, j in np.ndindex(far.shape) if far[i, j] == far[i].min() == far[:, j].min()
    ]
    found = time_errors(truth, guess, clock)
    assert sorted(found.tolist()) == sorted(expected)
    assert sorted(time_errors(guess, truth, clock).tolist()) == sorted(expected)


@examples(60)
@given(PAIRS)
def test_losses_and_scores_equal_their_definitions(pair):
    truth, guess = map(EquivalenceMatrix.from_labels, pair)
    difference = truth.dense() - guess.dense()
    assert partition_loss(truth, guess) == pytest.approx((difference**2).sum(), abs=1e-9)
    assert rand_index(truth, guess) == pytest.approx(rand_score(*pair))
    assert adjusted_rand_index(truth, guess) == pytest.approx(adjusted_rand_score(*pair))
    assert 0 <= covering(truth, guess) <= 1 + 1e-12
    assert np.isfinite(chi_square(truth, guess))
    assert truth.inner(guess) == pytest.approx((truth.dense() * guess.dense()).sum())


@examples(60)
@given(PAIRS, st.randoms(use_true_random=False))
def test_scores_do_not_depend_on_names_and_order_of_clusters(pair, random):
    truth, guess = map(EquivalenceMatrix.from_labels, pair)
    names = random.sample(range(-50, 50), 4)
    renamed = EquivalenceMatrix.from_labels(np.array(names)[pair[1]])
    assert renamed == guess
    order = random.sample(range(len(pair[0])), len(pair[0]))
    moved = [EquivalenceMatrix.from_labels(y[order]) for y in pair]
    for score in (partition_loss, rand_index, adjusted_rand_index, covering):
        assert score(*moved) == pytest.approx(score(truth, guess), abs=1e-9)
    assert partition_loss(truth, guess) == pytest.approx(partition_loss(guess, truth), abs=1e-9)


@examples(60)
@given(CUTS, st.integers(0, 5))
def test_segmentations_are_scored_alike_forwards_and_backwards(pair, tolerance):
    there = [EquivalenceMatrix.from_labels(y) for y in pair]
    back = [EquivalenceMatrix.from_labels(y[::-1]) for y in pair]
    for score in (partition_loss, covering, hausdorff):
        assert score(*there) == pytest.approx(score(*back), abs=1e-9, nan_ok=True)
    found = margin_f1(*there, tolerance)
    assert 0 <= found <= 1
    assert found == pytest.approx(margin_f1(*back, tolerance))
    assert margin_f1(there[0], there[0], tolerance) == 1


@examples(60)
@given(st.integers(1, 30).flatmap(segmentations))
def test_labels_and_breakpoints_say_the_same(labels):
    M = EquivalenceMatrix.from_labels(labels)
    assert EquivalenceMatrix.from_breakpoints(M.breakpoints) == M
    assert M.breakpoints[-1] == labels.size
    assert M.sizes.sum() == labels.size
    np.testing.assert_allclose(M.dense() @ M.dense(), M.dense(), atol=1e-12)


SIZES = st.integers(-5, 1000) | st.integers(min_value=2**40) | st.integers(max_value=-(2**40))
ODD = st.recursive(
    st.none() | st.booleans() | SIZES | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


@examples(60)
@given(ODD)
def test_whatever_is_no_labels_or_breakpoints_is_refused(given_value):
    for make in (EquivalenceMatrix.from_labels, EquivalenceMatrix.from_breakpoints):
        try:
            M = make(given_value)
        except (DataError, TypeError, ValueError):
            continue
        assert M.n_samples >= 1
        assert 1 <= M.n_clusters <= M.n_samples


def test_a_breakpoint_beyond_any_memory_is_refused_before_labels_are_made():
    with pytest.raises(DataError, match="at most 100,000,000 can be held"):
        EquivalenceMatrix.from_breakpoints([3, 2**40])


# ---- equivalence matrices and trace objectives against their dense definitions


def assignment(labels):
    return np.eye(max(labels) + 1)[np.asarray(labels)]


def dense(labels):
    Y = assignment(labels)
    return Y @ np.linalg.inv(Y.T @ Y) @ Y.T


@pytest.mark.parametrize("labels", [[0], [0, 0, 1, 1, 1], [0, 1, 2], [1, 0, 1, 2, 0]])
def test_an_equivalence_matrix_is_the_projector_of_the_paper(labels):
    M = EquivalenceMatrix.from_labels(labels)
    np.testing.assert_allclose(M.dense(), dense(labels), atol=1e-15)
    np.testing.assert_allclose(M.dense() @ M.dense(), M.dense(), atol=1e-15)
    assert np.trace(M.dense()) == pytest.approx(M.n_clusters)


@pytest.mark.parametrize("contiguous", [True, False])
def test_gram_project_and_inner_agree_with_the_dense_matrix(rng, contiguous):
    for _ in range(20):
        T = rng.integers(1, 12)
        P = rng.choice([1, 2, 3, 64])
        X = rng.normal(size=(T, P))
        labels = [rng.integers(0, 4, T), rng.integers(0, 3, T)]
        if contiguous:
            labels = [np.sort(a) for a in labels]
        M, N = (EquivalenceMatrix.from_labels(a) for a in labels)
        np.testing.assert_allclose(M.gram(X), X.T @ M.dense() @ X, atol=1e-12)
        np.testing.assert_allclose(M.gram_diagonal(X), np.diag(M.gram(X)), atol=1e-12)
        np.testing.assert_allclose(M.project(X), M.factor().T @ X, atol=1e-12)
        assert M.inner(N) == pytest.approx(np.trace(M.dense() @ N.dense()))


def test_a_relaxation_and_a_partition_are_one_type(rng):
    U = np.linalg.qr(rng.normal(size=(7, 3)))[0]
    relaxed = EquivalenceMatrix.from_factor(U)
    partition = EquivalenceMatrix.from_labels([0, 0, 1, 1, 1, 2, 2])
    X = rng.normal(size=(7, 2))
    assert relaxed.n_clusters == 3
    assert not relaxed.is_partition
    np.testing.assert_allclose(relaxed.gram(X), X.T @ U @ U.T @ X)
    for a, b in ((relaxed, partition), (partition, relaxed)):
        assert a.inner(b) == pytest.approx(np.trace(a.dense() @ b.dense()))
    with pytest.raises(DataError, match="no cluster labels"):
        relaxed.breakpoints  # noqa: B018


def test_equality_is_that_of_the_grouping():
    a = EquivalenceMatrix.from_labels(["walk", "walk", "sit"])
    assert a == EquivalenceMatrix.from_labels([7, 7, -1])
    assert a == EquivalenceMatrix.from_breakpoints([2, 3])
    assert a != EquivalenceMatrix.from_breakpoints([1, 3])
    assert a != EquivalenceMatrix.from_factor(a.factor())
    assert len({a, EquivalenceMatrix.from_breakpoints([2, 3])}) == 1


def test_breakpoints_round_trip_and_refuse_what_is_not_contiguous():
    assert EquivalenceMatrix.from_breakpoints([2, 4, 5]).breakpoints == [2, 4, 5]
    with pytest.raises(DataError, match="not contiguous"):
        EquivalenceMatrix.from_labels([0, 1, 0]).breakpoints  # noqa: B018


@cases(([], "non-empty"), ([3, 2], "increasing"), ([0, 3], "positive"), ([1.5, 3], "integers"))
def test_unsorted_or_empty_breakpoints_are_refused(breakpoints, message):
    with pytest.raises(DataError, match=message):
        EquivalenceMatrix.from_breakpoints(breakpoints)


def test_trace_objective_is_its_dense_matrix(rng):
    for _ in range(20):
        T = rng.integers(1, 10)
        r = rng.integers(0, 4)
        Z = rng.normal(size=(T, r))
        truth = EquivalenceMatrix.from_labels(np.sort(rng.integers(0, 3, T)))
        objective = TraceObjective(Z, truth, 2.0, -0.3)
        A = Z @ Z.T - 2.0 * truth.dense() - 0.3 * np.eye(T)
        np.testing.assert_allclose(objective.dense(), A, atol=1e-12)
        M = EquivalenceMatrix.from_labels(rng.integers(0, 3, T))
        assert objective.value(M) == pytest.approx(np.trace(A @ M.dense()))


test_malformed_trace_objectives_are_refused = refused(
    OracleError,
    lambda arguments: TraceObjective(**arguments),
    ({"Z": np.full((2, 1), np.nan)}, "not finite"),
    ({"Z": np.ones((2, 1)), "shift": np.inf}, "not finite"),
    (
        {"Z": np.ones((2, 1)), "truth": EquivalenceMatrix.from_labels([0, 1, 1])},
        "labels 3 samples, and there are 2",
    ),
)
