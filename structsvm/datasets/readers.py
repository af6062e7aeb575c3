"""One reader per kind of file; every complaint names the file, the row and the column."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.datasets.recording import Recording, listed
from structsvm.errors import DataError, DataWarning, SettingsError, warn
from structsvm.partitions.trace_objective import LARGEST
from structsvm.storage import limits
from structsvm.support.extras import require
from structsvm.support.quiet import without_warnings

__all__ = [
    "TableColumns",
    "read_frame",
    "read_npz",
    "read_table",
    "table_recordings",
    "with_levels",
]

Floats = NDArray[np.float64]
Labels = NDArray[Any]

UNNAMED = "Unnamed: 0"
"""What pandas calls the column of row numbers that it writes itself."""


def read_npz(
    path: Path,
    name: str,
    need_labels: bool,
    missing_labels: Sequence[str] = (),
    max_bytes: int | None = None,
) -> Recording:
    """Read ``X``, ``y`` or ``bkps``, and ``features``; whatever else is there is left alone.

    Raises
    ------
    DataError
        If there is no ``X`` of numbers of shape (T, P), if labels are needed and missing, or if
        they do not fit ``X``.
    """
    arrays, present = _load_arrays(path, ("X", "y", "bkps", "features"), max_bytes)
    if "X" not in arrays:
        raise DataError(f"{path}: no array 'X'; it holds {listed(present)}")
    X = arrays["X"]
    if X.ndim != 2 or 0 in X.shape:
        raise DataError(f"{path}: X has shape {X.shape}, expected (T, P), one row per sample")
    if X.dtype.kind not in "fiub":
        raise DataError(f"{path}: X holds {X.dtype} values, expected numbers")
    features = _features(path, arrays.get("features"), X.shape[1])
    y = _labels(path, arrays, X.shape[0])
    if y is None and need_labels:
        raise DataError(f"{path}: no labels, neither 'y' nor 'bkps'; it holds {listed(present)}")
    if y is not None and missing_labels:
        unlabelled = np.array([_spelled(label, missing_labels) for label in y.tolist()])
        if unlabelled.any():
            codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
            y = np.where(unlabelled | ((y == -1) if y.dtype.kind in "if" else False), -1, codes)
    values = X.astype(np.float64)
    for column, feature in enumerate(features):
        _refuse_gaps(path, feature, values[:, column])
    return Recording(name, values, y, features, str(path))


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table that are no features, as far as there are any."""

    label: str | None = "label"
    time: str | None = None
    chunk: str | None = None
    recording: str | None = None
    optional: frozenset[str] = frozenset()
    """The columns that a table may lack."""


def read_table(
    path: Path,
    name: str,
    columns: TableColumns,
    *,
    need_labels: bool,
    wanted: Sequence[str] = (),
    blanks: bool = False,
    missing_labels: Sequence[str] = (),
    max_bytes: int | None = None,
) -> list[Recording]:
    """Read a ``.csv`` or ``.parquet`` file with a header; of the features, those wanted suffice."""
    frame = with_levels(read_frame(path, label_column=columns.label, max_bytes=max_bytes), columns)
    return table_recordings(
        frame,
        path,
        name,
        columns,
        need_labels=need_labels,
        wanted=wanted,
        blanks=blanks,
        missing_labels=missing_labels,
    )


def table_recordings(
    frame: Any,
    path: Path,
    name: str,
    columns: TableColumns,
    *,
    need_labels: bool,
    wanted: Sequence[str] = (),
    blanks: bool = False,
    missing_labels: Sequence[str] = (),
) -> list[Recording]:
    """The recordings of a pandas frame, one unless a column tells several apart.

    Parameters
    ----------
    path : Path
        What to call the frame in messages.
    name : str
        Of the recording, if it is one.

    Raises
    ------
    DataError
        If a column is missing, a value is no number or is missing, or nothing is left to read.
    """
    headers = [str(column) for column in frame.columns]
    frame.columns = headers
    _refuse_repeated(path, headers)
    others = [columns.time, columns.chunk, columns.recording]
    aside = {UNNAMED, columns.label, *others}
    for column in [columns.label if need_labels else None, *others]:
        if column is None or column in headers or column in columns.optional - {columns.label}:
            continue
        hint = "name another: --label-column" if column == columns.label else "name another"
        hint = "columns are separated by commas" if _is_one_line(headers) else hint
        raise DataError(f"{path}: no column {column!r}; the columns are {listed(headers)}; {hint}")
    features = tuple(column for column in headers if column not in aside)
    if wanted and set(wanted) <= set(features):
        features = tuple(wanted)
    if not features or not len(frame):
        raise DataError(f"{path}: {len(frame)} rows and {len(features)} features: nothing to read")
    X = np.column_stack([_numbers(path, feature, frame[feature]) for feature in features])
    y = None
    if columns.label is not None and columns.label in headers:
        column = _numbered(_without_blanks(frame[columns.label], missing_labels))
        if need_labels or blanks or not column.isna().any():  # else it is as good as none
            y = _label_column(path, columns.label, column, blanks)
    chunks = None
    if columns.chunk is not None:
        chunks = _codes(_numbered(_without_blanks(frame[columns.chunk])))
    whole = Recording(name, X, y, features, str(path), chunks)
    if columns.recording is None or columns.recording not in headers:
        return [whole]
    return _apart(whole, frame, path, columns)


