"""The fast master: a semismooth Newton method on the dual, whatever the cone.

With a strongly convex separable Omega the weight is a projection of an affine function of the
multipliers, so that the dual is smooth and concave over a product of capped simplices. A Newton
step maximises its quadratic model over that set. Without strong convexity (the trace), the proximal
point method solves a sequence of strongly convex problems, each around the last answer, as Zhao,
Sun and Toh (2010) do for semi-definite programs.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs, dpstrf

from structsvm.errors import MasterError
from structsvm.masters.base import (
    CHUNK,
    Master,
    MasterSolution,
    Proximal,
    Request,
    WorkingSet,
    acceptable,
)
from structsvm.masters.bounds import lower_bound
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.problem import Projection, Quadratic, Regularized, WeightSpace
from structsvm.support import Floats, Ints, refuse_below

REACH = 0.5
"""A Newton step considers the cuts that have a multiplier, or whose value differs from the largest
by at most this part of the duality gap of their group."""
MAX_STALLED_STEPS = 6
"""Number of successive proximal steps that do not halve the gap after which the method stops."""
COARSE = 1e-4
"""Relative gap above which the quadratic model is computed in single precision, whose error of 1e-7
does not matter there; values, gradients and bounds are always in double precision."""
SINGLE, DOUBLE = 1e-6, 1e-14
"""Curvatures below this part of the largest are rounding, in single and in double precision."""
MAX_COMPILED_CUTS = 32
"""Most cuts for the compiled active-set method; interior points, a step of which takes a hundred
calls of NumPy, are faster for more."""
INTERIOR = 60  # most steps of interior points


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

    def solve(self, risk: Regularized, cuts: WorkingSet, request: Request) -> MasterSolution:
        """Solve the restricted problem; MasterError if the gap does not close."""
        omega = risk.quadratic
        assert omega is not None
        if request.proximal is None and omega.curvature.min() <= 0:
            return self._proximal_point(risk, cuts, omega, request)
        if request.proximal is not None:
            omega = request.proximal.added_to(omega)
        restricted = _Restricted(cuts, risk.space, omega)
        solution = _ascend(restricted, cuts.multipliers, request.tol, self.max_steps)
        if not solution.relative_gap <= acceptable(request.tol):
            raise MasterError(f"newton stalled at a relative gap of {solution.relative_gap:.1g}")
        return MasterSolution(solution.projection.w, solution.alpha, "newton", is_projected=True)

    def _proximal_point(
        self, risk: Regularized, cuts: WorkingSet, omega: Quadratic, request: Request
    ) -> MasterSolution:
        """Solve strongly convex problems around the best weight, with falling proximal weights."""
        null = np.zeros(risk.space.dim)
        w = null if request.start is None else request.start
        alpha = multipliers = cuts.multipliers
        worth = risk.penalty(null) + float(cuts.group_values(null).sum())
        radius = max(float(np.linalg.norm(w)), 0.03 * worth / omega.linear.max())
        weight = max(0.03 * worth / max(radius**2, 1e-300), 1e-300)
        upper = np.inf
        lower = 0.0
        gap = np.inf
        idle = 0
        for _ in range(self.max_steps):
            # Interior points, because of equally good multipliers they find some that are feasible
            # for the trace alone.
            near = _Restricted(cuts, risk.space, Proximal(w, weight).added_to(omega), few=0)
            solution = _ascend(near, alpha, 0.1 * request.tol, self.max_steps)
            alpha = solution.alpha
            v = solution.projection.w
            value = risk.penalty(v) + float(cuts.group_values(v).sum())
            if value < upper:
                upper, w = value, v
            shrunk = alpha * risk.regularizer.max_scale(alpha @ cuts.slopes, risk.space)
            for candidate in (alpha, shrunk):  # only the second is sure to be dual feasible
                bound, _ = lower_bound(risk, cuts, candidate, upper)
                if bound >= lower:
                    lower, multipliers = bound, candidate
            previous = gap
            gap = (upper - lower) / max(abs(upper), 1e-300)
            idle = 0 if gap < 0.5 * previous else idle + 1
            if gap <= request.tol or idle >= MAX_STALLED_STEPS:
                break
            # A subproblem that rounding keeps from being solved gets a larger proximal weight.
            weight *= 0.1 if solution.relative_gap <= max(request.tol, 0.1 * gap) else 10.0
        if not gap <= acceptable(request.tol):
            raise MasterError(f"proximal newton stalled at a relative gap of {gap:.1g}")
        return MasterSolution(w, multipliers, "proximal newton")


@dataclass(frozen=True)
class _Point:
    """The dual problem at a vector of multipliers."""

    alpha: Floats
    value: float
    gradient: Floats  # the cuts at ``w``, (C,)
    best: Floats  # the largest cut of each group at ``w``, at least 0
    projection: Projection  # the projection whose ``w`` minimises the Lagrangian
    gap: float  # the duality gap
    relative_gap: float  # the gap, relative to the primal value


class _Restricted:
    """The dual of a restricted problem with a strongly convex quadratic Omega."""

    def __init__(
        self, cuts: WorkingSet, space: WeightSpace, omega: Quadratic, few: int = MAX_COMPILED_CUTS
    ) -> None:
        self.cuts = cuts
        self.space = space
        self.curvature = omega.curvature
        self.few = few
        self.target = omega.center - omega.linear / omega.curvature
        self.constant = 0.5 * float(omega.curvature @ omega.center**2)

    def at(self, alpha: Floats) -> _Point:
        """Evaluate ``o^T alpha + min_w Omega(w) + <Psi^T alpha, w>``, where w is a projection."""
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
        """The step to the maximum of the quadratic model over the simplices of relevant cuts."""
        groups = self.cuts.groups
        shortfall = at.best - np.bincount(groups, at.alpha * at.gradient, self.cuts.n_groups)
        reach = at.best[groups] - at.gradient <= REACH * shortfall[groups]
        active = np.flatnonzero((at.alpha > 0) | reach)
        active = active[np.argsort(groups[active], kind="stable")]
        F = self._factor(at, active)
        alpha = at.alpha[active]
        ridge = damping * max(float((F**2).sum()) / active.size, 1e-300)
        image = alpha @ F
        curved = float(image @ image + ridge * (alpha @ alpha))
        q = at.gradient[active] + F @ image + ridge * alpha
        reference = float(q @ alpha) - 0.5 * curved
        _, inside = np.unique(groups[active], return_inverse=True)
        model = QuadraticModel(q, F, ridge, inside)
        tol = 1e-15 * abs(at.value + at.gap)
        direction = -at.alpha
        direction[active] += maximize(model, reference, tol, self.few)
        return direction

    def _factor(self, at: _Point, active: NDArray[np.intp]) -> Floats:
        """``F``, (C, f) with f <= C, such that ``F F^T`` is the curvature in active multipliers."""
        kind = np.float32 if at.relative_gap > COARSE else np.float64
        step = max(1, CHUNK // (8 * self.curvature.size))
        stretch = np.sqrt(self.curvature)
        sizes = np.ones(active.size)
        parts = []
        for k in range(0, max(1, active.size), step):
            rows = self.cuts.slopes[active[k : k + step]]
            rows /= stretch
            norms = np.sqrt(np.einsum("cd,cd->c", rows, rows))  # for the range of single precision
            sizes[k : k + step] = np.where(norms > 0, norms, 1.0)
            rows /= sizes[k : k + step, None]
            parts.append(at.projection.factor(rows.astype(kind, copy=False)))
        F = np.concatenate(parts)
        if F.shape[1] <= active.size:
            return np.asarray(sizes[:, None] * F, dtype=np.float64)
        # A pivoted Cholesky factor of F F^T has no more columns than its numerical rank.
        H = (F @ F.T).astype(np.float64)
        least = SINGLE if kind is np.float32 else DOUBLE
        least *= float(H.diagonal().max(initial=0.0))
        factor, pivots, rank, _ = dpstrf(H, tol=least, lower=1)
        root: Floats = np.empty((len(H), rank))
        root[pivots - 1] = np.tril(factor)[:, :rank]
        return sizes[:, None] * root


def _ascend(restricted: _Restricted, alpha: Floats, tol: float, max_steps: int) -> _Point:
    """Newton steps with a line search, until the relative gap is ``tol`` or nothing moves."""
    at = restricted.at(alpha)
    damping = 1e-10
    for _ in range(max_steps):
        if at.relative_gap <= tol:
            break
        direction = restricted.newton_direction(at, damping)
        step = 1.0
        promised = float(at.gradient @ direction)
        while True:  # Armijo's rule
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


@dataclass(frozen=True, eq=False)
class QuadraticModel:
    """``q^T x - 1/2 |F^T x|^2 - ridge/2 |x|^2`` over ``x >= 0`` whose groups sum to at most 1."""

    q: Floats
    F: Floats
    ridge: float
    groups: Ints
    """The group of each variable, ascending from 0."""

    @cached_property
    def starts(self) -> Ints:
        """The first variable of each group."""
        return np.searchsorted(self.groups, np.arange(self.groups[-1] + 1))

    def value(self, x: Floats, image: Floats) -> float:
        """The value at ``x``, where ``image`` is ``F^T x``."""
        return float(self.q @ x - 0.5 * (image @ image) - 0.5 * self.ridge * (x @ x))


def maximize(
    model: QuadraticModel, reference: float, tol: float, few: int = MAX_COMPILED_CUTS
) -> Floats:
    """A maximiser, up to a gap of ``tol`` or 1 % of the rise above a reference value.

    Up to ``few`` variables by the active-set method, then by Mehrotra's predictor-corrector method.
    Its linear system has the order of the columns of ``F``: with ``D = z / x + ridge`` and
    ``u = F^T dx``, the group multipliers are eliminated first, which leaves
    ``(I + sum_g Cov_g) u = r``, where ``Cov_g`` is a covariance of the rows of ``F`` in group g
    under the weights ``1 / D``.
    """
    q = model.q
    F = model.F
    groups = model.groups
    starts = model.starts
    if groups.size <= few:
        x, gap, value = _by_active_set(model)
        if gap <= max(tol, 0.01 * (value - reference)):
            return x
    at = _Iterate.start(model)
    room = np.empty_like(F)
    # The smallest scales overflow or divide by 0, and numbers that are not finite end the loop.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for _ in range(INTERIOR):
            image = at.x @ F
            gap = at.gap
            if gap <= max(tol, 0.01 * (model.value(at.x, image) - reference)):
                break
            system = _System(at, model, room)
            if not system.is_regular:
                break
            residual = q - F @ image - model.ridge * at.x - at.y[groups] + at.z
            mu = gap / (at.x.size + starts.size)
            predictor = system.solve(residual, -at.x * at.z, -at.s * at.y)
            ahead = at.moved(predictor, at.largest_step(predictor)).gap
            target = (ahead / (at.x.size + starts.size) / mu) ** 3 * mu
            xz = target - at.x * at.z - predictor.x * predictor.z
            sy = target - at.s * at.y - predictor.s * predictor.y
            direction = system.solve(residual, xz, sy)
            step = min(1.0, 0.995 * at.largest_step(direction))
            if not np.isfinite(direction.all).all() or step < 1e-8:
                break
            at = at.moved(direction, step)
    x = np.asarray(at.x / np.maximum(np.add.reduceat(at.x, starts), 1.0)[groups])
    # Drop variables that are nearly 0, if the value stays as good.
    sparse = np.where(at.x * at.z.max(initial=0.0) > 0.1 * at.z * at.x.max(initial=0.0), at.x, 0.0)
    of_groups = np.add.reduceat(sparse, starts)
    sums = np.minimum(np.add.reduceat(at.x, starts), 1.0)
    sparse = np.asarray(sparse * (sums / np.where(of_groups > 0, of_groups, 1.0))[groups])
    loss = model.value(x, x @ F) - model.value(sparse, sparse @ F)
    return sparse if loss <= max(0.1 * at.gap, tol) else x


def _by_active_set(model: QuadraticModel) -> tuple[Floats, float, float]:
    """The maximiser, the duality gap and the value; the ridge becomes more columns of slopes."""
    from structsvm.masters.support_search import ascend  # numba takes long to import

    # ``ascend`` takes the null cuts first.
    q = model.q
    (C, f) = model.F.shape
    n = model.starts.size
    R = np.zeros((n + C, f + C))
    o = np.zeros(n + C)
    x = np.zeros(n + C)
    R[n:, :f] = model.F
    o[n:] = q
    x[:n] = 1.0
    R[np.arange(n, n + C), np.arange(f, f + C)] = math.sqrt(model.ridge)
    group = np.concatenate((np.arange(n), model.groups))
    v = np.empty(f + C)
    gap, above = ascend(R, o, group, n, x, float(np.abs(q).max(initial=0.0)), v)
    return x[n:], gap, above - gap


class _Iterate:
    """Interior points: x and the slacks s of groups, duals z of ``x >= 0`` and y of the caps."""

    def __init__(self, both: Floats, C: int) -> None:
        half = both.size // 2
        self.all, self._C = both, C
        self.x = both[:C]
        self.s = both[C:half]
        self.z = both[half : half + C]
        self.y = both[half + C :]
        self.gap = float(both[:half] @ both[half:])
        """Complementarity, which is the duality gap of a feasible iterate."""

    @classmethod
    def start(cls, model: QuadraticModel) -> "_Iterate":
        """The barycentres of the simplices, with duals that make stationarity exact."""
        groups = model.groups
        starts = model.starts
        F = model.F
        s = 1.0 / (1.0 + np.diff(starts, append=groups.size))
        x = s[groups]
        gradient = model.q - F @ (x @ F) - model.ridge * x
        scale = max(float(np.abs(gradient).max(initial=0.0)), 1e-300)
        y = np.maximum(np.maximum.reduceat(gradient, starts), 0.0) + 0.1 * scale
        return cls(np.concatenate((x, s, y[groups] - gradient, y)), groups.size)

    def moved(self, d: "_Iterate", t: float) -> "_Iterate":
        """The iterate after a step of length t along d."""
        return _Iterate(self.all + t * d.all, self._C)

    def largest_step(self, d: "_Iterate") -> float:
        """The largest t <= 1 that keeps all variables nonnegative."""
        fastest = float(np.fmin.reduce(d.all / self.all, initial=0.0))
        return 1.0 if fastest >= -1.0 else -1.0 / fastest


class _System:
    """The Newton equations at an iterate, factored."""

    def __init__(self, at: _Iterate, model: QuadraticModel, spread: Floats) -> None:
        self.at = at
        self.model = model
        F = model.F
        starts = model.starts
        self.weights = 1.0 / (at.z / at.x + model.ridge)
        self.room = 1.0 - at.s - np.add.reduceat(at.x, starts)
        cap = at.s / at.y
        total = np.add.reduceat(self.weights, starts)
        self.delta = total + cap
        # The sum of all Cov_g, in the memory of ``spread``, which is as large as F.
        np.multiply(F, self.weights[:, None], out=spread)
        self.sums = np.add.reduceat(spread, starts, axis=0)
        means = self.sums / total[:, None]
        np.take(means, model.groups, axis=0, out=spread, mode="clip")  # "raise" would copy
        np.subtract(F, spread, out=spread)
        spread *= np.sqrt(self.weights)[:, None]
        means *= np.sqrt(total * cap / self.delta)[:, None]
        S = spread.T @ spread
        S += means.T @ means
        S.flat[:: len(S) + 1] += 1.0
        # LAPACK directly, because wrappers of SciPy take longer than small systems; none if empty.
        self.factor: Floats = S  # it is symmetric, and LAPACK reads columns
        self.is_regular = True
        if S.size:
            self.factor, info = dpotrf(S.T, lower=1, overwrite_a=1)
            self.is_regular = info == 0

    def solve(self, residual: Floats, xz: Floats, sy: Floats) -> _Iterate:
        """The direction for a residual of stationarity and targets of complementarity."""
        at = self.at
        F = self.model.F
        groups = self.model.groups
        starts = self.model.starts
        a = residual + xz / at.x
        b = self.room - sy / at.y
        dy = (np.add.reduceat(self.weights * a, starts) - b) / self.delta
        u = F.T @ (self.weights * (a - dy[groups]))
        if u.size:
            u, _ = dpotrs(self.factor, u, lower=1)
        dy = dy - self.sums @ u / self.delta
        dx = self.weights * (a - dy[groups] - F @ u)
        parts = (dx, (sy - at.s * dy) / at.y, (xz - at.z * dx) / at.x, dy)
        return _Iterate(np.concatenate(parts), dx.size)


def master_from(name: str | Master) -> Master:
    """The master of a name, or the master itself if it is one."""
    if isinstance(name, Master):
        return name
    return NewtonMaster() if name.lower() in ("auto", "newton") else CvxpyMaster(name)
