"""Margins of changes: the cost of the best segmentation without one, and how often margins err.

The margin of a boundary t of the best segmentation M is

    (Tr(A M) - max { Tr(A M') : M' has no boundary within w samples of t }) / price,

0 where another segmentation is as good, and infinite where a constraint forces the boundary. It
is exact, because the oracles keep constraints exactly. With w = 0 it is about the very sample,
since the best segmentation without t then usually has a boundary right beside it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.errors import DataError, OracleError, SettingsError, parameter
from structsvm.partitions.change_levels import ChangeLevels
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import warn_of_rounding
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.problem import Quality
from structsvm.support import Bools, Floats, is_replaced, refuse_below

SMALLEST_MARGIN = 1e-6  # margins below this count as this: below it they are rounding
LEAST_FOUND = 0.1
"""A share of labelled changes that has to be found before margins say how rare false ones are: of
SKAB 0 and 2 in 56 were found by folds of one half, and false ones in 161 samples of the other."""
LARGEST_MARGIN = 1e6  # margins above this, infinite ones among them, count as this


def losses_without(
    segmentation: EquivalenceMatrix,
    value: float,
    constraint: Constraint,
    tolerance: int,
    best_value: Callable[[Constraint], float],
) -> Floats:
    """By how much less is found without a boundary near each of a segmentation's, (K - 1,)."""
    T = segmentation.n_samples
    losses = np.full(segmentation.n_clusters - 1, np.inf)
    for k, t in enumerate(segmentation.breakpoints[:-1]):
        near = range(max(t - tolerance, 1), min(t + tolerance, T - 1) + 1)
        if any(s in constraint.forced for s in near):
            continue
        without = replace(constraint, forbidden=(*constraint.forbidden, *near))
        try:
            losses[k] = max(value - best_value(without), 0.0)
        except OracleError:  # no segmentation is left
            continue
    return losses


def margins_of_best(
    problem: Any, instance: Any, objective: TraceObjective, constraint: Constraint, tolerance: int
) -> tuple[EquivalenceMatrix, Floats]:
    """The best segmentation of a recording, and what is lost without each of its changes."""
    oracle = problem.decoder(instance)
    is_usual = not is_replaced(problem, "partition")
    if not (problem.traits.contiguous and is_usual and "boundaries" in oracle.takes):
        raise DataError(
            f"margins are those of boundaries of segments that maximise Tr(A M) and can be "
            f"forbidden, which {type(problem).__name__} and {type(oracle).__name__} do not find: "
            "margins=False leaves them out"
        )
    best = oracle.ask(objective, constraint)
    if best.quality is not Quality.EXACT:
        raise DataError(
            f"margins need an exact oracle, and the answer of {type(oracle).__name__} is "
            f"{best.quality.value}: margins=False leaves them out"
        )
    if constraint.n_clusters is None:
        warn_of_rounding(best, -objective.shift)

    def best_value(without: Constraint) -> float:
        return float(oracle.ask(objective, without).value)

    return best.y, losses_without(best.y, best.value, constraint, tolerance, best_value)


def hits(predicted: EquivalenceMatrix, truth: EquivalenceMatrix, tolerance: int) -> Bools:
    """Which changes are within so many samples of a true one, (n,)."""
    at = predicted.boundaries[1:-1]
    true = truth.boundaries[1:-1]
    return np.asarray((np.abs(at[:, None] - true) <= tolerance).any(axis=1))