def with_levels(frame: Any, columns: TableColumns) -> Any:
    """A pandas frame in which the levels of the index that are asked for are columns."""
    asked = {columns.label, columns.time, columns.chunk, columns.recording} - {None}
    levels = [level for level in frame.index.names if level is not None and str(level) in asked]
    return frame.reset_index(level=levels) if levels else frame


def _apart(whole: Recording, frame: Any, path: Path, columns: TableColumns) -> list[Recording]:
    """The recordings of a long table, in the order in which they begin."""
    assert columns.recording is not None
    pandas = require("pandas", "files", "reading tables")
    numbers, ids = pandas.factorize(_without_blanks(frame[columns.recording]))
    blank = np.flatnonzero(numbers < 0)
    if blank.size:
        place = _place(path, int(blank[0]))
        raise DataError(
            f"{path}: {place} is of no recording, column {columns.recording!r} is blank there; "
            f"{blank.size} are missing"
        )
    names = [_file_name(value) for value in ids]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{path}: two recordings would be called {twice!r}, give them other names")
    times = None
    if columns.time is not None and columns.time in frame.columns:
        times = _times(path, columns.time, frame[columns.time])
    found, moved = [], []
    for number, name in enumerate(names):
        rows = np.flatnonzero(numbers == number)
        if times is not None and (np.diff(times[rows]) < 0).any():
            rows = rows[np.argsort(times[rows], kind="stable")]
            moved.append(name)
        found.append(
            Recording(
                name,
                whole.X[rows],
                None if whole.y is None else whole.y[rows],
                whole.features,
                f"{path}, {columns.recording} {name}",
                None if whole.chunks is None else whole.chunks[rows],
            )
        )
    if moved:
        warn(
            f"{path}: the rows of {listed(moved)} are not in the order of {columns.time!r}: they "
            "are read in that order, and samples are counted in it",
            DataWarning,
        )
    return found


def _file_name(value: Any) -> str:
    """The name of a recording, which may become that of a file."""
    return re.sub(r"[/\\\x00-\x1f]", "_", str(value).strip())


def _times(path: Path, name: str, column: Any) -> NDArray[Any] | None:
    """Numbers or dates to sort by; None for words that are neither, whose order nobody knows."""
    pandas = require("pandas", "files", "reading tables")
    found = column
    if getattr(column.dtype, "kind", "O") not in "iufbmM":
        found = pandas.to_numeric(column, errors="coerce")
        if found.isna().any():
            with without_warnings(Warning):  # pandas warns where it guesses how dates are written
                found = pandas.to_datetime(column, errors="coerce", utc=True)
        if found[column.notna()].isna().any():
            return None
    missing = np.flatnonzero(found.isna().to_numpy())
    if missing.size:
        raise DataError(f"{path}: no time in {_place(path, int(missing[0]))}, column {name!r}")
    if getattr(found.dtype, "kind", "M") not in "iufb":
        found = found.astype("int64")
    return np.asarray(found.to_numpy())


def _load_arrays(
    path: Path, names: Sequence[str], max_bytes: int | None
) -> tuple[dict[str, Any], list[str]]:
    """The named arrays as far as the file has them, and the names of all it has."""
    try:
        with path.open("rb") as file:
            return limits.read_npz(file, names, max_bytes)
    except limits.TooLarge as error:
        raise DataError(f"{path}: {error}") from error
    except SettingsError:
        raise
    except (OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"{path}: cannot be read: {_reason(error)}") from error
    except Exception as error:  # a foreign file can raise nearly anything in the reader
        raise DataError(f"{path}: damaged, or not an .npz file") from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if "allow_pickle" in str(error):
        return "it is no .npz file, or one with pickled objects, which are never loaded"
    longer = re.search(r"Expected (\d+) fields in (line \d+), saw (\d+)", str(error))  # of pandas
    if longer:
        return f"{longer[2]} has {longer[3]} columns where {longer[1]} are expected"
    return " ".join(str(error).split())


