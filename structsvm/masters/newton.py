"""The fast master: a semismooth Newton method on the dual, whatever the cone.

With a strongly convex separable Omega the weight is a projection of an affine function of the
multipliers, so that the dual is smooth and concave over a product of capped simplices. A Newton
step maximises its quadratic model over that set. Without strong convexity (the trace), the proximal
point method makes it so: each step solves one strongly convex problem around the last answer. Zhao,
Sun and Toh (2010) solve semi-definite programs so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from structsvm.errors import MasterError
from structsvm.masters.base import (
    DEFAULT_REQUEST,
    Master,
    MasterSolution,
    Proximal,
    Request,
    WorkingSet,
    acceptable,
)
from structsvm.masters.bounds import lower_bound
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.masters.simplex_qp import FEW, maximize_on_simplices
from structsvm.problem import Regularized
from structsvm.regularizers import Quadratic
from structsvm.support.arrays import Floats
from structsvm.support.checks import refuse_below
from structsvm.weights import Projection, WeightSpace

REACH = 0.5
"""A Newton step looks at the cuts that have a multiplier, or whose value is within this part of
their group's duality gap from the largest."""

PATIENCE = 6
"""Proximal steps that do not halve the gap, in a row, before it is called final."""

COARSE = 1e-4
"""Relative gap down to which the quadratic model is computed in single precision. A model that is
wrong by 1e-7 loses nothing there; values, gradients and bounds are always in double precision."""

SINGLE, DOUBLE = 1e-6, 1e-14
"""What rounding leaves of a curvature of zero, for each unit of the largest."""

CHUNK = 2**26
"""Bytes of slopes that are scaled at a time."""


@dataclass(frozen=True)
class NewtonMaster(Master):
    """Dual semismooth Newton, for squared norms, traces and their sums, without constraints.

    Where it does not apply, and where it fails, :class:`CvxpyMaster` takes over. Measured in
    docs/solvers.md: it is hundreds of times faster on large semi-definite matrices.

    Parameters
    ----------
    max_steps : int
        At most this many Newton steps, and as many proximal ones.

    Examples
    --------
    >>> from structsvm.solvers import CuttingPlane, NewtonMaster
    >>> CuttingPlane(master=NewtonMaster(max_steps=100)).master
    NewtonMaster(max_steps=100)
    """

    max_steps: int = 60

    def __post_init__(self) -> None:
        refuse_below(1, "max_steps", self.max_steps)

    def handles(self, risk: Regularized) -> bool:
        return risk.constraints is None and risk.quadratic is not None

    def solve(
        self, risk: Regularized, cuts: WorkingSet, request: Request = DEFAULT_REQUEST
    ) -> MasterSolution:
        """Solve the restricted problem; MasterError if the gap does not close."""
        omega = risk.quadratic
        assert omega is not None
        if request.proximal is None and omega.curvature.min() <= 0:
            return self._proximal_point(risk, cuts, omega, request)
        if request.proximal is not None:
            omega = request.proximal.added_to(omega)
        restricted = _Restricted(cuts, risk.space, omega)
        found = _ascend(restricted, cuts.multipliers, request.tol, self.max_steps)
        if not found.relative_gap <= acceptable(request.tol):
            raise MasterError(f"newton stalled at a relative gap of {found.relative_gap:.1g}")
        return MasterSolution(found.projection.w, found.alpha, "newton", is_projected=True)

    def _proximal_point(
        self, risk: Regularized, cuts: WorkingSet, omega: Quadratic, request: Request
    ) -> MasterSolution:
        """Strongly convex problems around the best weight, ever less bound to it."""
        null = np.zeros(risk.space.dim)
        w = null if request.start is None else request.start
        alpha = multipliers = cuts.multipliers
        worth = risk.penalty(null) + float(cuts.group_values(null).sum())
        radius = max(float(np.linalg.norm(w)), 0.03 * worth / omega.linear.max())
        weight = max(0.03 * worth / max(radius**2, 1e-300), 1e-300)
        upper, lower, gap, idle = np.inf, 0.0, np.inf, 0
        for _ in range(self.max_steps):
            # Of multipliers that are equally good, interior points find those that are feasible
            # for the trace by itself.
            near = _Restricted(cuts, risk.space, Proximal(w, weight).added_to(omega), few=0)
            found = _ascend(near, alpha, 0.1 * request.tol, self.max_steps)
            alpha, v = found.alpha, found.projection.w
            value = risk.penalty(v) + float(cuts.group_values(v).sum())
            if value < upper:
                upper, w = value, v
            shrunk = alpha * risk.regularizer.max_scale(alpha @ cuts.slopes, risk.space)
            for candidate in (alpha, shrunk):  # the second is feasible
                bound, _ = lower_bound(risk, cuts, candidate, upper)
                if bound >= lower:
                    lower, multipliers = bound, candidate
            previous, gap = gap, (upper - lower) / max(abs(upper), 1e-300)
            idle = 0 if gap < 0.5 * previous else idle + 1
            if gap <= request.tol or idle >= PATIENCE:
                break
            # Where rounding keeps a subproblem from being solved, a looser bond would be worse.
            weight *= 0.1 if found.relative_gap <= max(request.tol, 0.1 * gap) else 10.0
        if not gap <= acceptable(request.tol):
            raise MasterError(f"proximal newton stalled at a relative gap of {gap:.1g}")
        return MasterSolution(w, multipliers, "proximal newton")


