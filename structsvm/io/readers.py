"""One reader per kind of file; every complaint names the file, the row and the column."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.times import STORED, TimeAxis, axis_of, first_of_no_time, put_back, read_times
from structsvm.data.words import LARGEST
from structsvm.errors import DataError, DataWarning, MissingExtraError, SettingsError, warn
from structsvm.io.gaps import without_gaps
from structsvm.io.options import USUAL, FileOptions
from structsvm.io.recording import Origin, Recording, listed, repeated_in, spelled
from structsvm.io.text import (
    CALLED,
    COMMA_NUMBER,
    COMMENT,
    ROWS,
    TEXT_KINDS,
    TextFormat,
    check_rows,
    kind_of,
    lines_of,
    read_text,
    refuse_thousands_in,
    without_blanks,
)
from structsvm.partial_labels.labels import known_where
from structsvm.storage import limits, npz
from structsvm.support.arrays import Floats
from structsvm.support.extras import require
from structsvm.support.plain import counted

Labels = NDArray[Any]

UNNAMED = "Unnamed: 0"
"""What pandas calls the column of row numbers that it writes itself."""
NO_NAME = re.compile(r"Unnamed: \d+")
"""What it calls columns without a name."""
LINES = "lines"
"""The attribute of a frame that holds the line of each of its rows, where that is not usual."""
EXCEL = (".xlsx",)
SKIP = "skip_lines=[1]"
"""The option that leaves out lines, for that above a header."""
MISSING_WORDS = {
    *("", "-", "--", "---", "?", ".", "*", "na", "n.a.", "n/a", "nan", "nd", "n.d.", "none"),
    *("null", "nil", "missing", "unknown", "invalid", "#n/a", "#na", "#null!", "#value!"),
    *("#div/0!", "#num!", "#ref!", "1.#qnan", "-1.#ind", "<na>", "nat"),
}
"""Words that stand for a missing value in a column of numbers, in lower case."""
FEW_LINES = 5
"""Lines with words among numbers that a message names."""
TEXT_EXAMPLES = 3
"""Columns of text that a message names with the option that leaves them out."""


def read_npz(
    path: Path,
    name: str,
    options: FileOptions = USUAL,
    wanted: Sequence[str] = (),
) -> Recording:
    """Read ``X``, ``y`` or ``bkps``, ``features`` and ``time``; what else is there is left
    alone.
    """
    names = ("X", "y", "bkps", "features", "time", *(f"time.{name}" for name in STORED))
    arrays, present = _load_arrays(path, names, options.max_bytes)
    if "X" not in arrays:
        raise DataError(f"{path}: no array 'X'; it holds {listed(present)}")
    X = arrays["X"]
    if X.ndim != 2 or 0 in X.shape:
        raise DataError(f"{path}: X has shape {X.shape}, expected (T, P), one row per sample")
    if X.dtype.kind not in "fiub":
        raise DataError(f"{path}: X holds {X.dtype} values, expected numbers")
    features = _features(path, arrays.get("features"), X.shape[1])
    y = _labels(path, arrays, X.shape[0])
    if y is None and options.need_labels:
        raise DataError(f"{path}: no labels, neither 'y' nor 'bkps'; it holds {listed(present)}")
    if {"y", "bkps"} <= arrays.keys() and (options.need_labels or options.blanks):
        _refuse_two_partitions(path, y, _of_breakpoints(path, arrays["bkps"], len(X)))
    if y is not None and options.missing_labels:
        unlabelled = np.array([_spelled(label, options.missing_labels) for label in y.tolist()])
        y = known_where(y, ~unlabelled) if unlabelled.any() else y
    chosen = options.chosen(path, features, wanted)
    places = {name: j for j, name in enumerate(features)}
    values = X.astype(np.float64)[:, [places[name] for name in chosen]]
    time = _stored_times(path, arrays, len(X))
    whole = Recording(name, np.ascontiguousarray(values), y, chosen, str(path), time=time)
    return without_gaps([whole], options.missing, in_order=options.in_order)[0]


def _stored_times(path: Path, arrays: Mapping[str, Any], n_samples: int) -> TimeAxis | None:
    """The times of an ``.npz`` file; a warning if they are none, one for each sample in order."""
    values = arrays.get("time")
    if values is None:
        return None
    if values.shape != (n_samples,):
        reason = f"it has shape {values.shape}, and there are {n_samples} samples"
    elif values.dtype.kind not in "iufM":
        reason = f"it holds {values.dtype} values, and neither numbers nor datetime64"
    elif not (~np.isnat(values) if values.dtype.kind == "M" else np.isfinite(values)).all():
        reason = "some of its values are missing"
    elif (values[1:] < values[:-1]).any():
        reason = f"it is not in order, first after sample {(values[1:] < values[:-1]).argmax()}"
    else:
        try:
            return axis_of(arrays)
        except DataError as error:
            raise DataError(f"{path}: {error}") from None
    warn(f"{path}: 'time' is not used, because {reason}; samples are counted instead", DataWarning)
    return None


def read_table(
    path: Path,
    name: str,
    options: FileOptions = USUAL,
    wanted: Sequence[str] = (),
) -> list[Recording]:
    """Read a table with a header; of the features, those wanted suffice."""
    frame, written = read_frame(path, options)
    return table_recordings(
        with_levels(frame, options), path, name, options, wanted=wanted, written=written
    )


def table_recordings(
    frame: Any,
    path: Path,
    name: str,
    options: FileOptions = USUAL,
    *,
    wanted: Sequence[str] = (),
    written: TextFormat | None = None,
) -> list[Recording]:
    """The recordings of a pandas frame, one unless a column tells several apart."""
    label_column, time_column, chunk_column, recording_column = options.roles
    headers = [str(column) for column in frame.columns]
    frame.columns = headers
    _refuse_repeated(path, headers)
    others = [time_column, chunk_column, recording_column]
    aside = {UNNAMED, label_column, *others}
    for column in [label_column if options.need_labels else None, *others]:
        if column is None or column in headers or column in options.optional - {label_column}:
            continue
        hint = "name another, label_column=" if column == label_column else "name another"
        if written is not None and len(headers) == 1:
            hint = f"read with {written.separator!r} between columns: separator= names another"
        raise DataError(
            f"{path}: no column {column!r}; the columns are {listed(headers)}; {hint}"
            f"{_further_down(headers)}"
        )
    there = [column for column in headers if column not in aside]
    features = options.chosen(path, there, wanted)
    if not features or not len(frame):
        there_is = f"{counted(len(frame), 'row')} and {counted(len(features), 'feature')}"
        raise DataError(f"{path}: {there_is}: nothing to read")
    lines = _has_lines(path)
    origin = Origin(
        path, np.arange(len(frame)), lines, written, frame.attrs.get(LINES), options.skip_lines
    )
    X = _feature_array(frame, features, origin)
    y = None
    if label_column is not None and label_column in headers:
        known = _without_blanks(_stripped(frame[label_column]), options.missing_labels)
        column = _numbered(known, origin, label_column)
        if (
            options.need_labels or options.blanks or not column.isna().any()
        ):  # else it is as good as none
            y = _label_column(origin, label_column, column, options.blanks)
    chunks = None
    if chunk_column is not None:
        chunks = _codes(_numbered(_without_blanks(frame[chunk_column]), origin, chunk_column))
    whole = Recording(name, X, y, features, str(path), chunks, origin=origin)
    if time_column is not None and time_column in headers:
        whole = _timed(whole, time_column, frame[time_column])
    found = [whole]
    if recording_column is not None and recording_column in headers:
        found = _apart(whole, recording_column, frame[recording_column])
    return without_gaps(_in_order(found, path), options.missing, in_order=options.in_order)


def with_levels(frame: Any, options: FileOptions) -> Any:
    """A pandas frame in which the levels of the index that are asked for are columns."""
    asked = set(options.roles) - {None}
    levels = [level for level in frame.index.names if level is not None and str(level) in asked]
    return frame.reset_index(level=levels) if levels else frame


def _timed(whole: Recording, name: str, column: Any) -> Recording:
    """The recording with the times of a column; a warning if they are neither numbers nor dates."""
    assert whole.origin is not None
    times = read_times(name, column, whole.origin.format is not None)
    if isinstance(times, TimeAxis):
        return replace(whole, time=times)
    if times is None:
        row = first_of_no_time(column)
        warn(
            f"{whole.where}: the times of column {name!r} are not used, because "
            f"{str(column.iloc[row])!r}, {whole.place(row)}, is neither a number nor a date; "
            "samples are counted instead",
            DataWarning,
        )
        return whole
    place = whole.place(int(times[0]))
    raise DataError(
        f"{whole.where}: no time in {place}, column {name!r}: give it one, or take the row out"
    )


def _apart(whole: Recording, name: str, column: Any) -> list[Recording]:
    """The recordings of a long table, in the order in which they begin."""
    pandas = require("pandas", "files", "reading tables")
    numbers, ids = pandas.factorize(_without_blanks(_stripped(column)))
    path = whole.where
    blank = np.flatnonzero(numbers < 0)
    if blank.size:
        raise DataError(
            f"{path}: {whole.place(int(blank[0]))} is of no recording, column {name!r} is blank "
            f"there; {blank.size} are missing"
        )
    names = [_file_name(value) for value in ids]
    if len(set(names)) < len(names):
        twice = repeated_in(names)[0]
        raise DataError(f"{path}: two recordings would be called {twice!r}, give them other names")
    return [
        replace(
            whole.at(np.flatnonzero(numbers == number)), name=own, source=f"{path}, {name} {own}"
        )
        for number, own in enumerate(names)
    ]


def _in_order(recordings: Sequence[Recording], path: Path) -> list[Recording]:
    """The recordings with their samples in the order of time, where times are known."""
    found, moved, column, back = [], [], "", ""
    for recording in recordings:
        time = None if recording.time is None else recording.time.past_midnight()
        recording = replace(recording, time=time)
        if time is not None and (time.values[1:] < time.values[:-1]).any():
            recording = recording.at(np.argsort(time.values, kind="stable"))
            moved.append(recording.name)
            column = time.name
        back = back or put_back(time)
        found.append(recording)
    if moved:
        warn(
            f"{path}: the rows of {listed(moved)} are not in the order of {column!r}: they are "
            f"read in that order, and samples are counted in it{_together(found) or back}",
            DataWarning,
        )
    elif back:
        warn(f"{path}: a time occurs twice{back}", DataWarning)
    return found


def _together(recordings: Sequence[Recording]) -> str:
    for recording in recordings:
        if recording.time is not None and len(recording.time) >= 2 * len(
            np.unique(recording.time.values)
        ):
            return (
                ". Most times occur more than once, as in a table of several recordings: if it is "
                "one, name the column that tells them apart, recording_column="
            )
    return ""


def _file_name(value: Any) -> str:
    """The name of a recording, which may become that of a file."""
    return spelled(re.sub(r"[/\\\x00-\x1f]", "_", str(value).strip()))


def _load_arrays(
    path: Path, names: Sequence[str], max_bytes: int | None
) -> tuple[dict[str, Any], list[str]]:
    """The named arrays as far as the file has them, and the names of all it has."""
    try:
        with path.open("rb") as file:
            return npz.read_npz(file, names, max_bytes)
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
        return (
            "it is no .npz file, or one with pickled objects, which are never loaded: save names "
            "as text, np.array(list(y), dtype=str)"
        )
    longer = re.search(r"Expected (\d+) fields in (line \d+), saw (\d+)", str(error))  # of pandas
    if longer:
        return (
            f"{longer[2]} has {longer[3]} columns where {longer[1]} are expected; if lines above "
            f"the header are none of the table, leave them out: {SKIP}"
        )
    return " ".join(str(error).split())


def _features(path: Path, names: Any, n_features: int) -> tuple[str, ...]:
    """The names of the columns of ``X``: x0, x1, ... if the file has none."""
    if names is None:
        return tuple(f"x{j}" for j in range(n_features))
    features = tuple(str(feature) for feature in np.atleast_1d(names).ravel())
    if len(features) != n_features:
        names_there, there = counted(len(features), "name"), counted(n_features, "column")
        raise DataError(f"{path}: {names_there} in 'features', X has {there}")
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
    return _of_breakpoints(path, arrays["bkps"], n_samples) if "bkps" in arrays else None


def _refuse_two_partitions(path: Path, y: Any, segments: Labels) -> None:
    """Raise DataError where labels change elsewhere than their segments end."""
    differ = (y[1:] != y[:-1]) != (segments[1:] != segments[:-1])
    if differ.any():
        change = int(differ.argmax()) + 1
        by, other = ("bkps", "y") if segments[change] != segments[change - 1] else ("y", "bkps")
        raise DataError(
            f"{path}: 'y' and 'bkps' are of different segments: {by!r} has a change at sample "
            f"{change} and {other!r} has none: leave one of them out"
        )


def _of_breakpoints(path: Path, bkps: Any, n_samples: int) -> Labels:
    """The number of the segment of each sample, (T,); DataError if these are no ends of it."""
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
    options: FileOptions = USUAL,
    *,
    as_text: bool = False,
) -> tuple[Any, TextFormat | None]:
    """The pandas data frame of a file, and how it is written if it is text."""
    kind = kind_of(path)
    pandas = require("pandas", "files", f"reading {kind} files")
    try:
        if kind == ".parquet":
            return _parquet_frame(path, options.max_bytes), None
        if kind in EXCEL:
            return _excel_frame(path, as_text, options), None
        text, written = read_text(path, options)
        if as_text:
            return _as_text(text, written), written
        frame = _text_frame(path, text, written, options)
        if options.decimal is None and (written.separator, written.decimal) == (";", "."):
            _refuse_late_thousands(path, text, written, frame)
        return frame, written
    except pandas.errors.EmptyDataError as error:
        raise DataError(f"{path}: the file is empty") from error
    except pandas.errors.ParserWarning as error:
        raise DataError(
            f"{path}: its rows have more columns than its header; if the header is further down, "
            f"leave out what is above: {SKIP}"
        ) from error
    except (DataError, SettingsError, MissingExtraError):
        raise
    except limits.TooLarge as error:
        raise DataError(f"{path}: {error}") from error
    except Exception as error:  # a damaged file can raise nearly anything in the reader of parquet
        raise DataError(f"{path}: cannot be read: {_reason(error)}") from error


def _parquet_frame(path: Path, max_bytes: int | None) -> Any:
    pandas = require("pandas", "files", "reading .parquet files")
    about = require("pyarrow.parquet", "files", "reading .parquet files").read_metadata(path)
    expanded = 8 * about.num_rows * about.num_columns
    limits.check_bytes(expanded, path.stat().st_size, max_bytes)
    return pandas.read_parquet(path)


def _excel_frame(path: Path, as_text: bool, options: FileOptions) -> Any:
    """The first sheet; a warning says so where there are more. Empty rows at its ends are none."""
    pandas = require("pandas", "files", "reading .xlsx files")
    require("openpyxl", "excel", "reading .xlsx files")
    with zipfile.ZipFile(path) as archive:
        expanded = sum(info.file_size for info in archive.infolist())
    limits.check_bytes(expanded, path.stat().st_size, options.max_bytes)
    more: dict[str, Any] = {"dtype": str} if as_text else {"na_values": [""]}
    with pandas.ExcelFile(path, engine="openpyxl") as book:
        sheets = [str(name) for name in book.sheet_names]
        frame = pandas.read_excel(
            book, sheet_name=sheets[0], header=None, keep_default_na=False, **more
        )
        if frame.isna().to_numpy().any():
            _warn_of_formulas(path, book.book[sheets[0]])
    there = ~(frame.isna() | (frame == "")).all(axis=1).to_numpy()
    there[[line - 1 for line in options.skip_lines if line <= len(frame)]] = False
    if not there.any():
        raise pandas.errors.EmptyDataError
    lines = np.arange(1, len(frame) + 1)
    first, last = np.flatnonzero(there)[[0, -1]]
    kept = np.flatnonzero(
        ~np.isin(lines, options.skip_lines) & (first < lines) & (lines <= last + 1)
    )
    frame = frame.iloc[kept]
    if len(sheets) > 1 and not as_text:
        warn(
            f"{path}: of its sheets {listed(sheets)} the first is read; save the others as files "
            "of their own if they are recordings too",
            DataWarning,
        )
    header = [_header_text(name) for name in frame.iloc[0]]
    body = frame.iloc[1:].reset_index(drop=True).infer_objects()
    body.columns = header
    found = body if as_text else _without_nothing(body)
    found.attrs[LINES] = lines[kept][1:]
    return found


def _warn_of_formulas(path: Path, sheet: Any) -> None:
    """Warn of cells of a sheet that look empty, because the value of their formula is not
    stored.
    """
    openpyxl = require("openpyxl.xml.functions", "excel", "reading .xlsx files")
    cells = []
    with sheet._get_source() as source:  # openpyxl has no other way in
        for _, element in openpyxl.iterparse(source):
            kind = element.tag.rpartition("}")[2]
            if kind == "c":
                parts = {part.tag.rpartition("}")[2]: part.text for part in element}
                if "f" in parts and not parts.get("v") and element.get("t") != "str":
                    cells.append(element.get("r", "one"))
            elif kind == "row":
                element.clear()
    if cells:
        warn(
            f"{path}: the value of the formula in cell {cells[0]} is not stored, and is missing "
            f"({counted(len(cells), 'cell')} in all): open the file in a program for sheets and "
            "save it there, which stores the values",
            DataWarning,
        )


def _header_text(value: Any) -> str:
    """The name of a column, "" for an empty cell."""
    return "" if value is None or value != value else str(value)


def _as_text(text: str, written: TextFormat) -> Any:
    """A frame of texts."""
    pandas = require("pandas", "files", "reading tables")
    with warnings.catch_warnings():  # of blanks at the ends of rows
        warnings.simplefilter("ignore", pandas.errors.ParserWarning)
        frame = pandas.read_csv(
            io.StringIO(text),
            sep=written.separator,
            skipinitialspace=True,
            dtype=str,
            keep_default_na=False,
            index_col=False,
        )
    names = next(iter(written.rows(text)))
    if len(names) == len(frame.columns):  # pandas names columns without a name
        frame.columns = [name.strip() for name in names]
    return frame


def _text_frame(
    path: Path,
    text: str,
    written: TextFormat,
    options: FileOptions,
) -> Any:
    """A frame of numbers and words; labels and names of recordings are words."""
    pandas = require("pandas", "files", "reading tables")
    label_column, recording_column = options.label_column, options.recording_column
    text = without_blanks(text, written.separator)
    # pandas looks for missing values after its converters too: a mark in front hides them
    marked = {} if label_column is None else {label_column: lambda text: f"={text.strip()}"}
    with warnings.catch_warnings():
        # longer rows: without index_col their first values are names and the others shift
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        frame = pandas.read_csv(
            io.StringIO(text),
            sep=written.separator,
            decimal=written.decimal,
            skipinitialspace=True,
            low_memory=False,
            converters=marked,
            dtype=None if recording_column in (None, label_column) else {recording_column: str},
            index_col=False,
        )
    if label_column is not None and label_column in frame.columns:
        frame[label_column] = [text[1:] for text in frame[label_column]]
    last = frame.iloc[:, -1]
    check_rows(path, text, written, bool((last.isna() | (last.astype(str) == "")).any()))
    found = _without_nothing(frame)
    found.attrs[LINES] = lines_of(text, written.separator, len(frame))
    return found


def _refuse_late_thousands(path: Path, text: str, written: TextFormat, frame: Any) -> None:
    """Refuse thousands with a point that come after many smaller numbers, in text with
    semicolons.
    """
    header = [name.strip() for name in next(iter(written.rows(text)))]
    places = {name: j for j, name in reversed(list(enumerate(header)))}
    columns = [
        places[name] for name in frame.columns if name in places and _may_be_counts(frame[name])
    ]
    if columns:
        refuse_thousands_in(path, text, written.separator, columns)


def _may_be_counts(column: Any) -> bool:
    if getattr(column.dtype, "kind", "O") != "f":
        return False
    values = np.abs(column.dropna().to_numpy())
    parts = values[values != np.round(values)]
    thousandths = np.isclose(1000 * parts, np.round(1000 * parts), rtol=0, atol=1e-6)
    begins = values[:ROWS] == np.round(values[:ROWS])
    return bool(parts.size and begins.all() and (parts >= 1).all() and thousandths.all())


def _without_nothing(frame: Any) -> Any:
    """A frame without columns that have neither a name nor a value, as commas at ends make them."""
    unnamed = [not name or bool(NO_NAME.fullmatch(str(name))) for name in frame.columns]
    if not any(unnamed):
        return frame
    nothing = np.array(unnamed) & frame.isna().all().to_numpy()
    return frame.loc[:, ~nothing]


def _has_lines(path: Path) -> bool:
    return kind_of(path) in (*TEXT_KINDS, *EXCEL)


def _feature_array(frame: Any, features: Sequence[str], origin: Origin) -> Floats:
    """Columns as floats, (T, P), NaN where a value is missing."""
    pandas = require("pandas", "files", "reading tables")
    chosen = frame[list(features)]
    if all(getattr(dtype, "kind", "O") in "fiub" for dtype in chosen.dtypes):
        return np.ascontiguousarray(chosen.to_numpy(np.float64, na_value=np.nan))
    arrays: list[Floats] = []
    words: dict[str, NDArray[np.intp]] = {}
    for name in features:
        column = frame[name]
        if getattr(column.dtype, "kind", "O") in "mMc":
            raise DataError(
                f"{origin.path}: column {name!r} holds {column.dtype} values, not numbers; "
                "leave it out as the time column if that is what it is"
            )
        _refuse_huge(name, column, origin)
        if origin.format is not None and origin.format.decimal == "," and column.dtype.kind == "O":
            column = column.map(_with_point)  # of a column with a word, pandas reads no number
        found = pandas.to_numeric(column, errors="coerce")
        values = found.to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = np.flatnonzero(np.isnan(values) & ~column.isna().to_numpy())
        if wrong.size and not (wrong.size < len(values) and _are_missing(column.iloc[wrong])):
            words[name] = wrong
        arrays.append(values)
    if words:
        _refuse_words(frame, words, origin)
    return np.column_stack(arrays)


def _are_missing(values: Any) -> bool:
    """Whether the words among the numbers of a column all say that there is none."""
    return {str(value).strip().lower() for value in values} <= MISSING_WORDS


def _with_point(value: Any) -> Any:
    """A value whose decimal comma, if it is a text, is a point."""
    return value.replace(",", ".") if isinstance(value, str) else value


def _refuse_huge(name: str, column: Any, origin: Origin) -> None:
    """Raise DataError for whole numbers of which pandas knows no float."""
    given = column.tolist() if getattr(column.dtype, "kind", "O") == "O" else ()
    huge = np.flatnonzero([isinstance(value, int) and abs(value) > LARGEST for value in given])
    if huge.size:
        row = int(huge[0])
        raise DataError(
            f"{origin.path}: a number of {len(str(column.iloc[row]))} digits, {origin.place(row)}, "
            f"column {name!r}: beyond {LARGEST:g} squares overflow"
        )


def _refuse_words(frame: Any, words: Mapping[str, NDArray[np.intp]], origin: Origin) -> None:
    """Raise DataError for columns that hold words, with the options that leave them out."""
    (first, rows), *others = words.items()
    row = int(rows[0])
    more = f" (and there are words in {listed([name for name, _ in others])})" if others else ""
    shown = list(words)[:TEXT_EXAMPLES]
    values = {str(value) for value in frame[first].iloc[rows]}
    blank = ""
    if len(values) == 1 and 2 * rows.size < len(frame):
        blank = "; if it stands for a missing value, leave its cells blank"
    if origin.format is not None and all(map(COMMA_NUMBER.fullmatch, values)):
        blank = "; if the comma is the decimal mark, say decimal=','"
    if origin.format is not None and len(frame.columns) == 1:
        between = CALLED.get(origin.format.separator, repr(origin.format.separator))
        blank = f"; its rows were read with {between} between columns: separator= names another"
    ignored = f"ignore={shown[0]!r}" if len(shown) == 1 else f"ignore={shown}"
    raise DataError(
        f"{origin.path}: {frame[first].iloc[row]!r} is not a number, {origin.place(row)}, column "
        f"{first!r}{more}; is it the column of labels (label_column=), of time (time_column=), "
        f"or of names of recordings (recording_column=)? {ignored} leaves it out"
        f"{blank}{_few_lines(frame, words, origin)}"
    )


def _further_down(names: Sequence[str]) -> str:
    if not any(NO_NAME.fullmatch(name) for name in names[1:]):
        return ""
    return f". If the header is further down, leave out what is above: {SKIP}"


def _few_lines(frame: Any, words: Mapping[str, NDArray[np.intp]], origin: Origin) -> str:
    """The option that leaves out the lines with words that are units or comments, as it seems."""
    rows = np.unique(np.concatenate(list(words.values())))
    if further_down := _further_down(frame.columns):
        return further_down
    if not origin.has_lines or FEW_LINES < rows.size or 2 * rows.size > len(frame):
        return ""
    at_the_top = rows[-1] == rows.size - 1
    if not at_the_top and not frame.iloc[rows, 0].astype(str).str.startswith(COMMENT).all():
        return ""
    lines = ",".join(str(origin.line(row)) for row in rows.tolist())
    return f". skip_lines=[{lines}] leaves out what looks like units or comments"


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


def _stripped(column: Any) -> Any:
    """A column without blanks around its texts."""
    return column.map(lambda value: value.strip() if isinstance(value, str) else value)


def _numbered(column: Any, origin: Origin, name: str) -> Any:
    """A column of labels: text that is all numbers becomes numbers; a warning if two become one."""
    pandas = require("pandas", "files", "reading tables")
    known = column.dropna()
    if not len(known) or not all(isinstance(value, str) for value in known):
        return column
    numbers = pandas.to_numeric(known, errors="coerce")
    if not np.isfinite(numbers.to_numpy(dtype=np.float64)).all():  # "nan" and "inf" are names
        return column
    written = known.drop_duplicates()
    of_each = numbers[written.index]
    if of_each.duplicated().any():
        number = of_each[of_each.duplicated()].iloc[0]
        one, other, *_ = written[of_each == number]
        warn(
            f"{origin.path}: {one!r} and {other!r} in column {name!r} are the same number, "
            "and therefore one label: give them names if they are two",
            DataWarning,
        )
    return numbers.reindex(column.index)


def _spelled(label: Any, spellings: Sequence[str]) -> bool:
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return bool(spellings) and str(label).strip() in {spelling.strip() for spelling in spellings}


def _label_column(origin: Origin, name: str, column: Any, blanks: bool) -> Labels:
    if getattr(column.dtype, "kind", "O") == "f" and (column.abs() >= 2**53).any():
        raise DataError(
            f"{origin.path}: column {name!r} has labels that are numbers beyond 2**53, of which "
            "several are one float: write them as text"
        )
    missing = np.flatnonzero(column.isna().to_numpy())
    if missing.size and blanks:
        return _known_labels(column)
    if missing.size:
        place, n = origin.place(int(missing[0])), missing.size
        raise DataError(
            f"{origin.path}: no label, {place}, column {name!r}; {n} are missing: label them, or "
            "learn without them, structsvm fit (blanks=True in Python)"
        )
    if getattr(column.dtype, "kind", "O") in "biuf":
        return np.asarray(column.to_numpy())
    return np.array([str(label) for label in column])


def _known_labels(column: Any) -> Labels:
    """The labels of a column, (T,): those of other columns alike, and -1 where it is blank."""
    known, kind = column.notna().to_numpy(), getattr(column.dtype, "kind", "O")
    if kind in "iu":
        return known_where(column.fillna(0).to_numpy(dtype=np.int64), known)
    if kind == "f":
        return known_where(column.fillna(0.0).to_numpy(dtype=np.float64), known)
    pairs = zip(column, known, strict=True)
    names = [
        label if not there or isinstance(label, bool) else str(label) for label, there in pairs
    ]
    values = np.empty(len(names), dtype=object)
    values[:] = names
    return known_where(values, known)


def _refuse_repeated(path: Path, names: Sequence[str]) -> None:
    repeated = repeated_in(names)
    if "" in repeated:
        raise DataError(
            f"{path}: {names.count('')} columns have no name: give them names, or leave out lines "
            f"above the header, {SKIP}"
        )
    if repeated:
        raise DataError(f"{path}: features need different names, repeated: {listed(repeated)}")
