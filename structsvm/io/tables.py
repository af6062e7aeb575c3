"""Conversion of tables to recordings."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.rows import axis_of
from structsvm.data.times import TimeAxis, put_back, read_times
from structsvm.errors import DataError, MissingExtraError, SettingsError, about, warn
from structsvm.io.cleaning import without_gaps
from structsvm.io.recording import (
    SPACES,
    USUAL,
    FileOptions,
    Origin,
    Recording,
    listed,
    spelled,
)
from structsvm.io.sniff import MISSING_WORDS, ROW_NUMBERS, kind_of, read_text, refuse_thousands
from structsvm.messages import Text, join, parameter, said_by
from structsvm.partial_labels import known_where
from structsvm.support.archive import check_bytes
from structsvm.support.arrays import Floats
from structsvm.support.checks import counted
from structsvm.support.lazy import require
from structsvm.support.tables import refuse_repeated, repeated_in

EXCEL = (".xlsx",)
NO_NAME = re.compile(r"(Unnamed: \d+)?")  # what it calls columns without a name
ROLES = join([parameter(f"{role}_column") for role in ("label", "time", "recording")])
ABOVE_HEADER = " leaves out a line above the header"
MIDNIGHT = " 00:00:00"  # what sheets put behind a date
TEXT_EXAMPLES = 3  # columns of text that a message names with the option that leaves them out


def read_frame(
    path: Path, options: FileOptions = USUAL, *, as_text: bool = False
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
        raise DataError(f"{path}: " + reason) from error


def _sheet(path: Path, as_text: bool, options: FileOptions) -> str:
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
            "of their own if they are recordings too"
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
    if written.separator == SPACES:  # which the rows of a text are split at, even in quotes
        names = [name.replace('"', "") for name in names]
    label = options.label_column
    reading = dict[str, Any](dtype=str, keep_default_na=False)
    if not (as_text or written.has_header):
        warn(f"{path}: it has no header: its columns are called {listed(names, 3)}")
    if not as_text:
        refuse_repeated([name for name in names if name])
        # pandas looks for missing values after its converters too: a mark in front hides them
        parts = chain.from_iterable(options.joined.values())
        ways: dict[Any, Any] = dict.fromkeys((options.roles[-1], *parts), str)
        ways[label] = lambda cell: f"={cell.strip()}"
        converters = {names.index(name): way for name, way in ways.items() if name in names}
        reading = {"decimal": written.decimal, "low_memory": False, "converters": converters}
    reading |= {"sep": written.separator, "skipinitialspace": True, "index_col": False}
    reading |= {"header": 0 if written.has_header else None, "names": written.names or None}
    with warnings.catch_warnings():
        # longer rows: without index_col their first values are names and the others shift
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        frame = pandas.read_csv(io.StringIO(text), **reading)
    if len(names) == len(frame.columns):
        nameless = "" if as_text else "Unnamed: {}"
        frame.columns = [name or nameless.format(j) for j, name in enumerate(names)]
    if options.decimal is None:
        refuse_thousands((row for _, row in written.rows(text)), written)
    lines = [k for k, line in enumerate(text.split("\n"), 1) if line.strip()]
    last = frame.iloc[:, -1]
    may_be_short = written.separator != SPACES and (last.isna() | last.isin(["", "="])).any()
    n_lines = len(frame) + written.has_header
    if may_be_short or len(lines) != n_lines:  # the latter for cells of several lines
        found = list(written.rows(text))
        lines = [line for line, _ in found]
        rows_of = found[written.has_header :]
        short = next((line for line, row in rows_of if len(row) < len(names)), None)
        if may_be_short and short is not None and not as_text:
            (above, _), (_, names), *_ = found
            is_title = label in names and all(len(row) == len(names) for _, row in found[1:])
            hint = "; " + parameter("skip_lines", [above]) + ABOVE_HEADER
            raise DataError(
                f"cannot be read: line {short} has fewer columns than the first"
                + (hint if is_title else "")
            )
    rows = np.arange(len(frame))
    first = int(written.has_header)
    numbers = np.array(lines[first:]) if len(lines) == n_lines else rows + 1 + first
    origin = Origin(path, rows, written, numbers, options)
    if as_text:
        return frame.fillna(""), origin
    if label in frame.columns:
        frame[label] = [cell[1:] for cell in frame[label]]
    unnamed = [not written.has_header or NO_NAME.fullmatch(str(name)) for name in frame.columns]
    return frame.loc[:, ~(np.array(unnamed, dtype=bool) & frame.isna().all().to_numpy())], origin


def recordings_in(frame: Any, origin: Origin, name: str) -> list[Recording]:
    """Convert a pandas frame to recordings, one for each value of the recording column."""
    frame, origin = _with_index(frame, origin)
    options = origin.options
    path = origin.path
    frame.columns = headers = [str(column) for column in frame.columns]
    refuse_repeated(headers)
    for whole, parts in options.joined.items():
        if whole not in headers and {*parts} <= {*headers}:
            frame = _with_one(frame, whole, parts)
            headers = list(frame.columns)
    needed = [options.label_column] if options.need_labels else []
    needed += [one for one in options.roles[1:] if one not in options.optional]
    if missing := [one for one in needed if one is not None and one not in headers]:
        _refuse_without(missing[0], frame, origin)
    aside = {ROW_NUMBERS, *options.roles}
    features = options.chosen([one for one in headers if one not in aside])
    if not features or not len(frame):
        there_is = f"{counted(len(frame), 'row')} and {counted(len(features), 'feature')}"
        raise DataError(f"{there_is}: nothing to read")
    frame, features = _with_categories(frame, features, origin)
    X = _features(frame, features, origin)
    label, time, chunk, recording = (
        frame[column] if column in headers else None for column in options.roles
    )
    y = None if label is None else _labels(label, origin)
    chunks = None
    if chunk is not None:
        chunks = _as_numbers(_stripped(chunk, ("-1",)), origin).factorize()[0]
    times = None if time is None else _times(time, origin)
    every = Recording(name, X, y, features, str(path), chunks, times, origin)
    found = [every] if recording is None else _apart(every, recording)
    return [without_gaps(one, options) for one in _in_order(found, path)]


def _with_one(frame: Any, name: str, columns: Sequence[str]) -> Any:
    """Put one column of texts in the place of several, blank where one of them is."""
    parts = [_stripped(frame[column]) for column in columns]
    texts = [part.astype(str).str.removesuffix(MIDNIGHT) for part in parts]
    whole = texts[0].str.cat(texts[1:], sep=" ")
    is_blank = np.any([part.isna() | (part == "") for part in parts], axis=0)
    return frame.drop(columns=list(columns)).assign(**{name: whole.mask(is_blank)})


def _with_index(frame: Any, origin: Origin) -> tuple[Any, Origin]:
    """Put what an index says into columns: whose the rows are, and when, as frames have it."""
    options = origin.options
    known = {*options.roles, *chain.from_iterable(options.joined.values())}
    levels = [level for level in frame.index.names if level and str(level) in known]
    frame = frame.reset_index(level=levels) if levels else frame
    index = frame.index
    found = dict[str, str]()
    if index.nlevels > 1 and options.recording_column is None:
        names = [f"level {k}" if name is None else str(name) for k, name in enumerate(index.names)]
        *whose, when = names
        keys = zip(*(index.get_level_values(k) for k in range(len(whose))), strict=True)
        found = {"recording_column": "/".join(whose)}
        columns = {found["recording_column"]: ["/".join(map(str, key)) for key in keys]}
        if options.time_column is None:
            found["time_column"] = when
            columns[when] = index.get_level_values(-1)
        frame = frame.reset_index(drop=True).assign(**columns)
    elif options.time_column is None and axis_of(index, str(origin.path)) is not None:
        is_time = options.recording_column is None or index.dtype.kind not in "iu"
        found = {"time_column": str(index.name or "time")} if is_time else {}
        if is_time:
            frame = frame.reset_index(names=found["time_column"])
    return frame, replace(origin, options=replace(options, **found))


def _refuse_without(column: str, frame: Any, origin: Origin) -> None:
    """Say which columns there are, and the way out: what follows from them and from the rows."""
    headers = list(frame.columns)
    ways = ["name another one (" + ROLES + ")"]
    if len(headers) == 1 and _is_text(origin):
        ways.append("or " + parameter("separator"))
    if len(frame) and column in frame.iloc[0].astype(str).tolist():
        skip = parameter("skip_lines", [origin.line(0) - 1])
        ways.append("or the header's line: " + skip + ABOVE_HEADER)
    raise DataError(
        f"no column {column!r}; the columns are {listed(headers)}"
        f"{_between(origin, ', {} between them')}; " + join(ways)
    )


def _between(origin: Origin, words: str) -> str:
    """Return words about what separates the columns of a text; nothing of other files."""
    return words.format(origin.format.between) if _is_text(origin) else ""


def _is_text(origin: Origin) -> bool:
    return origin.format is not None and kind_of(origin.path) not in EXCEL


def _with_categories(
    frame: Any, columns: Sequence[str], origin: Origin
) -> tuple[Any, tuple[str, ...]]:
    """Put columns of 0 and 1 in place of categories, those of a model where it is known."""
    options = origin.options
    features = list[str]()
    for column in columns:
        if column not in options.categories:
            features.append(column)
            continue
        words = frame[column].map(lambda value: str(_whole(value)), na_action="ignore")
        names = _stripped(words)
        there = sorted(names.dropna().unique())
        learned = [f for f in options.wanted if f != column and options.column_of(f) == column]
        own = learned or [f"{column}={name}" for name in there]
        if new := [name for name in there if f"{column}={name}" not in own]:
            warn(
                f"{origin.path}: column {column!r} has {listed(new)}, which the model has not "
                "learned: such a row is of none of the categories it knows"
            )
        known = {one: (f"{column}=" + names == one).mask(names.isna(), np.nan) for one in own}
        frame = frame.assign(**known).astype(dict.fromkeys(own, np.float64))
        features += own
    return frame, tuple(features)


def _whole(value: Any) -> Any:
    """Whole numbers without decimals, and anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def with_all_categories(recordings: Sequence[Recording], options: FileOptions) -> list[Recording]:
    """Give all recordings the categories that any of them has."""
    of_all = dict.fromkeys(f for one in recordings for f in one.features)
    found = []
    for one in recordings:
        new = [f for f in of_all if options.column_of(f) != f and f not in one.features]
        beside = {options.column_of(f): 0.0 * x for f, x in zip(one.features, one.X.T, strict=True)}
        blank = np.full(len(one.X), np.nan)  # as all of a column may be
        columns = [beside.get(options.column_of(f), blank) for f in new]
        X = np.column_stack([one.X, *columns])
        found.append(replace(one, X=X, features=(*one.features, *new)))
    return found


