"""What is refused before any work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import cvxpy as cp

from structsvm.errors import SettingsError
from structsvm.modeling.atoms import OracleAtom
from structsvm.modeling.restricted import mixed_integer_solvers
from structsvm.modeling.rewriting import atoms_of

REWRITINGS = ("gp", "qcp", "requires_grad", "enforce_dpp", "ignore_dpp")


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
    for atom in atoms_of(problem):
        inside = [v for arg in atom.args for v in arg.variables()]
        touched = [v.name() for v in inside if v.is_complex()]
        if touched:
            raise SettingsError(
                f"{atom.called} depends on {touched[0]}, which is complex: write its real and its "
                "imaginary part as variables of their own"
            )
    for parameter in _parameters(problem):
        if parameter.value is None:
            raise SettingsError(f"parameter {parameter.name()} has no value: give it one")
    if not problem.is_dcp():
        raise SettingsError(_not_convex(problem))


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse settings of ``Problem.solve`` that would reach the solver."""
    for name in REWRITINGS:
        if options.get(name):
            raise SettingsError(
                f"{name}=True is not for cutting planes, which solve convex problems (DCP) without "
                "derivatives of the solution: leave it out"
            )


def check_solver(problem: cp.Problem, solver: str | None) -> None:
    """Check that a solver is installed, and takes integers where there are some."""
    if solver is not None:
        installed = cp.installed_solvers()
        if solver.upper() not in installed:
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
