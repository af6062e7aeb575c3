"""Check regularizers, masters and solvers on tiny programs, which cvxpy solves, too."""

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np

from structsvm.data import Instance
from structsvm.errors import LearningError, SettingsError
from structsvm.masters import Cut, CvxpyMaster, Master, Request, WorkingSet, acceptable
from structsvm.oracles import all_segmentations
from structsvm.partitions import EquivalenceMatrix, Examples
from structsvm.problem import (
    PSD,
    Free,
    Nonnegative,
    Outline,
    Product,
    Regularized,
    Regularizer,
    SquaredNorm,
    WeightSpace,
)
from structsvm.problems import ChangePoint
from structsvm.solvers import Solver
from structsvm.support import Floats
from structsvm.testing.oracle import Checked
from structsvm.testing.separation import WEIGHT_SIZES

SPACES_TRIED: tuple[WeightSpace, ...] = (
    Nonnegative(3),
    PSD(2),
    Free(3),
    Product((Nonnegative(2), PSD(2)), metric_first=True),
)
BOUND_ROUNDING = 1e-7
ACCURACY = 1e-6  # relative accuracy of values by cvxpy
N_GROUPS = 3
LABELS_LEARNED_FROM = (
    [0, 0, 0, 1, 1, 1],
    [0, 0, 1, 1, 1, 2],
    [0, 1, 1, 1, 1, 1],
    [0, 0, 0, 0, 1, 2],
)
"""Labels of the recordings that a solver learns from."""


def check_regularizer(
    regularizer: Regularizer, spaces: Sequence[WeightSpace] | None = None
) -> None:
    """Check that a regularizer is convex on some cones and that its formulas agree.

    The first broken promise raises PluginError, as in all of these checks.

    Parameters
    ----------
    regularizer : Regularizer
    spaces : sequence of WeightSpace, optional
        Cones on which it is checked; by default small ones of every kind, except those that it
        refuses by a SettingsError, of which it must accept one.

    Examples
    --------
    >>> from structsvm.problem import SquaredNorm
    >>> from structsvm.testing import check_regularizer
    >>> check_regularizer(SquaredNorm())
    """
    checked = Checked.of(Regularizer, regularizer)
    refused: list[str] = []
    for space in SPACES_TRIED if spaces is None else spaces:
        try:
            _check_on(checked, space)
        except SettingsError as error:
            if spaces is not None:
                raise
            refused.append(f"{space}: {error}")
    said = f"it accepts no cone ({'; '.join(refused)}): give spaces=, cones that it is for"
    checked.require(spaces is not None or len(refused) < len(SPACES_TRIED), said)


def _check_on(checked: Checked, space: WeightSpace) -> None:
    """Check a regularizer on one cone."""
    rng = np.random.default_rng(0)
    ws = [space.project(scale * rng.standard_normal(space.dim)) for scale in WEIGHT_SIZES]
    values = [_value(checked, space, w) for w in ws]
    for (v, at_v), (w, at_w) in pairwise(zip(ws, values, strict=True)):
        ends = (at_v + at_w) / 2
        middle = checked.plugin.value((v + w) / 2, space)
        checked.require(
            middle <= ends + BOUND_ROUNDING * (1.0 + abs(ends)),
            f"value is {middle} between weights of the mean {ends}: it is not convex",
        )
    _check_forms(checked, space, ws)
    for slope in rng.standard_normal((4, space.dim)):
        _check_minimum(checked, space, ws, slope)


def _value(checked: Checked, space: WeightSpace, w: Floats) -> float:
    """The value of a regularizer at a weight, after a check of it."""
    omega = checked.plugin
    require = checked.require
    value = checked.call("value", w, space)
    require(np.isfinite(value), f"value is {value!r}: return a finite float")
    require(value >= omega.floor(space) - BOUND_ROUNDING, f"value {value} is below floor")
    doubled = omega.scaled(2.0).value(w, space)
    require(
        np.isclose(doubled, 2.0 * value, rtol=BOUND_ROUNDING),
        f"scaled(2).value is {doubled} where value is {value}: return twice as much",
    )
    return float(value)


