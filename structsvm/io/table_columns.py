"""Columns of a table as features, labels and times."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import OF_DAY, TimeAxis, read_times
from structsvm.errors import DataError, Text, join, parameter, warn
from structsvm.io.header import MISSING_WORDS
from structsvm.io.recording import FileOptions, Origin, Recording
from structsvm.io.sniff import EXCEL, kind_of
from structsvm.partial_labels import known_where
from structsvm.support import Floats, listed, require

ROLE_PARAMETERS = join([parameter(f"{role}_column") for role in ("label", "time", "recording")])
NO_NAME = re.compile(r"(Unnamed: \d+)?")  # what pandas calls columns without a name
TEXT_EXAMPLES = 3  # columns of text that a message names with the option that leaves them out
FIRST_DATES = 20  # cells by which a column is known as one of dates
MIDNIGHT = " 00:00:00"  # added to dates by programs for sheets
LEAST_DATE = np.datetime64("1700-01-01")  # earlier ones are fractions, as 1/4, and no dates


def with_categories(
    frame: Any, columns: Sequence[str], origin: Origin
) -> tuple[Any, tuple[str, ...]]:
    """Put columns of 0 and 1 in place of categories: those of the model, if there is one."""
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
        indicated = learned or [f"{column}={name}" for name in there]
        if new := [name for name in there if f"{column}={name}" not in indicated]:
            warn(
                f"{origin.path}: column {column!r} has {listed(new)}, which the model has not "
                "learned: such a row is of none of the categories it knows"
            )
        of_rows = f"{column}=" + names
        indicators = {one: (of_rows == one).mask(names.isna(), np.nan) for one in indicated}
        frame = frame.assign(**indicators).astype(dict.fromkeys(indicated, np.float64))
        features += indicated
    return frame, tuple(features)


def _whole(value: Any) -> Any:
    """A float that is whole as an int; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def with_all_categories(recordings: Sequence[Recording], options: FileOptions) -> list[Recording]:
    """Give all recordings a column for each category that any of them has."""
    of_all = dict.fromkeys(chain.from_iterable(one.features for one in recordings))
    completed = []
    for one in recordings:
        new = [f for f in of_all if options.column_of(f) != f and f not in one.features]
        beside = {options.column_of(f): 0.0 * x for f, x in zip(one.features, one.X.T, strict=True)}
        blank = np.full(len(one.X), np.nan)  # all values of the column may be missing
        columns = [beside.get(options.column_of(f), blank) for f in new]
        X = np.column_stack([one.X, *columns])
        completed.append(replace(one, X=X, features=(*one.features, *new)))
    return completed


def features_of(frame: Any, features: Sequence[str], origin: Origin) -> Floats:
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
        if has_commas and column.dtype.kind == "O":  # pandas leaves it so beside a word
            column = column.map(lambda x: x.replace(",", ".") if isinstance(x, str) else x)
        try:
            numbers = pandas.to_numeric(column, errors="coerce")
        except OverflowError as error:
            raise DataError(f"column {name!r}: a number of hundreds of digits") from error
        values = numbers.to_numpy(np.float64, na_value=np.nan)
        wrong = np.flatnonzero(np.isnan(values) & ~column.isna().to_numpy())
        texts = {str(value).strip().lower() for value in column.iloc[wrong]}
        if wrong.size == len(values) or not texts <= MISSING_WORDS:
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
    is_time = is_of_times(frame[first], origin)
    if is_time:
        ways.append(parameter("time_column", _with_clock(frame, shown)) + " reads its times")
    elif 2 * rows.size > len(frame):
        ways.append(
            "if it is of labels, of time or of names of recordings, say so ("
            + ROLE_PARAMETERS
            + ")"
        )
    else:
        ways.append(Text("a missing value is a blank cell"))
    if len({*np.concatenate(list(words.values())).tolist()}) == 1 < len(frame):
        ways.append(parameter("skip_lines", [origin.line(row)]) + " leaves out that line")
    if again := [name for name, rows in words.items() if _are_categories(frame[name], rows)]:
        ways.append(parameter("categories", again) + " makes a feature of each word")
    if any(map(str.isdigit, str(cell))) and is_text_table(origin) and not is_time:
        columns = between(origin, "columns are read with {} between them (")
        decimal = parameter("decimal", origin.format.decimal)
        ways.append(columns + parameter("separator") + ") and " + decimal)
    raise DataError(
        f"{cell!r} is not a number, {origin.place(row)}, column {first!r}: " + join(ways, "; ")
    )


