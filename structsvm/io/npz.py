"""Recordings in ``.npz`` files: arrays that need no pickle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.times import TimeAxis, time_axis
from structsvm.data.values import full_labels, of_one_kind
from structsvm.errors import DataError, DataWarning, warn
from structsvm.io.cleaning import without_gaps
from structsvm.io.options import USUAL, FileOptions
from structsvm.io.recording import Recording, listed
from structsvm.io.tables import are_spelled, refuse_repeated
from structsvm.partial_labels.labels import known_where
from structsvm.storage import limits
from structsvm.storage import npz as storage
from structsvm.storage.atomic import write_atomically
from structsvm.support.plain import counted

OF_TIMES = {
    "name": "U",
    "written": "U",
    "lasting": "f",
    "day_first": "b",
    "is_either": "b",
    "clock": "b",
    "offset": "m",
}
"""What a file says of its times besides the values, and the kind of each array."""


def read_npz(
    path: Path, name: str, options: FileOptions = USUAL, wanted: Sequence[str] = ()
) -> Recording:
    """Read ``X``, ``y`` or ``bkps``, ``features`` and ``time``; anything else is left alone."""
    read = ("X", "y", "bkps", "features", "time", *(f"time.{one}" for one in OF_TIMES))
    try:
        with path.open("rb") as file:
            arrays, present = storage.read_npz(file, read, options.max_bytes)
    except limits.TooLarge as error:
        raise DataError(f"{path}: {error}") from error
    except (OSError, ValueError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        if "pickle" in reason:
            reason = (
                "it is no .npz file, or one with pickled objects, which are never loaded: save "
                "names as text, np.array(list(y), dtype=str)"
            )
        raise DataError(f"{path}: cannot be read: {reason}") from error
    except Exception as error:  # a foreign file can raise nearly anything in the reader
        raise DataError(f"{path}: damaged, or not an .npz file") from error
    if "X" not in arrays:
        raise DataError(f"{path}: no array 'X'; it holds {listed(present)}")
    X = arrays["X"]
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
        raise DataError(
            f"{path}: X has shape {X.shape} and holds {X.dtype} values, expected numbers (T, P), "
            "one row per sample"
        )
    features = tuple(f"x{j}" for j in range(X.shape[1]))
    if "features" in arrays:
        features = tuple(map(str, np.atleast_1d(arrays["features"]).ravel().tolist()))
    if len(features) != X.shape[1]:
        names, columns = counted(len(features), "name"), counted(X.shape[1], "column")
        raise DataError(f"{path}: {names} in 'features', X has {columns}")
    refuse_repeated(path, features)
    y = _labels(path, arrays, options)
    if y is None and options.need_labels:
        raise DataError(f"{path}: no labels, neither 'y' nor 'bkps'; it holds {listed(present)}")
    time = _times(path, arrays, len(X))
    whole = Recording(name, X.astype(np.float64), y, features, str(path), time=time)
    found = whole.choosing(options.chosen(path, features, wanted))
    return without_gaps([found], options.missing, in_order=options.in_order)[0]


def _labels(path: Path, arrays: Mapping[str, Any], options: FileOptions) -> NDArray[Any] | None:
    """One label per sample, from ``y`` or from ``bkps``; DataError where the two contradict."""
    T, segments = len(arrays["X"]), None
    if "bkps" in arrays:
        ends = arrays["bkps"].astype(np.int64)
        sizes = np.diff(ends.ravel(), prepend=0)
        if arrays["bkps"].dtype.kind not in "iu" or (sizes <= 0).any() or sizes.sum() != T:
            raise DataError(
                f"{path}: bkps must increase and end with {T}, the number of rows; "
                f"got {arrays['bkps'].tolist()}"
            )
        segments = np.repeat(np.arange(ends.size, dtype=np.int64), sizes)
    if "y" not in arrays:
        return segments
    y = np.asarray(arrays["y"])
    if y.shape != (T,):
        raise DataError(f"{path}: y has shape {y.shape}, X has {T} rows")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise DataError(f"{path}: the label of row {row} is {y[row]}")
    if segments is not None and (options.need_labels or options.blanks):
        differ = (y[1:] != y[:-1]) != (segments[1:] != segments[:-1])
        if differ.any():
            at = int(differ.argmax()) + 1
            by, other = ("bkps", "y") if segments[at] != segments[at - 1] else ("y", "bkps")
            raise DataError(
                f"{path}: 'y' and 'bkps' are of different segments: {by!r} has a change at sample "
                f"{at} and {other!r} has none: leave one of them out"
            )
    if not options.missing_labels:
        return y
    missing = are_spelled(y.tolist(), options.missing_labels)
    return known_where(y, ~missing) if missing.any() else y


def _times(path: Path, arrays: Mapping[str, Any], n_samples: int) -> TimeAxis | None:
    """The times that :func:`write_recording` stores, or times alone; a warning if they are none."""
    if "time" not in arrays:
        return None
    try:
        time_axis(arrays["time"], n_samples)
    except DataError as error:
        warn(
            f"{path}: 'time' is not used, because {error}; samples are counted instead", DataWarning
        )
        return None
    more: dict[str, Any] = {"name": "time"}
    for name, kind in OF_TIMES.items():
        if f"time.{name}" not in arrays:
            continue
        found, shape = arrays[f"time.{name}"], (n_samples,) if name == "written" else ()
        if found.dtype.kind != kind or found.shape != shape:
            raise DataError(
                f"{path}: 'time.{name}' holds {found.dtype} values of shape {found.shape}, and not "
                "what write_recording stores: leave it out"
            )
        more[name] = tuple(found.tolist()) if shape else found[()] if kind == "m" else found.item()
    return TimeAxis(values=arrays["time"], **more)


def write_recording(recording: Recording, path: str | PathLike[str]) -> None:
    """Write an ``.npz`` file that :func:`read_recordings` reads.

    It holds what is measured, labels, names of features and times, with their zone or clock and as
    they were written; masked values are NaN.

    Raises
    ------
    DataError
        When the name of the file has another ending, or labels are missing or of several kinds.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structsvm.io import Recording, read_recording, write_recording
    >>> recording = Recording("walk", np.zeros((3, 1)), np.array([0, 0, 1]), ("x",))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_recording(recording, Path(folder) / "walk.npz")
    ...     read_recording(Path(folder) / "walk.npz").y.tolist()
    [0, 0, 1]
    """
    if Path(path).suffix.lower() != ".npz":
        raise DataError(f"{path}: the name must end with .npz, which is what is written")
    X = np.ma.filled(recording.X, np.nan) if np.ma.is_masked(recording.X) else recording.X
    X = X.astype(np.float64) if X.dtype == object else X
    arrays: dict[str, Any] = {"X": X, "features": np.array(recording.features)}
    if recording.y is not None:
        try:
            y = full_labels(recording.y)
        except DataError as error:
            raise DataError(f"{recording.where}: {error}") from error
        arrays["y"] = of_one_kind(y)
        kinds = sorted({type(label).__name__ for label in y}) if y.dtype == object else []
        if len(kinds) > 1 or arrays["y"].dtype == object:
            raise DataError(
                f"{recording.where}: labels of kind {' and '.join(kinds)} cannot be stored: make "
                "them all text, or all numbers"
            )
    if recording.time is not None:
        axis = recording.time
        usual = {one.name: one.default for one in fields(axis)} | {"name": "time"}
        said = {name: getattr(axis, name) for name in OF_TIMES}
        arrays["time"] = axis.values
        arrays |= {f"time.{k}": np.asarray(v) for k, v in said.items() if v != usual[k]}
    write_atomically(path, storage.npz(arrays, compressed=True))
