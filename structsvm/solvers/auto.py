"""Solvers by name, and the default one."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from structsvm.errors import SettingsError, parameter
from structsvm.masters import Master
from structsvm.solvers.base import Solver
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.descent import CCCP, QuasiNewton
from structsvm.solvers.first_order import BlockFrankWolfe, ProjectedSubgradient
from structsvm.support import among, meant

CONVEX: dict[str, Callable[..., Solver]] = {
    "auto": CuttingPlane,
    "cutting-plane": CuttingPlane,
    "one-slack": partial(CuttingPlane, slack="one"),
    "frank-wolfe": BlockFrankWolfe,
    "subgradient": ProjectedSubgradient,
}
DESCENTS: dict[str, Callable[..., Solver]]
DESCENTS = {"auto": QuasiNewton, "quasi-newton": QuasiNewton, "cccp": CCCP}
"""The solvers of objectives that are not convex."""


def solver_from(
    name: str | Solver,
    stopping: Stopping | None = None,
    master: str | Master = "auto",
    slack: str = "n",
    *,
    convex: bool = True,
) -> Solver:
    """Return a given solver, or the solver of a name with a stopping rule.

    "auto" is the cutting-plane method, which takes every regularizer and constraint and is never
    far from the fastest (docs/solvers.md). ``master`` and ``slack`` are for it alone.

    Raises
    ------
    SettingsError
        When no solver or master has that name, or ``master`` or ``slack`` is given with a solver
        that is no cutting-plane method, or that is passed as an object.

    Examples
    --------
    >>> from structsvm.solvers import Stopping, solver_from
    >>> solver_from("one-slack", Stopping(tol=0.001)).slack
    'one'
    >>> type(solver_from("auto", convex=False)).__name__
    'QuasiNewton'
    """
    kinds = CONVEX if convex else DESCENTS
    if not isinstance(name, Solver) and not among(name, kinds):
        raise SettingsError(
            f"solver must be a Solver or one of {list(kinds)}, got {name!r}{meant(name, kinds)}"
        )
    settings = {} if master == "auto" else {"master": master}
    settings |= {} if slack == "n" else {"slack": slack}
    if settings and name not in ("auto", "cutting-plane", "one-slack"):
        (setting, value), *_ = settings.items()
        raise SettingsError(
            parameter(setting, value)
            + " goes with "
            + parameter("solver", "cutting-plane")
            + f" and not with {name!r}: "
            f"leave it alone, or set it on a Solver, CuttingPlane({setting}=...)"
        )
    if isinstance(name, Solver):
        return name
    made: Any = kinds[name](**settings if convex else {})
    solver: Solver = made if stopping is None else replace(made, stopping=stopping)
    return solver
