"""The known planes of an atom, and the answers of its oracles at the last solution."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structsvm.masters import Cut, Planes
from structsvm.problem import Quality
from structsvm.support import Floats

SLIPS = 1e-7
"""Part of its terms by which rounding may put a value below an earlier plane."""


@dataclass(frozen=True, eq=False)
class Plane:
    """``intercept + <slope, x>``, a lower bound of a convex function.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import numpy as np
    >>> from structsvm.modeling import OracleMax
    >>> x = cp.Variable(2)
    >>> largest = OracleMax(x, lambda at: (at.max(), np.eye(2)[at.argmax()]))
    >>> problem = cp.Problem(cp.Minimize(largest + cp.sum_squares(x)))
    >>> value = problem.solve(method="cutting-plane")
    >>> type(largest.planes[0]).__name__, [round(p.multiplier, 3) for p in largest.planes]
    ('Plane', [0.5, 0.5])
    """

    term: int | None
    """The number of the function of the atom that it bounds; -1 for their sum, and None for a plane
    of :class:`Infeasible`, which has to be at most 0 at the argument."""
    intercept: float
    slope: Any
    """In the shape of the argument; a tuple of several for several arguments."""
    multiplier: float
    """The derivative of the optimal value by the intercept."""


@dataclass(frozen=True, eq=False)
class Touch:
    """The answer of an oracle at one argument, which shows later whether the oracle has changed."""

    argument: Floats
    lowers: Floats
    """Lower bounds of the groups, (n,); infinite where the oracle has no value."""
    uppers: Floats
    slopes: Floats  # (n, d)
    sizes: Floats
    """The magnitudes of the terms of each value, which rounding is relative to, (n,)."""

    @classmethod
    def of(cls, planes: Planes, n_groups: int) -> "Touch":
        """From planes in the space of the argument."""
        planes = tops(planes, n_groups)
        is_guess = planes.quality is Quality.HEURISTIC
        uppers = planes.values + (np.inf if is_guess else planes.slacks)
        return cls(planes.w, planes.values, uppers, planes.slopes, planes.terms(planes.w))

    def differs(self, now: "Touch") -> int | None:
        """A group whose bounds then and now contradict each other; None if there is none."""
        room = SLIPS * np.maximum(self.sizes, now.sizes)
        apart = (self.lowers > now.uppers + room) | (now.lowers > self.uppers + room)
        return int(apart.argmax()) if apart.any() else None

    def has_other_slopes(self, now: "Touch") -> bool:
        """Whether slopes then and now differ by more than rounding."""
        room = SLIPS * np.abs(self.slopes).max(initial=0.0)
        return bool((np.abs(self.slopes - now.slopes) > room).any())


def tops(planes: Planes, n_groups: int) -> Planes:
    """The largest plane of each of ``n_groups`` groups; its value is infinite if there is none."""
    order = np.argsort(planes.values, kind="stable")
    last = np.full(n_groups + 1, -1)
    last[planes.groups[order]] = order  # NO_SLACK, -1, writes to the extra last entry
    which = last[:n_groups]
    none = which < 0
    return planes._replace(
        groups=np.arange(n_groups),
        slopes=np.where(none[:, None], 0.0, planes.slopes[which]),
        intercepts=np.where(none, 0.0, planes.intercepts[which]),
        values=np.where(none, np.inf, planes.values[which]),
        slacks=np.where(none, 0.0, planes.slacks[which]),
        labellings=[planes.labellings[row] for row in which],
    )


@dataclass
class Pool:
    """The known planes below one atom, in any problem, with which the next run begins."""

    marks: bytes = b""
    """The settings and values of parameters for which the planes hold."""
    cuts: list[Cut] = field(default_factory=list)
    """The planes, in the space of the argument."""
    quality: Quality = Quality.EXACT
    """The weakest quality of the answers that the planes come from."""
    largest: float = 0.0
    """The largest size of the terms that the intercepts were computed from."""
    touch: Touch | None = None
    """The answer of the oracles at the last solution."""

    def clear(self) -> None:
        """Drop all planes."""
        self.cuts = []
        self.quality = Quality.EXACT
        self.touch = None
