"""Restricted problems of a separable quadratic over cones, by the fast masters of the learners.

A squared norm or a trace of each variable, nonnegative or semi-definite as its attributes say, plus
nonnegative functions that oracles know: what a learner minimises. Clarabel needs many times as long
for matrices.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from structsvm.modeling.prepared import Prepared, Restriction, column
from structsvm.modeling.restricted import Box, Conic, Restricted
from structsvm.problem import Regularized
from structsvm.regularizers import Regularizer, Separable, SquaredNorm, Trace
from structsvm.support.arrays import Floats
from structsvm.weights import PSD, Free, Nonnegative, Product, WeightSpace

SAME = 1e-12
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

    def __init__(
        self, restriction: Restriction, form: Form, box: Box, options: Mapping[str, Any]
    ) -> None:
        self.restriction, self.prepared, self.form = restriction, restriction.prepared, form
        self._box, self._options = box, options
        self._conic: Conic | None = None

    @classmethod
    def of(
        cls, restriction: Restriction, box: Box, options: Mapping[str, Any]
    ) -> FastMaster | None:
        """The fast master of a problem; None if it is of another form."""
        form = None if options else _form(restriction.prepared)
        return None if form is None else cls(restriction, form, box, options)

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
        w = self.prepared.tidy(np.asarray(form.basis @ answer.w))
        return MasterSolution(w, answer.multipliers * scale, answer.label, (rounded, basis))

    def nearest(self, cuts: WorkingSet, center: Floats, level: float) -> Floats | None:
        """None: a share of the way is as good where there is curvature."""
        return None

    def unpack(self) -> None:
        """Nothing but attributes holds the variables, and these have no duals."""
        if self._conic is not None:
            self._conic.unpack()

    def _by_clarabel(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        if self._conic is None:
            self._conic = Conic(self.restriction, self._box, self._options)
        return self._conic.solve(cuts, tol)


def _form(prepared: Prepared) -> Form | None:
    """The form of a problem, if it is such a one."""
    written, variables = prepared.rewritten, prepared.variables
    spaces = [_space(v) for v in variables]
    objective = written.objective
    if (
        written.constraints
        or any(space is None for space in spaces)
        or any(not held.atom.is_nonneg() for held in prepared.held)
        or not objective.is_quadratic()
    ):
        return None
    known = [space for space in spaces if space is not None]
    quadratic = _quadratic(prepared)
    if quadratic is None:
        return None
    linear, bends, constant = quadratic
    shares = linear[prepared.dim :]
    if not (shares > 0).all():
        return None
    parts = []
    for slope, bend, space in zip(
        prepared.split(linear[: prepared.dim]), bends, known, strict=True
    ):
        part = _part(slope, bend, space)
        if part is None:
            return None
        parts.append(part[0])
        constant += part[1]
    space = known[0] if len(known) == 1 else Product(tuple(known))
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


def _quadratic(prepared: Prepared) -> tuple[Floats, list[float], float] | None:
    """``linear @ (w, heights) + sum bend / 2 |variable|^2 + constant``, if the objective is
    that.
    """
    n, size = prepared.dim, prepared.dim + prepared.n_groups
    rng = np.random.default_rng(0)
    constant = _value(prepared, np.zeros(size))
    linear = _gradient(prepared)
    bends, first = [], 0
    for v in prepared.variables:
        probe = np.zeros(size)
        probe[first : first + v.size] = rng.normal(size=v.size)
        bent = _value(prepared, probe) - constant - float(linear @ probe)
        bend = 2.0 * bent / float(probe @ probe)
        bends.append(
            bend if abs(bent) > SAME * (abs(constant) + np.abs(linear) @ np.abs(probe)) else 0.0
        )
        first += v.size
    probe = rng.normal(size=size)
    pieces = prepared.split(probe[:n])
    squares = sum(0.5 * bend * float(p @ p) for bend, p in zip(bends, pieces, strict=True))
    expected = constant + float(linear @ probe) + squares
    magnitude = abs(constant) + float(np.abs(linear) @ np.abs(probe)) + abs(squares)
    same = abs(_value(prepared, probe) - expected) <= SAME * magnitude
    return (linear, bends, constant) if same else None


def _value(prepared: Prepared, at: Floats) -> float:
    """The rewritten objective at values of the variables and of the heights."""
    prepared.put(at[: prepared.dim], at[prepared.dim :])
    return float(np.asarray(prepared.rewritten.objective.value).item())


def _gradient(prepared: Prepared) -> Floats:
    """Its gradient at zero."""
    _value(prepared, np.zeros(prepared.dim + prepared.n_groups))
    found = {v.id: g for v, g in prepared.rewritten.objective.grad.items() if g is not None}
    parts = [*prepared.variables, *(held.heights for held in prepared.held)]
    return np.concatenate([column(found.get(v.id, np.zeros(v.size))) for v in parts])


def _part(slope: Floats, bend: float, space: WeightSpace) -> tuple[Regularizer, float] | None:
    """``slope @ w + bend / 2 |w|^2`` of one variable, up to a constant; None if it is not."""
    slope = basis_of(space).T @ slope
    if bend > 0:
        center = np.asarray(-slope / bend)
        return SquaredNorm(bend, space.to_metric(center)), -0.5 * bend * float(center @ center)
    weight = float(slope[0])
    trace = weight * space.identity()
    if isinstance(space, Free) or weight <= 0 or np.abs(slope - trace).max() > SAME * weight:
        return None
    return Trace(weight), 0.0
