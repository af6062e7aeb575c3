"""The master by name, and the one that picks by case."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace

from structsvm.cuts import WorkingSet
from structsvm.errors import MasterError
from structsvm.masters.base import USUAL, Master, MasterSolution, Request
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.masters.newton import NewtonMaster
from structsvm.problem import RegularizedRisk

__all__ = ["AutoMaster", "master_from"]

logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class AutoMaster(Master):
    """The Newton master where it applies, cvxpy elsewhere and when Newton stalls.

    Measured in docs/solvers.md: Newton is never slower, and hundreds of times faster on large
    semi-definite matrices.
    """

    newton: NewtonMaster = field(default_factory=NewtonMaster)
    conic: CvxpyMaster = field(default_factory=CvxpyMaster)

    def solve(
        self, risk: RegularizedRisk, cuts: WorkingSet, request: Request = USUAL
    ) -> MasterSolution:
        """Solve the restricted problem; the label says who did, and who failed before."""
        if not self.newton.handles(risk):
            return self.conic.solve(risk, cuts, request)
        try:
            return self.newton.solve(risk, cuts, request)
        except (MasterError, ArithmeticError, ValueError) as error:  # LinAlgError is a ValueError
            logger.info("%s: the conic solver takes over", error)
            answer = self.conic.solve(risk, cuts, request)
            return replace(answer, label=f"{error}, {answer.label}")


def master_from(name: str | Master) -> Master:
    """A master itself, or the one of a name: "auto", "newton", or a solver cvxpy has installed.

    Raises
    ------
    SettingsError
        When no solver has that name; the message lists those there are.
    """
    if isinstance(name, Master):
        return name
    named: dict[str, Master] = {"auto": AutoMaster(), "newton": NewtonMaster()}
    return named.get(name.lower()) or CvxpyMaster(name)