def _features(frame: Any, features: Sequence[str], origin: Origin) -> Floats:
    """Convert columns to floats, (T, P), NaN where a value is missing."""
    pandas = require("pandas", "files", "reading tables")
    chosen = frame[list(features)]
    if all(getattr(dtype, "kind", "O") in "fiub" for dtype in chosen.dtypes):
        return np.ascontiguousarray(chosen.to_numpy(np.float64, na_value=np.nan))
    has_commas = origin.format is not None and origin.format.decimal == ","
    arrays: list[Floats] = []
    words: dict[str, NDArray[np.int64]] = {}
    for name in features:
        column = frame[name]
        if getattr(column.dtype, "kind", "O") in "mMc":
            raise DataError(
                f"column {name!r} holds {column.dtype} values, not numbers; leave it out as the "
                "time column if that is what it is"
            )
        if has_commas and column.dtype.kind == "O":  # of a column with a word, pandas reads none
            column = column.map(lambda x: x.replace(",", ".") if isinstance(x, str) else x)
        try:
            numbers = pandas.to_numeric(column, errors="coerce")
        except OverflowError as error:
            raise DataError(f"column {name!r}: a number of hundreds of digits") from error
        values = numbers.to_numpy(np.float64, na_value=np.nan)
        wrong = np.flatnonzero(np.isnan(values) & ~column.isna().to_numpy())
        said = {str(value).strip().lower() for value in column.iloc[wrong]}
        if wrong.size == len(values) or not said <= MISSING_WORDS:
            words[name] = wrong
        arrays.append(values)
    if words:
        _refuse_words(frame, words, origin)
    return np.column_stack(arrays)