def _features(path: Path, names: Any, n_features: int) -> tuple[str, ...]:
    """The names of the columns of ``X``: x0, x1, ... if the file has none."""
    if names is None:
        return tuple(f"x{j}" for j in range(n_features))
    features = tuple(str(feature) for feature in np.atleast_1d(names).ravel())
    if len(features) != n_features:
        raise DataError(f"{path}: {len(features)} names in 'features', X has {n_features} columns")
    _refuse_repeated(path, features)
    return features


def _labels(path: Path, arrays: dict[str, Any], n_samples: int) -> Labels | None:
    """One label per sample, from ``y`` or from ``bkps``."""
    if "y" in arrays:
        y = arrays["y"]
        if y.shape != (n_samples,):
            raise DataError(f"{path}: y has shape {y.shape}, X has {n_samples} rows")
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            row = int(np.flatnonzero(~np.isfinite(y))[0])
            raise DataError(f"{path}: the label of row {row} is {y[row]}")
        return np.asarray(y)
    if "bkps" not in arrays:
        return None
    bkps = arrays["bkps"]
    if bkps.ndim != 1 or bkps.size == 0 or bkps.dtype.kind not in "iu":
        raise DataError(f"{path}: bkps must be a vector of integers, the last being {n_samples}")
    ends = bkps.astype(np.int64)
    sizes = np.diff(ends, prepend=0)
    if (sizes <= 0).any() or ends[-1] != n_samples:
        raise DataError(
            f"{path}: bkps must increase and end with {n_samples}, the number of rows; "
            f"got {ends.tolist()}"
        )
    return np.repeat(np.arange(ends.size, dtype=np.int64), sizes)


def read_frame(
    path: Path,
    *,
    label_column: str | None = None,
    as_text: bool = False,
    max_bytes: int | None = None,
) -> Any:
    """The pandas data frame of a ``.csv`` or ``.parquet`` file; of ``.csv``, perhaps as text.

    Labels of text files are text, in which nothing but a blank is missing: elsewhere pandas takes
    words such as "None" and "null" for missing numbers, which are names of classes here.

    Raises
    ------
    DataError
        If the file is empty, damaged or expands to more than ``max_bytes``, or if its rows have
        more columns than its header.
    MissingExtraError
        If pandas, or pyarrow for ``.parquet``, is not installed.
    """
    pandas = require("pandas", "files", f"reading {path.suffix} files")
    if path.suffix.lower() == ".parquet":
        require("pyarrow", "files", "reading .parquet files")
    try:
        if path.suffix.lower() == ".parquet":
            about = require("pyarrow.parquet", "files", "parquet").read_metadata(path)
            expanded = 8 * about.num_rows * about.num_columns
            limits.check_bytes(expanded, path.stat().st_size, max_bytes)
            return pandas.read_parquet(path)
        if as_text:
            with warnings.catch_warnings():  # of blanks at the ends of rows
                warnings.simplefilter("ignore", pandas.errors.ParserWarning)
                return pandas.read_csv(
                    path, skipinitialspace=True, dtype=str, keep_default_na=False, index_col=False
                )
        # pandas looks for missing values after its converters too: a mark in front hides them
        marked = {} if label_column is None else {label_column: lambda text: f"={text.strip()}"}
        with warnings.catch_warnings():
            # longer rows: without index_col their first values are names and the others shift
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            frame = pandas.read_csv(
                path, skipinitialspace=True, low_memory=False, converters=marked, index_col=False
            )
        if label_column is not None and label_column in frame.columns:
            frame[label_column] = [text[1:] for text in frame[label_column]]
        return frame
    except pandas.errors.EmptyDataError as error:
        raise DataError(f"{path}: the file is empty") from error
    except pandas.errors.ParserWarning as error:
        raise DataError(f"{path}: its rows have more columns than its header") from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: cannot be read: it is not in UTF-8 (byte {error.start} is "
            f"{error.object[error.start]:#04x}): save it in this encoding"
        ) from error
    except SettingsError:
        raise
    except limits.TooLarge as error:
        raise DataError(f"{path}: {error}") from error
    except Exception as error:  # a damaged file can raise nearly anything in the reader of parquet
        raise DataError(f"{path}: cannot be read: {_reason(error)}") from error


