"""Planes that are known of an atom, and what its oracles said where they last touched."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structsvm.masters import Cut, Planes
from structsvm.problem import Quality
from structsvm.support import Floats

SLIPS = 1e-7
"""By how much of the size of its terms a value may be below an earlier plane, by rounding."""


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
    """Which of the functions of the atom it is below; -1 for their sum, and None for a plane of
    :class:`Infeasible`, which the argument has to keep at 0 or below."""
    intercept: float
    slope: Any
    """In the shape of the argument; a tuple of several for several arguments."""
    multiplier: float
    """How much the objective would grow for each unit by which the plane rose."""


@dataclass(frozen=True, eq=False)
class Touch:
    """What an oracle said at one argument: asked again, it says the same unless it has changed."""

    argument: Floats
    lowers: Floats
    """Of each group, (n,); infinite where the oracle has no value."""
    uppers: Floats
    slopes: Floats
    """(n, d)."""
    sizes: Floats
    """Of the terms of each value, which rounding is relative to."""

    @classmethod
    def of(cls, planes: Planes, n_groups: int) -> "Touch":
        """By planes in the space of the argument."""
        planes = tops(planes, n_groups)
        is_guess = planes.quality is Quality.HEURISTIC
        uppers = planes.values + (np.inf if is_guess else planes.slacks)
        sizes = np.abs(planes.intercepts) + np.abs(planes.slopes) @ np.abs(planes.w)
        return cls(planes.w, planes.values, uppers, planes.slopes, sizes)

    def differs(self, now: "Touch") -> int | None:
        """A group whose values then and now exclude each other; None where there is none."""
        room = SLIPS * np.maximum(self.sizes, now.sizes)
        apart = (self.lowers > now.uppers + room) | (now.lowers > self.uppers + room)
        return int(apart.argmax()) if apart.any() else None

    def has_other_slopes(self, now: "Touch") -> bool:
        room = SLIPS * np.abs(self.slopes).max(initial=0.0)
        return bool((np.abs(self.slopes - now.slopes) > room).any())


def tops(planes: Planes, n_groups: int) -> Planes:
    """The largest plane of each group; of infinite value where there is none."""
    order = np.argsort(planes.values, kind="stable")
    last = np.full(n_groups + 1, -1)
    last[planes.groups[order]] = order  # those without a slack are behind
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
    """The planes found below one atom, whatever problem it was in: where the next run begins."""

    marks: bytes = b""
    """The slack, and the values of the parameters of the oracle, for which they hold."""
    cuts: list[Cut] = field(default_factory=list)
    """In the space of the argument."""
    quality: Quality = Quality.EXACT
    """The weakest of the answers that they are of."""
    largest: float = 0.0
    """The size of the terms that their intercepts were computed from, at most."""
    touch: Touch | None = None
    """The answer at the last solution."""

    def clear(self) -> None:
        self.cuts = []
        self.quality = Quality.EXACT
        self.touch = None
