"""Margins of changes: what the best segmentation without a change costs more, and rates of errors.

The margin of a boundary t of the best segmentation M is

    (Tr(A M) - max { Tr(A M') : M' has no boundary within w samples of t }) / price,

0 where another segmentation is as good, and infinite where a constraint forces the boundary. It
is exact, because the oracles keep constraints exactly. With w = 0 it says how sure the very sample
is, since the best segmentation without t then usually has a boundary right beside it.
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

SMALLEST_MARGIN = 1e-6  # smaller margins, which are rounding, are taken for this
LEAST_FOUND = 0.1
"""Share of labelled changes that has to be found before margins of false changes are trusted: on
SKAB folds of one half found 0 and 2 of 56, and the other half had a false one in 161 samples."""
LARGEST_MARGIN = 1e6  # larger margins, infinite ones among them, are taken for this


def losses_without(
    segmentation: EquivalenceMatrix,
    value: float,
    constraint: Constraint,
    tolerance: int,
    best_value: Callable[[Constraint], float],
) -> Floats:
    """By how much the best value is less without a boundary near each boundary, (K - 1,).

    ``best_value`` gives the best value under a constraint.
    """
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
    """The best segmentation, and by how much the best one without each of its changes is worse."""
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
    """Whether each predicted change is within ``tolerance`` samples of a true one, (n,)."""
    at = predicted.boundaries[1:-1]
    true = truth.boundaries[1:-1]
    return np.asarray((np.abs(at[:, None] - true) <= tolerance).any(axis=1))


@dataclass(frozen=True, eq=False)
class FalseAlarms:
    """Margins of false changes in held-out recordings that were searched online.

    The margin of a change rises while samples arrive, and its place may move. An alarm at a
    threshold is given when the margin reaches it.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import FalseAlarms
    >>> spans = np.array([[0.0, 0.5], [0.0, 4.0], [0.5, 1.0], [0.0, 2.0]])
    >>> FalseAlarms(spans, n_samples=600).margin(every=300)
    1.5
    """

    spans: Floats
    """A threshold above the first and up to the second number gives a false alarm, (n, 2)."""
    n_samples: int
    """The number of samples of these recordings."""
    n_found: int = 1
    """The number of labelled changes that the online search found."""
    n_true: int = 1
    """The number of labelled changes."""

    @classmethod
    def of(cls, each: "Sequence[FalseAlarms | None]") -> "FalseAlarms | None":
        """The false alarms of all recordings; None if one of them could not be searched online."""
        alarms = [one for one in each if one is not None]
        if not alarms or len(alarms) < len(each):
            return None
        counts = [(one.n_samples, one.n_found, one.n_true) for one in alarms]
        return cls(
            np.concatenate([one.spans for one in alarms]), *map(sum, zip(*counts, strict=True))
        )

    def margin(self, every: int) -> float:
        """The least threshold with at most one false alarm in ``every`` samples.

        Raises
        ------
        SettingsError
            If the recordings have fewer samples, or if hardly any labelled change was found.
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
        n_false = np.cumsum(begun - ended)  # false alarms of thresholds up to the next margin
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
    """Slope by the logarithm of the margin; 0 or more."""
    tolerance: int
    """Largest distance of a right change from a labelled one, in samples."""
    n_changes: int
    """Number of changes found in the held-out recordings."""
    n_right: int
    """Number of these changes that were right."""
    n_recordings: int
    levels: ChangeLevels | None = None
    """The excess at the true changes of these recordings, if they have any."""
    alarms: FalseAlarms | None = None
    """Margins of false changes in streams of these recordings, if the method has streams."""

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
        """The probability that a change with each of these margins is right, (n,)."""
        scores = self.intercept + self.slope * _logarithms(np.asarray(margins, dtype=np.float64))
        return np.asarray(1.0 / (1.0 + np.exp(-scores)))

    def __str__(self) -> str:
        return (
            f"{self.n_right} of {self.n_changes} changes found in {self.n_recordings} held-out "
            f"recordings were within {self.tolerance} samples of a labelled one"
        )


def _logarithms(margins: Floats) -> Floats:
    """The logarithms of margins, which are limited to a finite range first."""
    return np.asarray(np.log(np.clip(margins, SMALLEST_MARGIN, LARGEST_MARGIN)))
