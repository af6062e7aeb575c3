"""Losses against their definitions, scikit-learn and ruptures, and the paper's appendix."""

import numpy as np
import pytest
import ruptures.metrics as rpt
from sklearn.metrics import adjusted_rand_score, rand_score

from structsvm import EquivalenceMatrix
from structsvm.errors import DataError
from structsvm.partitions.losses import (
    adjusted_rand_index,
    chi_square,
    covering,
    hausdorff,
    margin_f1,
    partition_loss,
    rand_index,
)

LOSSES = (partition_loss, chi_square, rand_index, adjusted_rand_index, covering)


def random_labels(rng, T, K, contiguous=False):
    labels = rng.integers(0, K, T)
    return np.sort(labels) if contiguous else labels


def random_pairs(rng, n=60, contiguous=False):
    for _ in range(n):
        T = int(rng.integers(2, 40))
        a, b = (random_labels(rng, T, int(rng.integers(1, 6)), contiguous) for _ in range(2))
        yield a, b, EquivalenceMatrix.from_labels(a), EquivalenceMatrix.from_labels(b)


def test_partition_loss_is_the_frobenius_distance(rng):
    for _, _, M, N in random_pairs(rng):
        assert partition_loss(M, N) == pytest.approx(((M.dense() - N.dense()) ** 2).sum())
        assert partition_loss(M, N) == pytest.approx(partition_loss(N, M))
        assert partition_loss(M, N) <= M.n_clusters + N.n_clusters - 2 + 1e-12
        assert partition_loss(M, M) == pytest.approx(0.0)


def test_the_bound_on_the_loss_is_attained():
    rows, columns = [0, 0, 1, 1], [0, 1, 0, 1]
    loss = partition_loss(*map(EquivalenceMatrix.from_labels, (rows, columns)))
    assert loss == pytest.approx(2 + 2 - 2)


def test_chi_square_form_with_the_factor_two(rng):
    for _, _, M, N in random_pairs(rng):
        T = M.n_samples
        corrected = M.n_clusters + N.n_clusters - 2 * (chi_square(M, N) + T) / T
        assert partition_loss(M, N) == pytest.approx(corrected)


def test_rand_indices_are_those_of_scikit_learn(rng):
    for a, b, M, N in random_pairs(rng):
        assert rand_index(M, N) == pytest.approx(rand_score(a, b))
        assert adjusted_rand_index(M, N) == pytest.approx(adjusted_rand_score(a, b))


def test_segmentation_scores_are_those_of_ruptures(rng):
    for _, _, M, N in random_pairs(rng, contiguous=True):
        if M.n_clusters == 1 or N.n_clusters == 1:
            continue
        assert hausdorff(M, N) == rpt.hausdorff(M.breakpoints, N.breakpoints)
        assert rand_index(M, N) == pytest.approx(rpt.randindex(M.breakpoints, N.breakpoints))


def test_covering_by_its_definition(rng):
    for a, b, M, N in random_pairs(rng):
        total = 0.0
        for k in set(a):
            A = set(np.flatnonzero(a == k))
            total += len(A) * max(
                len(A & B) / len(A | B) for B in (set(np.flatnonzero(b == m)) for m in set(b))
            )
        assert covering(M, N) == pytest.approx(total / len(a))
    assert covering(M, M) == 1.0


def segments(*ends):
    return EquivalenceMatrix.from_breakpoints(ends)


@pytest.mark.parametrize(
    ("truth", "guess", "margin", "expected"),
    [
        (segments(10), segments(10), 0, 1.0),
        (segments(5, 10), segments(5, 10), 0, 1.0),
        (segments(5, 10), segments(6, 10), 0, 0.0),
        (segments(5, 10), segments(6, 10), 1, 1.0),
        (segments(5, 20), segments(4, 6, 20), 1, 2 / 3),  # one true change, two near it
        (segments(4, 8, 20), segments(6, 7, 20), 2, 1.0),  # a nearest match alone would lose one
        (segments(20), segments(10, 20), 5, 0.0),
    ],
)
def test_margin_f1(truth, guess, margin, expected):
    assert margin_f1(truth, guess, margin) == pytest.approx(expected)
    assert margin_f1(guess, truth, margin) == pytest.approx(expected)


def test_the_start_counts_as_a_change_where_it_is_asked_for():
    found = margin_f1(segments(5, 10), segments(6, 10), 0, count_start=True)
    assert found == margin_f1(segments(10), segments(10), count_start=True) / 2 == 0.5


def test_one_cluster_and_one_sample_are_defined():
    one, two = segments(10), segments(4, 10)
    assert hausdorff(one, one) == 0.0
    assert hausdorff(one, two) == 10.0
    single = segments(1)
    assert [loss(single, single) for loss in LOSSES] == [0.0, 0.0, 1.0, 1.0, 1.0]


def test_errors_name_the_numbers():
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


@pytest.mark.parametrize("loss", LOSSES)
def test_partitions_of_other_sizes_are_refused(loss):
    """Those of one sample were spread over all of the other: a covering of 3."""
    one, many = EquivalenceMatrix.from_labels([0]), EquivalenceMatrix.from_labels([0, 1, 0, 1, 1])
    for pair in ((one, many), (many, one), (many, segments(4))):
        with pytest.raises(DataError, match=r"of \d and of \d samples do not compare"):
            loss(*pair)


def test_loss_is_bounded_by_the_hausdorff_distance(rng):
    """Theorem B of the appendix: same K, eps = d_H < l_min(P) / 2.

    The paper's upper constant is for boundaries on [0, 1]; times T, both sides keep their ratio.
    """
    seen = 0
    for _ in range(300):
        T, K = 60, int(rng.integers(2, 5))
        ends = np.sort(rng.choice(np.arange(5, T - 5), K - 1, replace=False))
        if np.diff([0, *ends, T]).min() < 8:
            continue
        moved = ends + rng.integers(-2, 3, K - 1)
        M, N = segments(*ends, T), segments(*moved, T)
        epsilon, lengths = hausdorff(M, N), np.diff(M.boundaries)
        longest = max(lengths.max(), np.diff(N.boundaries).max())
        loss = partition_loss(M, N)
        assert epsilon < lengths.min() / 2
        assert epsilon / longest <= loss + 1e-12
        assert loss <= 12 * K * epsilon / lengths.min() + 1e-12
        seen += 1
    assert seen > 50
