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

from structsvm.baselines.frame_classifier import (
    Segmenter,
    Stretch,
    losses_of,
    stretches_to_tune_on,
)
from structsvm.data.samples import Counts
from structsvm.features.base import read_recordings
from structsvm.features.scores import read_boundaries
from structsvm.support.arrays import Floats
from structsvm.support.tables import each_in_order

LENGTHS = 80
"""Lengths to choose from, from one sample to the longest recording."""
FEW = 40
"""Segmentations to choose from, and recordings to judge them by, of the training recordings."""

Known = Sequence[Stretch]
"""Stretches of recordings of which the segmentation is known."""

Times = tuple[Floats, Floats]
"""Shares s and offsets d, (n,) each, of changes at ``s T + d`` in a recording of T samples: s is 0
for what is counted from the start, 1 from the end, and d is 0 for what is scaled."""


class BlindSegmenter(Segmenter):
    """Segments recordings by the labels of others alone, ignoring the features."""

    def fit(self, Xs: Sequence[Floats], ys: Any, groups: Any = None) -> Self:
        """Choose by the mean loss on the training recordings.

        Parameters are those of :meth:`BoundaryClassifier.fit`; of recordings only the lengths are
        used, and ``groups`` are not.
        """
        arrays, owner = read_recordings(Xs), type(self).__name__
        codes = read_boundaries(each_in_order(ys, Xs), arrays, owner).codes
        self._choose(stretches_to_tune_on(codes, owner), [len(X) for X in arrays])
        return self

    def _seen(self, Xs: Any) -> list[Floats]:
        check_is_fitted(self)
        return read_recordings(Xs)

    @abstractmethod
    def _choose(self, known: Known, lengths: Sequence[int]) -> None:
        """Choose by what is known of recordings of these lengths."""


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

    def _choose(self, known: Known, lengths: Sequence[int]) -> None:
        truths = [part.truth for part in known]
        tried = np.geomspace(1.0, 2.0 * max(M.n_samples for M in truths), LENGTHS)
        found = [[_equal(M.n_samples, L) for M in truths] for L in tried]
        losses = losses_of(truths, found).mean(axis=1)
        best = len(losses) - 1 - int(np.argmin(losses[::-1]))  # of equal ones the longest
        self.length_, self.loss_ = float(tried[best]), float(losses[best])

    def _ends(self, seen: Floats, K: int | None) -> list[int]:
        return _equal(len(seen), self.length_ if K is None else len(seen) / K)