def _numbers(path: Path, name: str, column: Any) -> Floats:
    """A column as finite floats."""
    pandas = require("pandas", "files", "reading tables")
    kind = getattr(column.dtype, "kind", "O")
    if kind in "mMc":
        raise DataError(
            f"{path}: column {name!r} holds {column.dtype} values, not numbers; "
            "leave it out as the time column if that is what it is"
        )
    given = column.tolist() if kind == "O" else ()
    huge = np.flatnonzero([isinstance(value, int) and abs(value) > LARGEST for value in given])
    if huge.size:  # of which pandas knows no float
        row = int(huge[0])
        raise DataError(
            f"{path}: a number of {len(str(column.iloc[row]))} digits, {_place(path, row)}, column "
            f"{name!r}: beyond {LARGEST:g} squares overflow"
        )
    values = pandas.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    words = np.flatnonzero(np.isnan(values) & ~column.isna().to_numpy())
    if words.size:
        row = int(words[0])
        raise DataError(
            f"{path}: {column.iloc[row]!r} is not a number, {_place(path, row)}, column {name!r}; "
            "is it the column of labels (--label-column), of time (--time-column), or of names of "
            "recordings (--recording-column)?"
        )
    _refuse_gaps(path, name, values)
    return np.asarray(values)


def _codes(column: Any) -> NDArray[np.int64]:
    """Numbers for the values of a column, -1 where it is blank or the number -1."""
    pandas = require("pandas", "files", "reading tables")
    if getattr(column.dtype, "kind", "O") in "if":
        column = column.mask(column == -1)
    return np.asarray(pandas.factorize(column)[0], dtype=np.int64)


def _without_blanks(column: Any, missing_labels: Sequence[str] = ()) -> Any:
    """A column of names, text of nothing but spaces and what is spelled so missing."""
    return column.mask(
        column.map(
            lambda value: (
                (isinstance(value, str) and not value.strip()) or _spelled(value, missing_labels)
            )
        ).astype(bool)
    )


def _numbered(column: Any) -> Any:
    """A column of labels: text that is all numbers becomes numbers."""
    pandas = require("pandas", "files", "reading tables")
    known = column.dropna()
    if not len(known) or not all(isinstance(value, str) for value in known):
        return column
    numbers = pandas.to_numeric(known, errors="coerce")
    if not np.isfinite(numbers.to_numpy(dtype=np.float64)).all():  # "nan" and "inf" are names
        return column
    return numbers.reindex(column.index)


def _spelled(label: Any, spellings: Sequence[str]) -> bool:
    """Whether a label is written in one of these ways."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return bool(spellings) and str(label).strip() in {spelling.strip() for spelling in spellings}


def _label_column(path: Path, name: str, column: Any, blanks: bool) -> Labels:
    missing = np.flatnonzero(column.isna().to_numpy())
    if missing.size and blanks:
        return _codes(column)
    if missing.size:
        place = _place(path, int(missing[0]))
        raise DataError(f"{path}: no label, {place}, column {name!r}; {missing.size} are missing")
    if getattr(column.dtype, "kind", "O") in "biuf":
        return np.asarray(column.to_numpy())
    return np.array([str(label) for label in column])


def _refuse_gaps(path: Path, feature: str, values: Floats) -> None:
    gaps = np.flatnonzero(~np.isfinite(values))
    if gaps.size:
        row = int(gaps[0])
        what = "a missing value" if np.isnan(values[row]) else str(values[row])
        more = f" and {gaps.size - 1} more below it" if gaps.size > 1 else ""
        raise DataError(
            f"{path}: {what} in {_place(path, row)}, column {feature!r}{more}; "
            "interpolate or drop them first"
        )


def _place(path: Path, row: int) -> str:
    """Rows count from 0, as in the arrays; the lines of a text file from 1, after the header."""
    return f"row {row} (line {row + 2})" if path.suffix.lower() == ".csv" else f"row {row}"


def _is_one_line(columns: Sequence[str]) -> bool:
    """Whether a header was not taken apart, being written with another separator."""
    return len(columns) == 1 and any(separator in columns[0] for separator in ";\t|")


def _refuse_repeated(path: Path, names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"{path}: features need different names, repeated: {listed(repeated)}")
