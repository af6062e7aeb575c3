"""Comparison of answers of oracles: no plane may be above a value at any other point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structsvm.errors import OracleError
from structsvm.masters import NO_SLACK, Planes, WorkingSet
from structsvm.modeling.pool import SLIPS
from structsvm.modeling.rewriting import StandIn
from structsvm.support import Floats, Ints

ROUNDING_OF_PLANES = 1e-12
"""Relative rounding error of an intercept, in units of the terms it was computed from."""

MOST_POINTS = 20
"""Number of the latest points at which new planes are compared with earlier answers."""


class Witnesses:
    """Points with upper bounds of the groups there, which later planes must not exceed."""

    def __init__(self, stand_ins: Sequence[StandIn]) -> None:
        self._stand_ins = stand_ins
        self._points: list[tuple[Floats, Floats]] = []
        self._outside: StandIn | None = next(filter(_has_domain, stand_ins), None)
        """The last atom that had no value at a point."""

    def check(
        self,
        planes: Planes,
        earlier: WorkingSet,
        lower_values: Floats,
        uppers: Floats,
        sizes: Floats,
        largest: Floats,
    ) -> None:
        """Refuse answers that contradict others, and store them.

        ``lower_values`` are lower bounds of the groups at the point of the planes by ``earlier``
        cuts, and ``uppers`` upper bounds by the answers; ``sizes`` are the sizes of terms there,
        and ``largest`` the largest sizes so far.
        """
        outside = np.flatnonzero(planes.groups == NO_SLACK)
        for row in outside[:1]:
            ((atom, *_), *_) = planes.labellings[row] or ((0,),)
            self._outside = self._stand_ins[atom]
        groups = np.arange(lower_values.size)
        sizes = np.append(sizes[:-1], largest[-1])  # no plane of NO_SLACK was made at this point
        if (lower_values > uppers).any():
            sizes = np.maximum(sizes, _sizes_at(planes.w, earlier, lower_values))
        self._compare(
            groups, lower_values, uppers, sizes, largest, "the oracle returned", "an earlier"
        )
        for w, before in self._points:
            heights = planes.heights(w)
            returned = "at an earlier point it returned"
            self._compare(
                planes.groups, heights, before, planes.terms(w), largest, returned, "its new"
            )
        self._points = [*self._points[1 - MOST_POINTS :], (planes.w, uppers)]

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
        """Refuse a lower bound of a group above an upper bound of it at the same point."""
        room = SLIPS * np.maximum(sizes, np.abs(lowers)) + ROUNDING_OF_PLANES * largest[groups]
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
        stand_in = [each for each in self._stand_ins if each.first <= g][-1]
        term = "" if stand_in.heights.size == 1 else f", term {g - stand_in.first}"
        raise OracleError(
            f"{stand_in.atom.called}{term}: {returned} {uppers[g]:.9g} where {which} plane says "
            f"that it is {lowers[k]:.9g} at least: it does not find a maximum of planes, or has "
            "changed since; give upper bounds if it is inexact, and name the cvxpy.Parameter it "
            "depends on in parameters="
        )


def _sizes_at(w: Floats, cuts: WorkingSet, lower_values: Floats) -> Floats:
    """The sizes of the terms of the largest plane of each group at a point with known values."""
    top = cuts.values(w) >= lower_values[cuts.groups]
    sizes = np.zeros(lower_values.size)
    terms = np.abs(cuts.intercepts[top]) + np.abs(cuts.slopes[top]) @ np.abs(w)
    np.maximum.at(sizes, cuts.groups[top], terms)
    return sizes


def _has_domain(stand_in: StandIn) -> bool:
    """Whether earlier runs have stored planes of Infeasible of an atom."""
    return any(cut.group == NO_SLACK for cut in stand_in.atom.pool.cuts)
