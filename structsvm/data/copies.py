"""Copies and near copies of instances and rows, which are not independent."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from structsvm.support import Floats, Ints, fingerprint

NEAR_ROWS = 1e-3
"""Difference of two copies at most, in standard deviations of a column: one may have been written
with fewer digits, or with a little noise."""
BLOCKS = 16  # parts of an instance, whose means are compared before all values are


def contents(items: Sequence[Any]) -> Ints:
    """Number instances, (N,): copies and near copies have the same number."""
    exact = np.unique([fingerprint(item) for item in items], return_inverse=True)[1]
    first = np.unique(exact, return_index=True)[1]
    pairs = [(exact[a], exact[b]) for a, b in _near([items[i] for i in first], first)]
    return connected(pairs, first.size)[exact]


def connected(pairs: Any, n: int) -> Ints:
    """Number the connected components of n things, (n,), that ``pairs`` (E, 2) connect."""
    ends = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
    links = coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


def near_rows(X: Floats) -> Ints:
    """Number rows, (T,): copies and near copies have the same number."""
    step = NEAR_ROWS * X.std(axis=0)
    # The cells are shifted, so that no round value is at an edge of one.
    cells = np.floor(X / np.where(step > 0, step, 1.0) + 0.381966)
    return np.unique(cells, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def joined(units: Ints, numbers: Ints) -> Ints:
    """Merge ``units`` (N,) that share one of the ``numbers`` (N,) of :func:`contents`."""
    pairs = np.column_stack([units, units.max() + 1 + numbers])
    group = connected(pairs, int(pairs.max()) + 1)[units]
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _near(items: Sequence[Any], places: Ints) -> list[tuple[int, int]]:
    """Pairs of arrays that are near copies of each other, by their ``places`` among all."""
    from scipy.spatial import cKDTree

    by_shape: dict[tuple[int, ...], list[int]] = {}
    for k, item in enumerate(items):
        if isinstance(item, np.ndarray) and item.ndim == 2 and len(item) > 1:
            by_shape.setdefault(item.shape, []).append(k)
    pairs = []
    for (T, P), alike in by_shape.items():
        if len(alike) < 2:
            continue
        starts = np.arange(0, T, max(1, T // BLOCKS))
        columns = np.linspace(1, 2, P)
        arrays = [np.nan_to_num(items[k]) for k in alike]
        lengths = np.diff(starts, append=T)[:, None]
        marks = np.array([np.add.reduceat(X, starts) / lengths @ columns for X in arrays])
        # No two values of near copies differ by more, nor do the means of blocks of them.
        radius = NEAR_ROWS * max(float(X.std(axis=0) @ columns) for X in arrays) * starts.size**0.5
        for a, b in cKDTree(marks).query_pairs(radius):
            X = items[alike[a]]
            Y = items[alike[b]]
            near = NEAR_ROWS * np.nanstd(X, axis=0)
            apart = np.abs(X - Y) > near  # False where values are missing
            if not apart.any() and (np.isnan(X) == np.isnan(Y)).all():
                pairs.append((int(places[alike[a]]), int(places[alike[b]])))
    return pairs
