"""The segmentation that is nearest to those of several estimators, which may name its states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from structsvm.baselines.segmenter import numbers_of
from structsvm.data.samples import Counts, cluster_counts
from structsvm.errors import DataError, SettingsError
from structsvm.partitions.problem import names_states
from structsvm.support.arrays import Floats, Ints


class Consensus(BaseEstimator):  # type: ignore[misc]
    """The segmentation that is nearest to those of several estimators.

    With the segmentations ``M_i`` that the estimators find of a recording, it is the ``M`` of least
    ``sum_i w_i |M - M_i|_F^2``: the median of the partitions (Barthelemy and Monjardet, 1981),
    exactly, by dynamic programming over the boundaries that any of them has. Estimators that make
    different mistakes, such as a metric and classifiers, are better together than each alone.

    Parameters
    ----------
    estimators : sequence of (str, estimator)
        Each with ``fit(Xs, ys, groups=None)`` and ``predict_breakpoints(Xs, n_clusters=None)``:
        :class:`~structsvm.MetricLearner`, :class:`FrameClassifier`, :class:`BoundaryClassifier`.
    weights : sequence of float, optional
        ``w_i``, positive; 1 each by default.

    Attributes
    ----------
    estimators_ : dict of str to estimator
        Fitted, in their order.
    classes_ : array or None
        The names of the states that any of them knows; None if none names states.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.baselines import BoundaryClassifier, Consensus
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 10)
    >>> Xs = [5.0 * (y == 1)[:, None] + rng.normal(scale=0.1, size=(30, 1)) for _ in range(4)]
    >>> both = Consensus(
    ...     [("metric", MetricLearner()), ("edges", BoundaryClassifier("logistic", widths=(3,)))]
    ... )
    >>> both.fit(Xs, [[10, 20, 30]] * 4).predict_breakpoints(Xs[:1])
    [[10, 20, 30]]
    """

    def __init__(
        self, estimators: Sequence[tuple[str, Any]], weights: Sequence[float] | None = None
    ) -> None:
        self.estimators = estimators
        self.weights = weights

    def fit(self, Xs: Any, ys: Any, groups: Any = None) -> Self:
        """Fit a clone of each estimator.

        Parameters
        ----------
        Xs, ys, groups
            As the estimators take them; ``groups`` is whom or what a recording is of.

        Raises
        ------
        SettingsError
            When ``estimators`` or ``weights`` have values they cannot have.
        """
        self._weights()  # refuses bad ones before any work
        self.estimators_: dict[str, Any] = {
            name: clone(estimator).fit(Xs, ys, groups=groups) for name, estimator in self.estimators
        }
        return self

    @property
    def classes_(self) -> NDArray[Any] | None:
        """The names of all states, sorted; None if no estimator names states."""
        known = [member.classes_ for member in self.estimators_.values() if names_states(member)]
        return np.unique(np.concatenate(known)) if known else None

    def predict(self, Xs: Any, n_clusters: Counts = None) -> list[Ints]:
        """Return the number of the segment of each sample, 0, 1, ..., (T_i,) each."""
        return [numbers_of(ends) for ends in self.predict_breakpoints(Xs, n_clusters)]

    def predict_breakpoints(self, Xs: Any, n_clusters: Counts = None) -> list[list[int]]:
        """Return the segment ends of each recording, the last being T."""
        check_is_fitted(self, "estimators_")
        members = self.estimators_.values()
        found = [member.predict_breakpoints(Xs, n_clusters) for member in members]
        counts = cluster_counts(n_clusters, [ends[-1] for ends in found[0]])
        return nearest_segmentations(found, self._weights(), counts)

    def predict_states(self, Xs: Any, n_clusters: Counts = None) -> list[NDArray[Any]]:
        """Return the name of the state of each sample, (T_i,) each.

        The name of a segment is the most probable one on average over its samples and the
        estimators that have ``predict_proba``. Where none has, a name counts as certain.

        Raises
        ------
        SettingsError
            When no estimator names states.
        """
        check_is_fitted(self, "estimators_")
        classes = self.classes_
        if classes is None:
            raise SettingsError(
                "no estimator of this consensus names states: add a FrameClassifier, or a "
                "MetricLearner with features=StateScores()"
            )
        naming = [member for member in self.estimators_.values() if names_states(member)]
        found = [
            [p @ (member.classes_[:, None] == classes) for p in member.predict_proba(Xs)]
            for member in naming
            if hasattr(member, "predict_proba")
        ] or [
            [names[:, None] == classes for names in member.predict_states(Xs, n_clusters)]
            for member in naming
        ]
        segmented = self.predict_breakpoints(Xs, n_clusters)
        return [
            _named(ends, sum(scores), classes)
            for ends, scores in zip(segmented, zip(*found, strict=True), strict=True)
        ]

    def _weights(self) -> Floats:
        """The weight of each estimator."""
        names = {name for name, _ in self.estimators}
        given = np.ones(len(names)) if self.weights is None else self.weights
        weights = np.array(given, dtype=np.float64)
        fits = weights.shape == (len(self.estimators),) == (len(names),)
        if not (fits and weights.size and (np.isfinite(weights) & (weights > 0)).all()):
            raise SettingsError(
                "estimators need different names, and a positive weight for each, got "
                f"{sorted(names)} and {self.weights!r}"
            )
        return weights


def _named(ends: Sequence[int], scores: Floats, classes: NDArray[Any]) -> NDArray[Any]:
    """The name of the segment of each sample, (T,), given scores of samples, (T, C)."""
    segments = np.add.reduceat(scores, [0, *ends[:-1]], axis=0, dtype=np.float64)
    return np.repeat(classes[segments.argmax(axis=1)], np.diff(ends, prepend=0))


def nearest_segmentations(
    found: Sequence[Sequence[Sequence[int]]], weights: Floats, counts: Sequence[int | None]
) -> list[list[int]]:
    """The consensus for each recording; ``found`` are the segment ends by each estimator."""
    return [
        nearest_segmentation(ends, weights, K)
        for ends, K in zip(zip(*found, strict=True), counts, strict=True)
    ]


def nearest_segmentation(
    ends: Sequence[Sequence[int]], weights: Floats, n_segments: int | None = None
) -> list[int]:
    """The segment ends, the last being T, of the least ``sum_i w_i |M - M_i|_F^2``.

    ``|M - M_i|^2`` is ``K + K_i - 2 Tr(M M_i)``, and ``Tr(M M_i)`` a sum over the segments of M. As
    a boundary moves between two neighbours among those of the ``M_i``, each term of that sum is a
    square over a length, which is convex: it is largest at an end. So M has no other boundaries.
    """
    lengths = sorted({found[-1] for found in ends})
    if len(lengths) > 1:
        raise DataError(f"segmentations of recordings of {lengths} samples have no consensus")
    bounds = [np.array([0, *found], dtype=np.int64) for found in ends]
    knots = np.unique(np.concatenate(bounds))
    # best[k, t]: of k segments up to knot t; best[0, t] of any number of them, if K is not given.
    best = np.full(((n_segments or 0) + 1, knots.size), -np.inf)
    best[0, 0] = 0.0
    previous = np.zeros(best.shape, dtype=np.int64)
    into = slice(1, None) if n_segments else slice(None)
    ahead = slice(None, -1) if n_segments else slice(None)
    for t in range(1, knots.size):
        starts, end = knots[:t], int(knots[t])
        gains = np.full(t, -float(weights.sum()))
        for known, weight in zip(bounds, weights.tolist(), strict=True):
            gains += 2.0 * weight * _shared(known, starts, end) / (end - starts)
        totals = best[ahead, :t] + gains
        previous[into, t] = totals.argmax(axis=1)
        best[into, t] = totals.max(axis=1)
    path, t, k = [], knots.size - 1, n_segments or 0
    while t > 0:
        path.append(int(knots[t]))
        t, k = int(previous[k, t]), max(0, k - 1)
    return path[::-1]


def _shared(known: Ints, starts: Ints, end: int) -> Floats:
    """``sum_B |A n B|^2 / |B|`` of segments A from each start to the end, and B between bounds."""
    sizes = np.diff(known)
    first = np.searchsorted(known, starts, side="right") - 1
    last = int(np.searchsorted(known, end, side="left")) - 1
    head, tail = known[first + 1] - starts, end - known[last]
    apart = head**2 / sizes[first] + (known[last] - known[first + 1]) + tail**2 / sizes[last]
    return np.asarray(np.where(first == last, (end - starts) ** 2 / sizes[last], apart))
