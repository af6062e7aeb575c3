"""Planes that oracles give, lower bounds of hinge losses, and what is remembered of them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import SettingsError
from structsvm.masters.base import Cut, Labelling, Labellings, as_objects
from structsvm.problem import RegularizedRisk
from structsvm.status import Quality
from structsvm.support import Bools, Floats, Ints


class Planes(NamedTuple):
    """``intercepts + slopes @ w'``, lower bounds of the weighted hinge losses of groups.

    The same container holds the planes of single instances on a worker, their sums over the
    instances of a block, and the sums over all blocks, with which certificates and working sets go
    on.
    """

    w: Floats  # the weight at which the oracles were called, (d,)
    groups: Ints  # group of each plane, (n,)
    slopes: Floats  # ``sum_i omega_i (phi(x_i, y) - phi(x_i, y_i))``, (n, d)
    intercepts: Floats  # ``sum_i omega_i loss(y_i, y)``, (n,)
    values: Floats  # values of the planes at ``w``, nonnegative, (n,)
    slacks: Floats
    """The hinge losses exceed the values by at most this; 0 of heuristic answers, (n,)."""
    quality: Quality  # the weakest of the answers
    size: float
    """The sum of the magnitudes of what the values are sums of: what rounding is relative to."""
    calls: int
    labellings: list[Labellings]  # the labellings that each plane comes from, n of them
    at_most: float = 0.0
    """The sum of the hinge losses is at most this, if the slacks of heuristic answers are true."""
    caught: int | None = None
    """An instance whose oracle claimed that nothing is better than what is worse than the truth."""
    penalty: float = 0.0  # Omega(w), once all groups are there

    @classmethod
    def joined(cls, parts: "Sequence[Planes]") -> "Planes":
        """The planes of several blocks, one after another."""
        caught = [part.caught for part in parts if part.caught is not None]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("groups", "slopes", "intercepts", "values", "slacks")
        }
        return cls(
            w=parts[0].w,
            **columns,
            quality=weakest(part.quality for part in parts),
            size=sum(part.size for part in parts),
            calls=sum(part.calls for part in parts),
            labellings=list(chain.from_iterable(part.labellings for part in parts)),
            at_most=sum(part.at_most for part in parts),
            caught=min(caught, default=None),
        )

    def summed(self, groups: Ints | None = None) -> "Planes":
        """One plane for each group, added in the order in which they are here."""
        of_planes = self.groups if groups is None else groups
        if of_planes.size == 1 or (of_planes[1:] > of_planes[:-1]).all():
            return self if groups is None else self._replace(groups=of_planes)
        present, places = np.unique(of_planes, return_inverse=True)
        sums: dict[str, Any] = {"slopes": np.zeros((present.size, self.w.size))}
        sums |= {name: np.zeros(present.size) for name in ("intercepts", "values", "slacks")}
        for name, total in sums.items():
            np.add.at(total, places, getattr(self, name))
        of_groups: list[list[Labelling]] = [[] for _ in present]
        unknown = set()
        for part, place in zip(self.labellings, places.tolist(), strict=True):
            of_groups[place] += part or ()
            if part is None:
                unknown.add(place)
        labellings = [None if g in unknown else tuple(whole) for g, whole in enumerate(of_groups)]
        return self._replace(groups=present, labellings=labellings, **sums)

    def cuts(self, wanted: Bools | None = None) -> list[Cut]:
        """Planes as cuts of a working set: all, or those that are ``wanted``, (n,)."""
        which = range(len(self.groups)) if wanted is None else wanted.nonzero()[0].tolist()
        groups = self.groups.tolist()
        intercepts = self.intercepts.tolist()
        slopes = self.slopes
        labellings = self.labellings
        return [Cut(groups[k], intercepts[k], slopes[k], labellings[k]) for k in which]

    def without_cuts(self) -> "Planes":
        """The losses alone."""
        none = np.empty(0)
        d = self.w.size
        return self._replace(
            groups=none.astype(np.int64), slopes=none.reshape(0, d), intercepts=none, labellings=[]
        )


def weakest(qualities: Iterable[Quality]) -> Quality:
    return max(qualities, key=list(Quality).index, default=Quality.EXACT)


CACHED_ARRAYS = ("_intercepts", "_slopes", "_seen")


class PlaneCache:
    """The latest planes of every instance: labellings that are tried before an oracle is."""

    def __init__(self, n_instances: int, capacity: int, dim: int) -> None:
        self.capacity = capacity
        self._intercepts: Floats = np.zeros((n_instances, capacity))
        self._slopes: Floats = np.zeros((n_instances, capacity, dim))
        self._seen: Ints = np.zeros(n_instances, dtype=np.int64)
        self._labellings: list[list[Labellings]] = [[()] * capacity for _ in range(n_instances)]

    def __len__(self) -> int:
        """Planes of all instances, the null ones not counted."""
        return int(np.minimum(self._seen, self.capacity).sum())

    def add(
        self, which: Ints, intercepts: Floats, slopes: Floats, labellings: Sequence[Labellings]
    ) -> None:
        """Keep planes of different instances that are new, in the place of the oldest of each."""
        if self.capacity == 0:
            return
        is_kept = np.zeros(which.size, dtype=bool)
        rows, places = np.nonzero(self._intercepts[which] == intercepts[:, None])
        is_kept[rows[(self._slopes[which[rows], places] == slopes[rows]).all(axis=1)]] = True
        new = np.flatnonzero(~is_kept)
        instances = which[new]
        places = self._seen[instances] % self.capacity
        self._intercepts[instances, places] = intercepts[new]
        self._slopes[instances, places] = slopes[new]
        self._seen[instances] += 1
        for n, i, place in zip(new.tolist(), instances.tolist(), places.tolist(), strict=True):
            self._labellings[i][place] = labellings[n]

    def best(self, i: int, w: Floats) -> tuple[float, Floats]:
        """The plane of instance ``i`` that is largest at ``w``."""
        values = self._intercepts[i] + self._slopes[i] @ w
        if not values.max(initial=0.0) > 0:
            return 0.0, np.zeros_like(w)
        k = values.argmax()
        return float(self._intercepts[i, k]), self._slopes[i, k]

    def values(self, w: Floats) -> Floats:
        """The largest plane of each instance at ``w``, at least 0, (N,)."""
        return np.asarray(self._all_values(w).max(axis=1, initial=0.0))

    def planes(self, w: Floats) -> Planes:
        """The largest plane of each instance at ``w``, the null one where none is above 0."""
        values = self._all_values(w)
        each = np.arange(len(values))
        places = values.argmax(axis=1)
        values = values[each, places]
        intercepts = self._intercepts[each, places]
        slopes = self._slopes[each, places]
        none = values <= 0
        values[none], intercepts[none], slopes[none] = 0.0, 0.0, 0.0
        rows = zip(self._labellings, places.tolist(), none.tolist(), strict=True)
        labellings: list[Labellings] = [() if is_null else row[k] for row, k, is_null in rows]
        columns = slopes, intercepts, values, np.zeros_like(values)
        return Planes(w, each, *columns, Quality.EXACT, 0.0, 0, labellings)

    def _all_values(self, w: Floats) -> Floats:
        """Every plane of every instance at ``w``, (N, capacity)."""
        n, capacity, dim = self._slopes.shape
        values = self._slopes.reshape(n * capacity, dim) @ w
        return np.asarray(self._intercepts + values.reshape(n, capacity))

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that :meth:`restore` takes."""
        arrays = {f"cache{name}": getattr(self, name) for name in CACHED_ARRAYS}
        return arrays | {"cache_labellings": as_objects(list(map(as_objects, self._labellings)))}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Hold what another cache of the same size held."""
        for name in CACHED_ARRAYS:
            setattr(self, name, state[f"cache{name}"].copy())
        unknown = [[None] * self.capacity for _ in range(len(self._seen))]
        self._labellings = [list(row) for row in state.get("cache_labellings", unknown)]


class Memory:
    """The cuts and losses of a run, from which the next one starts.

    Hinge losses, and so cuts, planes and their sums, depend on the instances alone. Along a path of
    regularizers each run begins with the cuts of the one before and knows its best weight without
    calling an oracle. Every run has its own certificate, which is as good as without memory.

    Examples
    --------
    >>> from structsvm.solvers import Memory
    >>> Memory().best is None  # before the first run: CuttingPlane().solve(risk, memory=memory)
    True
    """

    def __init__(self) -> None:
        self.best: Planes | None = None
        """Losses at the best weight of the run before."""
        self.state: Mapping[str, NDArray[Any]] | None = None
        """The state of the solver, from which the next run starts."""
        self.quality = Quality.EXACT
        """The weakest of the answers that this state comes from."""
        self.caught: str | None = None
        """Description of an oracle that claimed more than it could keep."""
        self.seen: dict[bytes, Planes] = {}
        """Losses at the weights from which every run starts."""
        self._owner: tuple[tuple[Any, ...], type, dict[str, Any]] | None = None

    def of(self, risk: RegularizedRisk, solver: Any) -> "Memory":
        """The memory itself, after a check of what it is of.

        Raises
        ------
        SettingsError
            If it is of other instances or of another solver.
        """
        data = (risk.problem, risk.xs, risk.ys, risk.sample_weight)
        settings = {name: value for name, value in vars(solver).items() if name != "stopping"}
        if self._owner is None:
            self._owner = data, type(solver), settings
        data_before, *setting = self._owner
        same = all(a is b for a, b in zip(data, data_before, strict=True))
        if not same or setting != [type(solver), settings]:
            raise SettingsError(
                "this memory is of other instances or of another solver: begin with a new Memory()"
            )
        return self
