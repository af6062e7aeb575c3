"""Missing values of recordings: where they are, and what can be put in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from structsvm.data.gaps import blocks, filled
from structsvm.data.samples import MISSING
from structsvm.errors import DataError, DataWarning, SettingsError, warn
from structsvm.io.recording import Recording
from structsvm.support.arrays import Floats
from structsvm.support.plain import counted

LISTED = 4
"""Blocks that a message names."""
BETWEEN = (
    "interpolate with missing='interpolate', or drop them first; missing='mask' learns and "
    "predicts without them"
)
NOT_BETWEEN = (
    "fill them in, as with the median of their column, or leave out their rows, or columns "
    "(ignore=)"
)
"""What to do about missing values of samples in order, and of rows that are in none."""


def without_gaps(
    recordings: Sequence[Recording], missing: str = "error", *, in_order: bool = True
) -> list[Recording]:
    """Recordings whose missing values are refused, interpolated or left as they are, NaN.

    A value that is missing is interpolated linearly between those of the same feature before and
    after it, in the time of the recording if that is known; at either end it is the nearest. A
    masked one is for ``ChangePoint(missing="mask")``, to which it adds nothing. Errors offer this
    where samples are ``in_order``, and not the rows of a table.
    """
    if missing not in MISSING:
        raise SettingsError(f"missing must be one of {', '.join(MISSING)}, got {missing!r}")
    return [_without_gaps(recording, missing, in_order) for recording in recordings]


def _without_gaps(recording: Recording, missing: str, in_order: bool) -> Recording:
    X, name = recording.X, recording.where
    if np.isfinite(X).all():
        return recording
    endless = np.argwhere(np.isinf(X))
    if endless.size:
        row, column = endless[0].tolist()
        raise DataError(
            f"{name}: {X[row, column]} in {recording.place(row)}, column "
            f"{recording.features[column]!r}; interpolate or drop it first"
        )
    told = _in_words(recording)
    if missing == "error":
        way_out = BETWEEN if in_order else NOT_BETWEEN
        raise DataError(f"{name}: {told}; {way_out}")
    n = int(np.isnan(X).sum())
    if missing == "mask":
        warn(f"{name}: {counted(n, 'value')} masked: {told}", DataWarning)
        return recording
    empty = [feature for j, feature in enumerate(recording.features) if np.isnan(X[:, j]).all()]
    if empty:
        raise DataError(
            f"{name}: column {empty[0]!r} of {recording.name} has no value that could be "
            f"interpolated: leave it out with ignore={empty[0]!r}"
        )
    warn(f"{name}: {counted(n, 'value')} interpolated: {told}", DataWarning)
    return replace(recording, X=_interpolated(recording))


def _interpolated(recording: Recording) -> Floats:
    time = recording.time
    return filled(recording.X, None if time is None else np.cumsum([0.0, *time.steps]))


def _in_words(recording: Recording) -> str:
    """The first in full, some more, and how many there are in all."""
    found = blocks(recording.X)
    said = [
        f"{recording.place(start, end)}, column {recording.features[j]!r}"
        for start, end, j in found[:LISTED]
    ]
    n = sum(end - start for start, end, _ in found)
    what = "a missing value in " if n == 1 else "missing values in "
    more = len(found) - LISTED
    tail = f" and {more} more block{'' if more == 1 else 's'} of them" if more > 0 else ""
    return what + "; ".join(said) + tail
