"""Concave quadratic programs over products of capped simplices.

Small ones are solved by a compiled active-set method, the others by interior points: a step of
these takes a hundred calls of NumPy, whatever the size.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from structsvm.support.arrays import Floats, Ints

FEW = 32
"""Variables up to which the active-set method is faster."""
MAX_STEPS = 60


def maximize_on_simplices(
    q: Floats,
    F: Floats,
    ridge: float,
    groups: Ints,
    n_groups: int,
    reference: float,
    tol: float,
    few: int = FEW,
) -> Floats:
    """Maximise ``q^T x - 1/2 |F^T x|^2 - ridge/2 |x|^2``, ``x >= 0``, sums of groups at most 1.

    For more than a few variables, Mehrotra's predictor-corrector method. The linear system of a
    step has the order of the columns of ``F``: with ``D = z / x + ridge`` and ``u = F^T dx``, the
    group multipliers are eliminated first, which leaves ``(I + sum_g Cov_g) u = r`` where ``Cov_g``
    is a covariance of the rows of ``F`` in group g under the weights ``1 / D``.
    """
    if groups.size <= few:
        x, gap, value = _by_active_set(q, F, ridge, groups, n_groups)
        if gap <= max(tol, 0.01 * (value - reference)):
            return x
    starts = np.searchsorted(groups, np.arange(n_groups))
    at, room = _Iterate.start(q, F, ridge, groups, starts), np.empty_like(F)
    # What is not finite, as at the smallest scales, ends the loop.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for _ in range(MAX_STEPS):
            image = at.x @ F
            gain = _value(q, image, ridge, at.x) - reference
            gap = at.gap
            if gap <= max(tol, 0.01 * gain):
                break
            system = _System(at, F, ridge, groups, starts, room)
            if not system.is_regular:
                break
            residual = q - F @ image - ridge * at.x - at.y[groups] + at.z
            mu = gap / (at.x.size + n_groups)
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
            if not np.isfinite(direction.all).all() or step < 1e-8:
                break
            at = at.moved(direction, step)
    x = np.asarray(at.x / np.maximum(np.add.reduceat(at.x, starts), 1.0)[groups])
    sparse = _crossover(at, groups, starts)
    loss = _value(q, x @ F, ridge, x) - _value(q, sparse @ F, ridge, sparse)
    return sparse if loss <= max(0.1 * at.gap, tol) else x


def _by_active_set(
    q: Floats, F: Floats, ridge: float, groups: Ints, n_groups: int
) -> tuple[Floats, float, float]:
    """The maximum, the duality gap and the value; ridge and all, it is one of cuts."""
    from structsvm.masters.support_search import ascend  # numba takes long to import

    (C, f), n = F.shape, n_groups  # the null cuts come first
    R, o, x = np.zeros((n + C, f + C)), np.zeros(n + C), np.zeros(n + C)
    R[n:, :f], o[n:], x[:n] = F, q, 1.0
    R[np.arange(n, n + C), np.arange(f, f + C)] = math.sqrt(ridge)
    group, v = np.concatenate((np.arange(n), groups)), np.empty(f + C)
    gap, above = ascend(R, o, group, n, x, float(np.abs(q).max(initial=0.0)), v)
    return x[n:], gap, above - gap


class _Iterate:
    """Primal ``x`` and group slacks ``s``; duals ``z`` of ``x >= 0`` and ``y`` of the caps."""

    def __init__(self, both: Floats, C: int) -> None:
        half = both.size // 2
        self.all, self._C = both, C
        self.x, self.s = both[:C], both[C:half]
        self.z, self.y = both[half : half + C], both[half + C :]
        self.gap = float(both[:half] @ both[half:])
        """Complementarity, which is the duality gap of a feasible iterate."""

    @classmethod
    def start(cls, q: Floats, F: Floats, ridge: float, groups: Ints, starts: Ints) -> _Iterate:
        """The barycentres, with duals that make the stationarity exact."""
        counts = np.diff(starts, append=groups.size)
        s = 1.0 / (1.0 + counts)
        x = s[groups]
        gradient = q - F @ (x @ F) - ridge * x
        scale = max(float(np.abs(gradient).max(initial=0.0)), 1e-300)
        y = np.maximum(np.maximum.reduceat(gradient, starts), 0.0) + 0.1 * scale
        return cls(np.concatenate((x, s, y[groups] - gradient, y)), groups.size)

    def moved(self, d: _Iterate, t: float) -> _Iterate:
        return _Iterate(self.all + t * d.all, self._C)

    def largest_step(self, d: _Iterate) -> float:
        """Largest t <= 1 that keeps everything nonnegative; 0 / 0 stays what it is."""
        fastest = float(np.fmin.reduce(d.all / self.all, initial=0.0))
        return 1.0 if fastest >= -1.0 else -1.0 / fastest


def _value(q: Floats, image: Floats, ridge: float, x: Floats) -> float:
    return float(q @ x - 0.5 * (image @ image) - 0.5 * ridge * (x @ x))


def _crossover(at: _Iterate, groups: Ints, starts: Ints) -> Floats:
    x = np.where(at.x * at.z.max(initial=0.0) > 0.1 * at.z * at.x.max(initial=0.0), at.x, 0.0)
    sums = np.minimum(np.add.reduceat(at.x, starts), 1.0)
    kept = np.add.reduceat(x, starts)
    return np.asarray(x * (sums / np.where(kept > 0, kept, 1.0))[groups])


class _System:
    """The Newton equations at an iterate, factored."""

    def __init__(
        self, at: _Iterate, F: Floats, ridge: float, groups: Ints, starts: Ints, spread: Floats
    ) -> None:
        self.at, self.F, self.groups, self.starts = at, F, groups, starts
        self.weights = 1.0 / (at.z / at.x + ridge)
        self.room = 1.0 - at.s - np.add.reduceat(at.x, starts)
        cap, total = at.s / at.y, np.add.reduceat(self.weights, starts)
        self.delta = total + cap
        # The sum of all Cov_g, in the memory of ``spread``, which is as large as F.
        np.multiply(F, self.weights[:, None], out=spread)
        self.sums = np.add.reduceat(spread, starts, axis=0)
        means = self.sums / total[:, None]
        np.take(means, groups, axis=0, out=spread, mode="clip")  # "raise" would copy
        np.subtract(F, spread, out=spread)
        spread *= np.sqrt(self.weights)[:, None]
        means *= np.sqrt(total * cap / self.delta)[:, None]
        S = spread.T @ spread
        S += means.T @ means
        S.flat[:: len(S) + 1] += 1.0
        # LAPACK itself, which takes no empty matrix: SciPy's wrappers cost more than small systems.
        self.factor: Floats = S  # it is symmetric, and LAPACK reads columns
        self.is_regular = True
        if S.size:
            self.factor, info = dpotrf(S.T, lower=1, overwrite_a=1)
            self.is_regular = info == 0

    def solve(self, residual: Floats, xz: Floats, sy: Floats) -> _Iterate:
        """The direction for a residual of stationarity and targets of complementarity."""
        at, groups = self.at, self.groups
        a = residual + xz / at.x
        b = self.room - sy / at.y
        dy = (np.add.reduceat(self.weights * a, self.starts) - b) / self.delta
        u = self.F.T @ (self.weights * (a - dy[groups]))
        if u.size:
            u, _ = dpotrs(self.factor, u, lower=1)
        dy = dy - self.sums @ u / self.delta
        dx = self.weights * (a - dy[groups] - self.F @ u)
        parts = (dx, (sy - at.s * dy) / at.y, (xz - at.z * dx) / at.x, dy)
        return _Iterate(np.concatenate(parts), dx.size)
