"""Cuts, the working set that holds them, and the contract of masters."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import MasterError
from structsvm.problem import Quadratic, Regularized
from structsvm.support import Floats, Ints, hook

__all__ = [
    *("Cut", "Labelling", "Labellings", "Master", "MasterSolution", "Proximal", "Request"),
    *("NO_SLACK", "WorkingSet", "acceptable", "checked"),
]
Labelling = tuple[int, Any, float, float]
"""A labelling of a cut: its instance, the value that ``Problem.kept`` made of it, its loss, and its
share of the cut, which is 1 unless cuts were merged."""
Labellings = tuple[Labelling, ...] | None
"""The labellings that a cut is a sum over, except true ones; None when they are not known."""
CHUNK = 2**26  # bytes of slopes that are moved, scaled or summed at a time
NO_SLACK = -1
"""The group of constraints without a slack, ``intercept + <slope, w> <= 0``: the last of all
groups, whose values are never below 0."""
ACTIVE = 1e-7
"""Part of the largest multiplier below which a multiplier is attributed to inaccuracy."""


class Cut(NamedTuple):
    """``intercept + <slope, w>``, a lower bound of the weighted hinge losses of one group."""

    group: int
    intercept: float
    slope: Floats
    labellings: Labellings = None


class WorkingSet:
    """The cuts of the restricted problem, stacked so that one product evaluates all of them.

    Every group also has the null cut ``0 <= L`` (the true labelling), which is not stored. Its
    value is ``floor`` instead of 0 if that is given, minus infinity for no lower bound.
    """

    slopes: Floats
    """The slopes of the cuts, (C, d)."""
    intercepts: Floats
    groups: Ints
    multipliers: Floats
    """Last multiplier of each cut, 0 for a new one: where a master may start, (C,)."""
    idle: Ints
    """For how many rounds the multiplier of each cut has been 0, (C,)."""

    def __init__(self, n_groups: int, dim: int, floor: Floats | None = None) -> None:
        self.n_groups = n_groups
        self._floor: Floats = np.zeros(n_groups) if floor is None else floor
        self._room: dict[str, NDArray[Any]] = {"slopes": np.empty((16, dim))}
        self._room |= {name: np.empty(16) for name in ("intercepts", "multipliers")}
        self._room |= {name: np.empty(16, dtype=np.int64) for name in ("groups", "idle")}
        self._labellings: list[Labellings] = []
        self._keys: list[int] = []
        self._show()

    def __len__(self) -> int:
        return len(self._keys)

    def _show(self) -> None:
        """Make the public arrays views of the rows that are in use."""
        for name, room in self._room.items():
            setattr(self, name, room[: len(self)])

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays from which :meth:`restore` makes this set again; labellings are optional."""
        arrays = {name: getattr(self, name) for name in self._room}
        return arrays | {"labellings": as_objects(self._labellings)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Hold the cuts of another working set and nothing else."""
        self._room = {name: np.array(state[name], dtype=a.dtype) for name, a in self._room.items()}
        columns = (self._room[name] for name in ("groups", "intercepts", "slopes"))
        planes = zip(*columns, strict=True)
        self._keys = [hash((int(g), float(at), slope.tobytes())) for g, at, slope in planes]
        self._labellings = list(state.get("labellings", [None] * len(self._keys)))
        self._show()

    def values(self, w: Floats) -> Floats:
        """Every cut at ``w``, (C,)."""
        return np.asarray(self.intercepts + self.slopes @ w)

    def group_values(self, w: Floats) -> Floats:
        """The largest cut of each group at ``w``, or its floor if that is larger, (n_groups,)."""
        best = self._floor.copy()
        np.maximum.at(best, self.groups, self.values(w))
        return best

    def add(self, cuts: Iterable[Cut]) -> int:
        """Add the cuts that are not here yet; how many were new."""
        before = len(self)
        keys = set(self._keys)
        for cut in cuts:
            key = hash((cut.group, cut.intercept, cut.slope.tobytes()))
            n = len(self)
            if key in keys:
                continue
            keys.add(key)
            if n == self._room["groups"].size:
                for name, array in self._room.items():
                    shape = max(16, n + n // 2), *array.shape[1:]
                    self._room[name] = np.empty(shape, dtype=array.dtype)
                    self._room[name][:n] = array  # other rows take no memory until written
            new = {"slopes": cut.slope, "intercepts": cut.intercept, "groups": cut.group}
            for name, array in self._room.items():
                array[n] = new.get(name, 0)
            self._labellings.append(cut.labellings)
            self._keys.append(key)
        self._show()
        return len(self) - before

    def active(self, multipliers: Floats) -> list[tuple[float, Cut]]:
        """Pairs of multiplier and cut, where the multiplier exceeds the inaccuracy of a solver."""
        active = []
        for c in np.flatnonzero(multipliers > ACTIVE * float(multipliers.max(initial=0.0))):
            labellings = self._labellings[c]  # in place of slopes, which may take gigabytes
            slope = self.slopes[c].copy() if labellings is None else np.empty(0)
            cut = Cut(int(self.groups[c]), float(self.intercepts[c]), slope, labellings)
            active.append((float(multipliers[c]), cut))
        return active

    def retire(self, multipliers: Floats, max_idle: int) -> int:
        """Store multipliers and drop the cuts idle for ``max_idle`` rounds; the number dropped."""
        n = len(self)
        self.multipliers[:] = multipliers
        active = multipliers > 1e-10 * max(1.0, float(multipliers.max(initial=0.0)))
        self.idle[:] = np.where(active, 0, self.idle + 1)
        self._keep(np.flatnonzero(self.idle < max_idle))
        return n - len(self)

    def trim(self, capacity: int) -> int:
        """Drop or merge the most idle and oldest cuts beyond ``capacity``; the number dropped."""
        n = len(self)
        if n <= capacity:
            return 0
        age = np.arange(n)[::-1]
        order = np.lexsort((age, self.idle))
        dropped = order[capacity - self.n_groups :]
        active = dropped[self.multipliers[dropped] > 0]
        groups = self.groups[active]
        merged = [self._merged(active[groups == g]) for g in np.unique(groups)]
        self._keep(np.sort(order[: capacity - self.n_groups]))
        self.add(merged)
        return n - len(self)

    def _merged(self, which: NDArray[np.intp]) -> Cut:
        """The mean of cuts of one group, weighted by their multipliers."""
        weights = self.multipliers[which] / self.multipliers[which].sum()
        intercept = float(weights @ self.intercepts[which])
        slope = weights @ self.slopes[which]
        of_cuts = [self._labellings[k] for k in which]
        merged: list[Labelling] = []
        for one, weight in zip(of_cuts, weights.tolist(), strict=True):
            merged += ((i, y, loss, weight * share) for i, y, loss, share in one or ())
        labellings = None if None in of_cuts else tuple(merged)
        return Cut(int(self.groups[which[0]]), intercept, slope, labellings)

    def _keep(self, which: NDArray[np.intp]) -> None:
        """Drop all cuts except those of increasing numbers ``which``."""
        if which.size == len(self):
            return
        step = max(1, CHUNK // self._room["slopes"][0].nbytes)
        for array in self._room.values():
            for k in range(0, which.size, step):  # in order, so that no row is lost
                some = which[k : k + step]
                array[k : k + some.size] = array[some]
        self._labellings = [self._labellings[k] for k in which]
        self._keys = [self._keys[k] for k in which]
        self._show()


def as_objects(items: Sequence[Any]) -> NDArray[Any]:
    """A vector of objects; numpy itself would make a matrix of sequences."""
    vector = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        vector[place] = item
    return vector


@dataclass(frozen=True, eq=False)
class Proximal:
    """``weight / 2 * |w - center|^2``, added to the restricted problem to keep ``w`` near."""

    center: Floats
    weight: float

    def added_to(self, omega: Quadratic) -> Quadratic:
        """``omega`` with this term, up to a constant."""
        curvature = omega.curvature + self.weight
        center = (omega.curvature * omega.center + self.weight * self.center) / curvature
        return Quadratic(curvature, center, omega.linear)


@dataclass(frozen=True, eq=False)
class Request:
    """Accuracy, proximal term and start that a solver asks its master for."""

    tol: float = 1e-7
    """Duality gap of the restricted problem to aim at, relative to its value."""
    proximal: Proximal | None = None
    start: Floats | None = None
    """A weight in the cone near which the answer is expected."""


@dataclass(frozen=True)
class MasterSolution:
    """An approximate minimiser of the restricted problem, and its multipliers."""

    w: Floats
    """In the cone, (d,)."""
    multipliers: Floats
    """One per cut, (C,): nonnegative, summing to at most 1 in each group."""
    label: str
    """The solver that answered, and those that failed before it."""
    bound: tuple[float, str] | None = None
    """A lower bound of the minimum that the master itself has proved, and what it rests on."""
    is_minimum: bool = True
    """False if the restricted problem has no minimum, and ``w`` minimises it within a box."""
    duals: tuple[Any, ...] | None = None
    """Dual values of each of the further constraints, if there are any."""
    is_projected: bool = False
    """Whether ``w`` is a projection on the cone already."""


class Master(ABC):
    """Solves ``min Omega(w) + sum_g max(0, max_{c in g} intercept_c + <slope_c, w>)`` over a cone.

    The answer may be inaccurate: bounds are computed from the multipliers by
    :func:`structsvm.masters.bounds.lower_bound`, which is valid for any multipliers. A master holds
    settings only: the request and the cuts hold a warm start.
    """

    @hook
    def handles(self, risk: Regularized) -> bool:
        """Whether it can solve restricted problems of ``risk``; otherwise a conic solver does."""
        return True

    @abstractmethod
    def solve(self, risk: Regularized, cuts: WorkingSet, request: Request) -> MasterSolution:
        """Solve the restricted problem; MasterError when no solver gives an answer."""


def acceptable(tol: float) -> float:
    """The largest gap that rounding may explain where a master was asked for ``tol``."""
    return max(tol, min(1e3 * tol, 1e-6))


def checked(answer: MasterSolution, risk: Regularized, cuts: WorkingSet) -> MasterSolution:
    """Project and clip an answer, and scale the multipliers of groups down to sums of at most 1."""
    w = np.asarray(answer.w)
    alpha = np.asarray(answer.multipliers)
    fits = w.shape == (risk.space.dim,) and alpha.shape == (len(cuts),)
    if not (fits and np.isfinite(w).all()):
        raise MasterError(
            f"the master ({answer.label}) returned shapes {w.shape} and {alpha.shape} for "
            f"{risk.space.dim} weights and {len(cuts)} cuts, or no finite weight"
        )
    w = w if answer.is_projected else risk.space.project(w)
    alpha = np.maximum(np.where(np.isfinite(alpha), alpha, 0.0), 0.0)
    sums = np.bincount(cuts.groups, weights=alpha, minlength=cuts.n_groups)
    return replace(answer, w=w, multipliers=alpha / np.maximum(sums, 1.0)[cuts.groups])
