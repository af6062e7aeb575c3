"""Concave quadratic programs over products of capped simplices, by an interior point method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

__all__ = ["maximize_on_simplices"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_STEPS = 60


@dataclass(frozen=True)
class _Iterate:
    """Primal ``x`` and group slacks ``s``; duals ``z`` of ``x >= 0`` and ``y`` of the caps."""

    x: Floats
    s: Floats
    y: Floats
    z: Floats

    @property
    def gap(self) -> float:
        """Complementarity, which is the duality gap of a feasible iterate."""
        return float(self.x @ self.z + self.s @ self.y)

    def moved(self, d: _Iterate, t: float) -> _Iterate:
        return _Iterate(self.x + t * d.x, self.s + t * d.s, self.y + t * d.y, self.z + t * d.z)

    def largest_step(self, d: _Iterate) -> float:
        """Largest t <= 1 that keeps everything nonnegative."""
        pairs = ((self.x, d.x), (self.s, d.s), (self.y, d.y), (self.z, d.z))
        with np.errstate(divide="ignore", over="ignore"):
            ratios = [np.min(-v[dv < 0] / dv[dv < 0], initial=1.0) for v, dv in pairs]
        return float(min(ratios))


def maximize_on_simplices(
    q: Floats, F: Floats, ridge: float, groups: Ints, n_groups: int, reference: float, tol: float
) -> Floats:
    """Maximise ``q^T x - 1/2 |F^T x|^2 - ridge/2 |x|^2``, ``x >= 0``, sums of groups at most 1.

    Mehrotra's predictor-corrector method. The linear system of a step has the order of the
    columns of ``F``: with ``D = z / x + ridge`` and ``u = F^T dx``, the group multipliers are
    eliminated first, which leaves ``(I + sum_g Cov_g) u = r`` where ``Cov_g`` is a covariance of
    the rows of ``F`` in group g under the weights ``1 / D``.

    Parameters
    ----------
    q : array of shape (C,)
    F : array of shape (C, f)
    ridge : float
    groups : int array of shape (C,)
        Sorted, every one of the ``n_groups`` present.
    n_groups : int
    reference : float
        A value already attained: the duality gap at which to stop is 1 % of what ``x`` gains on it,
        so that the answer is better than the reference wherever that is possible.
    tol : float
        A duality gap that is always good enough.

    Returns
    -------
    x : array of shape (C,), feasible
    """
    at = _start(q, F, ridge, groups, n_groups)
    for _ in range(MAX_STEPS):
        gain = _value(q, F, ridge, at.x) - reference
        if at.gap <= max(tol, 0.01 * gain):
            break
        try:
            system = _System(at, F, ridge, groups, n_groups)
        except LinAlgError:
            break
        residual = q - F @ (at.x @ F) - ridge * at.x - at.y[groups] + at.z
        mu = at.gap / (at.x.size + n_groups)
        predictor = system.solve(residual, -at.x * at.z, -at.s * at.y)
        step = at.largest_step(predictor)
        ahead = at.moved(predictor, step).gap / (at.x.size + n_groups)
        target = (ahead / mu) ** 3 * mu
        direction = system.solve(
            residual,
            target - at.x * at.z - predictor.x * predictor.z,
            target - at.s * at.y - predictor.s * predictor.y,
        )
        step = min(1.0, 0.995 * at.largest_step(direction))
        if not np.isfinite(direction.x).all() or step < 1e-8:
            break
        at = at.moved(direction, step)
    sums = np.bincount(groups, weights=at.x, minlength=n_groups)
    x = np.asarray(at.x / np.maximum(sums, 1.0)[groups])
    sparse = _without_the_rest(at, groups, n_groups)
    loss = _value(q, F, ridge, x) - _value(q, F, ridge, sparse)
    return sparse if loss <= max(0.1 * at.gap, tol) else x


def _value(q: Floats, F: Floats, ridge: float, x: Floats) -> float:
    image = x @ F
    return float(q @ x - 0.5 * (image @ image) - 0.5 * ridge * (x @ x))


def _without_the_rest(at: _Iterate, groups: Ints, n_groups: int) -> Floats:
    """What an interior point leaves on the bounds, moved to the other variables of its group."""
    x = np.where(at.x * at.z.max(initial=0.0) > 0.1 * at.z * at.x.max(initial=0.0), at.x, 0.0)
    sums = np.minimum(np.bincount(groups, weights=at.x, minlength=n_groups), 1.0)
    kept = np.bincount(groups, weights=x, minlength=n_groups)
    return np.asarray(x * (sums / np.where(kept > 0, kept, 1.0))[groups])


def _start(q: Floats, F: Floats, ridge: float, groups: Ints, n_groups: int) -> _Iterate:
    """The barycentres, with duals that make the stationarity exact."""
    counts = np.bincount(groups, minlength=n_groups)
    x = np.asarray(1.0 / (1.0 + counts[groups]), dtype=np.float64)
    gradient = q - F @ (x @ F) - ridge * x
    scale = max(float(np.abs(gradient).max(initial=0.0)), 1e-300)
    best = np.zeros(n_groups)
    np.maximum.at(best, groups, gradient)
    y = best + 0.1 * scale
    s = np.asarray(1.0 / (1.0 + counts), dtype=np.float64)
    return _Iterate(x, s, y, y[groups] - gradient)


class _System:
    """The Newton equations at an iterate, factored."""

    def __init__(self, at: _Iterate, F: Floats, ridge: float, groups: Ints, n_groups: int) -> None:
        self.at, self.F, self.groups, self.n_groups = at, F, groups, n_groups
        self.weights = 1.0 / (at.z / at.x + ridge)
        total = self._sum(self.weights)
        self.cap = at.s / at.y
        self.delta = total + self.cap
        starts = np.searchsorted(groups, np.arange(n_groups))
        self.sums = np.add.reduceat(F * self.weights[:, None], starts, axis=0)
        means = self.sums / total[:, None]
        spread = (F - means[groups]) * np.sqrt(self.weights)[:, None]
        offset = means * np.sqrt(total * self.cap / self.delta)[:, None]
        S = spread.T @ spread + offset.T @ offset
        S[np.diag_indices_from(S)] += 1.0
        self.factor = cho_factor(S, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, residual: Floats, xz: Floats, sy: Floats) -> _Iterate:
        """The direction for a residual of stationarity and targets of complementarity."""
        at, groups = self.at, self.groups
        a = residual + xz / at.x
        b = -sy / at.y + 1.0 - self._sum(at.x) - at.s
        dy = (self._sum(self.weights * a) - b) / self.delta
        u = cho_solve(self.factor, self.F.T @ (self.weights * (a - dy[groups])), check_finite=False)
        dy = dy - self.sums @ u / self.delta
        dx = self.weights * (a - dy[groups] - self.F @ u)
        return _Iterate(dx, (sy - at.s * dy) / at.y, dy, (xz - at.z * dx) / at.x)

    def _sum(self, values: Floats) -> Floats:
        sums = np.bincount(self.groups, weights=values, minlength=self.n_groups)
        return np.asarray(sums, dtype=np.float64)
