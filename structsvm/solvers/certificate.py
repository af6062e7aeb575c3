"""The best bounds of a run so far, its history, and when it stops."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import CertificateError
from structsvm.masters import CERTIFIED, ROUNDING_OF_SUMS, Planes, weakest
from structsvm.problem import History, HistoryEntry, Quality, Solution, Status, relative_gap
from structsvm.support import Floats, refuse_below, refuse_unless

__all__ = ["ADMISSIBLE", "KEPT_EXACTLY", "Certificate", "of_relaxed"]
ADMISSIBLE = 1e-6
"""Largest violation of further constraints, relative to their terms, of a weight that counts as
admissible: conic solvers keep constraints to their accuracy only."""
CROSSED = 1e-6
"""Part of the scale of a program by which its bounds may cross, because of broken constraints."""
KEPT_EXACTLY = 1e-12
"""Largest violation of further constraints, relative to their terms, through rounding alone."""
NOTICEABLE = 1e-9
"""Least loss of the null weight, relative to the terms of the losses, that gaps are relative to:
below it only rounding could be gained."""
KINDS_OF_ENTRY = (int, float, int, float, float, float, int, str)
"""Types of what an entry of the history holds."""
STORED_BOUNDS = ("null", "at_null", "lower", "upper", "certified_upper")


class Certificate:
    """Bounds of ``min F`` that only ever improve, and the weight of the upper one."""

    def __init__(self, floor: float) -> None:
        self.null = self.at_null = np.inf
        self.scale: float | None = None
        """The unit of the gap of a program of cvxpy; None for a risk, whose unit is ``null``."""
        self.floor = self.lower = floor
        self.bound = CERTIFIED
        self.upper = self.certified_upper = np.inf
        self.paid = 0.0
        """The part of the upper bound that allows for constraints that its weight breaks."""
        self.best: Floats | None = None
        self.caught: str | None = None
        """The wrong claim of an oracle, in words, if one was found: nothing is certified then."""
        self.quality = Quality.EXACT
        """The weakest of the answers."""
        self.entries: list[HistoryEntry] = []
        self.weights: list[tuple[int, Floats]] = []
        """Numbers of iterations, and the best weight after each."""
        self._apart = 1
        """The number of iterations from one stored weight to the next."""
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the run began, those before it was interrupted included."""
        return time.perf_counter() - self._started

    @property
    def gap(self) -> float:
        """The relative gap between the bounds."""
        if self.scale is None:
            return relative_gap(self.lower, self.upper, self.null)
        distance = abs(self.upper - self.lower)  # a point may break constraints by a little
        return distance / self.scale if self.scale > 0 else float(distance > 0)

    def set_reference(self, null: Planes, is_answer: bool) -> None:
        """Store the losses of the null weight; ``is_answer``: whether it keeps the constraints.

        Gaps are relative to these losses alone: Omega at the null weight is zero for the usual
        regularizers, and for one that is centred elsewhere it may be much larger than the losses.
        """
        losses = float((null.values + null.slacks).sum())
        objective = losses + ROUNDING_OF_SUMS * (null.size + losses)
        self.null = max(objective, NOTICEABLE * null.size)
        self.at_null = objective + null.penalty if is_answer else np.inf

    def note_answers(self, evaluation: Planes) -> None:
        """Lower the quality to that of the answers, and store a wrong claim of an oracle."""
        self.quality = weakest((self.quality, evaluation.quality))
        if evaluation.caught is not None:
            self._catch(f"instance {evaluation.caught}: a labelling worse than the true one")

    def _catch(self, what: str) -> None:
        """Treat all oracles as heuristic from now on, because one claimed a wrong maximum."""
        self.quality = Quality.HEURISTIC
        self.certified_upper = np.inf
        self.caught = self.caught or what

    def update_upper(
        self,
        evaluation: Planes,
        lower_values: Floats | None = None,
        count: bool = True,
        paid: float = 0.0,
    ) -> None:
        """Update the upper bound by an evaluation, unless ``count`` is False.

        ``lower_values`` are lower bounds of the losses by labellings found before, and ``paid`` is
        what the constraints that the weight breaks are worth.
        """
        self.note_answers(evaluation)
        losses = evaluation.values + evaluation.slacks
        if lower_values is not None:
            self.compare(losses, lower_values, evaluation.size)
            losses = np.maximum(losses, lower_values)
        total = float(losses.sum())
        penalty = evaluation.penalty + paid
        rounding = ROUNDING_OF_SUMS * (evaluation.size + total + abs(penalty))
        certified = penalty + max(total, evaluation.at_most) + rounding
        better = count and self.update_best(penalty + total + rounding, evaluation.w)
        if better:
            self.paid = paid
        if better and evaluation.quality is Quality.HEURISTIC:
            self.certified_upper = np.inf if self.caught else certified

    def compare(self, losses: Floats, lower_values: Floats, size: float) -> None:
        """Catch an exact oracle whose losses are below lower bounds; ``size`` is that of terms."""
        slips = 1e-7 * np.maximum(1e-7, np.abs(lower_values)) + ROUNDING_OF_SUMS * size
        worse = (lower_values > losses + slips).nonzero()[0]
        if worse.size and self.quality is not Quality.HEURISTIC:
            whose = f"instance {worse[0]}" if losses.size > 1 else "the instances taken together"
            self._catch(f"{whose}: a labelling worse than one found before or since")

    def pay(self, paid: float) -> None:
        """Replace the part of the upper bound that allows for broken constraints."""
        more = paid - self.paid
        self.paid = paid
        self.upper = self.upper + more
        self.certified_upper = self.certified_upper + more

    def update_best(self, upper: float, w: Floats) -> bool:
        """Store w and its objective, at most ``upper``, if it is the lowest; whether it is."""
        if not upper < self.upper:
            return False
        self.upper, self.best = upper, w
        self.certified_upper = np.inf if self.caught else upper
        return True

    def update_lower(self, bound: float, basis: str) -> bool:
        """Store a lower bound if it is the best so far; whether it is."""
        if not math.isfinite(bound) or bound <= self.lower:
            return False
        self.lower, self.bound = bound, basis
        return True

    def record(self, oracle_calls: int, n_cuts: int, label: str) -> HistoryEntry:
        """Add an iteration to the history."""
        now = (len(self.entries), self.seconds)
        bounds = (self.lower, self.upper, self.gap)
        self.entries.append(HistoryEntry(*now, oracle_calls, *bounds, n_cuts, label))
        return self.entries[-1]

    def keep_weight(self, most: int) -> None:
        """Store the best weight after an iteration; above ``most`` every second one is dropped."""
        iteration = len(self.entries) - 1
        if most == 0 or self.best is None or iteration % self._apart:
            return
        self.weights.append((iteration, self.best))
        if len(self.weights) > most:
            self.weights = self.weights[::2]
            self._apart *= 2

    @property
    def is_crossed(self) -> bool:
        """Whether the lower bound is above the upper one, both of which allow for rounding."""
        crossed = self.lower - self.upper
        if self.scale is not None:
            return crossed > CROSSED * self.scale
        if self.bound != CERTIFIED:  # weights keep further constraints to this accuracy only
            crossed -= ADMISSIBLE * (abs(self.lower) + abs(self.upper))
        return crossed > 0

    def status(self, tol: float) -> Status:
        """The status of a run that reached its tolerance."""
        if self.quality is Quality.HEURISTIC:
            return Status.CONTRADICTED if self.is_crossed else Status.HEURISTIC
        if self.nothing_to_learn(tol):
            return Status.NOTHING_TO_LEARN
        return Status.RELAXED if self.quality is Quality.RELAXATION else Status.OPTIMAL

    def nothing_to_learn(self, tol: float) -> bool:
        """Whether it is proved that no weight is better than the null weight by more than tol."""
        if not math.isfinite(self.at_null) or self.at_null - self.upper > tol * abs(self.at_null):
            return False
        return self.null - self.lower <= tol * abs(self.null)

    def header(self) -> dict[str, Any]:
        """The state in plain values, except the best weight."""
        plain = {
            name: getattr(self, name)
            for name in (*STORED_BOUNDS, "paid", "bound", "caught", "seconds")
        }
        return plain | {"quality": self.quality.name, "history": list(map(astuple, self.entries))}

    def restore(self, header: Mapping[str, Any], best: Floats | None) -> None:
        """Restore the state of :meth:`header`; LookupError, TypeError or ValueError if damaged."""
        for name in STORED_BOUNDS:
            setattr(self, name, float(header[name]))
        self.paid = float(header.get("paid", 0.0))
        self.caught = None if header["caught"] is None else str(header["caught"])
        self.bound = str(header["bound"])
        self.best = best
        self.quality = Quality[header["quality"]]
        self.entries = [
            HistoryEntry(*(kind(value) for kind, value in zip(KINDS_OF_ENTRY, row, strict=True)))
            for row in header["history"]
        ]
        self._started = time.perf_counter() - float(header["seconds"])

    def solution(self, status: Status, oracle_calls: int) -> Solution:
        """The best weight with its certificate; CertificateError if its bounds have crossed."""
        assert self.best is not None
        lower = min(self.lower, self.upper)
        bound = self.bound
        if self.quality is Quality.HEURISTIC:
            lower = self.lower  # above the upper one if the heuristic found too little
            bound = f"lower bound {bound}, upper bound as found by a heuristic oracle"
        elif self.is_crossed:
            raise CertificateError(
                f"the lower bound {self.lower!r} is above the upper bound {self.upper!r} by more "
                f"than rounding ({self.bound}): an oracle claims to be exact and is not, a "
                "regularizer is not convex, or a solver or a master of your own claims a bound "
                "that does not hold: check the plugin with structsvm.testing, or rescale data "
                "whose scales leave no digits"
            )
        elif self.quality is Quality.RELAXATION:
            bound = f"{bound}, for the relaxation"
        return Solution(
            w=self.best,
            lower=lower,
            upper=self.upper,
            certified_upper=self.certified_upper,
            null=self.null,
            status=status,
            n_iter=len(self.entries),
            oracle_calls=oracle_calls,
            seconds=self.seconds,
            bound=bound,
            history=History(tuple(self.entries), tuple(self.weights)),
        )


