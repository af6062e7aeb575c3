"""Do regularizers, masters and solvers keep their contracts: tiny programs, solved by cvxpy too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from structsvm.errors import LearningError, PluginError, SettingsError
from structsvm.masters.base import Master, Request, acceptable
from structsvm.masters.working_set import Cut, WorkingSet
from structsvm.problem import Problem, Regularized, RegularizedRisk, Separation
from structsvm.regularizers import Regularizer, SquaredNorm
from structsvm.solution import Quality
from structsvm.solvers.base import Solver
from structsvm.support.arrays import Floats
from structsvm.support.plain import shown
from structsvm.weights import PSD, Free, Nonnegative, WeightSpace

SPACES: tuple[WeightSpace, ...] = (Nonnegative(3), PSD(2), Free(3))
SCALES = (0.0, 0.1, 1.0, 1.0, 10.0)
ROUNDING = 1e-7
ACCURACY = 1e-5
"""What cvxpy may be off, for the size of a value."""
CLASSES, FEATURES = 3, 2

Weights = Sequence[Floats]
Require = Callable[[Any, str], None]
"""Takes whether a promise is kept, and what is said if it is not."""


def check_regularizer(
    regularizer: Regularizer, spaces: Sequence[WeightSpace] = SPACES, seed: int = 0
) -> None:
    """Check that a regularizer is convex and that its formulas agree.

    Parameters
    ----------
    regularizer : Regularizer
    spaces : sequence of WeightSpace
        Cones that it is for.
    seed : int

    Raises
    ------
    PluginError
        At the first broken promise; the message says which one.

    Examples
    --------
    >>> from structsvm.regularizers import SquaredNorm
    >>> from structsvm.testing import check_regularizer
    >>> check_regularizer(SquaredNorm())
    """
    require = _required(Regularizer, regularizer)
    for space in spaces:
        rng = np.random.default_rng(seed)
        ws = [space.project(scale * rng.standard_normal(space.dim)) for scale in SCALES]
        slopes = rng.standard_normal((4, space.dim))
        _check_values(require, regularizer, space, ws)
        _check_forms(require, regularizer, space, ws)
        _check_bounds(require, regularizer, space, ws, slopes)


def _required(kind: type, plugin: Any) -> Require:
    """What raises in the name of a plugin; PluginError if it is none of its kind."""
    if not isinstance(plugin, kind):
        raise PluginError(f"{shown(plugin)} is no {kind.__name__}: give an instance of a class")

    def require(kept: Any, complaint: str) -> None:
        if not kept:
            raise PluginError(f"{type(plugin).__name__}: {complaint}")

    return require


def _check_values(require: Require, omega: Regularizer, space: WeightSpace, ws: Weights) -> None:
    for w in ws:
        value, held = omega.value(w, space), w.copy()
        require(np.isfinite(value), f"value is {value!r}: return a finite float")
        require(np.array_equal(w, held), "value writes to the weight: copy it")
        require(value >= omega.floor(space) - ROUNDING, f"value {value} is below floor")
        doubled = omega.scaled(2.0).value(w, space)
        require(
            np.isclose(doubled, 2.0 * value, rtol=ROUNDING),
            f"scaled(2).value is {doubled} where value is {value}: return twice as much",
        )
    for v, w in pairwise(ws):
        ends = (omega.value(v, space) + omega.value(w, space)) / 2
        middle = omega.value((v + w) / 2, space)
        require(
            middle <= ends + ROUNDING * (1.0 + abs(ends)),
            f"value is {middle} between weights of the mean {ends}: it is not convex",
        )


def _check_forms(require: Require, omega: Regularizer, space: WeightSpace, ws: Weights) -> None:
    """What cvxpy and fast masters minimise is the value, the latter up to a constant."""
    import cvxpy as cp

    B, w_var, _ = space.variable()
    expression: Any = omega.as_cvxpy(B, w_var, space)
    quadratic, constants = omega.as_quadratic(space), [0.0]
    for w in ws:
        cp.Problem(cp.Minimize(0.0), [w_var == w]).solve(solver="CLARABEL")
        value, reached = omega.value(w, space), float(np.sum(expression.value))
        require(
            np.isclose(reached, value, rtol=ACCURACY, atol=ACCURACY),
            f"as_cvxpy is {reached} where value is {value}",
        )
        if quadratic is not None:
            away = w - quadratic.center
            found = float(quadratic.curvature @ away**2) / 2 + float(quadratic.linear @ w)
            constants.append(value - found)
    spread = float(np.ptp(constants[1:] or constants))
    size = 1.0 + abs(omega.value(ws[-1], space))
    require(spread <= ROUNDING * size, f"as_quadratic differs from value by {spread:.2g}")


def _check_bounds(
    require: Require, omega: Regularizer, space: WeightSpace, ws: Weights, slopes: Floats
) -> None:
    """No weight is below ``minimum``: certificates rest on it."""
    for slope in slopes:
        scale = omega.max_scale(slope, space)
        require(0.0 <= scale <= 1.0, f"max_scale is {scale!r}: a number from 0 to 1")
        upper = max(omega.value(w, space) for w in ws)
        bound = omega.minimum(scale * slope, space, upper)
        for w in (*ws, *(space.project(-t * slope) for t in np.geomspace(1e-2, 10.0, 31))):
            value = omega.value(w, space)
            reached = value + scale * float(slope @ w)
            require(
                value > upper or reached >= bound - ROUNDING * (1.0 + abs(value) + abs(reached)),
                f"minimum is {bound}, and a weight has {reached}: it has to be a lower bound",
            )


def check_master(
    master: Master, space: WeightSpace | None = None, n_groups: int = 3, seed: int = 0
) -> None:
    """Check that a master minimises restricted problems, against cvxpy.

    Parameters
    ----------
    master : Master
    space : WeightSpace, optional
        The cone of the weight; the nonnegative orthant by default.
    n_groups : int
        Number of hinge losses.
    seed : int

    Raises
    ------
    PluginError
        At the first broken promise; the message says which one.

    Examples
    --------
    >>> from structsvm.solvers import NewtonMaster
    >>> from structsvm.testing import check_master
    >>> check_master(NewtonMaster())
    """
    require = _required(Master, master)
    space, rng = space or Nonnegative(4), np.random.default_rng(seed)
    risk = _Restricted(space, SquaredNorm(0.5))
    cuts = WorkingSet(n_groups, space.dim)
    for n_cuts in (1, 2, 4):
        cuts.add(
            Cut(group, float(rng.uniform(0.2, 2.0)), rng.standard_normal(space.dim))
            for group in range(n_groups)
            for _ in range(n_cuts)
        )
        _check_restricted(require, master, risk, cuts)


@dataclass(frozen=True, eq=False)
class _Restricted(Regularized):
    space: WeightSpace
    regularizer: Regularizer
    constraints: Any = None


def _check_restricted(
    require: Require, master: Master, risk: _Restricted, cuts: WorkingSet
) -> None:
    import cvxpy as cp

    request, dim, held = Request(), risk.space.dim, cuts.slopes.copy()
    answer = master.solve(risk, cuts, request)
    w, alpha = np.asarray(answer.w), np.asarray(answer.multipliers)
    require(
        w.shape == (dim,) and alpha.shape == (len(cuts),),
        f"shapes are {w.shape} and {alpha.shape} for {dim} weights and {len(cuts)} cuts",
    )
    require(np.array_equal(cuts.slopes, held), "it writes to the cuts: copy them")
    outside = float(np.abs(w - risk.space.project(w)).max())
    require(
        not answer.is_projected or outside <= ROUNDING,
        f"is_projected, but w is {outside:.2g} outside",
    )
    B, w_var, cone = risk.space.variable()
    slacks = cp.Variable(cuts.n_groups, nonneg=True)
    rows = [slacks[cuts.groups] >= cuts.intercepts + cuts.slopes @ w_var]
    total = risk.regularizer.as_cvxpy(B, w_var, risk.space) + cp.sum(slacks)
    least = cp.Problem(cp.Minimize(total), [*cone, *rows]).solve(solver="CLARABEL")
    w = risk.space.project(w)
    reached = risk.penalty(w) + float(np.maximum(cuts.group_values(w), 0.0).sum())
    within = (acceptable(request.tol) + ACCURACY) * (1.0 + abs(least))
    require(reached <= least + within, f"it reached {reached}, the minimum is {least}")
    sums = np.bincount(cuts.groups, weights=alpha, minlength=cuts.n_groups)
    require(
        (alpha >= -ACCURACY).all() and (sums <= 1.0 + ACCURACY).all(),
        "multipliers are not negative and sum to at most 1 in each group",
    )
    slope = alpha @ cuts.slopes
    bound = float(alpha @ cuts.intercepts) + risk.regularizer.minimum(slope, risk.space, np.inf)
    require(
        bound >= least - 1e2 * within,
        f"its multipliers prove {bound}, the minimum is {least}: they are those of the cuts",
    )
    lower = least if answer.bound is None else answer.bound[0]
    require(lower <= least + within, f"it claims the lower bound {lower}, the minimum is {least}")


@dataclass(frozen=True)
class _Classes(Problem):
    """Classes of vectors, whose labellings can be listed."""

    def weight_space(self) -> WeightSpace:
        """A weight for each class and feature."""
        return Free(CLASSES * FEATURES)

    def joint_feature(self, x: Floats, y: int) -> Floats:
        """The vector at the place of its class."""
        return np.outer(np.eye(CLASSES)[y], x).ravel()

    def loss(self, y: int, y_hat: int) -> float:
        """1 for another class."""
        return float(y != y_hat)

    def predict(self, w: Floats, x: Floats) -> int:
        """The class of the largest score."""
        return int(np.argmax(w.reshape(CLASSES, -1) @ x))

    def separate(self, w: Floats, x: Floats, y: int) -> Separation:
        """The class of the largest loss and score."""
        losses = np.arange(CLASSES) != y
        worst = int(np.argmax(losses + w.reshape(CLASSES, -1) @ x))
        return Separation(worst, 0.0, Quality.EXACT)


def check_solver(solver: Solver, n_samples: int = 12, seed: int = 0) -> None:
    """Check that a solver of convex risks keeps its bounds, on a risk whose labellings are listed.

    Parameters
    ----------
    solver : Solver
    n_samples : int
    seed : int

    Raises
    ------
    PluginError
        At the first broken promise; the message says which one.

    Examples
    --------
    >>> from structsvm.solvers import CuttingPlane
    >>> from structsvm.testing import check_solver
    >>> check_solver(CuttingPlane())
    """
    require = _required(Solver, solver)
    rng = np.random.default_rng(seed)
    ys = [i % CLASSES for i in range(n_samples)]
    xs = [rng.standard_normal(FEATURES) + np.eye(CLASSES)[y, :FEATURES] for y in ys]
    dim = CLASSES * FEATURES
    shares, null = np.full(n_samples, 1.0 / n_samples), np.zeros(dim)
    risk = RegularizedRisk(_Classes(), xs, ys, SquaredNorm(0.1), shares, null)
    least, name = _minimum(risk), type(solver).__name__
    try:
        solver.check(risk.outline)
        solution, again = solver.solve(risk), solver.solve(risk)
    except (LearningError, SettingsError, AssertionError) as error:
        raise PluginError(f"{name} finds no weight of a convex risk: {error}") from error
    lower, upper, gap = solution.lower, solution.upper, solution.gap
    reached, slack = _objective(risk, solution.w), ACCURACY * (1.0 + abs(least))
    require(lower <= least + slack, f"lower is {lower}, the minimum is {least}")
    require(
        abs(upper - reached) <= slack,
        f"upper is {upper}, the objective at the weight is {reached}",
    )
    require(
        not solution.status.converged or gap <= solver.stopping.tol + ROUNDING,
        f"the status is {solution.status.name} with a gap of {gap:.2g}",
    )
    require(reached <= _objective(risk, risk.null) + slack, "the weight is worse than no learning")
    require(np.array_equal(solution.w, again.w), "the weight differs on a second run: seed it")
    lowers = [entry.lower for entry in solution.history.entries]
    uppers = [entry.upper for entry in solution.history.entries]
    require(
        lowers == sorted(lowers) and uppers == sorted(uppers, reverse=True),
        "bounds of the history are those of the best so far",
    )


def _worths(risk: RegularizedRisk, x: Any, y: int) -> list[tuple[float, Floats]]:
    """The loss of each class, and its joint feature less that of the true one."""
    true = risk.problem.joint_feature(x, y)
    return [
        (risk.problem.loss(y, z), risk.problem.joint_feature(x, z) - true) for z in range(CLASSES)
    ]


def _objective(risk: RegularizedRisk, w: Floats) -> float:
    total = risk.penalty(w)
    for x, y, omega in zip(risk.xs, risk.ys, risk.sample_weight, strict=True):
        total += omega * max(loss + float(slope @ w) for loss, slope in _worths(risk, x, y))
    return float(total)


def _minimum(risk: RegularizedRisk) -> float:
    import cvxpy as cp

    B, w, cone = risk.space.variable()
    total = risk.regularizer.as_cvxpy(B, w, risk.space)
    for x, y, omega in zip(risk.xs, risk.ys, risk.sample_weight, strict=True):
        total += omega * cp.max(cp.hstack([a + s @ w for a, s in _worths(risk, x, y)]))
    return float(cp.Problem(cp.Minimize(total), cone).solve(solver="CLARABEL"))
