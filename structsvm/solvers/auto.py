"""The solver by name, and the one that suits most."""

from __future__ import annotations

from dataclasses import replace

from structsvm.errors import SettingsError
from structsvm.masters.base import Master
from structsvm.masters.newton import master_from
from structsvm.solvers.base import Solver, Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.descent import CCCP, QuasiNewton
from structsvm.solvers.first_order import BlockFrankWolfe, ProjectedSubgradient
from structsvm.support.checks import among, meant

SOLVER_NAMES = ("auto", "cutting-plane", "one-slack", "frank-wolfe", "subgradient")
DESCENT_NAMES = ("auto", "quasi-newton", "cccp")
"""The names of the solvers of objectives that are not convex."""


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
        When no solver or master has that name, or ``master`` or ``slack`` is given to what has
        none, or to a solver, which has its own.

    Examples
    --------
    >>> from structsvm.solvers import Stopping, solver_from
    >>> solver_from("one-slack", Stopping(tol=0.001)).slack
    'one'
    >>> type(solver_from("auto", convex=False)).__name__
    'QuasiNewton'
    """
    own = isinstance(name, Solver)
    names = SOLVER_NAMES if convex else DESCENT_NAMES
    if not own and not among(name, names):
        raise SettingsError(
            f"solver must be a Solver or one of {list(names)}, got {name!r}{meant(name, names)}"
        )
    if own or name in ("frank-wolfe", "subgradient"):
        for setting, value, usual in (("master", master, "auto"), ("slack", slack, "n")):
            if value != usual:
                raise SettingsError(
                    f"{setting}={value!r} goes with solver='cutting-plane' and not with {name!r}: "
                    f"leave it alone, or set it on a Solver, CuttingPlane({setting}=...)"
                )
    if isinstance(name, Solver):
        return name
    kinds: dict[str, type[BlockFrankWolfe | ProjectedSubgradient | CCCP]]
    kinds = {"frank-wolfe": BlockFrankWolfe, "subgradient": ProjectedSubgradient, "cccp": CCCP}
    found: Solver
    if name in kinds:
        found = kinds[name]()
    elif convex:
        slack = "one" if name == "one-slack" else slack
        found = CuttingPlane(slack=slack, master=master_from(master))
    else:
        found = QuasiNewton()
    return found if stopping is None else replace(found, stopping=stopping)
