"""Conversion of tables to recordings."""

import io
import re
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.data import axis_of, put_back
from structsvm.errors import (
    DataError,
    MissingExtraError,
    SettingsError,
    about,
    join,
    parameter,
    said_by,
    warn,
)
from structsvm.io.cleaning import without_gaps
from structsvm.io.header import ROW_NUMBERS
from structsvm.io.recording import BLANKS_BETWEEN, USUAL_OPTIONS, FileOptions, Origin, Recording
from structsvm.io.sniff import EXCEL, kind_of, read_text, refuse_thousands
from structsvm.io.table_columns import (
    FIRST_DATES,
    NO_NAME,
    ROLE_PARAMETERS,
    _stripped,
    as_numbers,
    between,
    features_of,
    is_of_times,
    is_text_table,
    labels_in_column,
    times_of,
    with_categories,
    with_dates,
    with_one,
)
from structsvm.support import (
    check_bytes,
    counted,
    listed,
    refuse_repeated,
    repeated_in,
    require,
    spelled,
)

ABOVE_HEADER = " leaves out a line above the header"
TOO_MANY = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")  # an error of pandas
FEW_LABELS, ROWS_OF_A_LABEL = 50, 5
"""A column looks like one of labels with at most so many different values, of so many rows each."""


def read_frame(
    path: Path, options: FileOptions = USUAL_OPTIONS, *, as_text: bool = False
) -> tuple[Any, Origin]:
    """Read a table as a pandas frame, with its cells as they are written if ``as_text``."""
    kind = kind_of(path)
    pandas = require("pandas", "files", f"reading {kind} files")
    try:
        with about(path):
            if kind != ".parquet":
                return _of_text(path, as_text, options)
            parquet = require("pyarrow.parquet", "files", f"reading {kind} files")
            size = parquet.read_metadata(path)
            expanded = 8 * size.num_rows * size.num_columns
            check_bytes(expanded, path.stat().st_size, options.max_bytes)
            frame = pandas.read_parquet(path)
            return frame, Origin(path, np.arange(len(frame)), options=options)
    except (DataError, SettingsError, MissingExtraError):
        raise
    except Exception as error:  # a damaged file can raise nearly anything in the reader of parquet
        reason: str = "cannot be read: " + said_by(error, in_a_line=True)
        if isinstance(error, pandas.errors.EmptyDataError):
            reason = "the file is empty"
        if more := TOO_MANY.search(str(error)):
            first, line, own = more.groups()
            reason = (
                f"cannot be read: line {line} has {own} columns, and those above have {first}: put "
                "a value that holds the mark between columns in quotes, or leave the line out, "
                + parameter("skip_lines", [int(line)])
            )
        raise DataError(f"{path}: " + reason) from error


def _sheet(path: Path, as_text: bool, options: FileOptions) -> str:
    """The first sheet of a workbook as CSV."""
    pandas = require("pandas", "files", "reading .xlsx files")
    require("openpyxl", "excel", "reading .xlsx files")
    with zipfile.ZipFile(path) as archive:
        expanded = sum(info.file_size for info in archive.infolist())
    check_bytes(expanded, path.stat().st_size, options.max_bytes)
    with pandas.ExcelFile(path, engine="openpyxl") as book:
        sheets = list(map(str, book.sheet_names))
        cells = pandas.read_excel(book, header=None, keep_default_na=False, na_values=[""])
    if len(sheets) > 1 and not as_text:
        warn(
            f"{path}: of its sheets {listed(sheets)} the first is read; save the others as files "
            "of their own if they are recordings too, or if they hold labels, "
            + parameter("labels")
        )
    blank = int(cells.notna().any(axis=1).to_numpy().argmax()) if len(cells) else 0
    cells = cells.iloc[blank:].replace({"\n": " "}, regex=True)
    return "\n" * blank + str(cells.to_csv(header=False, index=False))


