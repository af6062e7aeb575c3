"""Restricted problems of a separable quadratic over cones, by the fast masters of the learners.

A squared norm or a trace of each variable, nonnegative or semi-definite as its attributes say, plus
nonnegative functions that oracles know: what a learner minimises. Clarabel needs many times as long
for matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from structsvm.errors import MasterError
from structsvm.masters.auto import AutoMaster
from structsvm.masters.base import MasterSolution, Request, checked
from structsvm.masters.bounds import lower_bound
from structsvm.masters.working_set import WorkingSet
from structsvm.modeling.hinge import basis_of
from structsvm.modeling.restricted import Box, Conic, Restricted, Restriction
from structsvm.modeling.rewriting import Rewritten, column
from structsvm.problem import Regularized
from structsvm.regularizers import Regularizer, Separable, SquaredNorm, Trace
from structsvm.support.arrays import Floats
from structsvm.weights import PSD, Free, Nonnegative, Product, WeightSpace

EQUAL = 1e-12
"""By how much of their size two numbers may differ that are taken for the same."""


@dataclass(frozen=True, eq=False)
class Form(Regularized):
    """``constant + Omega(v) + sum of shares * heights`` over a cone, ``w = basis @ v``."""

    constraints = None
    regularizer: Regularizer
    space: WeightSpace
    constant: float
    shares: Floats
    """How much the height of each group counts, (n_groups,), more than 0."""
    basis: Any
    """Sparse, (dim of w, dim of v), with orthonormal columns."""


class FastMaster(Restricted):
    """By Newton's method; Clarabel if it fails."""

    def __init__(self, restriction: Restriction, form: Form, box: Box) -> None:
        self.restriction, self.rewritten, self.form = restriction, restriction.rewritten, form
        self._box = box
        self._conic: Conic | None = None

    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        form = self.form
        scale = form.shares[cuts.groups]
        slopes = np.asarray(cuts.slopes @ form.basis) * scale[:, None]
        mapped = WorkingSet(cuts.n_groups, form.space.dim)
        mapped.restore(
            {
                **cuts.state(),
                "slopes": slopes,
                "intercepts": cuts.intercepts * scale,
                "multipliers": cuts.multipliers / scale,
            }
        )
        try:
            answer = checked(AutoMaster().solve(form, mapped, Request(tol)), form, mapped)
        except (MasterError, ArithmeticError, ValueError):
            return self._by_clarabel(cuts, tol)
        # The minimum of this restricted problem is bounded, and its own value is above that.
        upper = form.penalty(answer.w) + float(mapped.group_values(answer.w).sum())
        exact = np.zeros(form.space.dim)
        bound, basis = lower_bound(form, mapped, answer.multipliers, upper, exact)
        if not np.isfinite(bound):
            return self._by_clarabel(cuts, tol)
        self._conic = None
        rounded = bound + form.constant - 1e-15 * abs(form.constant)
        w = self.rewritten.tidy(np.asarray(form.basis @ answer.w))
        return MasterSolution(w, answer.multipliers * scale, answer.label, (rounded, basis))

    def unpack(self) -> None:
        """Nothing but attributes holds the variables, and these have no duals."""
        if self._conic is not None:
            self._conic.unpack()

    def _by_clarabel(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        if self._conic is None:
            self._conic = Conic(self.restriction, self._box, {})
        return self._conic.solve(cuts, tol)


def form_of(rewritten: Rewritten) -> Form | None:
    """The form of a problem, if it is such a one."""
    spaces = [space for v in rewritten.variables if (space := _space(v)) is not None]
    if (
        rewritten.constraints
        or len(spaces) < len(rewritten.variables)
        or any(not held.atom.is_nonneg() for held in rewritten.held)
        or not rewritten.objective.is_quadratic()
    ):
        return None
    quadratic = _quadratic(rewritten)
    if quadratic is None:
        return None
    linear, bends, constant = quadratic
    shares = linear[rewritten.dim :]
    if not (shares > 0).all():
        return None
    parts = []
    slopes = rewritten.split(linear[: rewritten.dim])
    for slope, bend, space in zip(slopes, bends, spaces, strict=True):
        part = _part(slope, bend, space)
        if part is None:
            return None
        parts.append(part[0])
        constant += part[1]
    space = spaces[0] if len(spaces) == 1 else Product(tuple(spaces))
    regularizer = parts[0] if len(parts) == 1 else Separable(tuple(parts))
    return Form(regularizer, space, constant, shares, basis_of(space))


def _space(variable: cp.Variable) -> WeightSpace | None:
    """The cone that a variable is in by its attributes; None for others."""
    given = {name for name, value in variable.attributes.items() if value is not None and value}
    if given == {"PSD"}:
        return PSD(variable.shape[0])
    if given == {"nonneg"}:
        return Nonnegative(variable.size)
    return None if given else Free(variable.size)


def _quadratic(rewritten: Rewritten) -> tuple[Floats, list[float], float] | None:
    """``linear @ (w, heights) + sum bend / 2 |variable|^2 + constant``, if the objective is
    that.
    """
    n, size = rewritten.dim, rewritten.dim + rewritten.n_groups
    rng = np.random.default_rng(0)
    constant = _value(rewritten, np.zeros(size))
    linear = _gradient(rewritten)
    bends, first = [], 0
    for v in rewritten.variables:
        probe = np.zeros(size)
        probe[first : first + v.size] = rng.normal(size=v.size)
        bent = _value(rewritten, probe) - constant - float(linear @ probe)
        bend = 2.0 * bent / float(probe @ probe)
        bends.append(
            bend if abs(bent) > EQUAL * (abs(constant) + np.abs(linear) @ np.abs(probe)) else 0.0
        )
        first += v.size
    probe = rng.normal(size=size)
    pieces = rewritten.split(probe[:n])
    squares = sum(0.5 * bend * float(p @ p) for bend, p in zip(bends, pieces, strict=True))
    expected = constant + float(linear @ probe) + squares
    magnitude = abs(constant) + float(np.abs(linear) @ np.abs(probe)) + abs(squares)
    same = abs(_value(rewritten, probe) - expected) <= EQUAL * magnitude
    return (linear, bends, constant) if same else None


def _value(rewritten: Rewritten, at: Floats) -> float:
    """The objective at values of the variables and of the heights."""
    rewritten.put(at[: rewritten.dim], at[rewritten.dim :])
    return rewritten.value


def _gradient(rewritten: Rewritten) -> Floats:
    """Its gradient at zero."""
    _value(rewritten, np.zeros(rewritten.dim + rewritten.n_groups))
    found = {v.id: g for v, g in rewritten.objective.grad.items() if g is not None}
    parts = [*rewritten.variables, *(held.heights for held in rewritten.held)]
    return np.concatenate([column(found.get(v.id, np.zeros(v.size))) for v in parts])


def _part(slope: Floats, bend: float, space: WeightSpace) -> tuple[Regularizer, float] | None:
    """``slope @ w + bend / 2 |w|^2`` of one variable, up to a constant; None if it is not."""
    slope = basis_of(space).T @ slope
    if bend > 0:
        center = np.asarray(-slope / bend)
        return SquaredNorm(bend, space.to_metric(center)), -0.5 * bend * float(center @ center)
    weight = float(slope[0])
    trace = weight * space.identity()
    if isinstance(space, Free) or weight <= 0 or np.abs(slope - trace).max() > EQUAL * weight:
        return None
    return Trace(weight), 0.0