def of_relaxed(bound: str, broken: float) -> str:
    """The basis of bounds in words, with a remark if the point breaks constraints by that much."""
    if not broken > KEPT_EXACTLY:
        return bound
    return f"{bound}, the upper one for constraints relaxed by {broken:.1g} of their terms"


class BudgetSpentError(Exception):
    """Raised within a step when no time or no call is left; :meth:`Solver.solve` catches it."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


@dataclass(frozen=True)
class Stopping:
    """When a solver stops; the best certified iterate is returned in any case.

    Parameters
    ----------
    tol : float
        Certified relative gap (see :func:`structsvm.problem.relative_gap`).
    max_iter : int
        Most iterations, of about N oracle calls each, depending on the solver.
    max_seconds : float
        Wall time, checked between oracle calls after the first N of them; a call that never returns
        is not ended.
    max_calls : int or None
        Most oracle calls. The first N are always made, and no round of N begins that exceeds it.
    n_weights : int
        Number of best weights, evenly spread over the iterations, that the history keeps at most.

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
    n_weights: int = 0

    def __post_init__(self) -> None:
        refuse_unless(self.tol > 0, "tol", "> 0", self.tol)
        refuse_unless(self.max_seconds > 0, "max_seconds", "> 0", self.max_seconds)
        refuse_below(1, "max_iter", self.max_iter)
        refuse_below(0, "n_weights", self.n_weights)
        if self.max_calls is not None:
            refuse_below(1, "max_calls", self.max_calls)

    def part(self, entry: HistoryEntry) -> float:
        """An estimate of the part of a run that is done, if the gap closes geometrically."""
        if entry.gap <= self.tol:
            return 1.0
        spent = (entry.iteration + 1) / self.max_iter, entry.seconds / self.max_seconds
        calls = entry.oracle_calls / (self.max_calls or np.inf)
        closed = float(np.log(entry.gap) / np.log(self.tol)) if entry.gap < 1.0 else 0.0
        return max(*spent, calls, closed)


@dataclass(frozen=True)
class Step:
    """The report of an iteration of a solver.

    Examples
    --------
    >>> from structsvm.solvers import Step
    >>> Step("subgradient").label
    'subgradient'
    """

    label: str
    """The method or master that did the work, for the history."""
    n_cuts: int = 0
    stalled: bool = False
    """Whether nothing more can be gained."""
    stationary: bool = False
    """Whether it is a local minimum within the tolerance, for objectives that are not convex."""
    state: Callable[[], Mapping[str, NDArray[Any]]] = field(kw_only=True, default=dict)
    """The arrays with which ``Run.saved`` lets :meth:`Solver.steps` go on from here."""
