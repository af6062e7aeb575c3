"""Problems that are structured SVMs: a hinge, and a regularizer that fast masters know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from structsvm.masters.working_set import Cut
from structsvm.modeling.hinge import StructuredHinge, entries_of, factors_of, weight_of
from structsvm.modeling.planes import Plane
from structsvm.modeling.prepared import Prepared
from structsvm.problem import RegularizedRisk
from structsvm.regularizers import Regularizer, Separable, SquaredNorm, Trace
from structsvm.solvers.memory import Memory
from structsvm.weights import Free, WeightSpace

__all__ = ["KnownRisk", "known_risk"]

Floats = NDArray[np.float64]

SAME = 1e-9
"""Relative difference of gradients that are the same but for rounding."""


@dataclass(frozen=True, eq=False)
class KnownRisk:
    """``share * hinge(w) + Omega(w) + constant``, of a variable in the cone of the hinge."""

    hinge: StructuredHinge
    risk: RegularizedRisk
    memory: Memory
    share: float
    constant: float

    def give(self, w: Floats) -> None:
        """Give the variables their values."""
        space = self.risk.space
        ends = np.cumsum([factor.dim for factor in factors_of(space)])[:-1]
        for arg, piece, factor in zip(
            self.hinge.args, np.split(w, ends), factors_of(space), strict=True
        ):
            arg.save_value(np.asarray(factor.to_metric(piece)).reshape(arg.shape))

    def give_planes(self) -> None:
        """Tell the hinge which planes hold the solution."""
        state = self.memory.state
        if state is None:
            return
        n = np.bincount(state["groups"]).size
        space, found = self.risk.space, []
        for group, intercept, slope, weight in zip(
            state["groups"], state["intercepts"], state["slopes"], state["multipliers"], strict=True
        ):
            if weight > 0:
                cut = Cut(int(group), intercept / self.share, slope / self.share)
                term = -1 if n == 1 < self.risk.n_samples else cut.group
                shaped = self.hinge.shaped(entries_of(cut.slope, space))
                found.append(Plane(term, float(cut.intercept), shaped, float(weight * self.share)))
        self.hinge.planes = tuple(sorted(found, key=lambda plane: -plane.multiplier))


def known_risk(problem: cp.Problem, prepared: Prepared, warm_start: bool) -> KnownRisk | None:
    """The structured SVM that a problem is, None if it is none that the fast masters know."""
    hinge = prepared.held[0].atom
    alone = len(prepared.held) == 1 and not problem.constraints and prepared.sign > 0
    if not alone or not isinstance(hinge, StructuredHinge) or not _is_own(prepared, hinge):
        return None
    if hinge.losses.rescaling != "margin":  # inexact, of which the certificate has to tell
        return None
    gradient = _gradients(prepared)
    if gradient is None:
        return None
    share, curvature, linear, constant = gradient
    places = {v.id: k for k, v in enumerate(prepared.variables)}
    order = [places[arg.id] for arg in hinge.args]
    omega = _omega(hinge.space, [curvature[k] for k in order], [linear[k] for k in order])
    if omega is None or not share > 0:
        return None
    regularizer, completed = omega
    known = hinge.losses.remembered
    if share not in known or not warm_start:
        base = hinge.losses.risk
        scaled = replace(base, sample_weight=share * base.sample_weight, regularizer=regularizer)
        known.clear()
        known[share] = scaled, Memory()
    base, memory = known[share]
    risk = base.regularized(regularizer)
    values = [arg.value for arg in hinge.args]
    if warm_start and all(value is not None for value in values):
        point = weight_of(hinge.point_of(values), risk.space)
        risk = risk.started(risk.space.project(point))
    return KnownRisk(hinge, risk, memory, share, constant - completed)


def _is_own(prepared: Prepared, hinge: StructuredHinge) -> bool:
    """Whether the weight is made of variables, and there are no others."""
    if not all(isinstance(arg, cp.Variable) for arg in hinge.args):
        return False
    mine = [arg.id for arg in hinge.args]
    if len(set(mine)) < len(mine) or set(mine) != {v.id for v in prepared.variables}:
        return False
    return all(
        _allows(arg, factor)
        for arg, factor in zip(hinge.args, factors_of(hinge.space), strict=True)
    )


def _allows(variable: cp.Variable, factor: WeightSpace) -> bool:
    """Whether the attributes of a variable are no more than the cone."""
    given = {name for name, value in variable.attributes.items() if value not in (False, None)}
    if isinstance(factor, Free):
        return not given
    return given <= ({"PSD", "symmetric"} if variable.ndim == 2 else {"nonneg"})


def _gradients(prepared: Prepared) -> tuple[float, list[float], list[Floats], float] | None:
    """The share of the hinge; curvature and gradient at 0 by each variable, and the value there.

    None where the objective is not the hinge and a multiple of the squared norm of each variable.
    """
    expression = prepared.rewritten.objective
    if not expression.is_quadratic():
        return None
    rng, heights = np.random.default_rng(0), prepared.held[0].heights
    points = [np.zeros(prepared.dim), *rng.standard_normal((2, prepared.dim))]
    found = []
    for w in points:
        prepared.put(w, np.zeros(heights.size))
        gradient = expression.grad
        if any(value is None for value in gradient.values()):
            return None
        found.append([_dense(gradient.get(v), v) for v in [*prepared.variables, heights]])
        if w is points[0]:
            constant = float(np.asarray(expression.value).item())
    shares = np.concatenate([slopes[-1] for slopes in found])
    if np.ptp(shares) > SAME * max(1.0, float(np.abs(shares).max())):
        return None
    curvatures = []
    for k in range(len(prepared.variables)):
        bends = [(found[i][k] - found[0][k]) / prepared.split(points[i])[k] for i in (1, 2)]
        every = np.concatenate(bends)
        if np.ptp(every) > 1e-6 * max(1e-12, float(np.abs(every).max())):
            return None
        curvatures.append(max(0.0, float(np.median(every))))
    return float(shares[0]), curvatures, found[0][:-1], constant


def _omega(
    space: WeightSpace, curvature: list[float], linear: list[Floats]
) -> tuple[Regularizer, float] | None:
    """The regularizer, and by how much it exceeds the quadratic it stands for."""
    parts: list[Regularizer] = []
    completed = 0.0
    for factor, bend, gradient in zip(factors_of(space), curvature, linear, strict=True):
        slope = weight_of(gradient, factor)
        identity = factor.identity()
        if bend > 0:
            center = -slope / bend
            parts.append(SquaredNorm(bend, factor.to_metric(center)))
            completed += 0.5 * bend * float(center @ center)
            continue
        weight = float(slope @ identity / (identity @ identity))
        if isinstance(factor, Free) or not weight > 0:
            return None
        if not np.allclose(slope, weight * identity, rtol=SAME, atol=SAME * weight):
            return None
        parts.append(Trace(weight))
    return (parts[0] if len(parts) == 1 else Separable(tuple(parts))), completed


def _dense(gradient: Any, variable: cp.Variable) -> Floats:
    if gradient is None:
        return np.zeros(variable.size)
    dense = gradient.toarray() if hasattr(gradient, "toarray") else gradient
    return np.asarray(dense, dtype=np.float64).reshape(variable.size)
