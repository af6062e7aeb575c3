"""The search for states passes over blocks of starts, and finds what a plain search finds."""

import numpy as np
import pytest

from structsvm.errors import OracleError
from structsvm.oracles import StateScore, best_states, best_together
from structsvm.oracles._segments.states import STARTS
from structsvm.partitions import Constraint, EquivalenceMatrix, partition_loss

FORBIDDEN = -1e6  # in place of minus infinity, so that sums can be taken off from one another


def best_value(score, K, may_end, together=(0, 0, 0)):
    """The largest score, by a plain dynamic program over starts, ends, states and segments.

    The samples from a to b - 1 are in one segment in state c, where ``together`` is (a, b, c).
    """
    T, C = score.samples.shape
    L = score.lengths.shape[1] - 1
    a, b, own = together
    samples = np.maximum(score.samples, FORBIDDEN)
    totals = np.vstack([np.zeros(C), np.cumsum(samples, axis=0)])
    changes = np.where(np.eye(C, dtype=bool), -np.inf, score.changes)
    rows = (K or 0) + 1
    best = np.full((T + 1, rows, C), -np.inf)  # of the samples before t, in k segments
    for t in range(1, T + 1):
        if not may_end[t] or a < t < b:
            continue
        starts = np.flatnonzero(may_end[:t])
        for c in range(C):
            s = starts[(starts <= a) | (starts >= b)]
            s = s[(c == own) | (s >= b) | (t <= a)]
            values = totals[t, c] - totals[s, c] + score.lengths[c, np.minimum(t - s, L)]
            if score.truth is not None:
                values += score.truth_weight * np.array([loss(score.truth, i, t) for i in s])
            for k in range(rows):
                before = max(k - 1, 0)
                opened = (best[s, before] + changes[:, c]).max(axis=1, initial=-np.inf)
                opened[(s == 0) & (k == min(1, rows - 1))] = score.first[c]
                best[t, k, c] = (opened + values).max(initial=-np.inf)
    value = float((best[T, -1] + score.last).max())
    return value if value > FORBIDDEN / 2 else -np.inf


def loss(truth, start, end):
    """What a segment adds to the partition loss."""
    bounds = np.array(truth.boundaries)
    shared = np.minimum(bounds[1:], end) - np.maximum(bounds[:-1], start)
    shared = np.maximum(shared, 0)
    return 1.0 - 2.0 * (shared**2 / np.diff(bounds)).sum() / (end - start)


def drawn(rng, T, L):
    """A score of segments of about a third of L samples, in part with ties or forbidden ones."""
    C = 2
    y = np.cumsum(rng.random(T) < 3 / L) % C
    samples = rng.normal(size=(T, C)) + 0.7 * (y[:, None] == np.arange(C))
    sizes = np.arange(1, L + 1)
    lengths = np.zeros((C, L + 1))
    lengths[:, 1:] = -(np.log(3 * sizes / L) ** 2) * rng.uniform(0.5, 3.0, (C, 1))
    changes = rng.normal(size=(C, C)) - 2.0
    ends = rng.normal(size=(2, C))
    if rng.random() < 0.3:
        samples, lengths, changes, ends = map(np.round, (samples, lengths, changes, ends))
    if rng.random() < 0.3:
        samples[rng.random(samples.shape) < 0.01] = -np.inf
        samples[:, 0] = np.maximum(samples[:, 0], -9.0)
        lengths[:, 1 : 1 + L // 10] = -np.inf
    return StateScore(samples, lengths, changes, *ends)


@pytest.mark.parametrize("seed", range(24))
def test_blocks_of_starts_that_are_passed_over_hold_no_best_one(seed):
    rng = np.random.default_rng(seed)
    T = int(rng.integers(STARTS, 5 * STARTS))
    score = drawn(rng, T, int(rng.integers(2, T + 9)))
    K = None if seed % 2 else int(rng.integers(1, 5))
    constraint = Constraint()
    may_end = np.ones(T + 1, dtype=bool)
    if seed % 3 == 0:
        forbidden = np.flatnonzero(rng.random(T - 1) < 0.3) + 1
        constraint = Constraint(forbidden=tuple(forbidden.tolist()))
        may_end[forbidden] = False
    if seed % 4 in (1, 2):
        truth = EquivalenceMatrix.from_breakpoints(sorted({*rng.integers(1, T, 3).tolist(), T}))
        arrays = score.samples, score.lengths, score.changes, score.first, score.last
        score = StateScore(*arrays, truth, 0.5)
        guess = EquivalenceMatrix.from_breakpoints([T])
        offset = truth.n_clusters  # the loss is a sum over segments, and this number
        assert offset + loss(truth, 0, T) == pytest.approx(partition_loss(truth, guess))
        offset *= score.truth_weight
    else:
        offset = 0.0
    want = best_value(score, K, may_end) + offset
    if want == -np.inf:
        with pytest.raises(OracleError, match="no segmentation"):
            best_states(score, K, constraint)
        return
    assert score.value(best_states(score, K, constraint)) == pytest.approx(want)


@pytest.mark.parametrize("seed", range(12))
def test_ends_that_are_passed_over_hold_no_best_segment(seed):
    rng = np.random.default_rng(100 + seed)
    T = int(rng.integers(STARTS, 4 * STARTS))
    score = drawn(rng, T, int(rng.integers(2, T + 9)))
    K = None if seed % 2 else int(rng.integers(1, 4))
    pairs = np.sort([rng.choice(T + 1, 2, replace=False) for _ in range(4)], axis=1)
    found = best_together(score, pairs[:, 0], pairs[:, 1], K)
    for (a, b), values in zip(pairs.tolist(), found, strict=True):
        for c, value in enumerate(values.tolist()):
            want = best_value(score, K, np.ones(T + 1, dtype=bool), (a, b, c))
            assert value == pytest.approx(want)
