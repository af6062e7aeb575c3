"""What estimators that find segments of recordings have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structsvm.data.samples import Counts, cluster_counts
from structsvm.features.base import read_recordings
from structsvm.support.arrays import Floats, Ints


class Segmenter(BaseEstimator, ABC):  # type: ignore[misc]
    """Finds segments of recordings."""

    def predict(self, Xs: Any, n_clusters: Counts = None) -> list[Ints]:
        """Return the number of the segment of each sample, 0, 1, ..., (T_i,) each.

        Parameters
        ----------
        n_clusters : int or sequence of int, optional
            Exactly so many segments in each recording, in place of as many as are found.
        """
        found = self.predict_breakpoints(Xs, n_clusters)
        return [np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)) for ends in found]

    @abstractmethod
    def predict_breakpoints(self, Xs: Any, n_clusters: Counts = None) -> list[list[int]]:
        """Return the segment ends of each recording, the last being T."""


class FrameSegmenter(Segmenter):
    """Finds segments by what a classifier says of each sample."""

    model_: Any
    n_features_in_: int

    @abstractmethod
    def predict_proba(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Probabilities at each sample of each recording."""

    def _probabilities(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Those of all classes, (T_i, C) each."""
        check_is_fitted(self)
        arrays = read_recordings(Xs, self.n_features_in_)
        found: list[Floats] = self.model_.probabilities(arrays, type(self).__name__)
        return found

    def predict_breakpoints(
        self, Xs: Sequence[Floats], n_clusters: Counts = None
    ) -> list[list[int]]:
        """Return the segment ends of each recording, the last being T."""
        return self.breakpoints_of(self.predict_proba(Xs), n_clusters)

    def breakpoints_of(
        self, probabilities: Sequence[Floats], n_clusters: Counts = None
    ) -> list[list[int]]:
        """Return the segment ends of recordings of which ``predict_proba`` has said this."""
        return [self._ends(p, K) for p, K in with_counts(probabilities, n_clusters)]

    @abstractmethod
    def _ends(self, p: Floats, K: int | None) -> list[int]:
        """The segment ends of a recording, of K segments if K is given."""


def with_counts(
    values: Sequence[Floats], n_clusters: Counts
) -> Iterator[tuple[Floats, int | None]]:
    """What there is of each recording, with its number of segments or None."""
    counts = cluster_counts(n_clusters, [len(one) for one in values])
    return zip(values, counts, strict=True)
