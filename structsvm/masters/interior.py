"""The master of diagonal metrics: a primal-dual interior point method.

Where the weight is a vector, free or nonnegative, and Omega a separable quadratic or linear
function, the restricted problem is a quadratic program over G groups of C cuts,

    min  Omega(w) + sum_g xi_g   subject to   r_c = xi_g(c) - o_c - <psi_c, w> >= 0,  xi, w >= 0 .

Mehrotra's predictor-corrector method (1992) needs ten to twenty-five steps and no strong convexity.
Dual to ``r`` are the multipliers ``alpha`` of the cuts, to ``xi_g`` what they leave to the null cut
of their group, ``tau_g = 1 - sum alpha``, and to ``w >= 0`` the reduced gradient ``z``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from structsvm.errors import MasterError
from structsvm.masters.base import DEFAULT_REQUEST, Master, MasterSolution, Request, acceptable
from structsvm.masters.working_set import WorkingSet, group_sums
from structsvm.parallel import single_threaded
from structsvm.problem import Regularized
from structsvm.regularizers import Quadratic
from structsvm.support.arrays import Floats
from structsvm.support.checks import refuse_below

Mask = NDArray[np.bool_]

PATIENCE = 25
"""Steps without a smaller gap, in a row, before it is called final."""
NOTHING = 1e-9
"""Part of the null weight's objective below which a value counts as zero."""


@dataclass(frozen=True)
class InteriorPointMaster(Master):
    """Mehrotra's method, for squared norms, traces and their sums of vectors, without constraints.

    Parameters
    ----------
    max_steps : int
        At most this many steps; each factors a matrix of the order of the fewer: cuts or weights.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> from structsvm.solvers import CuttingPlane, InteriorPointMaster
    >>> recordings = relevant_changes(4, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> solver = CuttingPlane(master=InteriorPointMaster())
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> learner = MetricLearner(metric="diagonal", solver=solver).fit(Xs, ys)
    >>> learner.solution_.status.name
    'OPTIMAL'
    """

    max_steps: int = 100

    def __post_init__(self) -> None:
        """Check the number of steps."""
        refuse_below(1, "max_steps", self.max_steps)

    def handles(self, risk: Regularized) -> bool:
        """Whether this master can solve the restricted problems of ``risk``."""
        return vector_form(risk) is not None

    def solve(
        self, risk: Regularized, cuts: WorkingSet, request: Request = DEFAULT_REQUEST
    ) -> MasterSolution:
        """Solve the restricted problem.

        Raises
        ------
        MasterError
            If the regularizer, the cone or a constraint is not handled, or the gap does not close.
        """
        if (form := vector_form(risk)) is None:
            raise MasterError(
                "interior handles squared norms and traces of vectors, without extra constraints"
            )
        omega, nonnegative = form
        if request.proximal is not None:
            omega = request.proximal.added_to(omega)
        with single_threaded(), np.errstate(all="ignore"):
            program = _Program(cuts, omega, nonnegative)
            answer = _minimize(program, request.tol, self.max_steps)
        if not answer.gap <= acceptable(request.tol):
            raise MasterError(f"interior stalled at a relative gap of {answer.gap:.1g}")
        w, alpha = np.empty(risk.space.dim), np.empty(len(cuts))
        w[program.columns], alpha[program.rows] = answer.w, answer.alpha
        return MasterSolution(w, alpha, "interior")


def vector_form(risk: Regularized) -> tuple[Quadratic, Mask] | None:
    """Omega and which coordinates are nonnegative, where this master applies."""
    omega, nonnegative = risk.quadratic, risk.nonnegative
    if omega is None or nonnegative is None or risk.constraints is not None:
        return None
    return omega, nonnegative


class _Answer(NamedTuple):
    """A weight and multipliers, both feasible, and the relative gap between them."""

    w: Floats
    alpha: Floats
    gap: float


