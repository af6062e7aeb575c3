"""Compiled sums over segments are those of NumPy, to the last bit."""

from typing import Literal

import numpy as np
import pytest

from structsvm import EquivalenceMatrix
from structsvm.masters.working_set import MANY_SUMS, group_sums
from structsvm.support.sums import BLOCK, LANES, overlap, segment_sums, squared_sums

LENGTHS = (1, LANES, LANES + 1, BLOCK, BLOCK + 1, BLOCK + 2, 3 * BLOCK + 5, 5000)


def boundaries(rng: np.random.Generator, T: int) -> np.ndarray:
    """A random segmentation of T samples, from 0 to T."""
    inner = np.flatnonzero(rng.random(T - 1) < rng.choice((0.003, 0.1, 0.9))) + 1
    return np.concatenate(([0], inner, [T])).astype(np.int64)


@pytest.mark.parametrize("T", LENGTHS)
@pytest.mark.parametrize("P", [1, 7])
def test_the_sums_of_segments_are_those_of_numpy(T: int, P: int) -> None:
    rng = np.random.default_rng(T)
    for _ in range(10):
        X, ends = rng.standard_normal((T, P)), boundaries(rng, T)
        assert np.array_equal(segment_sums(X, ends), np.add.reduceat(X, ends[:-1], axis=0))


def test_the_samples_may_lie_in_memory_as_they_like() -> None:
    rng = np.random.default_rng(0)
    X, ends = rng.standard_normal((40, 3)), np.array([0, 9, 40])
    expected = segment_sums(X, ends)
    assert np.array_equal(segment_sums(np.asfortranarray(X), ends), expected)
    assert np.array_equal(segment_sums(np.repeat(X, 2, axis=0)[::2], ends), expected)
    assert segment_sums(X[:, :0], ends).shape == (2, 0)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("C", "f"), [(0, 3), (5, 0), (30, 4), (1000, 90)])
def test_the_sums_of_groups_of_cuts_are_those_of_numpy(C: int, f: int, order: Literal["C", "F"]):
    rng = np.random.default_rng(C)
    rows = np.asarray(rng.standard_normal((C, f)), order=order)
    starts = np.flatnonzero(rng.random(C) < 0.3)
    starts = np.union1d(starts, [0] * (C > 0)).astype(np.int64)
    assert (starts.size * f > MANY_SUMS) == (C == 1000)
    assert np.array_equal(group_sums(rows, starts), np.add.reduceat(rows, starts, axis=0))


def test_a_missing_value_is_missing_in_the_sum_of_its_segment_alone() -> None:
    X = np.ones((20, 2))
    X[3, 1] = np.nan
    sums = segment_sums(X, np.array([0, 10, 20]))
    assert np.array_equal(np.isnan(sums), [[False, True], [False, False]])


def test_what_two_segmentations_share_is_what_their_labels_share() -> None:
    rng = np.random.default_rng(0)
    for T in (1, 2, 30, 300):
        mine, theirs = (EquivalenceMatrix.from_breakpoints(boundaries(rng, T)[1:]) for _ in "ab")
        table = mine.contingency(theirs) ** 2 / np.outer(mine.sizes, theirs.sizes)
        assert overlap(mine.boundaries, theirs.boundaries) == pytest.approx(table.sum(), rel=1e-14)
        assert overlap(mine.boundaries, mine.boundaries) == mine.n_clusters


def test_the_squared_sums_are_those_of_the_sums() -> None:
    rng = np.random.default_rng(0)
    for T, P in ((1, 1), (2, 3), (300, 4), (5000, 2), (40, 0)):
        X, ends = rng.standard_normal((T, P)), boundaries(rng, T)
        expected = (segment_sums(X, ends) ** 2 / np.diff(ends)[:, None]).sum(axis=0)
        assert squared_sums(X, ends) == pytest.approx(expected, rel=1e-14)
