"""Base classes of estimators that segment recordings, and the stretches they are tuned on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from structsvm.data.samples import Counts, cluster_counts
from structsvm.errors import DataError
from structsvm.features.base import RecordingTransformer, read_recordings
from structsvm.features.compose import Union
from structsvm.features.context import Columns, Lags, MovingStatistics
from structsvm.features.frames import probabilities_by
from structsvm.features.names import UNNAMED, States
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import partition_loss
from structsvm.support.arrays import Floats, Ints
from structsvm.support.tables import each_in_order

LAGS, WINDOWS = (-0.25, -0.125, 0.0, 0.125, 0.25), (0.25, 0.5, 1.0)
"""Lags, and widths of windows, that classifiers see, in typical segments."""


class Segmenter(BaseEstimator, ABC):  # type: ignore[misc]
    """Finds segments of recordings, each by itself."""

    def predict(self, Xs: Any, n_clusters: Counts = None) -> list[Ints]:
        """Return the number of the segment of each sample, 0, 1, ..., (T_i,) each.

        Parameters
        ----------
        n_clusters : int or sequence of int, optional
            Exactly so many segments in each recording, in place of as many as are found.
        """
        found = self.predict_breakpoints(Xs, n_clusters)
        return [np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)) for ends in found]

    def predict_breakpoints(self, Xs: Any, n_clusters: Counts = None) -> list[list[int]]:
        """Return the segment ends of each recording, the last being T."""
        return [self._ends(one, K) for one, K in with_counts(self._seen(Xs), n_clusters)]

    @abstractmethod
    def _seen(self, Xs: Any) -> list[Floats]:
        """The values by which each recording is segmented, (T_i, ...)."""

    @abstractmethod
    def _ends(self, seen: Floats, K: int | None) -> list[int]:
        """The segment ends of a recording, of K segments if K is given."""


class NamedSegmenter(Segmenter):
    """Finds segments and names them, by the probabilities of states at each sample."""

    classes_: NDArray[Any]

    @abstractmethod
    def _path(self, p: Floats, K: int | None) -> Ints:
        """The best states, (T,), given the probabilities (T, C)."""

    def predict_proba(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Probabilities of the states ``classes_`` at each sample, not smoothed, (T_i, C) each."""
        return probabilities_by(self, Xs)

    _seen = predict_proba

    def predict_states(self, Xs: Sequence[Floats], n_clusters: Counts = None) -> list[NDArray[Any]]:
        """Return the name of the state of each sample, (T_i,) each; parameters of `predict`."""
        found = with_counts(self.predict_proba(Xs), n_clusters)
        return [self.classes_[self._path(p, K)] for p, K in found]

    def predict_segments(
        self, Xs: Sequence[Floats], n_clusters: Counts = None
    ) -> list[list[dict[str, Any]]]:
        """Return a table of segments for each recording: start, end, state, mean probability."""
        tables = []
        for p, K in with_counts(self.predict_proba(Xs), n_clusters):
            path = self._path(p, K)
            names = self.classes_[path].tolist()
            table = []
            for a, b in pairwise([0, *ends_of(path)]):
                sure = float(p[a:b, path[a]].mean())
                table.append({"start": a, "end": b, "state": names[a], "probability": sure})
            tables.append(table)
        return tables

    def _ends(self, seen: Floats, K: int | None) -> list[int]:
        return ends_of(self._path(seen, K))


def with_counts(
    values: Sequence[Floats], n_clusters: Counts
) -> Iterator[tuple[Floats, int | None]]:
    """Pair the values of each recording with its number of segments or None."""
    counts = cluster_counts(n_clusters, [len(one) for one in values])
    return zip(values, counts, strict=True)


def ends_of(codes: Ints) -> list[int]:
    """Segment ends of a number for each sample, the last being T."""
    return [*(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), int(codes.size)]


def typical_length(sequences: Sequence[Ints]) -> float:
    """The median number of samples of a segment."""
    return float(np.median(np.concatenate([np.diff(ends_of(y), prepend=0) for y in sequences])))


def context_of(estimator: Any, sequences: Sequence[Ints]) -> RecordingTransformer:
    """What a classifier sees beside a sample: boosting other samples, and the others windows."""
    typical = typical_length(sequences)
    if estimator in (None, "boosting"):
        return Lags(sorted({round(part * typical) for part in LAGS}))
    widths = sorted({max(2, round(part * typical)) for part in WINDOWS})
    return Union(Columns(), MovingStatistics(widths, ("mean", "spread")))


def begins_of(code: Ints) -> Ints:
    """1 where a segment begins, 0 where none does, -1 where nobody knows, (T,)."""
    begins = np.zeros(code.size, dtype=np.int64)
    begins[1:] = code[1:] != code[:-1]
    begins[1:][(code[1:] == UNNAMED) | (code[:-1] == UNNAMED)] = UNNAMED
    return begins


def mean_loss(truths: Sequence[EquivalenceMatrix], guesses: Sequence[list[int]]) -> float:
    """Mean of ``|M - M_i|_F^2``, of the segment ends of guesses."""
    pairs = zip(truths, map(EquivalenceMatrix.from_breakpoints, guesses), strict=True)
    return float(np.mean([partition_loss(truth, guess) for truth, guess in pairs]))


@dataclass(frozen=True, eq=False)
class Stretch:
    """Samples of a recording, next to each other, whose segmentation is known."""

    recording: int
    start: int
    end: int
    truth: EquivalenceMatrix

    def of(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The part of what every recording has for its samples, (end - start, ...)."""
        return values[self.recording][self.start : self.end]


def stretches_to_tune_on(begins: Sequence[Ints], owner: str) -> list[Stretch]:
    """The stretches whose segmentation is known: whole recordings, and parts of others."""
    found = []
    for i, code in enumerate(begins):
        known = (code != UNNAMED).astype(np.int8)
        known[0] = 0
        edges = np.flatnonzero(np.diff(known, prepend=0, append=0))
        for first, end in edges.reshape(-1, 2).tolist():
            inside = np.flatnonzero(code[first:end] == 1) + 1
            truth = EquivalenceMatrix.from_breakpoints([*inside.tolist(), end - first + 1])
            found.append(Stretch(i, first - 1, end, truth))
    if not found:
        raise DataError(
            f"{owner} is tuned on samples next to each other that have labels, and there are none: "
            "label a stretch that has a change"
        )
    return found


def read_named(
    Xs: Any, ys: Any, owner: str
) -> tuple[list[Floats], States, list[Stretch], list[Ints]]:
    """Recordings, their states, the stretches with names, and the numbers of the states there."""
    arrays = read_recordings(Xs)
    states = States.read(each_in_order(ys, Xs), arrays, owner)
    known = stretches_to_tune_on([begins_of(code) for code in states.codes], owner)
    return arrays, states, known, [part.of(states.codes) for part in known]
