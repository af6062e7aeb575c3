"""The master by name, and the one that picks by case."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from structsvm.errors import MasterError, SettingsError
from structsvm.masters.active_set import ActiveSetMaster
from structsvm.masters.base import DEFAULT_REQUEST, Master, MasterSolution, Request
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.masters.interior import InteriorPointMaster
from structsvm.masters.newton import NewtonMaster
from structsvm.masters.working_set import WorkingSet
from structsvm.problem import Regularized

logger = logging.getLogger("structsvm")

LARGE = 200
"""Order of the interior points' linear systems beyond which Newton's are far smaller."""


@dataclass(frozen=True)
class AutoMaster(Master):
    """Interior points for diagonal metrics, Newton for full ones, cvxpy for everything else.

    Squared norms of at most 16 weights and 2 to 16 slacks have an active-set method of their own,
    while there are at most 96 cuts. When one fails the next takes over. Measured in
    docs/solvers.md: Newton is hundreds of times faster than conic solvers on large semi-definite
    matrices; interior points are up to 26 times faster than Newton on diagonal ones, but for
    squared norms with many cuts of many weights.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.solvers import AutoMaster, CuttingPlane, CvxpyMaster
    >>> patient = AutoMaster(conic=CvxpyMaster("SCS"))
    >>> MetricLearner(solver=CuttingPlane(master=patient)).solver.master.conic
    CvxpyMaster(solver='SCS')
    """

    newton: NewtonMaster = field(default_factory=NewtonMaster)
    conic: CvxpyMaster = field(default_factory=CvxpyMaster)
    interior: InteriorPointMaster = field(default_factory=InteriorPointMaster)

    def __post_init__(self) -> None:
        """Check that these are what takes over."""
        kinds = {"newton": NewtonMaster, "conic": CvxpyMaster, "interior": InteriorPointMaster}
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise SettingsError(
                    f"{name} must be a {kind.__name__}, got {getattr(self, name)!r}"
                )

    def solve(
        self, risk: Regularized, cuts: WorkingSet, request: Request = DEFAULT_REQUEST
    ) -> MasterSolution:
        """Solve the restricted problem; the label says who did, and who failed before."""
        failures: list[str] = []
        for master in self._fast_masters(risk, cuts, request):
            try:
                answer = master.solve(risk, cuts, request)
            except (MasterError, ArithmeticError, ValueError) as error:  # LinAlgError is one
                logger.info("%s: the next master takes over", error)
                failures.append(str(error))
            else:
                return _after(failures, answer)
        answer = self.conic.solve(risk, cuts, request)
        return _after(failures, answer)

    def _fast_masters(
        self, risk: Regularized, cuts: WorkingSet, request: Request
    ) -> Iterator[Master]:
        tiny = ActiveSetMaster()
        if request.proximal is None and tiny.handles(risk, cuts):
            yield tiny
        for master in self._general_masters(risk, cuts, request):
            if master.handles(risk):
                yield master

    def _general_masters(
        self, risk: Regularized, cuts: WorkingSet, request: Request
    ) -> list[InteriorPointMaster | NewtonMaster]:
        """The likely fastest first; either may not apply."""
        if min(len(cuts), risk.space.dim) > LARGE:  # Newton looks at the few cuts that matter
            omega = risk.quadratic
            if request.proximal is not None or (omega is not None and omega.curvature.min() > 0):
                return [self.newton, self.interior]
        return [self.interior, self.newton]


def _after(failures: Sequence[str], answer: MasterSolution) -> MasterSolution:
    """An answer whose label says which masters failed before it."""
    if not failures:
        return answer
    return replace(answer, label=", ".join([*failures, answer.label]))


def master_from(name: str | Master) -> Master:
    """A master itself, or the one of a name."""
    if isinstance(name, Master):
        return name
    named: dict[str, Master] = {
        "auto": AutoMaster(),
        "interior": InteriorPointMaster(),
        "newton": NewtonMaster(),
    }
    if not isinstance(name, str):
        raise SettingsError(f"master must be a Master or the name of one, got {name!r}")
    return named.get(name.lower()) or CvxpyMaster(name)
