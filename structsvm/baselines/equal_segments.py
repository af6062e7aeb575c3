"""Segments of equal length: what labels are worth without a look at the recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structsvm.baselines.tuning import mean_loss, segment_numbers, stretches_to_tune_on
from structsvm.data.samples import Counts, cluster_counts
from structsvm.features.boundaries import read_boundaries
from structsvm.features.checks import read_recordings
from structsvm.support.arrays import Floats, Ints
from structsvm.support.frames import each_in_order

LENGTHS = 80
"""Lengths to choose from, from one sample to the longest recording."""


class EqualSegments(BaseEstimator):  # type: ignore[misc]
    """Segments of equal length, whatever is in the recording.

    The length is that of the smallest mean loss ``|M - M_i|_F^2`` on the training recordings, among
    lengths that grow geometrically up to the longest of them, which means no change at all. Labels
    that follow from the features are found with less loss than this; where nothing beats it, the
    features say nothing of the labels.

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

    def fit(self, Xs: Sequence[Floats], ys: Any, groups: Any = None) -> Self:
        """Choose the length.

        Parameters
        ----------
        Xs : sequence of arrays (T_i, P)
            Of which only the lengths are used.
        ys : sequence of labels of each sample, (T_i,), or of breakpoints, the last being T_i
            Labels None, "" or NaN, and -1 among numbers, are unknown.
        groups : object
            Not used.

        Raises
        ------
        DataError
            When labels cannot be read, or nothing changes.
        """
        arrays, ys = read_recordings(Xs), each_in_order(ys, Xs)
        known = stretches_to_tune_on(
            read_boundaries(ys, arrays, "EqualSegments").codes, "EqualSegments"
        )
        truths = [part.truth for part in known]
        lengths = np.geomspace(1.0, 2.0 * max(M.n_samples for M in truths), LENGTHS)
        losses = [mean_loss(truths, [_ends(M.n_samples, L) for M in truths]) for L in lengths]
        best = len(losses) - 1 - int(np.argmin(losses[::-1]))  # of equal ones the longest
        self.length_, self.loss_ = float(lengths[best]), float(losses[best])
        return self

    def predict(self, Xs: Sequence[Floats], n_clusters: Counts = None) -> list[Ints]:
        """Return the number of the segment of each sample, 0, 1, ..., (T_i,) each.

        Parameters
        ----------
        n_clusters : int or sequence of int, optional
            So many segments in each recording, in place of those of the chosen length.
        """
        return [segment_numbers(ends) for ends in self.predict_breakpoints(Xs, n_clusters)]

    def predict_breakpoints(
        self, Xs: Sequence[Floats], n_clusters: Counts = None
    ) -> list[list[int]]:
        """Return the segment ends of each recording, the last being T."""
        check_is_fitted(self)
        sizes = [len(X) for X in read_recordings(Xs)]
        counts = cluster_counts(n_clusters, sizes)
        return [
            _ends(T, self.length_ if K is None else T / K)
            for T, K in zip(sizes, counts, strict=True)
        ]


def _ends(T: int, length: float) -> list[int]:
    """Ends of segments of about this length, as equal as whole numbers are."""
    K = max(1, min(T, round(T / length)))
    return [(k * T + K // 2) // K for k in range(1, K)] + [T]