@dataclass(frozen=True, eq=False)
class FalseAlarms:
    """False changes of recordings that were held out, as they arrived.

    The margin of a change rises while samples arrive, and its place may move. An alarm at a margin
    is where it first is as large.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import FalseAlarms
    >>> spans = np.array([[0.0, 0.5], [0.0, 4.0], [0.5, 1.0], [0.0, 2.0]])
    >>> FalseAlarms(spans, n_samples=600).margin(every=300)
    1.5
    """

    spans: Floats
    """A threshold above the first and up to the second gives a false alarm, (n, 2)."""
    n_samples: int
    """How many samples these recordings have."""
    n_found: int = 1
    """How many of their labelled changes were found as they arrived."""
    n_true: int = 1
    """How many changes are labelled."""

    @classmethod
    def of(cls, each: "Sequence[FalseAlarms | None]") -> "FalseAlarms | None":
        """Of all recordings, if each of them could be segmented as it arrives."""
        alarms = [one for one in each if one is not None]
        if not alarms or len(alarms) < len(each):
            return None
        counts = [(one.n_samples, one.n_found, one.n_true) for one in alarms]
        return cls(
            np.concatenate([one.spans for one in alarms]), *map(sum, zip(*counts, strict=True))
        )

    def margin(self, every: int) -> float:
        """The least margin from which on there is a false alarm in so many samples at most.

        Raises
        ------
        SettingsError
            If there were fewer samples: nobody has seen how often so long a time has none. If
            hardly a labelled change was found: what was not found has no margin.
        """
        refuse_below(1, "false_alarm_every", every)
        if self.n_found < LEAST_FOUND * self.n_true:
            raise SettingsError(
                parameter("false_alarm_every", every)
                + f" cannot be learned: {self.n_found} of the {self.n_true} labelled changes of "
                "recordings that were held out were found as they arrived, and what hardly finds "
                "any says nothing of how rare false ones are: label more recordings, learn from "
                "other features, or leave it out and look at the margins of all changes"
            )
        if every > self.n_samples:
            raise SettingsError(
                parameter("false_alarm_every", every)
                + f" is more than the {self.n_samples} samples of the recordings that were held "
                "out: label more of them, or ask for a false alarm in fewer samples"
            )
        margins, where = np.unique(self.spans, return_inverse=True)
        where = where.reshape(-1, 2)
        begun = np.bincount(where[:, 0], minlength=margins.size)
        ended = np.bincount(where[:, 1], minlength=margins.size)
        n_false = np.cumsum(begun - ended)  # of a threshold between each margin and the next
        too_many = np.flatnonzero(n_false > self.n_samples // every)
        if not too_many.size:
            return 0.0
        return float(margins[too_many[-1] + 1 :][:2].mean())


@dataclass(frozen=True)
class MarginRates:
    """The rate at which changes of a given margin were right in held-out recordings.

    A logistic regression of "there is a labelled change within ``tolerance`` samples" on the
    logarithm of the margin; it never says 0 or 1, and a larger margin is never less sure. Margins
    are in units of the price of a change, or in logarithms of the probabilities of states.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import MarginRates
    >>> margins = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 4.0])
    >>> right = np.array([False, False, True, False, True, True])
    >>> rates = MarginRates.of(margins, right, tolerance=5, n_recordings=3)
    >>> rates(np.array([0.1, 4.0])).round(1).tolist()
    [0.2, 0.8]
    """

    intercept: float
    slope: float
    """Slope of the logarithm of the margin; 0 or more."""
    tolerance: int
    """Distance of a right change from a labelled one at most, in samples."""
    n_changes: int
    """Changes that were found in the held-out recordings."""
    n_right: int
    """Changes that were right."""
    n_recordings: int
    levels: ChangeLevels | None = None
    """Where the true changes of these recordings were, if they have any."""
    alarms: FalseAlarms | None = None
    """What false changes reached in streams of these recordings, if there can be any."""

    @classmethod
    def of(
        cls,
        margins: Floats,
        right: Bools,
        tolerance: int,
        n_recordings: int,
        levels: ChangeLevels | None = None,
        alarms: FalseAlarms | None = None,
    ) -> "MarginRates":
        """Learn the rates from changes with their margins, and whether they were right, (n,)."""
        n = right.size
        n_right = int(right.sum())
        if n == 0:
            raise DataError(
                "no change was found in the held-out recordings: there are no margins to learn from"
            )
        intercept = np.log((n_right + 1) / (n - n_right + 1))
        slope = 0.0
        if 0 < n_right < n:
            from sklearn.linear_model import LogisticRegression

            model = LogisticRegression().fit(_logarithms(margins)[:, None], right)
            if model.coef_[0, 0] > 0:
                intercept = model.intercept_[0]
                slope = model.coef_[0, 0]
        counts = (tolerance, int(n), n_right, n_recordings)
        return cls(float(intercept), float(slope), *counts, levels, alarms)

    def __call__(self, margins: Any) -> Floats:
        """The share of changes with such margins that are right, (n,)."""
        scores = self.intercept + self.slope * _logarithms(np.asarray(margins, dtype=np.float64))
        return np.asarray(1.0 / (1.0 + np.exp(-scores)))

    def __str__(self) -> str:
        return (
            f"{self.n_right} of {self.n_changes} changes found in {self.n_recordings} held-out "
            f"recordings were within {self.tolerance} samples of a labelled one"
        )


def _logarithms(margins: Floats) -> Floats:
    return np.asarray(np.log(np.clip(margins, SMALLEST_MARGIN, LARGEST_MARGIN)))