class _Program:
    """The data: cuts sorted by group, nonnegative coordinates before the free ones."""

    def __init__(self, cuts: WorkingSet, omega: Quadratic, nonnegative: Mask) -> None:
        self.rows = cuts.groups.argsort(kind="stable")
        self.columns = (~nonnegative).argsort(kind="stable")
        self.n_bounded = int(nonnegative.sum())
        groups = cuts.groups[self.rows]
        begins = np.ones(groups.size, dtype=bool)
        begins[1:] = groups[1:] != groups[:-1]
        self.starts, self.groups = np.flatnonzero(begins), begins.cumsum() - 1
        self.psi, self.o = cuts.slopes[self.rows][:, self.columns], cuts.intercepts[self.rows]
        self.curvature, self.linear = omega.curvature[self.columns], omega.linear[self.columns]
        self.half, self.center = 0.5 * self.curvature, omega.center[self.columns]
        self.flat = self.curvature == 0
        self.is_curved = not self.flat.any()
        self.null = self.lagrangian_weight(self.linear)
        self.null_values = self.o + self.psi.dot(self.null)
        self.untouched = np.flatnonzero(~self.psi.any(axis=0))  # by any cut: constant features
        losses = self.largest(np.abs(self.o)).sum()
        self.worth = float(losses + self.primal(self.null, self.null_values))
        G, C = self.starts.size, self.o.size
        self.n_pairs = G + C + self.n_bounded
        self.parts = slice(0, G), slice(G, G + C), slice(G + C, self.n_pairs)

    def sums(self, x: Floats) -> Floats:
        """Sums over groups."""
        return np.add.reduceat(x, self.starts) if x.size else x[: self.starts.size]

    @cached_property
    def members(self) -> Floats:
        """Which cut (C,) is of which group (G,), as numbers."""
        members: Mask = self.groups[:, None] == np.arange(self.starts.size)
        return members.astype(np.float64)

    def largest(self, values: Floats) -> Floats:
        """The largest of each group, at least 0."""
        return np.maximum(np.maximum.reduceat(values, self.starts), 0.0) if values.size else values

    def primal(self, w: Floats, values: Floats) -> float:
        """The objective at ``w``, where the cuts have these values."""
        return self.omega(w, self.linear) + float(np.add.reduce(self.largest(values)))

    def omega(self, w: Floats, slope: Floats) -> float:
        """``curvature / 2 (w - center)^2 + slope w``."""
        away = w - self.center
        return float(self.half.dot(away * away) + slope.dot(w))

    def lagrangian_weight(self, slope: Floats) -> Floats:
        """Minimises ``curvature / 2 (w - center)^2 + slope w``; 0 where there is no curvature."""
        if self.is_curved:
            w = self.center - slope / self.curvature
        else:
            w = np.where(self.flat, 0.0, self.center - slope / (self.curvature + self.flat))
        bounded = w[: self.n_bounded]
        np.maximum(bounded, 0.0, out=bounded)
        return w

    def scale(self, slope: Floats, part: float = 1.0) -> float:
        """Largest s in [0, 1] for which ``linear + s slope >= (1 - part) linear`` where flat."""
        if self.is_curved:
            return 1.0
        falls = self.flat & (slope < -part * self.linear)
        return float(np.min(part * self.linear[falls] / -slope[falls], initial=1.0))

    def answer(
        self, w: Floats, alpha: Floats, values: Floats, slope: Floats, totals: Floats
    ) -> _Answer:
        """A feasible pair from one that is nearly so."""
        if self.untouched.size:
            w = w.copy()
            w[self.untouched] = self.null[self.untouched]
        if np.maximum.reduce(totals, initial=0.0) > 1.0:
            alpha = alpha / np.maximum(totals, 1.0)[self.groups]
            slope = alpha.dot(self.psi)
        offset = float(alpha.dot(self.o))
        if not self.is_curved:
            s = self.scale(slope)
            offset, alpha, slope = s * offset, s * alpha, s * slope
        total = self.linear + slope
        lower = offset + self.omega(self.lagrangian_weight(total), total)
        upper = self.primal(w, values)
        size = max(abs(upper), NOTHING * self.worth, 1e-300)
        return _Answer(w, alpha, max(0.0, upper - lower) / size)


class _Iterate:
    """Pairs of variables, each pair's product to become zero, and the weight.

    One vector, since small problems cost what their NumPy calls do: ``tau``, ``r``, ``z``, then
    their partners ``xi``, ``alpha`` and the nonnegative part of ``w``, then the free part of it.
    """

    def __init__(self, everything: Floats, p: _Program) -> None:
        of_groups, of_cuts, of_bounds = p.parts
        self.all, self.mu = everything, _mu(everything, p.n_pairs)
        self.firsts, self.partners = everything[: p.n_pairs], everything[p.n_pairs : 2 * p.n_pairs]
        self.tau, self.r = self.firsts[of_groups], self.firsts[of_cuts]
        self.z = self.firsts[of_bounds]
        self.xi, self.alpha = self.partners[of_groups], self.partners[of_cuts]
        self.w = everything[p.n_pairs + of_bounds.start :]
        self.values, self.slope = p.o + p.psi.dot(self.w), self.alpha.dot(p.psi)
        self.totals = p.sums(self.alpha)
        self.answer = p.answer(self.w, self.alpha, self.values, self.slope, self.totals)

    def largest_step(self, step: Floats) -> float:
        """Largest t <= 1 that keeps the pairs nonnegative."""
        n = 2 * self.firsts.size
        fall = np.maximum(0.0 - step[:n], 0.0)  # and no -0.0
        return float(np.fmin.reduce(self.all[:n] / fall, initial=1.0))