def _with_clock(frame: Any, names: Sequence[str]) -> str:
    """The first column, or, if it holds dates and the next one times of day, both of them."""
    first, *others = names
    days = frame[first].astype(str).str.strip()
    if others and not days.str.contains(":").any():
        clock = frame[others[0]].astype(str).str.strip()
        if clock.str.fullmatch(OF_DAY).all():
            return f"{first},{others[0]}"
    return first


def is_of_times(column: Any, origin: Origin) -> bool:
    """Whether a column can be read as times."""
    return _times_in(column, origin) is not None


def _times_in(column: Any, origin: Origin) -> TimeAxis | None:
    """The times in a column; None if it holds anything else."""
    with suppress(DataError):
        times = read_times(str(column.name), column, origin.format is not None, origin.place)
        return times if isinstance(times, TimeAxis) else None
    return None


def with_dates(frame: Any, columns: Sequence[str], origin: Origin) -> tuple[Any, TimeAxis | None]:
    """Find the only column of dates or times of day that rise, or one of days and one of clocks.

    Of the latter, the frame that is returned has one column in place of both.
    """
    words = [name for name in columns if getattr(frame[name].dtype, "kind", "O") not in "fiub"]
    firsts = {name: _times_in(frame[name].dropna()[:FIRST_DATES], origin) for name in words}
    names = [name for name, times in firsts.items() if times is not None and times.holds_dates]
    first = firsts[names[0]] if names else None
    both = frame[names].dropna()[:FIRST_DATES]
    if len(names) == 2 and (whole := _with_clock(both, names)) not in names:
        frame = with_one(frame, whole, names)
        names = [whole]
        first = _times_in(frame[whole][:FIRST_DATES], origin)
    if len(names) != 1 or first is None or first.values[0] < LEAST_DATE:
        return frame, None
    times = _times_in(frame[names[0]], origin)
    several = origin.options.recording_column is not None  # each of which begins again
    rising = first if several else times
    rise = rising is not None and bool((np.diff(rising.values) >= np.timedelta64(0)).all())
    return frame, times if rise else None


def with_one(frame: Any, name: str, columns: Sequence[str]) -> Any:
    """Replace several columns by one of their texts, blank where one of them is."""
    texts = [frame[column].astype(str).str.strip() for column in columns]
    is_blank = frame[list(columns)].isna().any(axis=1) | np.any(
        [one == "" for one in texts], axis=0
    )
    texts = [text.str.removesuffix(MIDNIGHT) for text in texts]
    whole = texts[0].str.cat(texts[1:], sep=" ")
    return frame.drop(columns=list(columns)).assign(**{name: whole.mask(is_blank)})


def _are_categories(column: Any, rows: NDArray[np.int64]) -> bool:
    """Whether a column holds no number, and words that occur twice or more on average."""
    return bool(rows.size == column.notna().sum() and 2 * column.nunique() <= rows.size)


