"""Stores of planes: the cache of a run, and the memory of a path of runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import SettingsError
from structsvm.masters import Labellings, Planes, as_objects
from structsvm.problem import Quality, RegularizedRisk
from structsvm.support import Floats, Ints

CACHED_ARRAYS = ("_intercepts", "_slopes", "_seen")


class PlaneCache:
    """The latest planes of every instance, which are tried before its oracle is called."""

    def __init__(self, n_instances: int, capacity: int, dim: int) -> None:
        self.capacity = capacity
        self._intercepts: Floats = np.zeros((n_instances, capacity))
        self._slopes: Floats = np.zeros((n_instances, capacity, dim))
        self._seen: Ints = np.zeros(n_instances, dtype=np.int64)
        self._labellings: list[list[Labellings]] = [[()] * capacity for _ in range(n_instances)]

    def __len__(self) -> int:
        """The number of planes of all instances, without null planes."""
        return int(np.minimum(self._seen, self.capacity).sum())

    def add(
        self, which: Ints, intercepts: Floats, slopes: Floats, labellings: Sequence[Labellings]
    ) -> None:
        """Store new planes, one each of instances ``which``, in place of the oldest of each."""
        if self.capacity == 0:
            return
        is_stored = np.zeros(which.size, dtype=bool)
        rows, places = np.nonzero(self._intercepts[which] == intercepts[:, None])
        is_stored[rows[(self._slopes[which[rows], places] == slopes[rows]).all(axis=1)]] = True
        new = np.flatnonzero(~is_stored)
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
        """Restore the planes of another cache of the same size."""
        for name in CACHED_ARRAYS:
            setattr(self, name, state[f"cache{name}"].copy())
        unknown = [[None] * self.capacity for _ in range(len(self._seen))]
        self._labellings = [list(row) for row in state.get("cache_labellings", unknown)]


class Memory:
    """The cuts and losses of a run, from which the next one starts.

    Hinge losses, and so cuts, planes and their sums, depend on the instances alone. Along a path of
    regularizers each run begins with the cuts of the run before, and evaluates the best weight of
    that run without calling an oracle. Every run has its own certificate, as good as without
    memory.

    Examples
    --------
    >>> from structsvm.solvers import Memory
    >>> Memory().best is None  # before the first run: CuttingPlane().solve(risk, memory=memory)
    True
    """

    def __init__(self) -> None:
        self.best: Planes | None = None
        """The losses at the best weight of the run before."""
        self.state: Mapping[str, NDArray[Any]] | None = None
        """The state of the solver, from which the next run starts."""
        self.quality = Quality.EXACT
        """The weakest quality of the answers that this state was made from."""
        self.caught: str | None = None
        """The wrong claim of an oracle, in words."""
        self.seen: dict[bytes, Planes] = {}
        """The losses at the weights from which every run starts, by the bytes of the weight."""
        self._owner: tuple[tuple[Any, ...], type, dict[str, Any]] | None = None

    def of(self, risk: RegularizedRisk, solver: Any) -> "Memory":
        """The memory itself, after a check that its runs had the same instances and solver.

        Raises
        ------
        SettingsError
            If it belongs to other instances or to another solver.
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
