"""When a run stops, and what an iteration says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.solution import HistoryEntry
from structsvm.status import Status
from structsvm.support.checks import refuse_below, refuse_unless


class RunOverError(Exception):
    """Ends the iterations of a run; never leaves :meth:`Solver.solve`."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


class BudgetSpentError(RunOverError):
    """Ends the iterations of a run within a step."""


@dataclass(frozen=True)
class Stopping:
    """When to stop; the best certified iterate is returned in any case.

    Parameters
    ----------
    tol : float
        Certified relative gap (see :func:`structsvm.solution.relative_gap`).
    max_iter : int
        Iterations; what one is depends on the solver, about N oracle calls in each of them.
    max_seconds : float
        Wall time. Looked at between oracle calls, after the first N of them; a call that never
        returns is not ended.
    max_calls : int or None
        Oracle calls. The first N are always made, and no round of N is begun that exceeds it.

    Examples
    --------
    >>> from structsvm.solvers import Stopping
    >>> Stopping(tol=0.001, max_seconds=60.0).max_iter
    200
    """

    tol: float = 1e-2
    max_iter: int = 200
    max_seconds: float = np.inf
    max_calls: int | None = None

    def __post_init__(self) -> None:
        for name in ("tol", "max_seconds"):
            refuse_unless(getattr(self, name) > 0, name, "> 0", getattr(self, name))
        refuse_below(1, "max_iter", self.max_iter)
        if self.max_calls is not None:
            refuse_below(1, "max_calls", self.max_calls)

    def seconds_left(self, seconds: float, oracle_calls: int) -> float:
        """The seconds left after these, for the last of so many oracle calls.

        Raises
        ------
        BudgetSpentError
            When the time is over, or these are too many calls.
        """
        if seconds > self.max_seconds:
            raise BudgetSpentError(Status.MAX_SECONDS)
        if self.max_calls is not None and oracle_calls > self.max_calls:
            raise BudgetSpentError(Status.MAX_CALLS)
        return self.max_seconds - seconds

    def part(self, entry: HistoryEntry) -> float:
        """A guess of how much of a run is done, from 0 to 1, by a gap that closes geometrically."""
        spent = [(entry.iteration + 1) / self.max_iter, entry.seconds / self.max_seconds]
        if self.max_calls is not None:
            spent.append(entry.oracle_calls / self.max_calls)
        if entry.gap <= self.tol:
            return 1.0
        if entry.gap < 1.0:
            spent.append(float(np.log(entry.gap) / np.log(self.tol)))
        return max(spent)


@dataclass(frozen=True)
class Step:
    """Report of an iteration.

    Examples
    --------
    >>> from structsvm.solvers import Step
    >>> Step("subgradient").label
    'subgradient'
    """

    label: str
    """Who did the work, for the history."""
    n_cuts: int = 0
    stalled: bool = False
    """Nothing more can be gained."""
    stationary: bool = False
    """A local minimum within the tolerance, for objectives that are not convex."""
    state: Callable[[], Mapping[str, NDArray[Any]]] = field(kw_only=True, default=dict)
    """The arrays with which ``Run.saved`` makes :meth:`Solver.iterate` go on from here."""