def _mu(everything: Floats, pairs: int) -> float:
    """Mean product of a pair."""
    return float(everything[:pairs].dot(everything[pairs : 2 * pairs])) / pairs


def _start(p: _Program) -> _Iterate:
    """The barycentres of the simplices, scaled, and the weight that is central given them."""
    counts = p.sums(np.ones(p.o.size))
    alpha = (1.0 / (1.0 + counts))[p.groups]
    slope = alpha.dot(p.psi)
    # The dual, along the way from zero to the barycentres, is about s <alpha, o> - s^2 / 2 steep.
    rises = ~p.flat & (slope < 0)
    steep = float((slope[rises] ** 2).dot(1.0 / p.curvature[rises]))
    along = max(abs(float(alpha.dot(p.o))), 1e-300)
    alpha *= min(p.scale(slope, 0.5), along / max(along, steep))
    mu = 0.1 * max(p.worth, 1e-300) / (counts.size + p.o.size + p.n_bounded)
    a, slope = p.curvature, p.linear + alpha.dot(p.psi) - p.curvature * p.center
    root = np.sqrt(slope**2 + 4 * a * mu)  # w > 0 solves w (a w + slope) = mu
    w = np.where(slope > 0, 2 * mu / (slope + root), (root - slope) / (2 * a))
    w[p.n_bounded :] = -(slope / a)[p.n_bounded :]
    values = p.o + p.psi.dot(w)
    xi = p.largest(values) + mu * (1 + counts)
    parts = (1.0 - p.sums(alpha), xi[p.groups] - values, mu / w[: p.n_bounded], xi, alpha, w)
    return _Iterate(np.concatenate(parts), p)


def _minimize(p: _Program, tol: float, max_steps: int) -> _Answer:
    """Steps until the gap is ``tol``, or nothing is gained any more."""
    none, flat, unshared = (np.zeros(n) for n in (p.o.size, p.linear.size, p.starts.size))
    null = p.answer(p.null, none, p.null_values, flat, unshared)
    if null.gap <= tol:
        return null
    at = best = _start(p)
    diverged, idle = False, 0
    for _ in range(max_steps):
        if best.answer.gap <= tol and (sparse := _crossover(p, at, tol)) is not None:
            return sparse
        if idle == PATIENCE:
            break
        try:
            ahead = _step(p, at, diverged)
        except np.linalg.LinAlgError:
            break
        diverged, at, idle = ahead.mu > at.mu, ahead, idle + 1
        if at.answer.gap < best.answer.gap:
            best, idle = at, 0
    return _crossover(p, best, max(tol, best.answer.gap)) or best.answer


def _step(p: _Program, at: _Iterate, diverged: bool) -> _Iterate:
    """Predictor and corrector; LinAlgError when nothing would move."""
    system, pairs, mu = _System(p, at), p.n_pairs, at.mu
    now = at.firsts * at.partners
    predictor = system.solve(-now)
    ahead = _mu(at.all + at.largest_step(predictor) * predictor, pairs)
    target = (ahead / mu) ** 3 * mu
    if diverged:
        step = system.solve(max(target, 0.3 * mu) - now)
    else:
        cross = predictor[:pairs] * predictor[pairs : 2 * pairs]
        step = system.solve(target - now - cross)
    t = min(1.0, 0.995 * at.largest_step(step))
    if not (np.logical_and.reduce(np.isfinite(step)) and t > 1e-8):
        raise np.linalg.LinAlgError("no step is left")
    return _Iterate(at.all + t * step, p)


def _crossover(p: _Program, at: _Iterate, tol: float) -> _Answer | None:
    """With zeros on the bounds, which make oracles several times faster, if the gap is ``tol``."""
    n = p.n_bounded
    alpha = np.where(at.alpha * p.worth > at.r, at.alpha, 0.0)
    w = at.w.copy()
    w[:n] *= w[:n] * at.z.max(initial=0.0) > at.z * w[:n].max(initial=0.0)
    slope, totals = alpha.dot(p.psi), p.sums(alpha)
    # Where Omega is curved the weight follows from alpha.
    implied = np.where(p.flat, w, p.lagrangian_weight(p.linear + slope))
    for weight in (implied, w):
        answer = p.answer(weight, alpha, p.o + p.psi.dot(weight), slope, totals)
        if answer.gap <= tol:
            return answer
    return None


