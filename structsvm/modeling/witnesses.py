"""Answers of oracles are compared with each other: planes are below a convex function."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structsvm.errors import OracleError
from structsvm.modeling.pool import SLIPS
from structsvm.modeling.rewriting import Held
from structsvm.solvers.planes import Planes
from structsvm.support.arrays import Bools, Floats

ROUNDING = 1e-12
"""Of the size of the terms that an intercept was computed from."""

MOST = 20
"""Points at which later planes are compared with what the oracles said before."""


class Witnesses:
    """Points, and upper bounds of the groups there, that later planes must not be above."""

    def __init__(self, held: Sequence[Held]) -> None:
        self._held = held
        self._points: list[tuple[Floats, Floats]] = []

    def check(
        self, planes: Planes, known: Floats, guessed: Bools, sizes: Floats, largest: Floats
    ) -> None:
        """Refuse answers that cannot be those of a maximum of planes, and remember them.

        ``known`` are lower bounds at the point of the planes, and of the ``guessed`` groups nothing
        is known from above; ``sizes`` are those of the terms here and ``largest`` of all so far.
        """
        uppers = np.where(guessed, np.inf, planes.values + planes.slacks)
        self._compare(known, uppers, sizes, largest, "the oracle returned", "an earlier")
        for w, before in self._points:
            heights = planes.intercepts + planes.slopes @ w
            terms = np.abs(planes.intercepts) + np.abs(planes.slopes) @ np.abs(w)
            said = "at an earlier point it returned"
            self._compare(heights, before, terms, largest, said, "its new")
        self._points = [*self._points[1 - MOST :], (planes.w, uppers)]

    def _compare(
        self,
        lowers: Floats,
        uppers: Floats,
        sizes: Floats,
        largest: Floats,
        returned: str,
        which: str,
    ) -> None:
        """Refuse a lower bound of a group above an upper one at the same point."""
        room = SLIPS * np.maximum(sizes, np.abs(lowers)) + ROUNDING * largest
        wrong = np.flatnonzero(lowers > uppers + room)
        if not wrong.size:
            return
        g = int(wrong[0])
        held = max((held for held in self._held if held.first <= g), key=lambda held: held.first)
        term = "" if held.heights.size == 1 else f", term {g - held.first}"
        raise OracleError(
            f"{held.atom.called}{term}: {returned} {uppers[g]:.9g} where {which} plane says that "
            f"it is {lowers[g]:.9g} at least: it does not find a maximum of planes, or has changed "
            "since; give upper bounds if it is inexact, and name the cvxpy.Parameter it depends on "
            "in parameters="
        )
