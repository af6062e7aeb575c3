"""Further constraints and regularizers as what they ask of a weight, in numbers.

A callable may read anything: a global, a file, a parameter of cvxpy. Its code does not tell whether
it stands for the problem that it stood for before; the problem that it makes does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.errors import SettingsError
from structsvm.problem import RegularizedRisk

if TYPE_CHECKING:
    import cvxpy as cp


def canonical_constraints(risk: RegularizedRisk) -> Any:
    """The cone of the weights with the further constraints; None if there are none."""
    if risk.constraints is None:
        return None
    import cvxpy as cp

    B, _, cone = risk.space.variable()
    return _canonical(cp.Problem(cp.Minimize(0), [*cone, *risk.further_constraints(B)]))


def canonical_regularizer(risk: RegularizedRisk) -> Any:
    """The regularizer itself if its formulas are known, otherwise the problem of minimising it."""
    omega, space = risk.regularizer, risk.space
    if omega.has_closed_form:
        return omega
    import cvxpy as cp

    B, w, cone = space.variable()
    data = _canonical(cp.Problem(cp.Minimize(omega.as_cvxpy(B, w, space)), cone))
    return [type(omega), data, omega.value(risk.null, space)]  # the data leave a constant out


def _canonical(problem: cp.Problem) -> dict[str, Any]:
    """The arrays that a solver would be given."""
    import cvxpy as cp

    for solver in dict.fromkeys(["CLARABEL", "SCS", *cp.installed_solvers()]):
        try:
            data = problem.get_problem_data(solver)[0]
        except cp.error.DCPError as error:
            raise SettingsError(
                f"the regularizer or a constraint is not convex: {error}"
            ) from error
        except (cp.error.SolverError, ValueError):  # not a problem for this solver
            continue
        plain = {name: _plain(value) for name, value in data.items()}
        return {"solver": solver, **{n: v for n, v in sorted(plain.items()) if v is not None}}
    raise SettingsError("no installed solver takes the regularizer or a constraint")


def _plain(value: Any) -> Any:
    """An array, the entries of a sparse one, or the sizes of cones; None for anything else."""
    if hasattr(value, "tocoo"):
        entries = value.tocoo()
        order = np.lexsort((entries.col, entries.row))
        rows, columns = entries.row[order].astype(np.int64), entries.col[order].astype(np.int64)
        return [value.shape, rows, columns, entries.data[order]]
    if type(value).__name__ == "ConeDims":
        return {name: str(size) for name, size in sorted(vars(value).items())}
    return value if isinstance(value, np.ndarray | int | float) else None
