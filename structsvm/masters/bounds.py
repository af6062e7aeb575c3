"""Lower bounds of the objective from the multipliers of a master of any accuracy.

Where no formula is known, from a dual point of a conic program that is checked, whoever found it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.masters.base import CHUNK, WorkingSet
from structsvm.masters.cvxpy import PRECISE_OPTIONS
from structsvm.problem import Regularized
from structsvm.regularizers import Quadratic
from structsvm.support.arrays import Floats
from structsvm.weights import PSD, Nonnegative, Product, WeightSpace, smat, svec

if TYPE_CHECKING:
    import cvxpy as cp

CERTIFIED = "certified"
CONIC = "to the accuracy of the conic solver"

SHARES = (1.0, 1.0 - 1e-7, 1.0 - 1e-6, 1.0 - 1e-5, 1.0 - 1e-4)
"""Of a plane, tried one after the other until a conic program proves a bound."""

ROUNDING = 2.0**-45
"""What a sum may be wrong by, for each unit of the sum of the magnitudes of its terms.

A sum of n terms is wrong by n 2^-53 of that at worst and by about sqrt(n) 2^-53 in fact (Higham,
Accuracy and Stability of Numerical Algorithms, 2002, section 4.2). This is 256 times 2^-53, enough
for 65,536 terms; an oracle whose sums are longer or larger says so by the slack of its answer.
"""


REACH = 100.0
"""A minimiser is looked for within so many times the norm of the solver's own (at least 1)."""

KEPT = 1e-7
"""To how much of its value a bound is good where there are further constraints: weights are
compared with it that a conic solver keeps them with, and so a little better than the best one."""

FEASIBLE = 1e-7
"""Residual of a dual point, relative to its terms, beyond which it proves nothing."""


def lower_bound(
    risk: Regularized,
    cuts: WorkingSet,
    multipliers: Floats,
    upper: float,
    truths: Floats | None = None,
) -> tuple[float, str]:
    """``(bound, basis)``: a lower bound of ``min F`` from multipliers of any accuracy.

    ``sum_c alpha_c (o_c + <psi_c, w>)`` is below the sum of the hinge losses when ``alpha >= 0``
    sums to at most 1 in each group, the rest being on the null cut; the same is true of ``s alpha``
    for ``s`` in [0, 1]. What is left is a minimum of ``Omega(w) + <v, w>`` over the cone: a formula
    for the usual regularizers, which ignores further constraints and so stays valid with them, else
    a conic program.
    """
    offset, slope = float(multipliers @ cuts.intercepts), multipliers @ cuts.slopes
    if truths is None:
        return plane_bound(risk, offset, slope, upper)
    step = max(1, CHUNK // (8 * max(1, len(cuts))))  # slopes may take gigabytes
    columns = (cuts.slopes[:, k : k + step] for k in range(0, slope.size, step))
    size = np.concatenate([multipliers @ np.abs(some) for some in columns])
    return plane_bound(risk, offset, slope, upper, size + 2.0 * truths)


def plane_bound(
    risk: Regularized,
    offset: float,
    slope: Floats,
    upper: float,
    size: Floats | None = None,
) -> tuple[float, str]:
    """Lower bound of ``min F`` from a lower bound ``offset + <slope, w>`` of the hinge losses."""
    if size is not None:
        slope = slope - _most(ROUNDING * size, slope, risk.space, risk.quadratic)
        offset -= ROUNDING * (abs(offset) + (upper if math.isfinite(upper) else 0.0))
    bounds = [(risk.regularizer.floor(risk.space), CERTIFIED)]
    for s in {1.0, risk.regularizer.max_scale(slope, risk.space)}:
        least = risk.regularizer.minimum(s * slope, risk.space, upper)
        least -= 0.0 if size is None else ROUNDING * abs(least)
        bounds.append((s * offset + least, CERTIFIED))
    if risk.constraints is not None or risk.quadratic is None:
        conic = (conic_minimum(risk, s * offset, s * slope) for s in SHARES)
        bounds.append((next((bound for bound in conic if math.isfinite(bound)), -np.inf), CONIC))
    finite = [bound for bound in bounds if math.isfinite(bound[0])]
    return max(finite, key=lambda bound: bound[0], default=(-np.inf, CERTIFIED))


def _most(
    error: Floats, slope: Floats, space: WeightSpace, omega: Quadratic | None, at: int = 0
) -> Floats:
    """``m`` with ``min Omega + <slope - m, w>`` below that of every slope within ``error`` of this.

    ``m - e`` is in the dual cone for every ``|e| <= error``: the errors themselves in the
    orthant, what makes a matrix diagonally dominant for the semi-definite ones. The entries of
    Gram matrices err by as much as their diagonals, which are added therefore. On a free space the
    minimum of a quadratic is least if every error lowers the coordinate of ``slope`` where ``w`` is
    positive and raises it where it is negative; of anything else nothing is known there.
    """
    if isinstance(space, Product):
        found = []
        blocks = zip(space.factors, space.split(error), space.split(slope), strict=True)
        for factor, wrong, part in blocks:
            found.append(_most(wrong, part, factor, omega, at))
            at += part.size
        return np.concatenate(found)
    if isinstance(space, Nonnegative):
        return error
    if isinstance(space, PSD):
        entries = smat(error)
        return svec(np.diag(np.diag(entries) + entries.sum(axis=1)))
    if omega is None:
        return np.zeros_like(error)
    here = slice(at, at + error.size)
    w = omega.curvature[here] * omega.center[here] - omega.linear[here] - slope
    return np.where(w < 0, -error, error)


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
    """A lower bound of the minimum, from a dual point that Clarabel proposes."""
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

    Of the standard form ``min x^T P x / 2 + q^T x, A x + s = b, s in K`` every ``z`` in the dual
    cone and every ``y`` bound the value at ``x`` by
    ``-y^T P y / 2 - b^T z + <P y + q + A^T z, x>``.
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
        rows, cols = np.triu_indices(order)
        places = at + cols * (cols + 1) // 2 + rows  # of the triangle, column by column
        z[places] = PSD(order).project(z[places])
        at += rows.size
    for _ in range(dims.exp):  # the closure of u < 0, -u exp(v / u - 1) <= w
        u, v, w = z[at : at + 3].tolist()
        with np.errstate(over="ignore"):
            low = (0.0, max(v, 0.0), 0.0) if u >= 0 else (u, v, float(-u * np.exp(v / u - 1.0)))
        z[at : at + 3] = low[0], low[1], max(w, low[2])
        at += 3
    # cvxpy has had products of more than two powers since 1.8.
    for alphas in [*((alpha, 1.0 - alpha) for alpha in dims.p3d), *getattr(dims, "pnd", ())]:
        n, powers = len(alphas), np.asarray(alphas)
        z[at : at + n] = np.maximum(z[at : at + n], 0.0)
        most = float(np.prod((z[at : at + n] / powers) ** powers))
        z[at + n] = np.clip(z[at + n], -most, most)
        at += n + 1
    return z
