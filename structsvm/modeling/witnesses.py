"""Answers of oracles are compared with each other: planes are below a convex function."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structsvm.errors import OracleError
from structsvm.masters.base import NO_SLACK
from structsvm.modeling.pool import SLIPS
from structsvm.modeling.rewriting import Held
from structsvm.solvers.planes import Planes
from structsvm.support.arrays import Floats, Ints

ROUNDING = 1e-12
"""Of the size of the terms that an intercept was computed from."""

MOST = 20
"""Points at which later planes are compared with what the oracles said before."""


class Witnesses:
    """Points, and upper bounds of the groups there, that later planes must not be above."""

    def __init__(self, held: Sequence[Held]) -> None:
        self._held = held
        self._points: list[tuple[Floats, Floats]] = []
        self._outside: Held | None = next(filter(_has_domain, held), None)
        """The last atom that had no value at a point."""

    def check(
        self, planes: Planes, known: Floats, uppers: Floats, sizes: Floats, largest: Floats
    ) -> None:
        """Refuse answers that cannot be those of a maximum of planes, and remember them.

        ``known`` are lower and ``uppers`` upper bounds of the groups at the point of the planes;
        ``sizes`` are those of the terms here and ``largest`` of all so far.
        """
        outside = np.flatnonzero(planes.groups == NO_SLACK)
        for row in outside[:1]:
            ((atom, *_), *_) = planes.labellings[row] or ((0,),)
            self._outside = self._held[atom]
        groups = np.arange(known.size)
        sizes = np.append(sizes[:-1], largest[-1])  # no plane without a slack is of this point
        self._compare(groups, known, uppers, sizes, largest, "the oracle returned", "an earlier")
        for w, before in self._points:
            heights = planes.intercepts + planes.slopes @ w
            terms = np.abs(planes.intercepts) + np.abs(planes.slopes) @ np.abs(w)
            said = "at an earlier point it returned"
            self._compare(planes.groups, heights, before, terms, largest, said, "its new")
        self._points = [*self._points[1 - MOST :], (planes.w, uppers)]

    def _compare(
        self,
        groups: Ints,
        lowers: Floats,
        uppers: Floats,
        sizes: Floats,
        largest: Floats,
        returned: str,
        which: str,
    ) -> None:
        """Refuse a lower bound of a group above the upper one of the group at the same point."""
        room = SLIPS * np.maximum(sizes, np.abs(lowers)) + ROUNDING * largest[groups]
        wrong = np.flatnonzero(lowers > uppers[groups] + room)
        if not wrong.size:
            return
        k = int(wrong[0])
        g = int(groups[k])
        if g in (NO_SLACK, largest.size - 1):
            name = "an oracle" if self._outside is None else self._outside.atom.called
            raise OracleError(
                f"{name}: {which} plane of Infeasible cuts off a point, by {lowers[k]:.9g}, at "
                "which the oracle has a value: value + <slope, x' - x> <= 0 has to hold for every "
                "x' at which it has one; name the cvxpy.Parameter it depends on in parameters="
            )
        held = max((held for held in self._held if held.first <= g), key=lambda held: held.first)
        term = "" if held.heights.size == 1 else f", term {g - held.first}"
        raise OracleError(
            f"{held.atom.called}{term}: {returned} {uppers[g]:.9g} where {which} plane says that "
            f"it is {lowers[k]:.9g} at least: it does not find a maximum of planes, or has changed "
            "since; give upper bounds if it is inexact, and name the cvxpy.Parameter it depends on "
            "in parameters="
        )


def _has_domain(held: Held) -> bool:
    """Whether planes of earlier runs are known that a domain keeps."""
    return any(cut.group == NO_SLACK for cut in held.atom.pool.cuts)
