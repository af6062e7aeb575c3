"""How a run ended, and what an answer certifies."""

from __future__ import annotations

from enum import Enum

__all__ = ["Quality", "Status"]


class Quality(Enum):
    """What an oracle's answer certifies; the value is the sentence a person reads.

    Examples
    --------
    >>> from structsvm.partitions import Quality
    >>> print(Quality.EXACT.value)
    the maximum over all labellings
    """

    EXACT = "the maximum over all labellings"
    RELAXATION = "the maximum of a relaxation: an upper bound over labellings"
    HEURISTIC = "a good labelling: a lower bound only"


class Status(Enum):
    """How a solver ended; the value is the sentence a person reads.

    Examples
    --------
    >>> from structsvm import Status
    >>> Status.OPTIMAL.converged, Status.MAX_SECONDS.converged
    (True, False)
    >>> print(Status.MAX_SECONDS.value)
    stopped after max_seconds before the tolerance was reached
    """

    OPTIMAL = "optimal within the tolerance: the certified relative gap is at most tol"
    MAX_ITER = "stopped at max_iter before the tolerance was reached: raise max_iter or tol"
    MAX_SECONDS = "stopped after max_seconds before the tolerance was reached"
    MAX_CALLS = "stopped after max_calls oracle calls before the tolerance was reached"
    INTERRUPTED = "interrupted: the best iterate is returned"
    STALLED = "stalled: no labelling violates its cut, and the master cannot be more accurate"
    MASTER_FAILED = "stopped because the master failed: the best iterate is returned"
    RELAXED = (
        "optimal for the oracle's relaxation, whose value bounds the true objective from above"
    )
    HEURISTIC = "no better labelling was found, but a heuristic oracle cannot certify optimality"
    CONTRADICTED = "the bounds cross: a heuristic oracle found less than there is"
    STATIONARY = "stationary within the tolerance: a local minimum of a nonconvex objective"
    NOTHING_TO_LEARN = "the null metric is already optimal within the tolerance: nothing to learn"
    CLOSED_FORM = "computed in closed form: no objective was minimised, and nothing is certified"

    @property
    def converged(self) -> bool:
        """Whether the solver reached its tolerance, as far as its oracle allows, or had none."""
        return self in (
            Status.OPTIMAL,
            Status.RELAXED,
            Status.HEURISTIC,
            Status.STATIONARY,
            Status.NOTHING_TO_LEARN,
            Status.CLOSED_FORM,
        )
