"""A lower bound of a conic program from a dual point that is checked, whoever found it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.masters.cvxpy import PRECISE_OPTIONS
from structsvm.problem import Regularized
from structsvm.support.arrays import Floats

if TYPE_CHECKING:
    import cvxpy as cp

REACH = 100.0
"""A minimiser is looked for within so many times the norm of the solver's own (at least 1)."""

KEPT = 1e-7
"""To how much of its value a bound is good where there are further constraints: weights are
compared with it that a conic solver keeps them with, and so a little better than the best one."""

FEASIBLE = 1e-7
"""Residual of a dual point, relative to its terms, beyond which it proves nothing."""


def conic_minimum(risk: Regularized, offset: float, slope: Floats) -> float:
    """A lower bound of ``offset + min Omega(w) + <slope, w>`` over the cone and the constraints."""
    import cvxpy as cp

    B, w, constraints = risk.space.variable()
    constraints = [*constraints, *risk.further_constraints(B)]
    objective = risk.regularizer.as_cvxpy(B, w, risk.space) + slope @ w
    least = dual_bound(cp.Problem(cp.Minimize(objective), constraints))
    kept = 0.0 if risk.constraints is None else KEPT * (abs(offset) + abs(least))
    return offset + least - kept


def dual_bound(problem: cp.Problem) -> float:
    """A lower bound of the minimum of a convex problem, from a dual point that Clarabel
    proposes.
    """
    import clarabel
    import cvxpy as cp

    try:
        data, chain, inverse = problem.get_problem_data("CLARABEL")
        answer = chain.solve_via_data(
            problem, data, verbose=False, solver_opts=PRECISE_OPTIONS["CLARABEL"]
        )
        offset = float(inverse[-1][cp.settings.OFFSET])
    except (cp.error.SolverError, cp.error.DCPError, ValueError, ArithmeticError, KeyError):
        return -np.inf
    if not isinstance(answer, clarabel.DefaultSolution):
        return -np.inf
    return proved_bound(data, offset, np.asarray(answer.x), np.asarray(answer.z))


@np.errstate(over="ignore", invalid="ignore")  # of a point so large: it proves nothing
def proved_bound(data: Mapping[str, Any], offset: float, y: Floats, z: Floats) -> float:
    """A lower bound of a conic program in the form that Clarabel takes, from a proposed dual point.

    With the standard form ``min x^T P x / 2 + q^T x, A x + s = b, s in K``, every ``z`` in the dual
    cone and every ``y`` have
    """
    if not (np.isfinite(y).all() and np.isfinite(z).all()):
        return -np.inf
    z = _into_dual_cone(z, data["dims"])
    A, b, q = data["A"], data["b"], data["c"]
    Py = data["P"] @ y if data.get("P") is not None else np.zeros_like(y)
    Az = A.T @ z
    residual = float(np.linalg.norm(Py + q + Az))
    terms = float(np.linalg.norm(Py) + np.linalg.norm(q) + np.linalg.norm(Az))
    if not residual <= FEASIBLE * max(1.0, terms):
        return -np.inf
    bent, dual = 0.5 * float(y @ Py), float(b @ z)
    rounding = 1e-12 * (abs(offset) + abs(bent) + float(np.abs(b) @ np.abs(z)))
    radius = REACH * max(1.0, float(np.linalg.norm(y)))
    value = offset - bent - dual - residual * radius - rounding
    return value if np.isfinite(value) else -np.inf


def _into_dual_cone(z: Floats, dims: Any) -> Floats:
    """A point of the dual cone near ``z``; the cones in Clarabel's order."""
    z, at = z.copy(), dims.zero
    z[at : at + dims.nonneg] = np.maximum(z[at : at + dims.nonneg], 0.0)
    at += dims.nonneg
    for size in dims.soc:
        z[at] = max(z[at], float(np.linalg.norm(z[at + 1 : at + size])))
        at += size
    for order in dims.psd:
        size = order * (order + 1) // 2
        z[at : at + size] = _semidefinite(z[at : at + size], order)
        at += size
    for _ in range(dims.exp):
        z[at : at + 3] = _dual_exponential(*z[at : at + 3].tolist())
        at += 3
    for alpha in dims.p3d:
        u, v = max(z[at], 0.0), max(z[at + 1], 0.0)
        most = (u / alpha) ** alpha * (v / (1 - alpha)) ** (1 - alpha)
        z[at : at + 3] = u, v, np.clip(z[at + 2], -most, most)
        at += 3
    for alphas in getattr(dims, "pnd", ()):  # cvxpy has had these cones since 1.8
        u, n = np.maximum(z[at : at + len(alphas)], 0.0), len(alphas)
        most = float(np.prod((u / np.asarray(alphas)) ** np.asarray(alphas)))
        z[at : at + n], z[at + n] = u, np.clip(z[at + n], -most, most)
        at += n + 1
    return z


def _semidefinite(upper: Floats, order: int) -> Floats:
    """The projection of a matrix given by its upper triangle, column by column, scaled."""
    cols, rows = np.tril_indices(order)
    scale = np.where(rows == cols, 1.0, np.sqrt(2.0))
    matrix = np.zeros((order, order))
    matrix[rows, cols] = matrix[cols, rows] = upper / scale
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= 0:
        return upper
    matrix = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return np.asarray(matrix[rows, cols] * scale)


def _dual_exponential(u: float, v: float, w: float) -> tuple[float, float, float]:
    """A point of the closure of ``u < 0, -u exp(v / u - 1) <= w`` that is near this one."""
    if u >= 0:
        return 0.0, max(v, 0.0), max(w, 0.0)
    with np.errstate(over="ignore"):
        return u, v, max(w, float(-u * np.exp(v / u - 1.0)))