def _of_text(path: Path, as_text: bool, options: FileOptions) -> tuple[Any, Origin]:
    """Read a text; labels and names of recordings are words even if they look like numbers."""
    pandas = require("pandas", "files", "reading tables")
    sheet = _sheet(path, as_text, options) if kind_of(path) in EXCEL else None
    text, written = read_text(path, options, sheet)
    names = list(written.names) or [name.strip() for name in next(written.rows(text), (0, []))[1]]
    if written.separator == BLANKS_BETWEEN:  # pandas splits at these even in quotes
        names = [name.replace('"', "") for name in names]
    options = options.for_columns(names)
    label = options.label_column
    if not (as_text or written.has_header):
        warn(f"{path}: it has no header: its columns are called {listed(names, 3)}")
    if as_text:
        reading = dict[str, Any](dtype=str, keep_default_na=False)
    else:
        refuse_repeated([name for name in names if name])
        reading = {"decimal": written.decimal, "low_memory": False}
        reading["converters"] = _converters(names, options)
    reading |= {"sep": written.separator, "skipinitialspace": True, "index_col": False}
    reading |= {"header": 0 if written.has_header else None, "names": written.names or None}
    with warnings.catch_warnings():
        # pandas would take the first values of rows that are longer than the header for names
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        frame = pandas.read_csv(io.StringIO(text), **reading)
    if len(names) == len(frame.columns):
        nameless = "" if as_text else "Unnamed: {}"
        frame.columns = [name or nameless.format(j) for j, name in enumerate(names)]
    if options.decimal is None:
        refuse_thousands((row for _, row in written.rows(text)), written)
    lines = [k for k, line in enumerate(text.split("\n"), 1) if line.strip()]
    last = frame.iloc[:, -1]
    may_be_short = (
        written.separator != BLANKS_BETWEEN and (last.isna() | last.isin(["", "="])).any()
    )
    n_lines = len(frame) + written.has_header
    if may_be_short or len(lines) != n_lines:  # the latter where cells have several lines
        all_rows = list(written.rows(text))
        lines = [line for line, _ in all_rows]
        if may_be_short and not as_text:
            n_named = max((j for j, name in enumerate(names, 1) if name), default=0)
            _refuse_short_rows(all_rows, written.has_header, n_named, label)
    rows = np.arange(len(frame))
    first = int(written.has_header)
    numbers = np.array(lines[first:]) if len(lines) == n_lines else rows + 1 + first
    origin = Origin(path, rows, written, numbers, options)
    if as_text:
        return frame.fillna(""), origin
    if label in frame.columns:
        frame[label] = frame[label].str[1:]
    unnamed = [not written.has_header or NO_NAME.fullmatch(str(name)) for name in frame.columns]
    return frame.loc[:, ~(np.array(unnamed, dtype=bool) & frame.isna().all().to_numpy())], origin


def _converters(names: Sequence[str], options: FileOptions) -> dict[int, Callable[[str], str]]:
    """Converters for pandas of the columns, by number, whose cells are kept as texts."""
    parts = chain.from_iterable(options.joined.values())
    by_name: dict[Any, Any] = dict.fromkeys((options.roles[-1], *parts), str)
    # a mark in front of labels, which pandas would otherwise take for missing, as NA
    by_name[options.label_column] = lambda cell: f"={cell.strip()}"
    return {names.index(name): convert for name, convert in by_name.items() if name in names}


def _refuse_short_rows(
    rows: Sequence[tuple[int, list[str]]], has_header: bool, n_columns: int, label: Any
) -> None:
    """Refuse rows of fewer columns than the first, which may be a title above the header."""
    short = next((line for line, row in rows[has_header:] if len(row) < n_columns), None)
    if short is None:
        return
    (above, _), (_, names), *_ = rows
    is_title = label in names and all(len(row) == len(names) for _, row in rows[1:])
    hint = "; " + parameter("skip_lines", [above]) + ABOVE_HEADER
    raise DataError(
        f"cannot be read: line {short} has fewer columns than the first"
        + (hint if is_title else "")
    )


def recordings_in(frame: Any, origin: Origin, name: str) -> list[Recording]:
    """Convert a pandas frame to recordings, one for each value of the recording column."""
    frame, origin = _with_index(frame, origin)
    options = origin.options
    path = origin.path
    frame.columns = headers = [str(column) for column in frame.columns]
    options = options.for_columns(headers)
    refuse_repeated(headers)
    for whole, parts in options.joined.items():
        if whole not in headers and {*parts} <= {*headers}:
            frame = with_one(frame, whole, parts)
            headers = list(frame.columns)
    needed = [options.label_column] if options.need_labels else []
    needed += [column for column in options.roles[1:] if column not in options.optional]
    if missing := [column for column in needed if column is not None and column not in headers]:
        _refuse_without(missing[0], frame, origin)
    dates = None
    if options.in_order and options.time_column is None:
        named = {ROW_NUMBERS, *options.roles, *options.features, *options.ignore}
        others = [name for name in headers if name not in named | {*options.categories}]
        joined, dates = with_dates(frame, others, origin)
        if dates is not None:
            frame = joined
            headers = list(frame.columns)
            options = replace(options, time_column=dates.name)
            origin = replace(origin, options=options)
    no_features = {ROW_NUMBERS, *options.roles}
    features = options.chosen([column for column in headers if column not in no_features])
    if not features or not len(frame):
        size = f"{counted(len(frame), 'row')} and {counted(len(features), 'feature')}"
        raise DataError(f"{size}: nothing to read")
    frame, features = with_categories(frame, features, origin)
    X = features_of(frame, features, origin)
    label, time, chunk, recording = (
        frame[column] if column in headers else None for column in options.roles
    )
    y = None if label is None else labels_in_column(label, origin)
    chunks = None
    if chunk is not None:
        chunks = as_numbers(_stripped(chunk, ("-1",)), origin).factorize()[0]
    times = dates if dates is not None or time is None else times_of(time, origin)
    every = Recording(name, X, y, features, str(path), chunks, times, origin)
    tables = [every] if recording is None else _apart(every, recording)
    return [without_gaps(one, options) for one in _in_order(tables, path)]


