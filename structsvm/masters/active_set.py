"""The master of tiny programs: an active-set method on the dual, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import MasterError
from structsvm.masters.base import (
    DEFAULT_REQUEST,
    Master,
    MasterSolution,
    Request,
    acceptable,
    clean_multipliers,
)
from structsvm.masters.interior import NOTHING, vector_form
from structsvm.masters.working_set import WorkingSet
from structsvm.problem import Regularized
from structsvm.support.arrays import Floats, Ints

FEW_WEIGHTS, FEW_GROUPS, FEW_CUTS = 16, 16, 96
"""A program with more of any of these is not tiny."""


@dataclass(frozen=True)
class ActiveSetMaster(Master):
    """An active-set method for squared norms of a few free or nonnegative weights, several
    slacks.
    """

    def handles(self, risk: Regularized, cuts: WorkingSet) -> bool:
        if risk.space.dim > FEW_WEIGHTS or len(cuts) > FEW_CUTS:
            return False
        if not 2 <= cuts.n_groups <= FEW_GROUPS or (form := vector_form(risk)) is None:
            return False
        return bool(form[0].curvature.min() > 0)

    def solve(
        self, risk: Regularized, cuts: WorkingSet, request: Request = DEFAULT_REQUEST
    ) -> MasterSolution:
        """Solve the restricted problem, without a proximal term."""
        from structsvm.masters.support_search import ascend  # numba takes long to import

        form = vector_form(risk)
        if form is None or request.proximal is not None or not form[0].curvature.min() > 0:
            raise MasterError(
                "active set handles squared norms of vectors, without extra constraints"
            )
        omega, nonnegative = form
        roots, target = np.sqrt(omega.curvature), omega.center - omega.linear / omega.curvature
        with np.errstate(all="ignore"):
            rows = _rows(cuts, roots, roots * target, nonnegative.nonzero()[0])
            at_center = rows.R[: rows.first_bound].dot(rows.center)
        worth = float(np.abs(rows.o).max() + np.abs(at_center).max())
        w = np.empty(risk.space.dim)
        gap, value = ascend(*rows, worth, w)
        value += 0.5 * float(omega.linear.dot(omega.center + target))
        gap /= max(abs(value), NOTHING * worth, 1e-300)
        if not gap <= acceptable(request.tol):
            raise MasterError(f"active set stalled at a relative gap of {gap:.1g}")
        alpha = rows.x[cuts.n_groups + 1 :][: len(cuts)]
        return MasterSolution(w / roots, alpha, "active set", is_projected=True)


class _Rows(NamedTuple):
    """What :func:`structsvm.masters.support_search.ascend` works on; the rows are n."""

    R: Floats
    o: Floats
    group: Ints
    n_groups: int
    first_bound: int
    center: Floats
    x: Floats


def _rows(cuts: WorkingSet, roots: Floats, center: Floats, bounded: NDArray[np.intp]) -> _Rows:
    """Null cuts, cuts and bounds, of the weight times the ``roots`` of the curvature."""
    G, alpha = cuts.n_groups, clean_multipliers(cuts.multipliers, cuts)
    first, last = G + 1, G + 1 + len(cuts)
    n = last + bounded.size
    R, o, x, group = np.zeros((n, roots.size)), np.zeros(n), np.zeros(n), np.full(n, G)
    group[:G], group[first:last] = np.arange(G), cuts.groups
    o[first:last], x[first:last] = cuts.intercepts, alpha
    x[:G] = np.maximum(1.0 - np.bincount(cuts.groups, alpha, G), 0.0)
    np.divide(cuts.slopes, roots, out=R[first:last])
    R[np.arange(last, n), bounded] = -1.0
    return _Rows(R, o, group, G, last, center, x)
