"""Base classes of estimators that segment recordings, and the stretches they are tuned on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from structsvm.data.samples import UNKNOWN, Counts, cluster_counts
from structsvm.errors import DataError
from structsvm.features.base import RecordingTransformer, Union, read_recordings
from structsvm.features.context import Columns, Lags, MovingStatistics
from structsvm.features.frames import States, probabilities_by
from structsvm.partitions.equivalence import EquivalenceMatrix, partition_loss
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import among
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
        return [numbers_of(ends) for ends in self.predict_breakpoints(Xs, n_clusters)]

    def predict_breakpoints(self, Xs: Any, n_clusters: Counts = None) -> list[list[int]]:
        """Return the segment ends of each recording, the last being T."""
        return [self._ends(one, K) for one, K in with_counts(self._seen(Xs), n_clusters)]

    @abstractmethod
    def _seen(self, Xs: Any) -> list[Floats]:
        """The values by which each recording is segmented, (T_i, ...)."""

    @abstractmethod
    def _ends(self, seen: Floats, K: int | None) -> list[int]:
        """The segment ends of a recording, of K segments if K is given."""


class FrameSegmenter(Segmenter):
    """Finds segments by what a classifier says of each sample, with settings tuned on labels."""

    models_: list[Any]
    n_features_in_: int

    def fit(self, Xs: Sequence[Floats], ys: Any, groups: Any = None) -> Self:
        """Learn the classifier, and tune the search for segments on what it has not seen.

        Parameters
        ----------
        Xs : sequence of arrays (T_i, P)
        ys : sequence of labels, (T_i,) each
            Names of states: text or numbers; None, "" or NaN, and -1 among numbers, for a sample
            without a name. A classifier of boundaries takes breakpoints, too, the last being T_i.
        groups : sequence of length N, optional
            Whom or what a recording is of.

        Raises
        ------
        SettingsError, DataError
            When a parameter cannot be used, or no two samples next to each other have labels.
        LearningError
            When the classifier fails, naming the fold.
        """
        scored = self._scored(Xs, ys, groups)
        self._tune(scored, *self._losses(scored))
        return self

    def fit_cross_predict(
        self, Xs: Sequence[Floats], ys: Any, groups: Any, n_clusters: Sequence[int | None]
    ) -> tuple[list[NDArray[Any]], ...]:
        """Fit, and label each training recording by what was learned from other folds alone.

        That is the classifier as well as the settings of the search for segments.

        Parameters
        ----------
        Xs, ys, groups : as for :meth:`fit`
        n_clusters : sequence of length N
            How many segments each has; None where that is not known.

        Returns
        -------
        two lists of arrays (T_i,)
            Names of states, or numbers of segments: as many as are found, and as many as are given.

        Raises
        ------
        DataError
            If there are no two groups, and as for :meth:`fit`.
        """
        scored = self._scored(Xs, ys, groups)
        choices, losses = self._losses(scored)
        self._tune(scored, choices, losses)
        if scored.probabilities is None:
            raise DataError(f"{type(self).__name__}: there are no two groups to hold one out")
        without, recordings = {}, [part.recording for part in scored.known]
        for k in np.unique(scored.fold).tolist():
            others, without[k] = scored.fold[recordings] != k, copy(self)
            without[k]._tune(scored.at(others), choices, losses[:, others])
        pairs = list(zip(scored.fold.tolist(), scored.probabilities, strict=True))
        priced = [without[k]._labels(p, None) for k, p in pairs]
        counted = zip(pairs, n_clusters, strict=True)
        return priced, [without[k]._labels(p, K) for (k, p), K in counted]

    @abstractmethod
    def _scored(self, Xs: Any, ys: Any, groups: Any) -> Scored:
        """Learn from checked labels, and score the recordings by what has not seen them."""

    @abstractmethod
    def _losses(self, scored: Scored) -> tuple[Sequence[Any], Floats]:
        """Choices of settings, and the loss of each on each known stretch, (n_choices, n_known)."""

    @abstractmethod
    def _tune(self, scored: Scored, choices: Sequence[Any], losses: Floats) -> None:
        """Choose the settings; usual ones where nothing is known that was held out."""

    @abstractmethod
    def predict_proba(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Probabilities at each sample of each recording."""

    def _seen(self, Xs: Any) -> list[Floats]:
        return probabilities_by(self, Xs)

    @abstractmethod
    def _labels(self, p: Floats, K: int | None) -> NDArray[Any]:
        """A number or name for each sample, (T,), given the probabilities of all classes."""


