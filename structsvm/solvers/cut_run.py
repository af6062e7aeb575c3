"""What the cutting-plane method needs of a minimisation, of whatever kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from structsvm.masters.base import Master, MasterSolution, Request
from structsvm.masters.working_set import Cut, WorkingSet
from structsvm.regularizers import Quadratic
from structsvm.solvers.certificate import Certificate
from structsvm.solvers.plane_cache import PlaneCache
from structsvm.solvers.planes import Planes
from structsvm.support.arrays import Floats, Ints


class CutRun(ABC):
    """A minimisation under way that improves by cuts: those of a risk, or of a program."""

    certificate: Certificate
    saved: Mapping[str, NDArray[Any]] | None
    """What an interrupted run goes on from; None to begin."""

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """How many maxima there are, each of which an oracle knows."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """The number of weights, d."""

    @property
    @abstractmethod
    def form(self) -> Quadratic | None:
        """What is known beside the maxima, where that is a separable quadratic over a cone."""

    @property
    @abstractmethod
    def state(self) -> Mapping[str, NDArray[Any]] | None:
        """Where the solver begins, if not anew."""

    @property
    @abstractmethod
    def center(self) -> Floats | None:
        """What iterations may stay near."""

    @property
    @abstractmethod
    def stays_near(self) -> bool:
        """Whether there is a center that is worth staying near."""

    @abstractmethod
    def groups(self, slack: str) -> Ints:
        """The group of each maximum, (N,): as many groups as there are slacks."""

    @abstractmethod
    def working_set(self, groups: Ints) -> WorkingSet:
        """A working set without cuts."""

    @abstractmethod
    def start(self, groups: Ints, cache: PlaneCache | None = None) -> list[Cut]:
        """The cuts to begin with."""

    @abstractmethod
    def restricted(self, master: Master, cuts: WorkingSet, request: Request) -> MasterSolution:
        """What is minimised, with the cuts in place of the maxima, solved and checked.

        Raises
        ------
        MasterError
            When there is no solution.
        """

    @abstractmethod
    def between(self, answer: MasterSolution, cuts: WorkingSet, damping: float) -> Floats:
        """Where the oracles are called: at the master's weight, or nearer to the best one.

        ``damping`` is 0 for the master's weight, and below 1.
        """

    @abstractmethod
    def bound(self, cuts: WorkingSet, answer: MasterSolution) -> None:
        """Take note of the lower bound that follows from an answer of the master."""

    @abstractmethod
    def evaluate(
        self,
        w: Floats,
        groups: Ints,
        known: Floats | None = None,
        cache: PlaneCache | None = None,
    ) -> Planes:
        """Call every oracle at ``w``; a new upper bound, if ``w`` keeps the constraints.

        ``known`` are lower bounds of the groups' maxima at ``w``, from planes found before.
        """
