"""Restricted problems that have the form of a risk, solved by the masters of the learner."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from structsvm.masters import (
    NO_SLACK,
    PRECISE,
    MasterSolution,
    NewtonMaster,
    Request,
    WorkingSet,
    lower_bound,
    solved,
)
from structsvm.modeling.by_clarabel import CLOSED, Box, Conic
from structsvm.modeling.hinge import basis_of
from structsvm.modeling.restricted import Restricted
from structsvm.modeling.rewriting import Rewritten, column
from structsvm.problem import (
    PSD,
    Free,
    Nonnegative,
    Product,
    Regularized,
    Regularizer,
    Separable,
    SquaredNorm,
    Trace,
    WeightSpace,
)
from structsvm.support import Floats

SAME_WITHIN = 1e-12
"""Relative difference up to which two numbers are taken for equal."""


@dataclass(frozen=True, eq=False)
class NewtonForm(Regularized):
    """``constant + Omega(v) + sum of shares * heights`` over a cone, ``w = basis @ v``."""

    constraints = None
    regularizer: Regularizer
    space: WeightSpace
    constant: float
    shares: Floats
    """The weight of the height of each group in the objective, (n_groups,), positive."""
    basis: Any
    """Sparse, (dim of w, dim of v), with orthonormal columns."""


class FastMaster(Restricted):
    """Newton's method, or Clarabel where that proves a better bound; without constraints."""

    def __init__(self, rewritten: Rewritten, form: NewtonForm, box: Box) -> None:
        self.rewritten, self.form, self._box = rewritten, form, box
        self.w_units = np.zeros(rewritten.dim)
        self._noise = np.zeros(rewritten.n_groups)

    def fit(self, cuts: WorkingSet, noise: Floats) -> None:
        """Store the noise for Clarabel; Newton's method needs no units."""
        self._noise = noise

    @cached_property
    def _conic(self) -> Conic:
        return Conic(self.rewritten, self._box, {})

    def duals(self) -> list[list[Any]]:
        """An empty list, because there are no constraints."""
        return []

    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        if (cuts.groups == NO_SLACK).any():
            return self._by_clarabel(cuts, tol)
        form = self.form
        scale = form.shares[cuts.groups]
        mapped = WorkingSet(cuts.n_groups, form.space.dim)
        mapped.restore(
            {
                **cuts.state(),
                "slopes": np.asarray(cuts.slopes @ form.basis) * scale[:, None],
                "intercepts": cuts.intercepts * scale,
                "multipliers": cuts.multipliers / scale,
            }
        )
        answer = solved(NewtonMaster(), form, mapped, Request(tol))
        # The value at the answer is an upper bound of the minimum of this restricted problem.
        upper = form.penalty(answer.w) + float(mapped.group_values(answer.w).sum())
        exact = np.zeros(form.space.dim)
        bound, basis = lower_bound(form, mapped, answer.multipliers, upper, exact)
        rounded = bound + form.constant - 1e-15 * abs(form.constant)
        w = self.rewritten.tidy(np.asarray(form.basis @ answer.w))
        solution = MasterSolution(w, answer.multipliers * scale, answer.label, (rounded, basis))
        if upper - bound <= CLOSED * max(tol, PRECISE) * abs(upper):
            return solution
        other = self._by_clarabel(cuts, tol)
        return other if other.bound is not None and other.bound[0] > rounded else solution

    def _by_clarabel(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        self._conic.fit(cuts, self._noise)
        return self._conic.solve(cuts, tol)


def form_of(rewritten: Rewritten) -> NewtonForm | None:
    """A problem in the form of a risk; None if it has another form."""
    spaces = [space for v in rewritten.variables if (space := _space(v)) is not None]
    if (
        rewritten.constraints
        or len(spaces) < len(rewritten.variables)
        or any(not stand_in.atom.is_nonneg() for stand_in in rewritten.stand_ins)
        or not rewritten.objective.is_quadratic()
    ):
        return None
    zero = np.zeros(rewritten.size)
    rewritten.put(zero)
    gradients = {v.id: gradient for v, gradient in rewritten.objective.grad.items()}
    slopes = [column(gradients.get(v.id, np.zeros(v.size))) for v in rewritten.leaves]
    linear = np.concatenate(slopes)
    bends = _bends(rewritten, linear)
    shares = linear[rewritten.dim :]
    if bends is None or any(bends[len(spaces) :]) or not (shares > 0).all():
        return None
    parts = [_regularizer(*each) for each in zip(slopes, bends, spaces, strict=False)]
    cones = tuple(part for part in parts if part is not None)
    if len(cones) < len(parts):
        return None
    space = Product(tuple(spaces))
    regularizer = Separable(cones)
    rewritten.put(zero)
    constant = rewritten.value - regularizer.value(np.zeros(space.dim), space)
    return NewtonForm(regularizer, space, constant, shares, basis_of(space))


def _space(variable: cp.Variable) -> WeightSpace | None:
    """The cone of a variable by its attributes; None for other attributes."""
    attributes = {
        name for name, value in variable.attributes.items() if value is not None and value
    }
    if attributes == {"PSD"}:
        return PSD(variable.shape[0])
    if attributes == {"nonneg"}:
        return Nonnegative(variable.size)
    return None if attributes else Free(variable.size)


def _bends(rewritten: Rewritten, linear: Floats) -> list[float] | None:
    """The curvature c of each variable and height, if the objective is a sum of ``c / 2 |v|^2``.

    None for another quadratic. ``linear`` is the gradient at zero. The curvatures are computed from
    values at random points, because cvxpy 1.6 orders gradients of squares of matrices wrongly.
    """

    def value(at: Floats) -> float:
        """The objective at values of the variables and heights."""
        rewritten.put(at)
        return rewritten.value

    rng = np.random.default_rng(0)
    constant = value(np.zeros(linear.size))
    everywhere = rng.normal(size=linear.size)
    bends = []
    squares = 0.0
    for entries in rewritten.split(np.arange(linear.size, dtype=np.float64)):
        at = entries.astype(np.int64)
        alone = np.zeros(linear.size)
        alone[at] = rng.normal(size=at.size)
        bent = value(alone) - constant - float(linear @ alone)
        room = SAME_WITHIN * (abs(constant) + float(np.abs(linear) @ np.abs(alone)))
        bends.append(2.0 * bent / float(alone @ alone) if abs(bent) > room else 0.0)
        squares += 0.5 * bends[-1] * float(everywhere[at] @ everywhere[at])
    size = abs(constant) + float(np.abs(linear) @ np.abs(everywhere)) + abs(squares)
    away = value(everywhere) - constant - float(linear @ everywhere) - squares
    return bends if abs(away) <= SAME_WITHIN * size else None


def _regularizer(slope: Floats, bend: float, space: WeightSpace) -> Regularizer | None:
    """The regularizer ``slope @ w + bend / 2 |w|^2 + constant`` of a variable; None if unknown."""
    slope = basis_of(space).T @ slope
    if bend > 0:
        return SquaredNorm(bend, space.to_metric(-slope / bend))
    weight = float(slope[0])
    away = np.abs(slope - weight * space.identity()).max()
    return (
        None
        if isinstance(space, Free) or weight <= 0 or away > SAME_WITHIN * weight
        else Trace(weight)
    )
