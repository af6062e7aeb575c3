"""Losses and scores of partitions against the true ones."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from structsvm.errors import DataError
from structsvm.partitions.equivalence import EquivalenceMatrix, Projector, refuse_other_sizes
from structsvm.support import Floats, Ints


def partition_loss(truth: Projector, guess: Projector) -> float:
    r"""``|M - M'|_F^2 = K + K' - 2 sum_kl |A_k n B_l|^2 / (|A_k| |B_l|)``.

    Lajugie et al., eq. (losses), times T: zero for equal partitions, at most ``K + K' - 2`` for
    partitions, a value that is attained. Symmetric.

    Examples
    --------
    >>> from structsvm.partitions import EquivalenceMatrix, partition_loss
    >>> truth = EquivalenceMatrix.from_breakpoints([2, 4])
    >>> partition_loss(truth, truth), partition_loss(truth, EquivalenceMatrix.from_breakpoints([4]))
    (0.0, 1.0)
    """
    return float(truth.n_clusters + guess.n_clusters - 2.0 * truth.inner(guess))


def chi_square(truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
    r"""Chi-square statistic of the contingency table of two partitions.

    ``|M - M'|_F^2 = K + K' - 2 (chi^2 + T) / T``; the paper's section "Some standard loss" prints
    this identity (Hubert and Arabie, 1985) without the factor 2.

    Examples
    --------
    >>> from structsvm.partitions import EquivalenceMatrix, chi_square
    >>> truth = EquivalenceMatrix.from_labels([0, 0, 1, 1])
    >>> chi_square(truth, EquivalenceMatrix.from_labels([0, 1, 0, 1]))
    0.0
    """
    observed = truth.contingency(guess)
    expected = np.outer(truth.sizes, guess.sizes) / truth.n_samples
    return float(np.sum((observed - expected) ** 2 / expected))


def rand_index(truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
    """Share of pairs of samples on which both partitions agree (Rand, 1971), in [0, 1].

    The same as ``sklearn.metrics.rand_score`` and, for segmentations,
    ``ruptures.metrics.randindex``; 1 for a single sample.

    Examples
    --------
    >>> from structsvm.partitions import EquivalenceMatrix, rand_index
    >>> truth = EquivalenceMatrix.from_labels([0, 0, 1, 1])
    >>> round(rand_index(truth, EquivalenceMatrix.from_labels([0, 0, 0, 1])), 3)
    0.5
    """
    both, only_truth, only_guess, pairs = _pair_counts(truth.contingency(guess))
    if pairs == 0:
        return 1.0
    return (pairs + 2 * both - only_truth - only_guess) / pairs


def adjusted_rand_index(truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
    """Rand index corrected for chance (Hubert and Arabie, 1985): 0 in the mean for random labels.

    The same as ``sklearn.metrics.adjusted_rand_score``.

    Examples
    --------
    >>> from structsvm.partitions import EquivalenceMatrix, adjusted_rand_index
    >>> truth = EquivalenceMatrix.from_labels([0, 0, 1, 1])
    >>> adjusted_rand_index(truth, EquivalenceMatrix.from_labels([1, 1, 0, 0]))
    1.0
    """
    return adjusted_rand_of(truth.contingency(guess))


def adjusted_rand_of(table: Ints | Floats) -> float:
    """The adjusted Rand index from a contingency table of two partitions, (K, K')."""
    both, in_truth, in_guess, pairs = _pair_counts(table)
    if pairs <= 0:
        return 1.0
    chance = in_truth * in_guess / pairs
    best = (in_truth + in_guess) / 2
    return 1.0 if best == chance else (both - chance) / (best - chance)


def covering(truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
    """Mean over samples of the Jaccard index of the best match of their true cluster, in (0, 1].

    ``(1/T) sum_k |A_k| max_l |A_k n B_l| / |A_k u B_l|`` (Arbelaez et al., 2010; van den Burg and
    Williams, 2020). Not symmetric: each true cluster looks for its best match.

    Examples
    --------
    >>> from structsvm.partitions import EquivalenceMatrix, covering
    >>> truth = EquivalenceMatrix.from_breakpoints([2, 4])
    >>> covering(truth, EquivalenceMatrix.from_breakpoints([4]))
    0.5
    """
    common = truth.contingency(guess)
    union = truth.sizes[:, None] + guess.sizes[None, :] - common
    return float(truth.sizes @ (common / union).max(axis=1) / truth.n_samples)


def hausdorff(truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
    """Largest distance, in samples, from a change of one segmentation to the other's nearest.

    Boysen et al.; Lajugie et al., section "Hausdorff distance", times T. The same as
    ``ruptures.metrics.hausdorff`` where both have a change. Zero when neither has one, T when only
    one of them has.

    Examples
    --------
    >>> from structsvm.partitions import EquivalenceMatrix, hausdorff
    >>> truth = EquivalenceMatrix.from_breakpoints([40, 100])
    >>> hausdorff(truth, EquivalenceMatrix.from_breakpoints([43, 100]))
    3.0
    """
    a, b = _changes(truth, guess)
    if a.size == 0 or b.size == 0:
        return 0.0 if a.size == b.size else float(truth.n_samples)
    distance = np.abs(a[:, None] - b[None, :])
    return float(max(distance.min(axis=0).max(), distance.min(axis=1).max()))


def margin_f1(
    truth: EquivalenceMatrix,
    guess: EquivalenceMatrix,
    tolerance: int = 5,
    *,
    count_start: bool = False,
) -> float:
    """F1 score of the changes, a hit being one within ``tolerance`` samples of a true change.

    Each change is matched at most once, and the matching is the largest possible (greedy in time
    order). 1 when neither has a change. With ``count_start``, as in van den Burg and Williams
    (2020), the start of the recording counts as a change that both have.

    Raises
    ------
    DataError
        If ``tolerance`` is negative or NaN.

    Examples
    --------
    >>> from structsvm.partitions import EquivalenceMatrix, margin_f1
    >>> truth = EquivalenceMatrix.from_breakpoints([40, 100])
    >>> guess = EquivalenceMatrix.from_breakpoints([43, 100])
    >>> margin_f1(truth, guess, tolerance=5), margin_f1(truth, guess, tolerance=2)
    (1.0, 0.0)
    """
    if not tolerance >= 0:
        raise DataError(f"tolerance must be >= 0 samples, got {tolerance}")
    a, b = _changes(truth, guess)
    start = int(count_start)
    changes = a.size + b.size + 2 * start
    return 2.0 * (_matches(a, b, tolerance) + start) / changes if changes else 1.0


def time_errors(truth: EquivalenceMatrix, guess: EquivalenceMatrix, clock: Floats) -> Floats:
    """Distances of true from predicted changes by the times of samples, ``clock`` (T,), (n,).

    A pair counts if each of its changes is the nearest to the other, so that none is in two pairs.
    """
    a, b = (clock[changes] for changes in _changes(truth, guess))
    if not (a.size and b.size):
        return np.empty(0)
    nearest_b = _nearest(a, b)
    nearest_a = _nearest(b, a)
    is_mutual = nearest_a[nearest_b] == np.arange(a.size)
    errors: Floats = np.abs(a - b[nearest_b])[is_mutual]
    return errors


def _nearest(a: Floats, b: Floats) -> Ints:
    """The index of the nearest of the sorted ``b`` for each of ``a``; the first of two."""
    right = np.searchsorted(b, a).clip(max=b.size - 1)
    left = (right - 1).clip(0)
    nearest: Ints = np.where(np.abs(a - b[left]) <= np.abs(a - b[right]), left, right)
    return nearest


def _matches(a: Ints, b: Ints, tolerance: int) -> int:
    """Size of the largest one-to-one matching of two sorted vectors within ``tolerance``."""
    i = j = hits = 0
    while i < a.size and j < b.size:
        if abs(a[i] - b[j]) <= tolerance:
            i = i + 1
            j = j + 1
            hits = hits + 1
        elif a[i] < b[j]:
            i += 1
        else:
            j += 1
    return hits


def _changes(truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> tuple[Ints, Ints]:
    """The changes of two segmentations of as many samples."""
    refuse_other_sizes(truth, guess)
    return truth.boundaries[1:-1], guess.boundaries[1:-1]


def _pair_counts(table: Ints | Floats) -> tuple[float, float, float, float]:
    """Numbers of pairs together in both partitions, in the truth, in the guess, and of all."""

    def pairs(counts: Ints | Floats) -> float:
        """The number of pairs within groups of so many samples."""
        return float((counts * (counts - 1)).sum()) / 2

    return pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0)), pairs(table.sum())


def matched_labels(truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> Ints:
    """The true labels, (T,), renumbered like the predicted clusters that they match best."""
    rows, columns = linear_sum_assignment(-truth.contingency(guess))
    numbers = np.full(truth.n_clusters, -1, dtype=np.int64)
    numbers[rows] = columns
    has_no_match = numbers < 0
    numbers[has_no_match] = guess.n_clusters + np.arange(has_no_match.sum())
    renumbered: Ints = numbers[truth.labels]
    return renumbered
