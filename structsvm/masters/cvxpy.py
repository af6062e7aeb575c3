"""The master as a cvxpy problem: any cone, any regularizer, any further constraint, any solver."""

from __future__ import annotations

import logging
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.errors import MasterError, SettingsError, without_warnings
from structsvm.masters.base import (
    Master,
    MasterSolution,
    Request,
    WorkingSet,
    checked,
)
from structsvm.problem import Regularized
from structsvm.weights import PSD, factors_of

if TYPE_CHECKING:
    import cvxpy as cp

logger = logging.getLogger("structsvm")

LARGE_ORDER = 40
"""Order of a matrix beyond which an interior point method is slower than SCS."""

PRECISE = 1e-7
"""Tolerance below which every solver is told to be as accurate as it can."""

# Of semidefinite programs Clarabel reaches 1e-11 on some processors, and calls a quarter of its
# answers inaccurate on others.
PRECISE_OPTIONS: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 100_000},
    "OSQP": {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iter": 200_000},
    "PIQP": {"eps_abs": 1e-11, "eps_rel": 1e-11},
}
USUAL_OPTIONS: dict[str, dict[str, Any]] = {
    "SCS": {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iters": 20_000},
    "OSQP": {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iter": 100_000},
}


@dataclass(frozen=True)
class CvxpyMaster(Master):
    """A master that solves the conic program of all cuts with cvxpy.

    Parameters
    ----------
    solver : str
        Name of any solver cvxpy has installed, or "auto": Clarabel, or SCS for large matrices; when
        one fails or calls itself inaccurate the next is tried, and the label says so.

    Examples
    --------
    >>> from structsvm.solvers import CuttingPlane, CvxpyMaster
    >>> CuttingPlane(master="clarabel").master == CvxpyMaster("clarabel")
    True
    """

    solver: str = "auto"

    def __post_init__(self) -> None:
        if self.solver == "auto":
            return
        import cvxpy as cp

        installed = cp.installed_solvers()
        if self.solver.upper() not in installed:
            raise SettingsError(
                f"solver {self.solver!r} is not installed; these are: "
                f"{', '.join(sorted(installed))} (or 'auto')"
            )

    def solve(self, risk: Regularized, cuts: WorkingSet, request: Request) -> MasterSolution:
        """Solve the restricted problem; MasterError if no solver finds a finite minimum."""
        import cvxpy as cp

        B, w, constraints = risk.space.variable()
        objective = risk.regularizer.as_cvxpy(B, w, risk.space)
        if (near := request.proximal) is not None:
            objective = objective + 0.5 * near.weight * cp.sum_squares(w - near.center)
        stack = None
        if len(cuts):
            slacks = cp.Variable(cuts.n_groups, nonneg=True)
            stack = slacks[cuts.groups] >= cuts.intercepts + cuts.slopes @ w
            objective, constraints = objective + cp.sum(slacks), [*constraints, stack]
        further = risk.further_constraints(B)
        problem = cp.Problem(cp.Minimize(objective), [*constraints, *further])
        precise = request.tol < PRECISE
        usual = ["CLARABEL", "SCS"]
        factors = factors_of(risk.space)
        is_large = any(isinstance(cone, PSD) and cone.order > LARGE_ORDER for cone in factors)
        if is_large and not precise:
            usual.reverse()
        if (own := self.solver.upper()) != "AUTO":
            usual = [own, *(name for name in usual if name != own)]
        label = solve_with(problem, usual, precise)
        dual = np.zeros(0) if stack is None else np.atleast_1d(stack.dual_value)
        duals = tuple(constraint.dual_value for constraint in further) if further else None
        return checked(MasterSolution(np.asarray(w.value), dual, label, duals=duals), risk, cuts)


def solved(master: Master, risk: Regularized, cuts: WorkingSet, request: Request) -> MasterSolution:
    """Solve the restricted problem, by a conic solver where the master does not apply or fails."""
    if not master.handles(risk):
        master = CvxpyMaster()
    try:
        return checked(master.solve(risk, cuts, request), risk, cuts)
    except (MasterError, ArithmeticError, ValueError) as error:  # LinAlgError is one
        if isinstance(error, SettingsError) or isinstance(master, CvxpyMaster):
            raise
        logger.info("the master failed (%s): the conic solver takes over", error)
        answer = checked(CvxpyMaster().solve(risk, cuts, request), risk, cuts)
        return replace(answer, label=f"master failed: {error}, {answer.label}")


def solve_by(problem: cp.Problem, solver: str | None, options: Mapping[str, Any]) -> None:
    """As ``problem.solve`` does, except that Ctrl-C is answered where a solver has taken it."""
    data, chain, inverse = problem.get_problem_data(solver, solver_opts=dict(options))
    raw = chain.solve_via_data(problem, data, warm_start=True, solver_opts=dict(options))
    info = raw.get("info") if isinstance(raw, Mapping) else getattr(raw, "info", None)
    status = info.get("status") if isinstance(info, Mapping) else getattr(info, "status", None)
    if status == "interrupted":  # SCS and OSQP have taken Ctrl-C for themselves
        signal.raise_signal(signal.SIGINT)
    problem.unpack_results(raw, chain, inverse)


def solve_with(problem: cp.Problem, solvers: list[str], precise: bool) -> str:
    """Solve with the first of ``solvers`` that is accurate; who did, and who failed before."""
    import cvxpy as cp

    tried: list[str] = []
    inaccurate = None
    options = PRECISE_OPTIONS if precise else USUAL_OPTIONS
    for name in solvers:
        try:
            with without_warnings(Warning):
                solve_by(problem, name, options.get(name, {}))
        except cp.error.DCPError as error:
            raise SettingsError(f"a regularizer or constraint is not convex: {error}") from error
        except (cp.error.SolverError, ValueError, ArithmeticError):
            tried.append(f"{name.lower()} failed")
            continue
        if problem.status == cp.OPTIMAL:
            return ", ".join([*tried, name.lower()])
        tried.append(f"{name.lower()} {problem.status}")
        if problem.status == cp.OPTIMAL_INACCURATE:
            inaccurate = problem.solution
    if inaccurate is not None:
        problem.unpack(inaccurate)  # a later solver that found none took the values away
        return ", ".join(tried)
    reasons = {
        cp.UNBOUNDED: "is unbounded: the regularizer is not nonnegative; use one that is, a norm",
        cp.INFEASIBLE: "is infeasible: do the extra constraints contradict each other?",
    }
    failed = f"could be solved by none: {', '.join(tried)}"
    raise MasterError(f"the master {reasons.get(str(problem.status), failed)}")