class NamedSegmenter(FrameSegmenter):
    """Finds segments and names them, by the probabilities of states at each sample."""

    classes_: NDArray[Any]

    @abstractmethod
    def _path(self, p: Floats, K: int | None) -> Ints:
        """The best states, (T,), given the probabilities (T, C)."""

    def predict_proba(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Probabilities of the states ``classes_`` at each sample, not smoothed, (T_i, C) each."""
        return probabilities_by(self, Xs)

    def predict_states(self, Xs: Sequence[Floats], n_clusters: Counts = None) -> list[NDArray[Any]]:
        """Return the name of the state of each sample, (T_i,) each; parameters of `predict`."""
        return [self._labels(p, K) for p, K in with_counts(self.predict_proba(Xs), n_clusters)]

    def _labels(self, p: Floats, K: int | None) -> NDArray[Any]:
        return np.asarray(self.classes_[self._path(p, K)])

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


def numbers_of(ends: Sequence[int]) -> Ints:
    """The number of the segment of each sample, (T,)."""
    return np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))


def ends_of(codes: Ints) -> list[int]:
    """Segment ends of a number for each sample, the last being T."""
    return [*(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), int(codes.size)]


def typical_length(sequences: Sequence[Ints]) -> float:
    """The median number of samples of a segment."""
    return float(np.median(np.concatenate([np.diff(ends_of(y), prepend=0) for y in sequences])))


def context_of(estimator: Any, sequences: Sequence[Ints]) -> RecordingTransformer:
    """What a classifier sees beside a sample: boosting other samples, and the others windows."""
    typical = typical_length(sequences)
    if among(estimator, (None, "boosting", "fast-boosting")):
        return Lags(sorted({round(part * typical) for part in LAGS}))
    widths = sorted({max(2, round(part * typical)) for part in WINDOWS})
    return Union(Columns(), MovingStatistics(widths, ("mean", "spread")))


def begins_of(code: Ints) -> Ints:
    """1 where a segment begins, 0 where none does, -1 where nobody knows, (T,)."""
    begins = np.zeros(code.size, dtype=np.int64)
    begins[1:] = code[1:] != code[:-1]
    begins[1:][(code[1:] == UNKNOWN) | (code[:-1] == UNKNOWN)] = UNKNOWN
    return begins


def losses_of(truths: Sequence[EquivalenceMatrix], found: Sequence[Sequence[list[int]]]) -> Floats:
    """``|M - M_i|_F^2`` of the segment ends that each choice finds in each, (n_choices, n)."""
    rows = [map(EquivalenceMatrix.from_breakpoints, ends) for ends in found]
    return np.array([list(map(partition_loss, truths, guesses)) for guesses in rows])


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


@dataclass(frozen=True, eq=False)
class Scored:
    """Training recordings, and what classifiers say of them that have not seen them."""

    probabilities: Sequence[Floats] | None
    """(T_i, C) each; None where no recording can be held out."""
    known: Sequence[Stretch]
    fold: Ints
    """In which each recording was held out, (N,)."""
    codes: Sequence[Ints]
    """Numbers of the states of each recording, (T_i,)."""
    units: Ints
    """The group of each recording, or its own number, (N,)."""

    def at(self, which: NDArray[np.bool_]) -> Scored:
        """With some of the known stretches."""
        kept = [part for part, take in zip(self.known, which.tolist(), strict=True) if take]
        return replace(self, known=kept)

    @property
    def is_tunable(self) -> bool:
        return self.probabilities is not None and bool(self.known)

    @property
    def units_of_known(self) -> Ints:
        """The group of each known stretch, (n_known,)."""
        return self.units[[part.recording for part in self.known]]

    @property
    def sequences(self) -> list[Ints]:
        """Numbers of the states of the known stretches."""
        return [part.of(self.codes) for part in self.known]

    def seen(self, smoothing: float) -> list[Floats]:
        """Logarithms of the probabilities of the known stretches."""
        assert self.probabilities is not None
        return [np.log(part.of(self.probabilities) + smoothing) for part in self.known]


def stretches_to_tune_on(begins: Sequence[Ints], owner: str) -> list[Stretch]:
    """The stretches whose segmentation is known: whole recordings, and parts of others."""
    found = []
    for i, code in enumerate(begins):
        known = (code != UNKNOWN).astype(np.int8)
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