def labels_in_column(column: Any, origin: Origin) -> NDArray[Any] | None:
    """Convert labels, -1 where they are blank; None if some are blank and none are needed."""
    pandas = require("pandas", "files", "reading tables")
    options = origin.options
    row_values = np.arange(len(column))
    values = column
    if pandas.api.types.infer_dtype(column) == "string":  # long columns hold few different words
        row_values, words = column.factorize(use_na_sentinel=False)
        values = pandas.Series(words, name=column.name)
    values = as_numbers(_stripped(values, options.missing_labels), origin)
    is_label = values.notna().to_numpy()
    is_labelled = is_label[row_values]
    kind = getattr(values.dtype, "kind", "O")
    if not (options.blanks or is_labelled.all()):
        if not options.need_labels:
            return None
        place = origin.place(int(is_labelled.argmin()))
        n = int((~is_labelled).sum())
        raise DataError(
            f"no label, {place}, column {column.name!r}; {n} are missing: label them, or let fit "
            "learn without them (in Python, what is read with blanks=True)"
        )
    if kind == "f" and (values.abs() >= 2**53).any():
        raise DataError(
            f"column {column.name!r} has labels that are numbers beyond 2**53, of which several "
            "are one float: write them as text"
        )
    if is_labelled.all():
        labels = values.to_numpy() if kind in "biuf" else np.array([str(one) for one in values])
        return np.asarray(labels[row_values])
    if kind in "iuf":
        filled = values.fillna(0).to_numpy(dtype=np.float64 if kind == "f" else np.int64)
        return known_where(filled[row_values], is_labelled)
    labels = np.empty(len(values), dtype=object)
    labels[:] = [one if isinstance(one, bool) else str(one) for one in values]
    return known_where(labels[row_values], is_labelled)


def _stripped(column: Any, missing: Sequence[str] = ()) -> Any:
    """Strip the texts of a column, and remove blank and missing ones."""
    if not missing and getattr(column.dtype, "kind", "O") in "biufmM":
        return column
    column = column.map(lambda value: value.strip() if isinstance(value, str) else value)
    return column.mask(are_spelled(column, ("", *missing)))


def are_spelled(labels: Iterable[Any], spellings: Sequence[str]) -> NDArray[np.bool_]:
    """Return which labels have one of these spellings; whole numbers have no decimals there."""
    words = {spelling.strip() for spelling in spellings}
    return np.array([str(_whole(label)).strip() in words for label in labels], dtype=np.bool_)


def as_numbers(column: Any, origin: Origin) -> Any:
    """Convert texts that are all numbers; warn if two of them are one number."""
    pandas = require("pandas", "files", "reading tables")
    cells = column.dropna()
    if not len(cells) or not all(isinstance(value, str) for value in cells):
        return column
    numbers = pandas.to_numeric(cells, errors="coerce")
    if not np.isfinite(numbers.to_numpy(dtype=np.float64)).all():  # "nan" and "inf" are names
        return column
    written = cells.drop_duplicates()
    of_each = numbers[written.index]
    if of_each.duplicated().any():
        one, other, *_ = written[of_each == of_each[of_each.duplicated()].iloc[0]]
        warn(
            f"{origin.path}: {one!r} and {other!r} in column {column.name!r} are the same number, "
            "and therefore one label: give them names if they are two"
        )
    return numbers.reindex(column.index)


def times_of(column: Any, origin: Origin) -> TimeAxis | None:
    """Convert a column to times; return None, with a warning, if a cell is none."""
    times = read_times(str(column.name), column, origin.format is not None, origin.place)
    if isinstance(times, TimeAxis):
        return times
    warn(
        f"{origin.path}: the times of column {column.name!r} are not used, because "
        f"{str(column.iloc[times])!r}, {origin.place(times)}, is neither a number nor a date; "
        "samples are counted instead"
    )
    return None


def between(origin: Origin, words: str) -> str:
    """Return words with the separator of a text file; "" for other files."""
    return words.format(origin.format.between) if is_text_table(origin) else ""


def is_text_table(origin: Origin) -> bool:
    """Whether a table was read from text, and not from a sheet or a frame."""
    return origin.format is not None and kind_of(origin.path) not in EXCEL