class _System:
    """The Newton equations at an iterate, factored: residuals to zero, products to a target."""

    def __init__(self, p: _Program, at: _Iterate) -> None:
        self.p, self.at = p, at
        of_groups, of_cuts, of_bounds = p.parts
        ratios = at.firsts / at.partners
        null, curvature = ratios[of_groups], p.curvature.copy()
        curvature[: p.n_bounded] += ratios[of_bounds]
        if p.o.size < p.linear.size:
            self.schur: _ByCuts | _ByWeights = _ByCuts(p, null, ratios[of_cuts], curvature)
        else:
            self.schur = _ByWeights(p, null, at.alpha / at.r, curvature)
        self.stationarity = p.curvature * (at.w - p.center) + p.linear + at.slope
        self.stationarity[: p.n_bounded] -= at.z
        self.shares = 1.0 - at.totals - at.tau
        self.slacks = at.values + at.r - at.xi[p.groups]

    def solve(self, products: Floats) -> Floats:
        """The step after which each pair's product has changed by so much, to first order."""
        p, n, (of_groups, of_cuts, of_bounds) = self.p, self.p.n_bounded, self.p.parts
        changes = products / self.at.partners
        a, rho = -self.stationarity, self.slacks + changes[of_cuts]
        a[:n] += changes[of_bounds]
        dw, dxi, dalpha = self.schur.solve(a, rho, changes[of_groups] - self.shares)
        dr = dxi[p.groups] - p.psi.dot(dw) - self.slacks
        dtau = self.shares - p.sums(dalpha)
        dz = (p.curvature * dw + dalpha.dot(p.psi) + self.stationarity)[:n]
        return np.concatenate((dtau, dr, dz, dxi, dalpha, dw))


class _ByCuts:
    """Everything eliminated but ``dalpha``: a matrix (C, C), and one (G, G) for the groups."""

    def __init__(self, p: _Program, null: Floats, ratios: Floats, curvature: Floats) -> None:
        self.p, self.curvature = p, curvature
        scaled = p.psi / np.sqrt(curvature)
        matrix = scaled.dot(scaled.T)
        matrix.flat[:: len(matrix) + 1] += ratios
        self.factor = _cholesky(matrix)
        self.responses, _ = dpotrs(self.factor, p.members, lower=1)
        matrix = p.sums(self.responses)
        matrix.flat[:: len(matrix) + 1] += null
        self.of_groups = _cholesky(matrix)

    def solve(self, a: Floats, rho: Floats, beta: Floats) -> tuple[Floats, Floats, Floats]:
        """``(dw, dxi, dalpha)``."""
        p = self.p
        alone, _ = dpotrs(self.factor, rho + p.psi.dot(a / self.curvature), lower=1)
        dxi, _ = dpotrs(self.of_groups, p.sums(alone) + beta, lower=1)
        dalpha = alone - self.responses.dot(dxi)
        return (a - dalpha.dot(p.psi)) / self.curvature, dxi, dalpha


class _ByWeights:
    """Everything eliminated but ``dw``: a matrix (d, d), a sum of covariances within groups."""

    def __init__(self, p: _Program, null: Floats, weights: Floats, curvature: Floats) -> None:
        self.p, self.weights, total = p, weights, p.sums(weights)
        self.delta = total + null
        self.moments = group_sums(p.psi * self.weights[:, None], p.starts)
        means = self.moments / total[:, None]
        spread = (p.psi - means.take(p.groups, axis=0)) * np.sqrt(self.weights)[:, None]
        offset = means * np.sqrt(total * null / self.delta)[:, None]
        matrix = spread.T.dot(spread) + offset.T.dot(offset)
        matrix.flat[:: len(matrix) + 1] += curvature
        self.factor = _cholesky(matrix)

    def solve(self, a: Floats, rho: Floats, beta: Floats) -> tuple[Floats, Floats, Floats]:
        """``(dw, dxi, dalpha)``."""
        p, weights = self.p, self.weights
        dxi = (p.sums(weights * rho) + beta) / self.delta
        dw, _ = dpotrs(self.factor, a - (weights * (rho - dxi[p.groups])).dot(p.psi), lower=1)
        dxi = dxi + self.moments.dot(dw) / self.delta
        return dw, dxi, weights * (rho + p.psi.dot(dw) - dxi[p.groups])


def _cholesky(matrix: Floats) -> Floats:
    """By LAPACK itself, of a slightly larger matrix where rounding made this one indefinite."""
    for ridge in (0.0, 1e-14, 1e-11):
        larger = matrix if ridge == 0 else matrix + ridge * np.diag(np.diag(matrix))
        factor, info = dpotrf(larger, lower=1)
        if info == 0:
            return np.asarray(factor)
    raise np.linalg.LinAlgError("the system is indefinite")