def _check_forms(checked: Checked, space: WeightSpace, ws: Sequence[Floats]) -> None:
    """Check that ``as_cvxpy`` equals the value, and ``as_quadratic`` up to a constant."""
    import cvxpy as cp

    omega = checked.plugin
    require = checked.require
    B, w_var, _ = space.variable()
    expression: Any = omega.as_cvxpy(B, w_var, space)
    quadratic = omega.as_quadratic(space)
    constants = []
    for w in ws:
        cp.Problem(cp.Minimize(0.0), [w_var == w]).solve(solver="CLARABEL")
        value = omega.value(w, space)
        reached = float(np.sum(expression.value))
        require(
            np.isclose(reached, value, rtol=ACCURACY, atol=ACCURACY),
            f"as_cvxpy is {reached} where value is {value}",
        )
        if quadratic is not None:
            curved = quadratic.curvature @ (w - quadratic.center) ** 2 / 2
            constants.append(value - float(curved + quadratic.linear @ w))
    spread = float(np.ptp(constants)) if constants else 0.0
    size = 1.0 + abs(omega.value(ws[-1], space))
    require(spread <= BOUND_ROUNDING * size, f"as_quadratic differs from value by {spread:.2g}")


def _check_minimum(
    checked: Checked, space: WeightSpace, ws: Sequence[Floats], slope: Floats
) -> None:
    """Check that ``minimum``, on which certificates rest, is a lower bound."""
    omega = checked.plugin
    require = checked.require
    scale = omega.max_scale(slope, space)
    require(0.0 <= scale <= 1.0, f"max_scale is {scale!r}: a number from 0 to 1")
    upper = max(omega.value(w, space) for w in ws)
    bound = omega.minimum(scale * slope, space, upper)
    for w in (*ws, *(space.project(-t * slope) for t in np.geomspace(1e-2, 10.0, 31))):
        value = omega.value(w, space)
        reached = value + scale * float(slope @ w)
        require(
            value > upper or reached >= bound - BOUND_ROUNDING * (1.0 + abs(value) + abs(reached)),
            f"minimum is {bound}, and a weight has {reached}: it has to be a lower bound",
        )


def check_master(master: Master, space: WeightSpace | None = None) -> None:
    """Check that a master minimises restricted problems over a cone, against cvxpy.

    The cone is the nonnegative orthant if none is given.

    Examples
    --------
    >>> from structsvm.solvers import NewtonMaster
    >>> from structsvm.testing import check_master
    >>> check_master(NewtonMaster())
    """
    checked = Checked.of(Master, master)
    space = space or Nonnegative(4)
    rng = np.random.default_rng(0)
    risk = Outline(space, SquaredNorm(0.5), None, N_GROUPS, is_convex=True)
    cuts = WorkingSet(N_GROUPS, space.dim)
    for n_cuts in (1, 2, 4):
        cuts.add(
            Cut(group, float(rng.uniform(0.2, 2.0)), rng.standard_normal(space.dim))
            for group, _ in product(range(N_GROUPS), range(n_cuts))
        )
        _check_restricted(checked, risk, cuts)