def _with_index(frame: Any, origin: Origin) -> tuple[Any, Origin]:
    """Put the levels of an index that name recordings and hold times into columns."""
    options = origin.options
    if frame.index.nlevels > 1 and options.recording_column is None:
        names = [f"level {k}" if n is None else str(n) for k, n in enumerate(frame.index.names)]
        frame = frame.set_axis(frame.index.set_names(names))
        when = options.time_column or names[-1]
        options = replace(options, recording_column=names[:-1], time_column=when)
    used = {*options.roles, *chain.from_iterable(options.joined.values())}
    levels = [level for level in frame.index.names if level and str(level) in used]
    frame = frame.reset_index(level=levels) if levels else frame
    index = frame.index
    is_time = options.time_column is None and axis_of(index, str(origin.path)) is not None
    if is_time and (options.recording_column is None or index.dtype.kind not in "iu"):
        options = replace(options, time_column=str(index.name or "time"))
        frame = frame.reset_index(names=options.time_column)
    return frame, replace(origin, options=options)


def _refuse_without(column: str, frame: Any, origin: Origin) -> None:
    """Refuse a frame without a column, with the columns it has and the ways out."""
    headers = list(frame.columns)
    ways = ["name another one (" + ROLE_PARAMETERS + ")"]
    if len(headers) == 1 and is_text_table(origin):
        ways.append("or " + parameter("separator"))
    if len(frame) and column in frame.iloc[0].astype(str).tolist():
        skip = parameter("skip_lines", [origin.line(0) - 1])
        ways.append("or the header's line: " + skip + ABOVE_HEADER)
    options = origin.options
    similar = _like_labels(frame, origin) if column == options.label_column else []
    similar = [name for name in similar if name not in options.roles]
    hint = f"; few different values, as labels have, are in {listed(similar, 3)}" if similar else ""
    if len(similar) == 1:
        hint = join([hint, parameter("label_column", similar[0])], ", ")
    raise DataError(
        f"no column {column!r}; the columns are {listed(headers)}"
        f"{between(origin, ', {} between them')}; " + join(ways) + hint
    )


def _like_labels(frame: Any, origin: Origin) -> list[str]:
    """Columns of few words or whole numbers, each in many rows, that are not of dates."""
    similar = []
    for name in frame.columns:
        values = frame[name].dropna()
        is_number = getattr(values.dtype, "kind", "O") in "biuf"
        is_whole = not is_number or bool((values % 1 == 0).all())
        few = 2 <= values.nunique() <= min(FEW_LABELS, len(values) // ROWS_OF_A_LABEL)
        if is_whole and few and (is_number or not is_of_times(values[:FIRST_DATES], origin)):
            similar.append(str(name))
    return similar


def _apart(whole: Recording, column: Any) -> list[Recording]:
    """The recordings in a table, named by a column."""
    numbers, ids = _stripped(column).factorize()
    # a name may become that of a file
    names = [spelled(re.sub(r"[/\\\x00-\x1f]", "_", str(value).strip())) for value in ids]
    if n := int((numbers < 0).sum()):
        raise DataError(
            f"{whole.place(int(numbers.argmin()))} is of no recording, column {column.name!r} is "
            f"blank there; {n} are missing"
        )
    if twice := repeated_in(names):
        raise DataError(f"two recordings would be called {twice[0]!r}, give them other names")
    return [
        replace(
            whole.at(np.flatnonzero(numbers == number)),
            name=own,
            source=f"{whole.where}, {column.name} {own}",
        )
        for number, own in enumerate(names)
    ]


def _in_order(recordings: Sequence[Recording], path: Path) -> list[Recording]:
    """Recordings with their rows in the order of time, and a warning if that was another."""
    ordered = []
    moved = []
    back = ""
    for recording in recordings:
        if recording.time is not None:
            time = recording.time.past_midnight()
            recording = replace(recording, time=time)
            back = back or put_back(time)
            if (time.values[1:] < time.values[:-1]).any():
                recording = recording.at(np.argsort(time.values, kind="stable"))
                moved.append(recording.name)
        ordered.append(recording)
    what = "a time occurs twice"
    if moved:
        what = (
            f"the rows of {listed(moved)} are not in the order of {time.name!r}: they are sorted "
            "by it, and samples are counted in that order. If the table is of several recordings, "
            + parameter("recording_column")
            + " names the column that tells them apart"
        )
    if moved or back:
        warn(f"{path}: " + what + back)
    return ordered