@dataclass(frozen=True)
class _Point:
    """The dual at a vector of multipliers."""

    alpha: Floats
    value: float
    gradient: Floats
    """The cuts at ``w``, (C,)."""
    best: Floats
    """The largest cut of each group at ``w``, at least 0."""
    projection: Projection
    """Of which ``w`` minimises the Lagrangian."""
    gap: float
    """Duality gap: how much a linear maximisation over the simplices could gain."""
    relative_gap: float
    """That, relative to the primal value."""


class _Restricted:
    """The restricted problem with a strongly convex quadratic Omega, seen from its dual."""

    def __init__(
        self, cuts: WorkingSet, space: WeightSpace, omega: Quadratic, few: int = FEW
    ) -> None:
        self.cuts, self.space, self.curvature, self.few = cuts, space, omega.curvature, few
        self.target = omega.center - omega.linear / omega.curvature
        self.constant = 0.5 * float(omega.curvature @ omega.center**2)

    def at(self, alpha: Floats) -> _Point:
        """The dual ``o^T alpha + min_w Omega(w) + <Psi^T alpha, w>``, attained at a projection."""
        cuts = self.cuts
        projection = self.space.projection(self.target - (alpha @ cuts.slopes) / self.curvature)
        w = projection.w
        gradient = cuts.values(w)
        best = np.zeros(cuts.n_groups)
        np.maximum.at(best, cuts.groups, gradient)
        value = float(alpha @ cuts.intercepts) - 0.5 * float(self.curvature @ w**2) + self.constant
        gap = max(0.0, float(best.sum() - gradient @ alpha))
        relative_gap = gap / max(abs(value + gap), 1e-300)
        return _Point(alpha, value, gradient, best, projection, gap, relative_gap)

    def newton_direction(self, at: _Point, damping: float) -> Floats:
        """Maximise the quadratic model over the simplices, among the cuts that may matter."""
        groups = self.cuts.groups
        shortfall = at.best - np.bincount(groups, at.alpha * at.gradient, self.cuts.n_groups)
        reach = at.best[groups] - at.gradient <= REACH * shortfall[groups]
        active = np.flatnonzero((at.alpha > 0) | reach)
        active = active[np.argsort(groups[active], kind="stable")]
        F, alpha = self._factor(at, active), at.alpha[active]
        ridge = damping * max(float((F**2).sum()) / active.size, 1e-300)
        image = alpha @ F
        curved = float(image @ image + ridge * (alpha @ alpha))
        q = at.gradient[active] + F @ image + ridge * alpha
        reference = float(q @ alpha) - 0.5 * curved
        used, inside = np.unique(groups[active], return_inverse=True)
        tol = 1e-15 * abs(at.value + at.gap)
        direction = -at.alpha
        direction[active] += maximize_on_simplices(
            q, F, ridge, inside, used.size, reference, tol, self.few
        )
        return direction

    def _factor(self, at: _Point, active: NDArray[np.intp]) -> Floats:
        """``F`` with ``F F^T`` the curvature of the dual in these multipliers, (C, f), f <= C."""
        kind = np.float32 if at.relative_gap > COARSE else np.float64
        step = max(1, CHUNK // (8 * self.curvature.size))
        stretch, sizes, parts = np.sqrt(self.curvature), np.ones(active.size), []
        for k in range(0, max(1, active.size), step):
            rows = self.cuts.slopes[active[k : k + step]]
            rows /= stretch
            norms = np.sqrt(np.einsum("cd,cd->c", rows, rows))  # single precision: few exponents
            sizes[k : k + step] = np.where(norms > 0, norms, 1.0)
            rows /= sizes[k : k + step, None]
            parts.append(at.projection.factor(rows.astype(kind, copy=False)))
        F = np.concatenate(parts)
        if F.shape[1] <= active.size:
            return np.asarray(sizes[:, None] * F, dtype=np.float64)
        # The square root of F F^T, by its numerical rank.
        H = (F @ F.T).astype(np.float64)
        least = SINGLE if kind is np.float32 else DOUBLE
        least *= float(H.diagonal().max(initial=0.0))
        factor, pivots, rank, _ = dpstrf(H, tol=least, lower=1)
        root: Floats = np.empty((len(H), rank))
        root[pivots - 1] = np.tril(factor)[:, :rank]
        return sizes[:, None] * root


def _ascend(restricted: _Restricted, alpha: Floats, tol: float, max_steps: int) -> _Point:
    """Newton steps with a line search, until the relative gap is ``tol`` or nothing moves."""
    at, damping = restricted.at(alpha), 1e-10
    for _ in range(max_steps):
        if at.relative_gap <= tol:
            break
        direction, step = restricted.newton_direction(at, damping), 1.0
        promised = float(at.gradient @ direction)
        while True:  # until the dual has risen by a part of what its slope promises
            ahead = restricted.at(at.alpha + step * direction)
            least = at.value + 1e-4 * step * promised - 1e-14 * abs(at.value)
            if ahead.value >= least or step < 1e-6:
                break
            step *= 0.5
        if ahead.value <= at.value and ahead.gap >= at.gap:
            break
        damping = damping * 100 if step < 0.3 else max(1e-10, damping / 10)
        at = ahead
    return at


def master_from(name: str | Master) -> Master:
    """A master itself, or the one of a name."""
    if isinstance(name, Master):
        return name
    return NewtonMaster() if name.lower() in ("auto", "newton") else CvxpyMaster(name)