def _refuse_words(frame: Any, words: Mapping[str, NDArray[np.int64]], origin: Origin) -> None:
    """Refuse words in columns of features, with the ways out that help there."""
    first, rows = next(iter(words.items()))
    row = rows[0]
    cell = frame[first].iloc[rows[0]]
    shown = list(words)[:TEXT_EXAMPLES]
    ways = [parameter("ignore", shown[0] if len(shown) == 1 else shown) + " leaves it out"]
    is_time = _is_of_times(frame[first], origin)
    if is_time:
        ways.append(parameter("time_column", first) + " reads its times")
    elif 2 * rows.size > len(frame):
        ways.append("if it is of labels, of time or of names of recordings, say so (" + ROLES + ")")
    else:
        ways.append(Text("a missing value is a blank cell"))
    if len({*np.concatenate(list(words.values())).tolist()}) == 1 < len(frame):
        ways.append(parameter("skip_lines", [origin.line(row)]) + " leaves out that line")
    if again := [name for name, rows in words.items() if _are_categories(frame[name], rows)]:
        ways.append(parameter("categories", again) + " makes a feature of each word")
    if any(map(str.isdigit, str(cell))) and _is_text(origin) and not is_time:
        columns = _between(origin, "columns are read with {} between them (")
        decimal = parameter("decimal", origin.format.decimal)
        ways.append(columns + parameter("separator") + ") and " + decimal)
    raise DataError(
        f"{cell!r} is not a number, {origin.place(row)}, column {first!r}: " + join(ways, "; ")
    )


