"""The solver by name, and the one that suits most."""

from __future__ import annotations

from structsvm.errors import SettingsError
from structsvm.masters.auto import master_from
from structsvm.masters.base import Master
from structsvm.solvers.base import Solver, Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.frank_wolfe import BlockFrankWolfe
from structsvm.solvers.subgradient import ProjectedSubgradient

__all__ = ["SOLVER_NAMES", "solver_from"]

SOLVER_NAMES = ("auto", "cutting-plane", "one-slack", "frank-wolfe", "subgradient")


def solver_from(
    name: str | Solver, stopping: Stopping | None = None, master: str | Master = "auto"
) -> Solver:
    """A solver itself, with its own stopping rule, or the one of a name with the one given.

    "auto" is the n-slack cutting-plane method, which takes every regularizer and constraint and is
    never far from the fastest (docs/solvers.md). ``master`` is for the cutting-plane methods.

    Raises
    ------
    SettingsError
        When no solver or master has that name; the message lists those there are.
    """
    if isinstance(name, Solver):
        return name
    stopping = stopping or Stopping()
    if name in ("auto", "cutting-plane", "one-slack"):
        slack = "one" if name == "one-slack" else "n"
        return CuttingPlane(stopping, slack, master_from(master))
    if name == "frank-wolfe":
        return BlockFrankWolfe(stopping)
    if name == "subgradient":
        return ProjectedSubgradient(stopping)
    raise SettingsError(f"solver must be a Solver or one of {list(SOLVER_NAMES)}, got {name!r}")
