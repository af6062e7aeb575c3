"""What is partitioned, as arrays: the value that a problem makes of what users hand in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sample", "batches_of", "is_prepared"]

Floats = NDArray[np.float64]

BATCH = 10_000
"""Items of samples that are worked on together, if there are so many."""


@dataclass(frozen=True, eq=False)
class Sample:
    """T items with P features each, such as a recording, a table or the nodes of a graph.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import Sample
    >>> sample = Sample(np.zeros((5, 2)), side="a tree over the five items")
    >>> sample.n_samples, sample.n_features, sample.side
    (5, 2, 'a tree over the five items')
    """

    X: Floats
    """(T, P), finite."""
    side: Any = None
    """What else the problem has to know of it, such as a tree or the edges of a graph. If it knows
    what the features are, its method ``with_features(X, names)`` makes one that knows others."""
    states: Floats | None = None
    """(T, C) how probable each named state is, if the features of a learner know states."""

    @property
    def n_samples(self) -> int:
        """The number of items, T."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features, P."""
        return int(self.X.shape[1])

    def with_features(self, X: Floats, made: tuple[str, ...] | None = None) -> Sample:
        """Return the same items, or some of them, with other features, (T, P').

        ``made`` are their names where a stage of features has made them of those measured.
        """
        side = self.side
        if made is not None and hasattr(side, "with_features"):
            side = side.with_features(X, made)
        return replace(self, X=X, side=side, states=None)


def batches_of(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges of samples with these numbers of items, each a moment's work for a worker."""
    ranges, begin, total = [], 0, 0
    for end, size in enumerate(sizes, start=1):
        total += size
        if total >= BATCH or end == len(sizes):
            ranges.append((begin, end))
            begin, total = end, 0
    return ranges


def is_prepared(Xs: Any) -> TypeGuard[list[Sample]]:
    """Whether these are samples as a learner has prepared them, rather than data of a user."""
    return isinstance(Xs, list) and bool(Xs) and all(isinstance(x, Sample) for x in Xs)