def _is_of_times(column: Any, origin: Origin) -> bool:
    with suppress(DataError):
        return isinstance(read_times(str(column.name), column, True, origin.place), TimeAxis)
    return False


def _are_categories(column: Any, rows: NDArray[np.int64]) -> bool:
    """Whether a column holds few words, each of them often, and no number."""
    return bool(rows.size == column.notna().sum() and 2 * column.nunique() <= rows.size)


def _labels(column: Any, origin: Origin) -> NDArray[Any] | None:
    """Convert labels, -1 where they are blank; None if some are blank and none are needed."""
    options = origin.options
    column = _as_numbers(_stripped(column, options.missing_labels), origin)
    known = column.notna().to_numpy()
    kind = getattr(column.dtype, "kind", "O")
    if not (options.blanks or known.all()):
        if not options.need_labels:
            return None
        place = origin.place(int(known.argmin()))
        n = int((~known).sum())
        raise DataError(
            f"no label, {place}, column {column.name!r}; {n} are missing: label them, or let fit "
            "learn without them (in Python, what is read with blanks=True)"
        )
    if kind == "f" and (column.abs() >= 2**53).any():
        raise DataError(
            f"column {column.name!r} has labels that are numbers beyond 2**53, of which several "
            "are one float: write them as text"
        )
    if known.all():
        return column.to_numpy() if kind in "biuf" else np.array([str(one) for one in column])
    if kind in "iuf":
        filled = column.fillna(0).to_numpy(dtype=np.float64 if kind == "f" else np.int64)
        return known_where(filled, known)
    values = np.empty(len(column), dtype=object)
    values[:] = [one if isinstance(one, bool) else str(one) for one in column]
    return known_where(values, known)


def _stripped(column: Any, missing: Sequence[str] = ()) -> Any:
    """Strip the texts of a column, and remove blank and missing ones."""
    if not missing and getattr(column.dtype, "kind", "O") in "biufmM":
        return column
    column = column.map(lambda value: value.strip() if isinstance(value, str) else value)
    return column.mask(are_spelled(column, ("", *missing)))


def are_spelled(labels: Iterable[Any], spellings: Sequence[str]) -> NDArray[np.bool_]:
    """Return which labels are spelled so, whole numbers without decimals."""
    words = {spelling.strip() for spelling in spellings}
    return np.array([str(_whole(label)).strip() in words for label in labels], dtype=np.bool_)


def _as_numbers(column: Any, origin: Origin) -> Any:
    """Convert texts that are all numbers; warn if two of them are one number."""
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
        one, other, *_ = written[of_each == of_each[of_each.duplicated()].iloc[0]]
        warn(
            f"{origin.path}: {one!r} and {other!r} in column {column.name!r} are the same number, "
            "and therefore one label: give them names if they are two"
        )
    return numbers.reindex(column.index)


def _times(column: Any, origin: Origin) -> TimeAxis | None:
    times = read_times(str(column.name), column, origin.format is not None, origin.place)
    if isinstance(times, TimeAxis):
        return times
    warn(
        f"{origin.path}: the times of column {column.name!r} are not used, because "
        f"{str(column.iloc[times])!r}, {origin.place(times)}, is neither a number nor a date; "
        "samples are counted instead"
    )
    return None


def _apart(whole: Recording, column: Any) -> list[Recording]:
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
    found = []
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
        found.append(recording)
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
    return found
