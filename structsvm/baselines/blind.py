"""Baselines that ignore the features: learning does not pay while one of them is as good."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structsvm.baselines.frame_classifier import Segmenter, losses_of, stretches_to_tune_on
from structsvm.data.samples import Counts
from structsvm.features.base import read_recordings
from structsvm.features.scores import read_boundaries
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats
from structsvm.support.tables import each_in_order

LENGTHS = 80
"""Lengths to choose from, from one sample to the longest recording."""
FEW = 40
"""Segmentations to choose from, and recordings to judge them by, of the training recordings."""

Truths = Sequence[EquivalenceMatrix]


class BlindSegmenter(Segmenter):
    """Segments recordings by the labels of others alone, ignoring the features."""

    def fit(self, Xs: Sequence[Floats], ys: Any, groups: Any = None) -> Self:
        """Choose by the mean loss on the training recordings.

        Parameters are those of :meth:`BoundaryClassifier.fit`; of recordings only the lengths are
        used, and ``groups`` are not.
        """
        arrays, owner = read_recordings(Xs), type(self).__name__
        codes = read_boundaries(each_in_order(ys, Xs), arrays, owner).codes
        known = stretches_to_tune_on(codes, owner)
        whole = [part for part in known if part.truth.n_samples == len(arrays[part.recording])]
        self._choose([part.truth for part in known], [part.truth for part in whole or known])
        return self

    def _seen(self, Xs: Any) -> list[Floats]:
        check_is_fitted(self)
        return read_recordings(Xs)

    @abstractmethod
    def _choose(self, known: Truths, whole: Truths) -> None:
        """Choose by what is known: stretches of recordings, and whole ones if there are any."""


class EqualSegments(BlindSegmenter):
    """Segments of equal length, whatever is in the recording.

    The length is that of the smallest mean loss ``|M - M_i|_F^2`` on the training recordings.
    Where nothing beats it, the features say nothing of the labels.

    Attributes
    ----------
    length_ : float
        Samples in a segment, about.
    loss_ : float
        The mean loss on the training recordings.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.baselines import EqualSegments
    >>> Xs = [np.zeros((30, 1))] * 4
    >>> EqualSegments().fit(Xs, [[10, 20, 30]] * 4).predict_breakpoints(Xs[:1])
    [[10, 20, 30]]
    """

    def _choose(self, known: Truths, whole: Truths) -> None:
        lengths = np.geomspace(1.0, 2.0 * max(M.n_samples for M in known), LENGTHS)
        found = [[_equal(M.n_samples, L) for M in known] for L in lengths]
        losses = losses_of(known, found).mean(axis=1)
        best = len(losses) - 1 - int(np.argmin(losses[::-1]))  # of equal ones the longest
        self.length_, self.loss_ = float(lengths[best]), float(losses[best])

    def _ends(self, seen: Floats, K: int | None) -> list[int]:
        return _equal(len(seen), self.length_ if K is None else len(seen) / K)


def _equal(T: int, length: float) -> list[int]:
    """Ends of segments of about this length."""
    K = max(1, min(T, round(T / length)))
    return [(k * T + K // 2) // K for k in range(1, K)] + [T]


class FixedTimes(BlindSegmenter):
    """Changes at the times of the training recordings, scaled to the length of a recording.

    Those of the training segmentation, or of the median of those with equally many changes, of
    least mean loss on the training recordings: hard to beat where recordings follow a protocol.
    """

    def _choose(self, known: Truths, whole: Truths) -> None:
        judged = whole[:: -(-len(whole) // FEW)]
        shares = [np.array(M.breakpoints[:-1]) / M.n_samples for M in judged]
        same = {n: [s for s in shares if s.size == n] for n in {s.size for s in shares}}
        every = [np.median(some, axis=0) for some in same.values()] + shares
        found = [[_at(s, M.n_samples) for M in judged] for s in every]
        losses = losses_of(judged, found).mean(axis=1)
        order = np.argsort(losses, kind="stable")
        self.times_ = [every[k] for k in order]
        self.loss_ = float(losses[order[0]])

    def _ends(self, seen: Floats, K: int | None) -> list[int]:
        if K is None:
            return _at(self.times_[0], len(seen))
        best = next((times for times in self.times_ if times.size == K - 1), None)
        if best is None:
            shares = (np.arange(K - 1) + 0.5) / max(K - 1, 1)
            best = np.quantile(np.concatenate(self.times_), shares)
        return _at(best, len(seen))


def _at(shares: Floats, T: int) -> list[int]:
    """Segment ends at shares of T samples, at least one sample apart where there are enough."""
    n = min(shares.size, T - 1)
    order = np.arange(n)
    ends = np.maximum(np.round(shares[:n] * T).astype(np.int64), 1)
    ends = np.maximum.accumulate(ends - order) + order
    return [*np.minimum(ends, T - n + order).tolist(), T]


@dataclass(eq=False, repr=False)
class OnePart(BaseEstimator):  # type: ignore[misc]
    """Everything in one part: no object in images, one cluster in tables; it may have a name."""

    name: Any = None

    def fit(self, Xs: Sequence[Any], ys: Any, groups: Any = None) -> Self:
        self.classes_ = None if self.name is None else np.array([self.name])
        return self

    def predict(self, Xs: Sequence[Any], n_clusters: Counts = None) -> list[NDArray[Any]]:
        """Return the name, or 0, for each item of each sample, whatever the number of clusters."""
        return [np.full(len(X), 0 if self.name is None else self.name) for X in Xs]

    predict_states = predict


def blind_baselines(contiguous: bool) -> dict[str, Any]:
    """Baselines that ignore the features, by name."""
    if contiguous:
        return {"equal-segments": EqualSegments(), "fixed-times": FixedTimes()}
    return {"one-part": OnePart()}


def blind_to(
    ends: Sequence[Sequence[int]], contiguous: bool, commonest: Any = None
) -> dict[str, Any]:
    """Baselines that ignore the features, fitted to segment ends and their most frequent name."""
    Xs = [np.broadcast_to(0.0, (own[-1], 1)) for own in ends]
    found = blind_baselines(contiguous)
    if commonest is not None:
        found["most-frequent"] = OnePart(commonest)
    return {name: one.fit(Xs, ends) for name, one in found.items()}
