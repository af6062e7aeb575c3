"""Margins of changes: the cost of the best segmentation without one, and how often margins err.

The margin of a boundary t of the best segmentation M is

    (Tr(A M) - max { Tr(A M') : M' has no boundary within w samples of t }) / price,

0 where another segmentation is as good, and infinite where a constraint forces the boundary. It is
exact, because the oracles keep constraints exactly. With w = 0 it is about the very sample, since
the best segmentation without t then usually has a boundary right beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.data.sample import Sample
from structsvm.errors import DataError, OracleError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Metric
from structsvm.partitions.oracle import UNCONSTRAINED, Constraint, Quality
from structsvm.partitions.problem import PartitionProblem, warn_of_rounding
from structsvm.support.arrays import Bools, Floats

SMALLEST = 1e-6
"""Margins below this count as this: below it they are rounding."""

LARGEST = 1e6
"""Margins above this, infinite ones among them, count as this."""


def boundary_margins(
    problem: PartitionProblem,
    sample: Sample,
    metric: Metric,
    n_clusters: int | None = None,
    constraint: Constraint = UNCONSTRAINED,
    tolerance: int = 0,
) -> tuple[EquivalenceMatrix, Floats]:
    """The best segmentation of a recording, and the margin of each of its changes."""
    oracle, name = problem.decoder(sample), type(problem).__name__
    is_usual = type(problem).partition is PartitionProblem.partition
    if not (problem.traits.contiguous and is_usual and "boundaries" in oracle.takes):
        raise DataError(
            f"margins are those of boundaries of segments that maximise Tr(A M) and can be "
            f"forbidden, which {name} and {type(oracle).__name__} do not find: margins=False "
            "leaves them out"
        )
    objective = problem.decoding_objective(sample, metric, n_clusters)
    constraint = constraint.with_clusters(n_clusters)
    best = oracle.ask(objective, constraint)
    if best.quality is not Quality.EXACT:
        raise DataError(
            f"margins need an exact oracle, and the answer of {type(oracle).__name__} is "
            f"{best.quality.value}: margins=False leaves them out"
        )
    if n_clusters is None:
        warn_of_rounding(best, objective)
    margins = np.full(best.y.n_clusters - 1, np.inf)
    for k, t in enumerate(best.y.breakpoints[:-1]):
        near = range(max(t - tolerance, 1), min(t + tolerance, sample.n_samples - 1) + 1)
        if any(s in constraint.forced for s in near):
            continue
        without = replace(constraint, forbidden=(*constraint.forbidden, *near))
        try:
            margins[k] = max(best.value - oracle.ask(objective, without).value, 0.0)
        except OracleError:  # no segmentation is left
            continue
    return best.y, margins / metric.price if metric.price else margins


def hits(found: EquivalenceMatrix, truth: EquivalenceMatrix, tolerance: int) -> Bools:
    """Which changes are within so many samples of a true one, (n,)."""
    at, true = found.boundaries[1:-1], truth.boundaries[1:-1]
    return np.asarray((np.abs(at[:, None] - true) <= tolerance).any(axis=1))


@dataclass(frozen=True)
class MarginRates:
    """The rate at which changes of a given margin were right in held-out recordings.

    A logistic regression of "there is a labelled change within ``tolerance`` samples" on the
    logarithm of the margin; it never says 0 or 1, and a larger margin is never less sure.

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

    @classmethod
    def of(cls, margins: Floats, right: Bools, tolerance: int, n_recordings: int) -> MarginRates:
        """Learn the rates from changes with their margins, and whether they were right, (n,)."""
        n, n_right = right.size, int(right.sum())
        if n == 0:
            raise DataError(
                "no change was found in the held-out recordings: there are no margins to learn from"
            )
        intercept, slope = np.log((n_right + 1) / (n - n_right + 1)), 0.0
        if 0 < n_right < n:
            from sklearn.linear_model import LogisticRegression

            model = LogisticRegression().fit(_logarithms(margins)[:, None], right)
            if model.coef_[0, 0] > 0:
                intercept, slope = model.intercept_[0], model.coef_[0, 0]
        counts = (tolerance, int(n), n_right, n_recordings)
        return cls(float(intercept), float(slope), *counts)

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
    return np.asarray(np.log(np.clip(margins, SMALLEST, LARGEST)))
