"""The master by cvxpy, for any cone, regularizer, further constraints and solver."""

import logging
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from structsvm.errors import MasterError, SettingsError, without_warnings
from structsvm.masters.base import Master, MasterSolution, Request, WorkingSet, checked
from structsvm.masters.conic import ConicProgram, units_in
from structsvm.problem import PSD, Regularized, factors_of
from structsvm.support import Floats

if TYPE_CHECKING:
    import cvxpy as cp

logger = logging.getLogger("structsvm")
LARGE_ORDER = 40  # order of a matrix above which interior points are slower than SCS
PRECISE = 1e-7  # tolerance below which PRECISE_OPTIONS are used
MAX_VIOLATION = 1e-7
"""Violation of constraints, relative to their terms, above which a problem is solved again in units
of its data."""

# Clarabel is not asked for more: for semidefinite programs it reaches 1e-11 on some processors, and
# on others it calls a quarter of such answers inaccurate.
PRECISE_OPTIONS: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 100_000},
    "OSQP": {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iter": 200_000},
    "PIQP": {"eps_abs": 1e-11, "eps_rel": 1e-11},
}
USUAL_SOLVER_OPTIONS: dict[str, dict[str, Any]] = {
    "SCS": {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iters": 20_000},
    "OSQP": {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iter": 100_000},
}


# ---- violations of constraints by a point, relative to the size of their terms


LEAST_SHARE = 1e-3
"""Part of the largest entry of a point that every entry counts for, at least, in sizes of terms."""


def sizes_of(variables: "Iterable[cp.Variable]") -> dict[int, Floats]:
    """The magnitudes of the values of variables by id, small ones raised to LEAST_SHARE."""
    sizes = {}
    for variable in variables:
        value = np.abs(np.asarray(variable.value, dtype=np.float64))
        sizes[id(variable)] = np.maximum(value, LEAST_SHARE * value.max(initial=0.0))
    return sizes


def broken_by(constraints: "Sequence[cp.Constraint]") -> tuple[float, list[Any]]:
    """The largest relative violation at the values of the variables, and all absolute ones."""
    variables = chain.from_iterable(constraint.variables() for constraint in constraints)
    sizes = sizes_of({v.id: v for v in variables}.values())
    amounts = [np.abs(np.asarray(constraint.violation())) for constraint in constraints]
    of_terms = [size_of_constraint(constraint, sizes) for constraint in constraints]
    return max(map(violation, amounts, of_terms), default=0.0), amounts


def size_of(node: Any, sizes: Mapping[int, Any]) -> Any:
    """For each entry of an expression, the sum of the magnitudes of its terms."""
    if id(node) in sizes:
        return sizes[id(node)]
    if node.args and (node.is_atom_affine() or node.is_pwl()):
        return np.abs(node.numeric([size_of(arg, sizes) for arg in node.args]))
    value = node.value
    return np.abs(value.toarray() if sp.issparse(value) else np.asarray(value))


def size_of_constraint(constraint: "cp.Constraint", sizes: Mapping[int, Any]) -> Any:
    """The size of each entry of an inequality or equality; of a cone one number, the largest."""
    from cvxpy.constraints import Equality, Inequality

    argument_sizes = [size_of(arg, sizes) for arg in constraint.args]
    if isinstance(constraint, Inequality | Equality):
        return np.maximum(argument_sizes[0], argument_sizes[1])
    return max(float(np.max(one, initial=0.0)) for one in argument_sizes)


def violation(amount: Any, size: Any) -> float:
    """The largest violation of the entries of a constraint, relative to its size."""
    if np.shape(size) != amount.shape:
        size = np.max(size, initial=0.0)
        amount = np.max(amount, initial=0.0)
    with np.errstate(divide="ignore"):
        shares = np.divide(amount, size, out=np.zeros_like(amount), where=amount > 0)
    return float(np.max(shares, initial=0.0))


def worth_by_duals(amount: Any, duals: Sequence[Any]) -> float:
    """An upper bound of what a violation gains, by the dual values of its constraint; 0 if None."""
    if any(dual is None for dual in duals):
        return 0.0
    if len(duals) == 1 and np.shape(duals[0]) == np.shape(amount):
        return float(np.sum(np.abs(duals[0]) * amount))
    # The violation of a cone is a distance, or the least eigenvalue, whose price is the trace.
    return float(np.max(amount, initial=0.0)) * sum(float(np.abs(dual).sum()) for dual in duals)


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
            objective = objective + cp.sum(slacks)
            constraints = [*constraints, stack]
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
        if further and (broken := broken_by(further)[0]) > MAX_VIOLATION:
            usual_solution = problem.solution
            if solve_in_units(problem) and broken_by(further)[0] < broken:
                label = f"{label}, clarabel in units of the data"
            else:
                problem.unpack(usual_solution)
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


def solve_by(problem: "cp.Problem", solver: str | None, options: Mapping[str, Any]) -> None:
    """``problem.solve``, with KeyboardInterrupt if the solver caught Ctrl-C itself."""
    data, chain, inverse = problem.get_problem_data(solver, solver_opts=dict(options))
    raw = chain.solve_via_data(problem, data, warm_start=True, solver_opts=dict(options))
    info = raw.get("info") if isinstance(raw, Mapping) else getattr(raw, "info", None)
    status = info.get("status") if isinstance(info, Mapping) else getattr(info, "status", None)
    if status == "interrupted":  # SCS and OSQP have taken Ctrl-C for themselves
        signal.raise_signal(signal.SIGINT)
    problem.unpack_results(raw, chain, inverse)


def solve_in_units(problem: "cp.Problem", room: float = 0.0) -> bool:
    """Solve by Clarabel in units of the data, with room in inequalities; whether that succeeded."""
    import cvxpy as cp

    try:
        data, chain, inverse = problem.get_problem_data("CLARABEL", solver_opts={})
    except (cp.error.SolverError, cp.error.DCPError):
        return False
    program = ConicProgram.of(data, 0.0)
    units = units_in(program)
    scaled = units.scaled(program).with_room(room).data
    raw = chain.solver.solve_via_data(scaled, False, False, dict(PRECISE_OPTIONS["CLARABEL"]))
    if str(raw.status) != "Solved":
        return False
    answer = SimpleNamespace(
        x=np.asarray(raw.x) * units.columns,
        z=np.asarray(raw.z) * (units.objective / units.rows),
        status="Solved",
        obj_val=raw.obj_val * units.objective,
        solve_time=raw.solve_time,
        iterations=raw.iterations,
    )
    with without_warnings(Warning):
        problem.unpack_results(answer, chain, inverse)
    return True


def solve_with(problem: "cp.Problem", solvers: list[str], precise: bool) -> str:
    """Solve with the first of ``solvers`` that is accurate; a label with the solvers tried."""
    import cvxpy as cp

    tried: list[str] = []
    inaccurate = None
    options = PRECISE_OPTIONS if precise else USUAL_SOLVER_OPTIONS
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
        problem.unpack(inaccurate)  # a later solver without a solution has cleared the values
        return ", ".join(tried)
    reasons = {
        cp.UNBOUNDED: "is unbounded: the regularizer is not nonnegative; use one that is, a norm",
        cp.INFEASIBLE: "is infeasible: do the extra constraints contradict each other?",
    }
    failed = f"could be solved by none: {', '.join(tried)}"
    raise MasterError(f"the master {reasons.get(str(problem.status), failed)}")
