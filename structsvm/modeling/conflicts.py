"""The constraints of an infeasible program that contradict each other."""

from itertools import chain

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, Equality, Inequality

from structsvm.errors import MasterError, without_warnings
from structsvm.masters import NO_SLACK, PRECISE_OPTIONS, WorkingSet
from structsvm.modeling.restricted import SCALES, Restriction
from structsvm.modeling.rewriting import Rewritten
from structsvm.support import Floats

SEEN = 1e-9
"""Slack above which a constraint is named, in units of the data."""


def conflicts(
    rewritten: Rewritten, w_units: Floats, cuts: WorkingSet, constraints: list[cp.Constraint]
) -> tuple[str, ...]:
    """The constraints of the user that have to be relaxed, in words, by an elastic program.

    Raises MasterError if none has to be, because then a solver was wrong.
    """
    restriction = Restriction.in_sizes(rewritten, w_units, cuts)
    slacks: dict[int, cp.Variable] = {}
    outside = cp.Variable(nonneg=True)
    elastic: list[cp.Constraint] = list(restriction.links)
    for k, constraint in enumerate(restriction.constraints):
        args = constraint.args
        if k < len(constraints) and isinstance(constraint, Inequality | Equality | PSD):
            slacks[k] = slack = cp.Variable(nonneg=True)
            if isinstance(constraint, PSD):
                constraint = args[0] + slack * np.eye(args[0].shape[0]) >> 0
            elif isinstance(constraint, Inequality):
                constraint = args[0] <= args[1] + slack
            else:
                constraint = cp.abs(args[0] - args[1]) <= slack
        elastic.append(constraint)
    if cuts:
        elastic.append(restriction.rows(cuts, outside))
    relaxed = cp.Problem(cp.Minimize(outside + sum(slacks.values())), elastic)
    try:
        with without_warnings(Warning):
            if relaxed.is_mixed_integer():
                relaxed.solve()
            else:
                relaxed.solve(solver="CLARABEL", **PRECISE_OPTIONS["CLARABEL"])
    except cp.error.SolverError:
        return ()
    excess = {k: float(s.value) for k, s in slacks.items() if s.value is not None}
    beyond = 0.0 if outside.value is None else float(outside.value)
    if relaxed.status == cp.OPTIMAL and max([beyond, *excess.values()]) <= SEEN:
        raise MasterError(f"no point of the restricted problem was found: {SCALES}")
    units = [float(np.max(unit)) for unit in restriction.constraint_units]
    theirs = [
        f"constraint {k}, {constraints[k]} (by {value * units[k]:.3g})"
        for k, value in excess.items()
        if value > SEEN
    ]
    if beyond > SEEN:
        words = ", ".join(
            sorted({rewritten.stand_ins[a].atom.called for a in _without_slack(cuts)})
        )
        theirs.append(f"the planes of Infeasible(value, slope) that {words} returned")
    return tuple(theirs)


def _without_slack(cuts: WorkingSet) -> list[int]:
    """The numbers of the atoms that have rows without a slack."""
    rows = np.flatnonzero(cuts.groups == NO_SLACK)
    labellings = cuts.state()["labellings"][rows]
    return [labelling[0] for labelling in chain.from_iterable(labellings)]
