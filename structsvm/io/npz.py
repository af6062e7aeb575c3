"""Recordings in .npz files: arrays that need no pickle."""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import TimeAxis, full_labels, of_one_kind, time_axis
from structsvm.errors import DataError, about, parameter, said_by, warn
from structsvm.io.cleaning import without_gaps
from structsvm.io.recording import FileOptions, Origin, Recording
from structsvm.io.table_columns import are_spelled
from structsvm.partial_labels import known_where
from structsvm.support import (
    TooLarge,
    archive,
    counted,
    ending_of,
    listed,
    refuse_repeated,
    write_atomically,
)

ABOUT_TIME = ("name", "written", "lasting", "day_first", "is_either", "clock", "offset")
"""Fields of a time axis that a file stores besides the values."""


def read_npz(path: Path, name: str, options: FileOptions) -> Recording:
    """Read ``X``, ``y`` or ``bkps``, ``features`` and ``time``; anything else is left alone."""
    key = options.array
    read = (key, "y", "bkps", "features", "time", "about_time")
    try:
        with path.open("rb") as file:
            arrays, present = archive.read_npz(file, read, options.max_bytes)
    except TooLarge as error:
        raise DataError(said_by(error)) from error
    except Exception as error:  # a foreign file can raise nearly anything in the reader
        raise DataError(
            "damaged, no .npz file, or one with pickled objects, which are never loaded (save "
            "names as text, np.array(list(y), dtype=str)): " + said_by(error, in_a_line=True)
        ) from error
    X = arrays.get(key, np.empty(0))
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
        raise DataError(
            f"expected numbers {key!r} (T, P), one row per sample, got {X.dtype} values of shape "
            f"{X.shape}; it holds {listed(present)}: "
            + parameter("array", "NAME")
            + " reads another of them"
        )
    T, P = X.shape
    names = np.atleast_1d(arrays.get("features", [f"x{j}" for j in range(P)]))
    features = tuple(map(str, names.ravel().tolist()))
    if len(features) != P:
        n_names = counted(len(features), "name")
        raise DataError(f"{n_names} in 'features', {key} has {counted(P, 'column')}")
    refuse_repeated(features)
    y = _labels(arrays, T, options)
    if y is None and options.need_labels:
        raise DataError(f"no labels, neither 'y' nor 'bkps'; it holds {listed(present)}")
    time = _times(path, arrays, T)
    origin = Origin(path, np.arange(T), options=options)
    every = Recording(name, X.astype(np.float64), y, features, str(path), time=time, origin=origin)
    return without_gaps(every.choosing(options.chosen(features)), options)


def _labels(arrays: Mapping[str, Any], T: int, options: FileOptions) -> NDArray[Any] | None:
    """Read one label per sample, from ``y`` or ``bkps``; refuse two that contradict each other."""
    y = arrays.get("y")
    ends = arrays.get("bkps")
    segments = None
    wrong = ""
    if ends is not None:
        whole = ends.ravel().astype(np.int64) if ends.dtype.kind in "iu" else np.zeros(1, np.int64)
        sizes = np.diff(whole, prepend=0)
        if (sizes <= 0).any() or sizes.sum() != T:
            raise DataError(
                f"bkps must increase and end with {T}, the number of rows; got {ends.tolist()}"
            )
        segments = np.repeat(np.arange(sizes.size), sizes)
    if y is None:
        return segments
    if y.shape != (T,):
        wrong = f"y has shape {y.shape}, X has {T} rows"
    elif y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int((~np.isfinite(y)).argmax())
        wrong = f"the label of row {row} is {y[row]}"
    elif segments is not None and (options.need_labels or options.blanks):
        differ = (y[1:] != y[:-1]) != (segments[1:] != segments[:-1])
        if differ.any():
            wrong = f"of 'y' and 'bkps' just one has a change at sample {differ.argmax() + 1}"
            wrong += ": leave one of them out"
    if wrong:
        raise DataError(wrong)
    missing = are_spelled(y.tolist(), options.missing_labels)
    return known_where(y, ~missing) if missing.any() else y


def _times(path: Path, arrays: Mapping[str, Any], n_samples: int) -> TimeAxis | None:
    """Read times; return None, with a warning, if they cannot be the times of the samples."""
    if "time" not in arrays:
        return None
    try:
        fields = {"name": "time"} | json.loads(str(arrays.get("about_time", "{}")))
        if fields.get("offset") is not None:
            fields["offset"] = np.timedelta64(fields["offset"], "us")
        return time_axis(TimeAxis(values=arrays["time"], **fields), n_samples)
    except (DataError, TypeError, ValueError) as error:
        why = said_by(error)
        warn(f"{path}: 'time' is not used, because " + why + "; samples are counted instead")
        return None


def write_recording(recording: Recording, path: str | PathLike[str]) -> None:
    """Write an ``.npz`` file that :func:`read_recordings` reads.

    It holds the values, labels, names of features and times, with their zone or clock and as they
    were written; masked values are NaN.

    Raises
    ------
    DataError, SettingsError
        When labels are missing or of several kinds; when the name of the file has another ending.

    Examples
    --------
    >>> from structsvm.io import read_recording, write_recording
    >>> def converted(path):
    ...     write_recording(read_recording(path), path.with_suffix(".npz"))
    """
    ending_of(path, (".npz",))
    X = np.ma.filled(recording.X.astype(np.float64, copy=False), np.nan)
    arrays: dict[str, Any] = {"X": X, "features": np.array(recording.features)}
    if recording.y is not None:
        with about(recording.where):
            y = full_labels(recording.y)
            arrays["y"] = of_one_kind(y)
            kinds = sorted({type(label).__name__ for label in y}) if y.dtype == object else []
            if len(kinds) > 1 or arrays["y"].dtype == object:
                raise DataError(
                    f"labels of kind {' and '.join(kinds)} cannot be stored: make them all text, "
                    "or all numbers"
                )
    if recording.time is not None:
        fields = {name: getattr(recording.time, name) for name in ABOUT_TIME}
        if recording.time.offset is not None:
            fields["offset"] = int(recording.time.offset.astype("m8[us]").astype(np.int64))
        arrays |= {"time": recording.time.values, "about_time": np.array(json.dumps(fields))}
    write_atomically(path, archive.npz(arrays, compressed=True))
