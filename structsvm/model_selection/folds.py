"""Recordings split into folds, a group of them never divided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, check_cv

from structsvm.data.copies import joined
from structsvm.data.samples import units_of
from structsvm.data.words import RECORDINGS, TABLES, Words
from structsvm.errors import DataError, SettingsError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats, Ints
from structsvm.support.quiet import without_warnings

SPLIT_TABLE = (
    ". Or let it be split: split='rows' holds out rows of the clusters it has, split='clusters' "
    "whole clusters"
)


@dataclass(frozen=True, eq=False)
class Folds:
    """Which recordings, or parts of tables, are held out together, and which are independent."""

    held_out: Ints
    """Fold of each recording, 0, 1, ..., (N,)."""
    units: Ints
    """Number of its group, or of the recording itself where there are no groups, (N,); copies are
    of one unit."""
    grouped: bool
    draws: int = 1
    """How often everything is held out, each time in other folds."""
    shares: NDArray[np.bool_] | None = None
    """Whether two folds hold out some of the same, (n_folds, n_folds); None if none do."""

    def __len__(self) -> int:
        """Number of folds."""
        return int(self.held_out.max()) + 1

    def test(self, k: int) -> Ints:
        """The recordings held out in fold ``k``."""
        return np.flatnonzero(self.held_out == k)

    def train(self, k: int) -> Ints:
        """Return what is held out in folds that have nothing in common with fold ``k``."""
        if self.shares is None:
            return np.flatnonzero(self.held_out != k)
        return np.flatnonzero(~self.shares[k][self.held_out])


def split(
    cv: Any,
    truths: Sequence[EquivalenceMatrix],
    groups: Any = None,
    random_state: int | None = None,
    words: Words = RECORDINGS,
    weights: Floats | None = None,
    numbers: Ints | None = None,
) -> Folds:
    """Folds of N recordings."""
    N = len(truths)
    units = units_of(groups, N, words)[1]
    n_units = int(units.max()) + 1
    if n_units < 2:
        what = f"one {words.whole}" if groups is None else f"one group of {words.wholes(N)}"
        raise DataError(
            f"{what}: nothing can be held out to choose and evaluate by; label another one, or use "
            "MetricLearner, which needs only one"
            + (SPLIT_TABLE if words is TABLES and N == 1 else "")
        )
    apart = units if numbers is None else joined(units, numbers)
    copied = apart.max() < units.max() and apart.max() > 0
    kept = apart if copied and isinstance(cv, int | np.integer) else units
    held_out = np.full(N, -1)
    together = kept is apart or groups is not None
    for k, (train, test) in enumerate(_pairs(cv, N, kept, together, random_state)):
        if (held_out[test] >= 0).any() or set(train) | set(test) != set(range(N)):
            raise SettingsError(f"cv must hold every {words.whole} out exactly once, got {cv!r}")
        held_out[test] = k
    if (held_out < 0).any():
        raise SettingsError(
            f"cv never holds {words.whole} {int(held_out.argmin())} out: it must hold every "
            f"{words.whole} out exactly once, got {cv!r}"
        )
    folds = Folds(held_out, apart, groups is not None)
    teaches = np.array([truth.n_clusters > 1 for truth in truths])
    if weights is not None:
        teaches &= weights > 0
    _check(folds, units, teaches, groups, words)
    return folds


def _pairs(cv: Any, N: int, units: Ints, grouped: bool, seed: int | None) -> list[Any]:
    """``(train, test)`` of each fold."""
    if isinstance(cv, bool) or (isinstance(cv, int | np.integer) and cv < 2):
        raise SettingsError(f"cv must be at least 2 folds, or a splitter, got {cv!r}")
    splitter = cv
    if isinstance(cv, int | np.integer):
        n_splits = min(int(cv), int(units.max()) + 1)
        kind = GroupKFold if grouped else KFold
        splitter = kind(n_splits, shuffle=True, random_state=seed)
    try:
        # A splitter that ignores the groups is found out below.
        with without_warnings(Warning, beginning="The groups parameter is ignored"):
            pairs = check_cv(splitter).split(np.zeros((N, 1)), groups=units if grouped else None)
            return list(pairs)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"cv={cv!r} cannot split {N} recordings: {error}") from error


def _check(
    folds: Folds, units: Ints, teaches: NDArray[np.bool_], groups: Any, words: Words
) -> None:
    for k in range(len(folds)):
        divided = np.intersect1d(units[folds.train(k)], units[folds.test(k)])
        if divided.size:
            name = units_of(groups, teaches.size, words)[0][divided[0]]
            raise SettingsError(f"cv divides the group {name!r}: use GroupKFold, or a number")
        if not teaches.any():
            raise DataError(
                f"none of {words.wholes(teaches.size)} has two {words.part}s or more: there is "
                "nothing to learn from; label some with several"
            )
        if not teaches[folds.train(k)].any():
            raise DataError(
                f"only {int(teaches.sum())} of {words.wholes(teaches.size)} have two "
                f"{words.part}s or more, all held out at once in fold {k}: label more, or use "
                "more folds"
            )
