"""Recordings that are sampled much finer than their segments last, averaged to windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.sample import RECORDINGS, Sample
from structsvm.data.times import TimeAxis
from structsvm.errors import DataError
from structsvm.io.recording import Recording, repeated_in
from structsvm.learner.columns import SPREAD, warn_of_columns
from structsvm.support.arrays import Floats, Ints

USUAL = 0.1  # part of the segments that may be shorter than a usual one
MANY = 200  # samples of the shortest usual segment from which on there are more than learning needs
ENOUGH = 25  # windows of the shortest usual segment


def window_for(recordings: Sequence[Recording]) -> tuple[int, int]:
    """The samples of a window, 1 where segments have few; and those of a short usual segment."""
    ys = [one.y for one in recordings if one.y is not None]
    if not ys:
        return 1, 0
    edges = [np.flatnonzero(np.concatenate(([True], y[1:] != y[:-1], [True]))) for y in ys]
    usual = int(np.quantile(np.concatenate(list(map(np.diff, edges))), USUAL, method="lower"))
    return (1 if usual < MANY else usual // ENOUGH), usual


def columns_of(names: Sequence[str]) -> list[str]:
    """The columns of a table whose windows have these features."""
    known = set(names)
    return [
        name for name in names if not (name.endswith(SPREAD) and name.removesuffix(SPREAD) in known)
    ]


def in_windows(recordings: Sequence[Recording], window: int | None) -> list[Recording]:
    """Average windows of so many samples; the last one of a recording has those that remain."""
    if window is None or window == 1:
        return list(recordings)
    # A mean hides a number that stands for missing values.
    warn_of_columns([Sample(one.X) for one in recordings], recordings[0].features, RECORDINGS)
    return [_averaged(one, window) for one in recordings]


def _averaged(recording: Recording, window: int) -> Recording:
    T, time, y = len(recording.X), recording.time, recording.y
    starts = np.arange(max(T // window, 1)) * window
    features = (*recording.features, *(f"{name}{SPREAD}" for name in recording.features))
    if twice := repeated_in(features):
        raise DataError(
            f"{recording.where}: {twice[0]!r} is what the spread of a column in windows is called: "
            "give this column another name, or window=1"
        )
    time = TimeAxis("sample", np.arange(T)) if time is None else time
    return replace(
        recording,
        X=_statistics(recording.X, starts),
        y=None if y is None else _commonest(y, starts),
        features=features,
        chunks=None if recording.chunks is None else recording.chunks[starts],
        time=replace(time.at(starts), lasting=window * time.usual_step),
        origin=None,
        fine=recording,
        window=window,
    )


def _statistics(X: Floats, starts: Ints) -> Floats:
    """The mean and the deviation of each column in each window, of the values there are."""
    there = ~np.isnan(X)
    counts = np.add.reduceat(there, starts, axis=0, dtype=np.int64)
    sizes = np.diff(starts, append=len(X))
    with np.errstate(invalid="ignore"):
        means = np.add.reduceat(np.where(there, X, 0.0), starts, axis=0) / counts
        away = np.where(there, X - np.repeat(means, sizes, axis=0), 0.0)
        return np.hstack([means, np.sqrt(np.add.reduceat(away**2, starts, axis=0) / counts)])


def _commonest(y: NDArray[Any], starts: Ints) -> NDArray[Any]:
    numbers: dict[Any, int] = {}
    codes = np.array([numbers.setdefault(label, len(numbers)) for label in y.tolist()])
    best = [np.bincount(part).argmax() for part in np.split(codes, starts[1:])]
    return y[np.unique(codes, return_index=True)[1][best]]
