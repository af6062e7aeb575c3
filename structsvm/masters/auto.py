"""The master by name, and the one that picks by case."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace

from structsvm.errors import MasterError
from structsvm.masters.base import DEFAULT_REQUEST, Master, MasterSolution, Request
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.masters.newton import NewtonMaster
from structsvm.masters.working_set import WorkingSet
from structsvm.problem import Regularized

logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class AutoMaster(Master):
    """Newton for squared norms, traces and their sums, cvxpy for everything else.

    Where Newton fails cvxpy takes over. Measured in docs/solvers.md: Newton is hundreds of times
    faster than conic solvers on large semi-definite matrices.

    Examples
    --------
    >>> from structsvm.solvers import AutoMaster, CuttingPlane, CvxpyMaster
    >>> CuttingPlane(master=AutoMaster(conic=CvxpyMaster("SCS"))).master.conic
    CvxpyMaster(solver='SCS')
    """

    newton: NewtonMaster = field(default_factory=NewtonMaster)
    conic: CvxpyMaster = field(default_factory=CvxpyMaster)

    def solve(
        self, risk: Regularized, cuts: WorkingSet, request: Request = DEFAULT_REQUEST
    ) -> MasterSolution:
        if not self.newton.handles(risk):
            return self.conic.solve(risk, cuts, request)
        try:
            return self.newton.solve(risk, cuts, request)
        except (MasterError, ArithmeticError, ValueError) as error:  # LinAlgError is one
            logger.info("%s: the conic solver takes over", error)
            answer = self.conic.solve(risk, cuts, request)
            return replace(answer, label=f"{error}, {answer.label}")


def master_from(name: str | Master) -> Master:
    """A master itself, or the one of a name."""
    if isinstance(name, Master):
        return name
    named: dict[str, Master] = {"auto": AutoMaster(), "newton": NewtonMaster()}
    return named.get(name.lower()) or CvxpyMaster(name)
