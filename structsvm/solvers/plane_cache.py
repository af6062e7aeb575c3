"""The latest planes of every sample: labellings that are tried before an oracle is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.masters.working_set import Labellings, as_objects
from structsvm.support.arrays import Bools, Floats, Ints


class PlaneCache:
    """``intercept + <slope, w>``, lower bounds of a sample's loss, so many for each sample."""

    def __init__(self, n_samples: int, capacity: int, dim: int) -> None:
        self.capacity = capacity
        self._intercepts: Floats = np.zeros((n_samples, capacity))
        self._slopes: Floats = np.zeros((n_samples, capacity, dim))
        self._seen: Ints = np.zeros(n_samples, dtype=np.int64)
        self._labellings: list[list[Labellings]] = [[()] * capacity for _ in range(n_samples)]

    def __len__(self) -> int:
        """Planes of all samples, the null ones not counted."""
        return int(np.minimum(self._seen, self.capacity).sum())

    def add(self, i: int, intercept: float, slope: Floats, labellings: Labellings = None) -> None:
        """Keep a plane of sample ``i`` that is not here yet, in the place of its oldest one."""
        self.add_all(np.array([i]), np.array([intercept]), slope[None], [labellings])

    def add_all(
        self, which: Ints, intercepts: Floats, slopes: Floats, labellings: Sequence[Labellings]
    ) -> None:
        if self.capacity == 0:
            return
        new = np.flatnonzero(~self._holds(which, intercepts, slopes))
        samples = which[new]
        places = self._seen[samples] % self.capacity
        self._intercepts[samples, places] = intercepts[new]
        self._slopes[samples, places] = slopes[new]
        self._seen[samples] += 1
        for n, i, place in zip(new.tolist(), samples.tolist(), places.tolist(), strict=True):
            self._labellings[i][place] = labellings[n]

    def _holds(self, which: Ints, intercepts: Floats, slopes: Floats) -> Bools:
        held = np.zeros(which.size, dtype=bool)
        rows, places = np.nonzero(self._intercepts[which] == intercepts[:, None])
        if rows.size:
            held[rows[(self._slopes[which[rows], places] == slopes[rows]).all(axis=1)]] = True
        return held

    def best(self, i: int, w: Floats) -> tuple[float, Floats]:
        """The plane of sample ``i`` that is largest at ``w``."""
        values = self._intercepts[i] + self._slopes[i] @ w
        if not values.max(initial=0.0) > 0:
            return 0.0, np.zeros_like(w)
        k = values.argmax()
        return float(self._intercepts[i, k]), self._slopes[i, k]

    def values(self, w: Floats) -> Floats:
        """The largest plane of each sample at ``w``, at least 0, (N,)."""
        return np.asarray(self._all_values(w).max(axis=1, initial=0.0))

    def group_values(self, w: Floats, groups: Ints) -> Floats:
        """Sums over groups of the largest plane of each sample at ``w``, (G,)."""
        return np.asarray(np.bincount(groups, self.values(w)), dtype=np.float64)

    def summed(self, w: Floats, groups: Ints) -> tuple[Floats, Floats, list[Labellings]]:
        """Sums over groups of the planes largest at ``w``: intercepts (G,) and slopes (G, d)."""
        n_groups = int(groups.max()) + 1
        intercepts, slopes = np.zeros(n_groups), np.zeros((n_groups, w.size))
        found: list[Labellings] = [()] * groups.size
        if self.capacity == 0:
            return intercepts, slopes, found
        values = self._all_values(w)
        places = values.argmax(axis=1)
        which = np.flatnonzero(values.max(axis=1) > 0)  # of the others the null plane is largest
        places = places[which]
        np.add.at(intercepts, groups[which], self._intercepts[which, places])
        np.add.at(slopes, groups[which], self._slopes[which, places])
        for i, k in zip(which.tolist(), places.tolist(), strict=True):
            found[i] = self._labellings[i][k]
        return intercepts, slopes, found

    def _all_values(self, w: Floats) -> Floats:
        """Every plane of every sample at ``w``, (N, capacity)."""
        n, capacity, dim = self._slopes.shape
        values = self._slopes.reshape(n * capacity, dim) @ w
        return np.asarray(self._intercepts + values.reshape(n, capacity))

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that :meth:`restore` takes."""
        return {
            "cache_intercepts": self._intercepts,
            "cache_slopes": self._slopes,
            "cache_seen": self._seen,
            "cache_labellings": as_objects([as_objects(row) for row in self._labellings]),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Hold what another cache of the same size held."""
        self._intercepts = state["cache_intercepts"].copy()
        self._slopes = state["cache_slopes"].copy()
        self._seen = state["cache_seen"].copy()
        unknown = [[None] * self.capacity for _ in range(len(self._seen))]
        self._labellings = [list(row) for row in state.get("cache_labellings", unknown)]
