"""Restricted problems of a separable quadratic over cones, by the fast masters of the learners."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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
    """Weight of the height of each group in the objective, (n_groups,), positive."""
    basis: Any
    """Sparse, (dim of w, dim of v), with orthonormal columns."""


class FastMaster(Restricted):
    """Newton's method; Clarabel if it fails. There are no constraints, and so no duals."""

    def __init__(self, restriction: Restriction, form: Form, box: Box) -> None:
        self.restriction, self.rewritten, self.form = restriction, restriction.rewritten, form
        self._box = box

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
            return self._clarabel.solve(cuts, tol)
        # The minimum of this restricted problem is bounded, and its own value is above that.
        upper = form.penalty(answer.w) + float(mapped.group_values(answer.w).sum())
        exact = np.zeros(form.space.dim)
        bound, basis = lower_bound(form, mapped, answer.multipliers, upper, exact)
        if not np.isfinite(bound):
            return self._clarabel.solve(cuts, tol)
        rounded = bound + form.constant - 1e-15 * abs(form.constant)
        w = self.rewritten.tidy(np.asarray(form.basis @ answer.w))
        return MasterSolution(w, answer.multipliers * scale, answer.label, (rounded, basis))

    @cached_property
    def _clarabel(self) -> Conic:
        return Conic(self.restriction, self._box, {})


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
    zero = np.zeros(rewritten.size)
    rewritten.put(zero)
    found = {v.id: gradient for v, gradient in rewritten.objective.grad.items()}
    slopes = [column(found.get(v.id, np.zeros(v.size))) for v in rewritten.leaves]
    linear = np.concatenate(slopes)
    bends, shares = _bends(rewritten, linear), linear[rewritten.dim :]
    if bends is None or any(bends[len(spaces) :]) or not (shares > 0).all():
        return None
    each = zip(slopes, bends, spaces, strict=False)
    parts = [part for one in each if (part := _regularizer(*one)) is not None]
    if len(parts) < len(spaces):
        return None
    space = spaces[0] if len(spaces) == 1 else Product(tuple(spaces))
    regularizer = parts[0] if len(parts) == 1 else Separable(tuple(parts))
    rewritten.put(zero)
    constant = rewritten.value - regularizer.value(np.zeros(space.dim), space)
    return Form(regularizer, space, constant, shares, basis_of(space))


def _space(variable: cp.Variable) -> WeightSpace | None:
    """The cone that a variable is in by its attributes; None for others."""
    given = {name for name, value in variable.attributes.items() if value is not None and value}
    if given == {"PSD"}:
        return PSD(variable.shape[0])
    if given == {"nonneg"}:
        return Nonnegative(variable.size)
    return None if given else Free(variable.size)


def _bends(rewritten: Rewritten, linear: Floats) -> list[float] | None:
    """The curvature of a quadratic objective by each variable and height, one number for all its
    entries; None if it is not of this form.

    ``linear`` is its gradient at zero. Read off values at random points, where no other quadratic
    looks like one: cvxpy 1.6 gives gradients of squares of matrices row by row.
    """

    def value(at: Floats) -> float:
        rewritten.put(at)
        return rewritten.value

    rng, constant = np.random.default_rng(0), value(np.zeros(linear.size))
    everywhere = rng.normal(size=linear.size)
    bends, squares = [], 0.0
    for entries in rewritten.split(np.arange(linear.size, dtype=np.float64)):
        at = entries.astype(np.int64)
        alone = np.zeros(linear.size)
        alone[at] = rng.normal(size=at.size)
        bent = value(alone) - constant - float(linear @ alone)
        room = EQUAL * (abs(constant) + float(np.abs(linear) @ np.abs(alone)))
        bends.append(2.0 * bent / float(alone @ alone) if abs(bent) > room else 0.0)
        squares += 0.5 * bends[-1] * float(everywhere[at] @ everywhere[at])
    size = abs(constant) + float(np.abs(linear) @ np.abs(everywhere)) + abs(squares)
    away = value(everywhere) - constant - float(linear @ everywhere) - squares
    return bends if abs(away) <= EQUAL * size else None


def _regularizer(slope: Floats, bend: float, space: WeightSpace) -> Regularizer | None:
    """``slope @ w + bend / 2 |w|^2`` of one variable, up to a constant; None if it is none."""
    slope = basis_of(space).T @ slope
    if bend > 0:
        return SquaredNorm(bend, space.to_metric(-slope / bend))
    weight = float(slope[0])
    away = np.abs(slope - weight * space.identity()).max()
    return (
        None if isinstance(space, Free) or weight <= 0 or away > EQUAL * weight else Trace(weight)
    )
