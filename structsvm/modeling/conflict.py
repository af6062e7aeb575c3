"""Which constraints of an infeasible problem contradict the others."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, Equality, Inequality, NonNeg, NonPos, Zero

from structsvm.modeling.program import CvxpyProgram
from structsvm.support.quiet import without_warnings

SEEN = 1e-6
"""A slack below which a constraint is kept."""


def conflicting(problem: cp.Problem, program: CvxpyProgram) -> tuple[str, ...]:
    """The constraints of the user that have to give way, in words, by an elastic program."""
    assert program.solver is not None
    restriction, cuts = program.solver.restriction, program.cuts
    slacks: dict[int, cp.Variable] = {}
    kept: list[cp.Constraint] = []
    for k, constraint in enumerate(restriction.constraints):
        slack = cp.Variable(nonneg=True)
        relaxed = _relaxed(constraint, slack) if k < len(problem.constraints) else None
        if relaxed is not None:
            slacks[k] = slack
        kept += [constraint] if relaxed is None else relaxed
    if cuts is not None and len(cuts):
        kept.append(restriction.rows(cuts))
    links = restriction.problem.constraints[len(restriction.constraints) :]
    elastic = cp.Problem(cp.Minimize(sum(slacks.values())), [*links, *kept])
    if not slacks:
        return ()
    try:
        with without_warnings(Warning):
            elastic.solve(solver=None if restriction.prepared.is_mixed_integer else "CLARABEL")
    except cp.error.SolverError:
        return ()
    if elastic.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        return ()
    found = {k: slack.value for k, slack in slacks.items() if slack.value is not None}
    units = [float(np.max(unit)) for unit in restriction.units.constraints]
    return tuple(
        f"constraint {k}, {problem.constraints[k]} (by {float(value) * units[k]:.3g})"
        for k, value in found.items()
        if float(value) > SEEN
    )


def _relaxed(constraint: cp.Constraint, slack: cp.Variable) -> list[cp.Constraint] | None:
    """The constraint with a slack; None for a kind that has no place for one."""
    found: list[cp.Constraint] | None = None
    if isinstance(constraint, Inequality):
        found = [constraint.args[0] <= constraint.args[1] + slack]
    elif isinstance(constraint, Equality):
        found = [cp.abs(constraint.args[0] - constraint.args[1]) <= slack]
    elif isinstance(constraint, Zero):
        found = [cp.abs(constraint.args[0]) <= slack]
    elif isinstance(constraint, NonPos):
        found = [constraint.args[0] <= slack]
    elif isinstance(constraint, NonNeg):
        found = [constraint.args[0] >= -slack]
    elif isinstance(constraint, PSD):
        found = [constraint.args[0] + slack * np.eye(constraint.args[0].shape[0]) >> 0]
    return found
