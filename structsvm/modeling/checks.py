"""What is refused before any work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cvxpy as cp

from structsvm.errors import SettingsError
from structsvm.modeling.atoms import OracleAtom
from structsvm.modeling.restricted import mixed_integer_solvers
from structsvm.modeling.rewriting import atoms_of
from structsvm.support.checks import among
from structsvm.support.plain import shown


def check_problem(problem: cp.Problem) -> None:
    """Check that a problem is one for the method."""
    if not atoms_of(problem):
        raise SettingsError(
            "the problem has no atom with an oracle: call problem.solve() without "
            "method='cutting-plane'"
        )
    if not problem.variables():
        raise SettingsError(
            "the problem has no variables: the value of an expression is expression.value"
        )
    for variable in problem.variables():
        if variable.is_complex():
            raise SettingsError(
                f"variable {variable.name()} is complex: write its real and its imaginary part as "
                "variables of their own"
            )
    for parameter in _parameters(problem):
        if parameter.value is None:
            raise SettingsError(f"parameter {parameter.name()} has no value: give it one")
    if not problem.is_dcp():
        raise SettingsError(_not_convex(problem))


def check_settings(
    problem: cp.Problem, slack: Any, solver: Any, callback: Any, warm_start: Any, verbose: Any
) -> None:
    """Check how a problem is to be solved."""
    if slack is None or not among(slack, ("n", "one")):
        raise SettingsError(f"slack must be 'n' or 'one', got {slack!r}")
    for name, flag in (("warm_start", warm_start), ("verbose", verbose)):
        if not isinstance(flag, bool):
            raise SettingsError(f"{name} must be True or False, got {flag!r}")
    if callback is not None and not callable(callback):
        raise SettingsError(f"callback must be a function or None, got {shown(callback)}")
    _check_solver(problem, solver)


def _check_solver(problem: cp.Problem, solver: Any) -> None:
    if solver is not None:
        installed = cp.installed_solvers()
        if not isinstance(solver, str) or solver.upper() not in installed:
            raise SettingsError(
                f"solver {solver!r} is not installed; these are: {', '.join(sorted(installed))}"
            )
    if not problem.is_mixed_integer():
        return
    fit = mixed_integer_solvers()
    if not fit:
        raise SettingsError(
            "some variables are boolean or integer, and no mixed-integer solver is installed: "
            "install one, such as HiGHS (pip install highspy)"
        )
    if solver is not None and solver.upper() not in fit:
        raise SettingsError(
            f"some variables are boolean or integer, which solver={solver!r} does not take; these "
            f"do: {', '.join(fit)}"
        )


def _parameters(problem: cp.Problem) -> Iterator[cp.Parameter]:
    yield from problem.parameters()
    for atom in atoms_of(problem):
        yield from atom.parameters_of_oracle


def _not_convex(problem: cp.Problem) -> str:
    """Which part of a problem is not convex by the rules of cvxpy."""
    parts: list[tuple[str, Any]] = [("the objective", problem.objective)]
    parts += [(f"constraint {k}", part) for k, part in enumerate(problem.constraints)]
    where, part = next((where, part) for where, part in parts if not part.is_dcp())
    atom = _held(part)
    if atom is None:
        return f"{where}, {part}, is not convex by the rules of cvxpy (DCP)"
    return (
        f"{where}, {part}, is not convex by the rules of cvxpy (DCP): {atom.called} is convex, so "
        "that it may be minimised and bounded from above, and stand in what is convex and "
        "increasing in it; declare its sign if that is what the rules lack"
    )


def _held(node: Any) -> OracleAtom | None:
    if isinstance(node, OracleAtom):
        return node
    found = (_held(arg) for arg in getattr(node, "args", []))
    return next((atom for atom in found if atom is not None), None)
