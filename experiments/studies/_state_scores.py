"""Scores of states that come back, from tsseg-eval: what two labellings of one recording share."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from structsvm import EquivalenceMatrix
from structsvm.errors import DataError
from structsvm.partitions.equivalence import refuse_other_sizes
from structsvm.partitions.losses import matched_labels
from structsvm.support.values import Floats, Ints

ERROR_WEIGHTS = {"delay": 0.1, "transition": 0.3, "missing": 0.5, "isolation": 0.8}
"""What the kinds of errors of :func:`state_matching_score` cost, as its authors set them."""


def weighted_adjusted_rand_index(
    truth: EquivalenceMatrix, guess: EquivalenceMatrix, alpha: float = 0.1
) -> float:
    """Adjusted Rand index in which samples far from the changes of the truth count more (WARI).

    A sample that is d samples away from the nearer end of its true segment has the weight
    ``1 + alpha d``, and the table of the adjusted Rand index counts weights. Not symmetric.

    It is 1 for equal partitions, and 0 in the mean for random labels.
    """
    a, b = _labels(truth, guess)
    weights = 1.0 + alpha * _depths(a)
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), weights)
    both = float((table**2).sum())
    only_truth = float((table.sum(axis=1) ** 2).sum()) - both
    only_guess = float((table.sum(axis=0) ** 2).sum()) - both
    neither = float(weights.sum()) ** 2 - only_truth - only_guess - both
    together = both - float(weights.sum())
    if max(only_truth, only_guess) <= 1e-9 * both:
        return 1.0
    agreement = together * neither - only_truth * only_guess
    size = (together + only_truth) * (only_truth + neither)
    size += (together + only_guess) * (only_guess + neither)
    return 2.0 * agreement / size


def state_matching_score(
    truth: EquivalenceMatrix,
    guess: EquivalenceMatrix,
    weights: Mapping[str, float] | None = None,
) -> float:
    """One minus the share of wrong samples, each kind of error costing something more (SMS).

    The states found are matched with the true ones by their overlap. A stretch of one state that is
    wrong is an error of length n:

    - a *delay* if it goes on, or begins early, from a stretch of its state that is right, within
      one true segment; it costs ``n (1 + w)``;
    - an *isolation* if it lies elsewhere within one true segment, and a *transition* if it lies on
      one true change; these cost ``n (1 + 2 w d / T)``, d being the distance of its middle from the
      nearest true change, start or end;
    - a *miss* if it covers k > 2 true segments; it costs ``n (1 + w (1 - 3 (1 - w) / k))``.

    It is 1 for equal partitions, and below 0 if much is wrong in costly ways. ``weights`` are the
    ``w`` of each kind, from 0 to 1; what is not named has the weight of its authors (delay 0.1,
    transition 0.3, missing 0.5, isolation 0.8).
    """
    weight = {**ERROR_WEIGHTS, **(weights or {})}
    a, _ = _labels(truth, guess)
    T = a.size
    b = matched_labels(guess, truth)
    ends = np.array([0, *(np.flatnonzero(np.diff(a)) + 1), T])
    cost = 0.0
    wrong = a != b
    begins = wrong & np.concatenate([[True], ~wrong[:-1] | (np.diff(b) != 0)])
    for start in np.flatnonzero(begins).tolist():  # stretches of one state, wrong throughout
        other = np.flatnonzero(~wrong[start:] | (b[start:] != b[start]))
        stop = start + int(other[0]) if other.size else T
        n_segments = 1 + int(np.count_nonzero(np.diff(a[start:stop])))
        kind = _kind(a, b, start, stop, n_segments)
        w = weight[kind]
        if kind == "delay":
            extra = w
        elif kind == "missing":
            extra = w * (1.0 + (w - 1.0) * 3.0 / n_segments)
        else:
            middle = (start + stop - 1) / 2.0
            extra = 2.0 * w * float(np.abs(ends - middle).min()) / T
        cost += (stop - start) * (1.0 + extra)
    return 1.0 - cost / T


def _kind(a: Ints, b: Ints, start: int, stop: int, n_segments: int) -> str:
    if n_segments > 2:
        return "missing"
    if n_segments == 2:
        return "transition"
    state = b[start]
    sides = [i for i in (start - 1, stop) if 0 <= i < a.size]
    return "delay" if any(a[i] == state == b[i] for i in sides) else "isolation"


def _depths(labels: Ints) -> Floats:
    """Distance, in samples, from the nearer end of the segment that holds a sample."""
    T = labels.size
    starts = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1])
    lengths = np.diff(np.append(starts, T))
    place = np.arange(T) - np.repeat(starts, lengths)
    depths = np.minimum(place, np.repeat(lengths, lengths) - 1 - place)
    return np.asarray(depths, dtype=np.float64)


def _labels(truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> tuple[Ints, Ints]:
    if not (truth.is_partition and guess.is_partition):
        raise DataError("a relaxed partition has no states: only partitions are compared by them")
    refuse_other_sizes(truth, guess)
    return truth.labels, guess.labels