def _check_restricted(checked: Checked, risk: Regularized, cuts: WorkingSet) -> None:
    """Check the answer of a master to one restricted problem."""
    require = checked.require
    request = Request()
    space = risk.space
    slopes = cuts.slopes.copy()
    answer = checked.plugin.solve(risk, cuts, request)
    w = np.asarray(answer.w)
    alpha = np.asarray(answer.multipliers)
    require(
        w.shape == (space.dim,) and alpha.shape == (len(cuts),),
        f"shapes are {w.shape} and {alpha.shape} for {space.dim} weights and {len(cuts)} cuts",
    )
    require(np.array_equal(cuts.slopes, slopes), "it writes to the cuts: copy them")
    outside = float(np.abs(w - space.project(w)).max()) if answer.is_projected else 0.0
    require(outside <= BOUND_ROUNDING, f"is_projected, but w is {outside:.2g} outside")
    least = _minimum(risk, cuts)
    reached = _objective(risk, cuts, space.project(w))
    within = (acceptable(request.tol) + ACCURACY) * (1.0 + abs(least))
    require(reached <= least + within, f"it reached {reached}, the minimum is {least}")
    sums = np.bincount(cuts.groups, weights=alpha, minlength=cuts.n_groups)
    require(
        (alpha >= -ACCURACY).all() and (sums <= 1.0 + ACCURACY).all(),
        "multipliers are not negative and sum to at most 1 in each group",
    )
    proved = float(alpha @ cuts.intercepts)
    proved += risk.regularizer.minimum(alpha @ cuts.slopes, space, np.inf)
    require(
        proved >= least - 1e2 * within,
        f"its multipliers prove {proved}, the minimum is {least}: they are those of the cuts",
    )
    lower = least if answer.bound is None else answer.bound[0]
    require(lower <= least + within, f"it claims the lower bound {lower}, the minimum is {least}")


def _objective(risk: Regularized, cuts: WorkingSet, w: Floats) -> float:
    """The objective of a restricted problem."""
    return risk.penalty(w) + float(cuts.group_values(w).sum())


def _minimum(risk: Regularized, cuts: WorkingSet) -> float:
    """The minimum of a restricted problem by cvxpy."""
    return _objective(risk, cuts, CvxpyMaster("CLARABEL").solve(risk, cuts, Request(1e-9)).w)


def check_solver(solver: Solver) -> None:
    """Check the bounds of a solver of convex risks on a risk whose labellings are enumerated.

    Examples
    --------
    >>> from structsvm.solvers import CuttingPlane
    >>> from structsvm.testing import check_solver
    >>> check_solver(CuttingPlane())
    """
    checked = Checked.of(Solver, solver)
    rng = np.random.default_rng(0)
    objective = ChangePoint().objective("diagonal", 2)
    instances = [
        Instance(rng.standard_normal((len(y), 2)) + np.outer(y, [2.0, 0.0]))
        for y in LABELS_LEARNED_FROM
    ]
    truths = [EquivalenceMatrix.from_labels(np.array(y)) for y in LABELS_LEARNED_FROM]
    risk: Any = objective.risk(Examples(instances, truths), SquaredNorm(0.1))
    every = WorkingSet(len(truths), risk.space.dim)
    for i, (x, y, omega) in enumerate(zip(risk.xs, risk.ys, risk.sample_weight, strict=True)):
        truth = risk.problem.joint_feature(x, y)
        for M in map(EquivalenceMatrix.from_labels, all_segmentations(x.truth.n_samples)):
            slope = omega * (risk.problem.joint_feature(x, M) - truth)
            every.add([Cut(i, omega * risk.problem.loss(y, M), slope)])
    least = _minimum(risk, every)
    try:
        solver.check(risk)
        solution = solver.solve(risk)
        again = solver.solve(risk)
    except (LearningError, SettingsError, AssertionError) as error:
        checked.refuse(f"it finds no weight of a convex risk: {error}")
    require = checked.require
    lower = solution.lower
    upper = solution.upper
    gap = solution.gap
    reached = _objective(risk, every, solution.w)
    slack = ACCURACY * (1.0 + abs(least))
    require(lower <= least + slack, f"lower is {lower}, the minimum is {least}")
    said = f"upper is {upper}, the objective at the weight is {reached}"
    require(abs(upper - reached) <= slack, said)
    closed = not solution.status.converged or gap <= solver.stopping.tol + BOUND_ROUNDING
    require(closed, f"the status is {solution.status.name} with a gap of {gap:.2g}")
    null = _objective(risk, every, risk.null)
    require(reached <= null + slack, "the weight is worse than no learning")
    require(np.array_equal(solution.w, again.w), "the weight differs on a second run: seed it")
    entries = solution.history.entries
    lowers = [entry.lower for entry in entries]
    uppers = [entry.upper for entry in entries]
    improves = lowers == sorted(lowers) and uppers == sorted(uppers, reverse=True)
    require(improves, "bounds of the history are those of the best so far")
