"""How a run ended, what an answer certifies, and what a solver returns: plain, frozen values."""

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from structsvm.support import Floats, counted

__all__ = [
    "History",
    "HistoryEntry",
    "Quality",
    "Solution",
    "Status",
    "SupportLabelling",
    "relative_gap",
]


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
    NOTHING_TO_LEARN = "nothing to learn: without it the objective is optimal within the tolerance"
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


def relative_gap(lower: float, upper: float, null: float) -> float:
    """``(upper - lower) / (F(0) - lower)``, F(0) being the objective of the null metric.

    Relative to what learning can gain rather than to ``upper``: with many clusters every weight has
    an objective within a few per cent of F(0), so that a gap relative to ``upper`` says nothing.
    """
    if not math.isfinite(upper - lower):
        return math.inf
    room = null - lower if lower < null < math.inf else max(abs(upper), abs(lower))
    return (upper - lower) / room if room > 0 else 0.0


@dataclass(frozen=True)
class HistoryEntry:
    """The state of a run after one iteration."""

    iteration: int
    seconds: float
    """Wall time since the start."""
    oracle_calls: int
    """Separation oracle calls since the start."""
    lower: float
    """Best certified lower bound so far."""
    upper: float
    """Best certified upper bound so far: the objective at the best weight."""
    gap: float
    """The certified relative gap, see :func:`relative_gap`."""
    n_cuts: int
    """Size of the working set."""
    master: str
    """Which solver solved the master, and what it took to get there."""


@dataclass(frozen=True)
class History:
    """The iterations of a run, oldest first."""

    entries: tuple[HistoryEntry, ...] = ()
    weights: tuple[tuple[int, Floats], ...] = ()
    """Iterations and the best weight after each, where ``Stopping(n_weights=)`` asks for them."""


@dataclass(frozen=True, eq=False)
class SupportLabelling:
    """A wrong labelling that holds the weight where it is, with its Lagrange multiplier.

    The weight minimises ``Omega(w) + sum multiplier * <w, phi(x_i, y) - phi(x_i, y_i)>`` over the
    support labellings ``y``: no other labelling has a part in it. In the problem with a slack
    ``xi_i >= loss(y_i, y) + <w, phi(x_i, y) - phi(x_i, y_i)>`` for each instance, whose objective
    is ``Omega(w) + sum_i omega_i xi_i``, the multiplier is the dual value of that constraint.
    """

    instance: int | None
    """The number of the instance, from 0; None if only the cut of all together is known."""
    multiplier: float
    """At least 0; those of an instance sum to at most its weight ``omega_i``, and the rest is that
    of its true labelling."""
    labelling: Any
    """The wrong labelling as the problem keeps it: an :class:`~structsvm.EquivalenceMatrix` of a
    partition problem. None when it is not known, because it is a relaxation, or was found before
    an interrupted run went on."""
    truth: Any
    """The true labelling."""
    loss: float | None
    """The loss of the wrong labelling, in the units of the objective."""
    plane: tuple[float, Floats] | None = field(default=None, repr=False)
    """If the labelling is not known, the lower bound of the hinge loss of the instance (or of the
    weighted sum of them) that it gave: intercept and slope."""


@dataclass(frozen=True)
class Solution:
    """A weight with its certificate: ``lower <= min F <= F(w) <= upper``.

    A nonconvex objective has no lower bound (minus infinity) and no gap; ``stationarity`` says how
    close the weight is to a local minimum. What was computed in closed form has no bounds at all.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> recordings = relevant_changes(4, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> solution = MetricLearner().fit(*arrays_and_labels(recordings)).solution_
    >>> type(solution).__name__, bool(solution.lower <= solution.upper <= solution.null)
    ('Solution', True)
    >>> solution.status.name, bool(solution.gap <= 0.01)
    ('OPTIMAL', True)
    """

    w: Floats = field(repr=False)
    """The best weight found, (d,)."""
    lower: float
    upper: float
    """The objective at ``w``, with the labellings that the oracles found."""
    certified_upper: float
    """The same with what heuristic oracles say that they may have missed; infinity where they do
    not say, or where an oracle was caught finding less than it claims."""
    null: float
    """The objective without learning: F(0), of the null metric, or, of a segmenter of states, that
    of the weights that counts of the labels give. It is at least 1e-9 of
    the size of its terms, because a smaller difference is rounding and no gain."""
    status: Status
    n_iter: int
    oracle_calls: int
    seconds: float
    bound: str
    """What the lower bound rests on."""
    stationarity: float | None = None
    """``|w - Pi(w - grad F(w))|`` for an objective that is not convex, 0 at a local minimum."""
    history: History = field(repr=False, default_factory=History)
    support: tuple[SupportLabelling, ...] | None = field(repr=False, default=None)
    """The wrong labellings that the lower bound follows from, the heaviest first. None where the
    method has no multipliers (all solvers but :class:`~structsvm.solvers.CuttingPlane`), or where a
    run that had ended was looked up in its file."""
    duals: tuple[Any, ...] | None = field(repr=False, default=None)
    """Dual values of the further constraints, one for each in the order in which ``constraints``
    returns them, as cvxpy has them: of ``h(B) <= b``, what the objective falls by for a unit of
    ``b``. None without constraints."""
    oracle_seconds: float = math.nan
    """Wall time in calls of oracles, on all workers at once; not of a run that was resumed."""
    master_seconds: float = math.nan
    """Wall time in restricted problems."""

    @property
    def gap(self) -> float:
        """The certified relative gap, see :func:`relative_gap`."""
        return relative_gap(self.lower, self.upper, self.null)

    def summary(self) -> str:
        """Return one paragraph that says how the run ended and how good the answer is."""
        if self.status is Status.CLOSED_FORM:
            return f"{self.status.value}, {self.seconds:.1f} s."
        lines = (
            f"between {self.lower:.6g} and {self.upper:.6g} (without learning {self.null:.6g}), "
            f"relative gap {self.gap:.2g} ({self.bound})"
        )
        if self.stationarity is not None:
            lines = (
                f"{self.upper:.6g} (at the start {self.null:.6g}), projected gradient "
                f"{self.stationarity:.2g}"
            )
        return (
            f"{self.status.value}. Objective {lines}, {counted(self.n_iter, 'iteration')}, "
            f"{counted(self.oracle_calls, 'oracle call')}, {self.seconds:.1f} s."
        )