def _equal(T: int, length: float) -> list[int]:
    """Ends of segments of about this length."""
    K = max(1, min(T, round(T / length)))
    return [(k * T + K // 2) // K for k in range(1, K)] + [T]


class FixedTimes(BlindSegmenter):
    """Changes at the times of the training recordings: from the start, from the end, or scaled.

    The times are those of one training segmentation, or the medians of those with equally many
    changes. They are counted in samples from the start, or from the end, or are shares of the
    length, each change as it varies least or all of them alike: whichever has the least mean loss
    on the training recordings. Hard to beat where recordings follow a protocol.

    Attributes
    ----------
    loss_ : float
        The mean loss on the training recordings.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.baselines.blind import FixedTimes
    >>> Xs = [np.zeros((T, 1)) for T in (30, 50, 70)]
    >>> fixed = FixedTimes().fit(Xs, [[10, 25, 30], [10, 45, 50], [10, 65, 70]])
    >>> fixed.predict_breakpoints([np.zeros((100, 1))])
    [[10, 95, 100]]
    """

    def _choose(self, known: Known, lengths: Sequence[int]) -> None:
        whole = [part for part in known if part.truth.n_samples == lengths[part.recording]]
        judged = (whole or known)[:: -(-len(whole or known) // FEW)]
        changes: dict[int, list[int]] = {}
        for part in judged:
            own = (part.start + part.truth.boundaries[1:-1]).tolist()
            changes.setdefault(part.recording, []).extend(own)
        sizes = {i: float(lengths[i]) for i in changes}
        every = _protocols([np.array(own) for own in changes.values()], np.array([*sizes.values()]))
        truths = [part.truth for part in judged]
        found = [
            [_within(part, _at(times, sizes[part.recording])) for part in judged] for times in every
        ]
        losses = losses_of(truths, found).mean(axis=1)
        order = np.argsort(losses, kind="stable")
        self.times_ = [every[k] for k in order]
        self.shares_ = np.concatenate([np.array(own) / sizes[i] for i, own in changes.items()])
        self.loss_ = float(losses[order[0]])

    def _ends(self, seen: Floats, K: int | None) -> list[int]:
        T = len(seen)
        if K is None:
            return _at(self.times_[0], T)
        every = (ends for times in self.times_ if len(ends := _at(times, T)) == K)
        known = next(every, None)
        if known is not None:
            return known
        places = (np.arange(K - 1) + 0.5) / max(K - 1, 1)
        shares = np.quantile(self.shares_, places) if self.shares_.size else places
        return _apart(shares * T, T)


def _protocols(changes: Sequence[Floats], sizes: Floats) -> list[Times]:
    """Times of changes, (n_i,) each, of recordings with these numbers of samples, (N,)."""
    found: list[Times] = []
    counts = np.array([own.size for own in changes])
    for n in dict.fromkeys(counts.tolist()):
        which = np.flatnonzero(counts == n)
        found += _clocks(np.array([changes[i] for i in which.tolist()]), sizes[which])
    for own, T in zip(changes, sizes, strict=True):
        found += _clocks(own[None], np.array([T]))
    # Recordings that are stopped early, or begun late, have some of the changes.
    longest = int(counts.max())
    first = np.full((len(changes), longest), np.nan)
    last = np.full((len(changes), longest), np.nan)
    for i, own in enumerate(changes):
        first[i, : own.size] = own
        last[i, longest - own.size :] = own - sizes[i]
    found.append((np.zeros(longest), np.nanmedian(first, axis=0)))
    found.append((np.ones(longest), np.nanmedian(last, axis=0)))
    return found


def _clocks(changes: Floats, sizes: Floats) -> list[Times]:
    """Medians of changes, (N, n), scaled, from the start, from the end, or as each varies least."""
    n = changes.shape[1]
    lengths = sizes[:, None]
    scaled = (np.median(changes / lengths, axis=0), np.zeros(n))
    from_start = (np.zeros(n), np.median(changes, axis=0))
    from_end = (np.ones(n), np.median(changes - lengths, axis=0))
    found: list[Times] = [scaled, from_start, from_end]
    off = [np.abs(share * lengths + offset - changes).mean(axis=0) for share, offset in found]
    least = np.argmin(off, axis=0)
    shares = np.choose(least, [share for share, _ in found])
    return [*found, (shares, np.choose(least, [offset for _, offset in found]))]


def _at(times: Times, T: float) -> list[int]:
    """Ends of the segments of a recording of T samples, without the changes outside of it."""
    share, offset = times
    places = np.sort(share * T + offset)
    return _apart(places[(places > 0) & (places < T)], int(T))


def _apart(places: Floats, T: int) -> list[int]:
    """Ends of segments near these places, at least one sample apart where there are enough."""
    n = min(places.size, T - 1)
    order = np.arange(n)
    ends = np.maximum(np.round(places[:n]).astype(np.int64), 1)
    ends = np.maximum.accumulate(ends - order) + order
    return [*np.minimum(ends, T - n + order).tolist(), T]


def _within(part: Stretch, ends: Sequence[int]) -> list[int]:
    """The segment ends of a recording that are in a stretch of it, from its start."""
    return [t - part.start for t in ends if part.start < t < part.end] + [part.end - part.start]


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
    segments = {"equal-segments": EqualSegments(), "fixed-times": FixedTimes()}
    return {**(segments if contiguous else {}), "one-part": OnePart()}


def blind_to(
    ends: Sequence[Sequence[int]], contiguous: bool, commonest: Any = None
) -> dict[str, Any]:
    """Baselines that ignore the features, fitted to segment ends and their most frequent name."""
    Xs = [np.broadcast_to(0.0, (own[-1], 1)) for own in ends]
    found = blind_baselines(contiguous)
    if commonest is not None:
        found["most-frequent"] = OnePart(commonest)
    return {name: one.fit(Xs, ends) for name, one in found.items()}
