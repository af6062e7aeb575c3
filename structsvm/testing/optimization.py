"""Do regularizers, masters and solvers keep their contracts: tiny programs, solved by cvxpy too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from structsvm.errors import LearningError, PluginError, SettingsError
from structsvm.masters.base import Master, Request, acceptable
from structsvm.masters.working_set import Cut, WorkingSet
from structsvm.problem import Problem, Regularized, RegularizedRisk, Separation
from structsvm.regularizers import Regularizer, SquaredNorm
from structsvm.solution import Solution
from structsvm.solvers.base import Solver
from structsvm.status import Quality
from structsvm.support.arrays import Floats
from structsvm.support.plain import shown
from structsvm.weights import PSD, Free, Nonnegative, WeightSpace

SPACES: tuple[WeightSpace, ...] = (Nonnegative(3), PSD(2), Free(3))
SCALES = (0.0, 0.1, 1.0, 1.0, 10.0)
ROUNDING = 1e-7
ACCURACY = 1e-5
"""What cvxpy may be off, for the size of a value."""
CLASSES, FEATURES = 3, 2

Promises = Iterator[tuple[Any, str]]
"""Whether each is kept, and what is said if it is not."""


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
        Seed of the weights.

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
    _of(Regularizer, regularizer)
    for space in spaces:
        rng = np.random.default_rng(seed)
        ws = [space.project(scale * rng.standard_normal(space.dim)) for scale in SCALES]
        slopes = rng.standard_normal((4, space.dim))
        require_all(type(regularizer).__name__, _values(regularizer, space, ws))
        require_all(type(regularizer).__name__, _forms(regularizer, space, ws))
        require_all(type(regularizer).__name__, _bounds(regularizer, space, ws, slopes))


def require_all(name: str, promises: Promises) -> None:
    """Raise at the first promise that is not kept."""
    for kept, complaint in promises:
        if not kept:
            raise PluginError(f"{name}: {complaint}")


def _values(omega: Regularizer, space: WeightSpace, ws: Sequence[Floats]) -> Promises:
    for w in ws:
        value, held = omega.value(w, space), w.copy()
        yield np.isfinite(value), f"value is {value!r}: return a finite float"
        yield np.array_equal(w, held), "value writes to the weight: copy it"
        yield value >= omega.floor(space) - ROUNDING, f"value {value} is below floor"
        doubled = omega.scaled(2.0).value(w, space)
        twice = np.isclose(doubled, 2.0 * value, rtol=ROUNDING)
        yield twice, f"scaled(2).value is {doubled} where value is {value}: return twice as much"
    for v, w in pairwise(ws):
        ends = (omega.value(v, space) + omega.value(w, space)) / 2
        middle = omega.value((v + w) / 2, space)
        convex = middle <= ends + ROUNDING * (1.0 + abs(ends))
        yield convex, f"value is {middle} between weights of the mean {ends}: it is not convex"


def _forms(omega: Regularizer, space: WeightSpace, ws: Sequence[Floats]) -> Promises:
    """What cvxpy and fast masters minimise is the value, the latter up to a constant."""
    import cvxpy as cp

    B, w_var, _ = space.variable()
    expression: Any = omega.as_cvxpy(B, w_var, space)
    quadratic, constants = omega.as_quadratic(space), []
    for w in ws:
        cp.Problem(cp.Minimize(0.0), [w_var == w]).solve(solver="CLARABEL")
        value, reached = omega.value(w, space), float(np.sum(expression.value))
        same = np.isclose(reached, value, rtol=ACCURACY, atol=ACCURACY)
        yield same, f"as_cvxpy is {reached} where value is {value}"
        if quadratic is not None:
            away = w - quadratic.center
            found = float(quadratic.curvature @ away**2) / 2 + float(quadratic.linear @ w)
            constants.append(value - found)
    spread = float(np.ptp(constants)) if constants else 0.0
    size = 1.0 + abs(omega.value(ws[-1], space))
    yield spread <= ROUNDING * size, f"as_quadratic differs from value by {spread:.2g}"


def _bounds(
    omega: Regularizer, space: WeightSpace, ws: Sequence[Floats], slopes: Floats
) -> Promises:
    """No weight is below ``minimum``: certificates rest on it."""
    for slope in slopes:
        scale = omega.max_scale(slope, space)
        yield 0.0 <= scale <= 1.0, f"max_scale is {scale!r}: a number from 0 to 1"
        upper = max(omega.value(w, space) for w in ws)
        bound = omega.minimum(scale * slope, space, upper)
        steps = (space.project(-t * slope) for t in np.geomspace(1e-2, 10.0, 31))
        for w in (*ws, *steps):
            value = omega.value(w, space)
            reached = value + scale * float(slope @ w)
            least = bound - ROUNDING * (1.0 + abs(value) + abs(reached))
            complaint = (
                f"minimum is {bound}, and a weight has {reached}: it has to be a lower bound"
            )
            yield value > upper or reached >= least, complaint


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
        Seed of the cuts.

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
    _of(Master, master)
    space, rng = space or Nonnegative(4), np.random.default_rng(seed)
    risk = _Restricted(space, SquaredNorm(0.5))
    cuts = WorkingSet(n_groups, space.dim)
    for n_cuts in (1, 2, 4):
        cuts.add(
            Cut(group, float(rng.uniform(0.2, 2.0)), rng.standard_normal(space.dim))
            for group in range(n_groups)
            for _ in range(n_cuts)
        )
        require_all(type(master).__name__, _restricted(master, risk, cuts))


@dataclass(frozen=True, eq=False)
class _Restricted(Regularized):
    space: WeightSpace
    regularizer: Regularizer
    constraints: Any = None


def _restricted(master: Master, risk: _Restricted, cuts: WorkingSet) -> Promises:
    import cvxpy as cp

    request, dim, held = Request(), risk.space.dim, cuts.slopes.copy()
    answer = master.solve(risk, cuts, request)
    w, alpha = np.asarray(answer.w), np.asarray(answer.multipliers)
    fit = w.shape == (dim,) and alpha.shape == (len(cuts),)
    yield fit, f"shapes are {w.shape} and {alpha.shape} for {dim} weights and {len(cuts)} cuts"
    yield np.array_equal(cuts.slopes, held), "it writes to the cuts: copy them"
    outside = float(np.abs(w - risk.space.project(w)).max())
    inside = not answer.is_projected or outside <= ROUNDING
    yield inside, f"is_projected, but w is {outside:.2g} outside"
    B, w_var, cone = risk.space.variable()
    slacks = cp.Variable(cuts.n_groups, nonneg=True)
    rows = [slacks[c.group] >= c.intercept + c.slope @ w_var for c in cuts.cuts()]
    total = risk.regularizer.as_cvxpy(B, w_var, risk.space) + cp.sum(slacks)
    least = cp.Problem(cp.Minimize(total), [*cone, *rows]).solve(solver="CLARABEL")
    w = risk.space.project(w)
    reached = risk.penalty(w) + float(np.maximum(cuts.group_values(w), 0.0).sum())
    within = (acceptable(request.tol) + ACCURACY) * (1.0 + abs(least))
    yield reached <= least + within, f"it reached {reached}, the minimum is {least}"
    sums = np.bincount(cuts.groups, weights=alpha, minlength=cuts.n_groups)
    feasible = (alpha >= -ACCURACY).all() and (sums <= 1.0 + ACCURACY).all()
    yield feasible, "multipliers are not negative and sum to at most 1 in each group"
    slope = alpha @ cuts.slopes
    bound = float(alpha @ cuts.intercepts) + risk.regularizer.minimum(slope, risk.space, np.inf)
    proved = bound >= least - 1e2 * within
    complaint = f"its multipliers prove {bound}, the minimum is {least}: they are those of the cuts"
    yield proved, complaint
    if answer.bound is not None:
        lower = answer.bound[0]
        holds = lower <= least + within
        yield holds, f"it claims the lower bound {lower}, the minimum is {least}"


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
        Samples of the risk.
    seed : int
        Seed of the samples.

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
    _of(Solver, solver)
    rng = np.random.default_rng(seed)
    ys = [i % CLASSES for i in range(n_samples)]
    xs = [rng.standard_normal(FEATURES) + np.eye(CLASSES)[y, :FEATURES] for y in ys]
    dim = CLASSES * FEATURES
    shares, null = np.full(n_samples, 1.0 / n_samples), np.zeros(dim)
    risk = RegularizedRisk(_Classes(), xs, ys, SquaredNorm(0.1), shares, null)
    try:
        solver.check(risk.outline)
    except SettingsError as error:
        raise PluginError(f"{type(solver).__name__} refuses a convex risk: {error}") from error
    least = _minimum(risk)
    try:
        solution, again = solver.solve(risk), solver.solve(risk)
    except (LearningError, AssertionError) as error:
        raise PluginError(f"{type(solver).__name__} finds no weight: {error}") from error
    require_all(type(solver).__name__, _solution(solver, risk, least, solution, again))


def _solution(
    solver: Solver, risk: RegularizedRisk, least: float, solution: Solution, again: Solution
) -> Promises:
    lower, upper, gap = solution.lower, solution.upper, solution.gap
    reached, slack = _objective(risk, solution.w), ACCURACY * (1.0 + abs(least))
    yield lower <= least + slack, f"lower is {lower}, the minimum is {least}"
    tight = abs(upper - reached) <= slack
    yield tight, f"upper is {upper}, the objective at the weight is {reached}"
    closed = not solution.status.converged or gap <= solver.stopping.tol + ROUNDING
    yield closed, f"the status is {solution.status.name} with a gap of {gap:.2g}"
    yield reached <= _objective(risk, risk.null) + slack, "the weight is worse than no learning"
    yield np.array_equal(solution.w, again.w), "the weight differs on a second run: seed it"
    lowers = [entry.lower for entry in solution.history.entries]
    uppers = [entry.upper for entry in solution.history.entries]
    rises = lowers == sorted(lowers) and uppers == sorted(uppers, reverse=True)
    yield rises, "bounds of the history are those of the best so far"


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


def _of(kind: type, given: Any) -> None:
    if not isinstance(given, kind):
        raise PluginError(f"{shown(given)} is no {kind.__name__}: give an instance of a class")
