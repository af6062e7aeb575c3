"""A recording, labelled or not, with the names of its features; and options of reading files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import TimeAxis, time_axis
from structsvm.errors import DataError, SettingsError, parameter
from structsvm.support import (
    Floats,
    counted,
    is_number_text,
    listed,
    refuse_below,
    refuse_unless,
    refuse_unlisted,
    repeated_in,
)


@dataclass(frozen=True, eq=False)
class Origin:
    """The rows and lines of the samples of a recording in the table they were read from."""

    path: Path
    rows: NDArray[np.int64]  # the row of each sample, (T,), counted from 0 after the header
    format: Any = None  # the TextFormat of the file, if it is text
    lines: NDArray[np.int64] | None = None
    """The line of each row of the table in its file, if that is text or a sheet."""
    options: Any = None  # the FileOptions it was read with
    left_out: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Rows of a table that are no samples, because values are missing in them."""

    @property
    def written(self) -> NDArray[np.int64]:
        """The rows of a table that is written: those of samples, and those that were left out."""
        rows = np.concatenate([self.rows, self.left_out])
        return np.sort(rows) if self.left_out.size else self.rows

    def place(self, start: int, end: int | None = None) -> str:
        """Return samples ``start, ..., end - 1`` in words, as rows and lines of the table."""
        first = int(self.rows[start])
        last = int(self.rows[start if end is None else end - 1])
        rows = f"row {first}"
        lines = f"line {self.line(first)}"
        if first != last:
            rows = f"rows {first} to {last}"
            lines = f"lines {self.line(first)} to {self.line(last)}"
        return rows if self.lines is None else f"{rows} ({lines})"

    def line(self, row: int) -> int:
        return row + 2 if self.lines is None else int(self.lines[row])


@dataclass(frozen=True, eq=False)
class Recording:
    """A recording as it was measured, before any standardisation.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.io import Recording
    >>> recording = Recording("anna", np.zeros((4, 2)), np.array([0, 0, 1, 1]), ("x", "y"))
    >>> recording.in_order_of(["y", "x"], "the metric").features
    ('y', 'x')
    """

    name: str
    X: Floats
    """One row for each sample and one column for each feature, (T, P)."""
    y: NDArray[Any] | None
    """A label for each sample, (T,); a segment ends where the label changes. None if unlabelled.
    The number -1 where none is known, beside numbers or names."""
    features: tuple[str, ...]
    """Names of the columns of ``X``, (P,)."""
    source: str | None = None
    """The file it was read from."""
    chunks: NDArray[np.int64] | None = None
    """Rows with the same number are in one cluster, -1 for rows in no chunk, (T,)."""
    time: TimeAxis | None = None
    """When each sample was measured, if that is known; numbers or dates (T,) become an axis."""
    origin: Origin | None = None
    """The rows of the table that it was read from."""
    fine: "Recording | None" = None
    """The recording as it was measured, if samples are windows of it."""
    window: int = 1
    """The number of samples of ``fine`` in each window; the last window has those that remain."""
    counting: TimeAxis | None = None
    """A column that rises by even steps, as times do, and was left out."""

    def __post_init__(self) -> None:
        times: Any = self.time
        if times is not None and not isinstance(times, TimeAxis):
            object.__setattr__(self, "time", time_axis(times, len(self.X)))

    def __repr__(self) -> str:
        about = f"{counted(len(self.X), 'sample')} of {counted(len(self.features), 'feature')}"
        return f"<Recording {self.name!r}: {about}, {'un' if self.y is None else ''}labelled>"

    @property
    def axis(self) -> TimeAxis:
        """The times of the samples, or their numbers if no times are known."""
        return TimeAxis("sample", np.arange(len(self.X))) if self.time is None else self.time

    @property
    def edges(self) -> NDArray[np.int64]:
        """The first samples of windows in ``fine``, or all samples, and the end, (T + 1,)."""
        ends = len(self.X if self.fine is None else self.fine.X)
        return np.append(np.arange(len(self.X)) * self.window, ends)

    @property
    def where(self) -> str:
        """The file, or the name, for messages."""
        return self.name if self.source is None else self.source

    def place(self, start: int, end: int | None = None) -> str:
        """Return samples ``start, ..., end - 1``, or one of them, in words."""
        rows = Origin(Path(), np.arange(len(self.X))) if self.origin is None else self.origin
        return rows.place(start, end)

    def at(self, rows: NDArray[np.int64]) -> "Recording":
        """Return the recording of some samples, in this order."""
        parts: dict[str, Any] = {"X": self.X[rows]}
        for name in ("y", "chunks"):
            array = getattr(self, name)
            parts[name] = None if array is None else array[rows]
        for name in ("time", "counting"):
            axis = getattr(self, name)
            parts[name] = None if axis is None else axis.at(rows)
        if self.origin is not None:
            nothing = self.origin.left_out[:0]
            parts["origin"] = replace(self.origin, rows=self.origin.rows[rows], left_out=nothing)
        if self.fine is not None:
            windows = np.split(np.arange(len(self.fine.X)), self.edges[1:-1])
            parts["fine"] = self.fine.at(np.concatenate([windows[t] for t in rows]))
        return replace(self, **parts)

    def in_order_of(self, features: Sequence[str], owner: str) -> "Recording":
        """Return the recording with its columns in the order of ``features``, matched by name.

        Raises
        ------
        DataError
            Naming the features that are missing and those that are too many, or two of one name;
            ``owner`` says in messages what has the wanted ones.
        """
        wanted = tuple(features)
        if wanted == self.features:
            return self
        own_names = set(self.features)
        wanted_names = set(wanted)
        missing = [name for name in wanted if name not in own_names]
        extra = [name for name in self.features if name not in wanted_names]
        twice = repeated_in(self.features) or repeated_in(wanted)
        if twice or missing or extra:
            why = f": lacks {listed(missing)} and has {listed(extra)} besides"
            if twice:
                why = f", or in another order, and two of them are called {twice[0]!r}: give each "
                why += "its own name"
            raise DataError(f"{self.where} has other features than {owner}{why}")
        return self.choosing(wanted)

    def without(self, counting: Sequence[str]) -> "Recording":
        """Return the recording without some columns, the first of which becomes ``counting``."""
        first = self.X[:, self.features.index(counting[0])]
        left = [name for name in self.features if name not in counting]
        return replace(self.choosing(left), counting=TimeAxis(counting[0], first))

    def choosing(self, features: Sequence[str]) -> "Recording":
        """Return the recording with these columns alone, in this order."""
        places = {name: j for j, name in enumerate(self.features)}
        order = [places[name] for name in features]
        return replace(self, X=np.ascontiguousarray(self.X[:, order]), features=tuple(features))


def share_features(recordings: Sequence[Recording]) -> list[Recording]:
    """Recordings with the columns in the order of the first; refuse other columns."""
    return [one.in_order_of(recordings[0].features, recordings[0].where) for one in recordings]


def arrays_and_labels(recordings: Sequence[Recording]) -> tuple[list[Floats], list[NDArray[Any]]]:
    """Return arrays (T_i, P) and labels (T_i,) for :meth:`structsvm.MetricLearner.fit`.

    Raises
    ------
    DataError
        Naming the first recording without labels.

    Examples
    --------
    >>> from structsvm.datasets import digits_recordings
    >>> from structsvm.io import arrays_and_labels
    >>> Xs, ys = arrays_and_labels(digits_recordings(2, random_state=0))
    >>> [X.shape for X in Xs], [y.shape for y in ys]
    ([(134, 61), (121, 61)], [(134,), (121,)])
    """
    for recording in recordings:
        if recording.y is None:
            raise DataError(f"{recording.where} has no labels")
    return [one.X for one in recordings], [one.y for one in recordings if one.y is not None]


BLANKS_BETWEEN = r"\s+"  # one or more blanks, as a separator of pandas
TYPED = {
    "tab": "\t",
    "\\t": "\t",
    "space": BLANKS_BETWEEN,
    "spaces": BLANKS_BETWEEN,
    " ": BLANKS_BETWEEN,
}
"""Separators by the names that can be typed."""
SEQUENCES = ("missing_labels", "features", "ignore", "categories", "skip_lines")
TREATMENTS = (None, "error", "interpolate", "mask", "impute")  # of missing values


@dataclass(frozen=True)
class FileOptions:
    r"""Keywords of :func:`read_recordings` and of other functions that read files.

    Examples
    --------
    >>> from structsvm.io import FileOptions
    >>> FileOptions(time_column="t", separator="tab").separator
    '\t'
    """

    label_column: str | None = "label"
    """Column of tables, in capitals or not; None if there are no labels."""
    time_column: str | Sequence[str] | None = None
    """Column of tables that is no feature, and is kept as ``time``, or several that hold it
    together: "date,clock", or a list of them. By default the only column of dates that rise."""
    recording_column: str | Sequence[str] | None = None
    """Column of tables with the name of the recording of each row (see also :func:`from_long`), or
    several that name it together: "person,day", or a list of them."""
    chunk_column: str | None = None
    """Column of tables to cluster: rows with the same number there are in one cluster."""
    labels_are: str | None = None
    """"states" are the labels of samples, and a segment ends where they change; "changes" are 1 at
    the first sample of every new segment and 0 elsewhere. None takes labels for states, and is an
    error where they look like changes."""
    need_labels: bool = True
    """Whether a recording without labels is an error."""
    blanks: bool = False
    """Whether labels in tables may be blank: they are the number -1 then, beside the others."""
    missing_labels: Sequence[str] = ()
    """Labels that mean none, besides a blank, such as ("NA",), which is a class otherwise."""
    features: Sequence[str] = ()
    """Columns that are read; all by default."""
    ignore: Sequence[str] = ()
    """Columns that are left out."""
    categories: Sequence[str] = ()
    """Columns of tables, such as "sex", each of which becomes columns of 0 and 1, "sex=female"."""
    missing: str | None = None
    """Treatment of missing values: "error" says where they are; "interpolate" interpolates them
    linearly, in time if that is known; "mask" leaves them NaN, for ``ChangePoint(missing="mask")``.
    For rows in no order, "impute" puts the median of their column. None is "error" for recordings,
    and leaves out rows with missing values of tables."""
    medians: Mapping[str, float] = field(default_factory=dict)
    """The values that "impute" puts into columns; the medians of all files by default."""
    separator: str | None = None
    """What is between columns of text: ",", ";", "tab", "space", ...; detected by default."""
    decimal: str | None = None
    """The decimal mark in numbers of text, "." or ","; detected by default."""
    encoding: str | None = None
    """Encoding of text; detected by default."""
    skip_lines: Sequence[int] = ()
    """Lines of text files and sheets that are left out, counted from 1: a title above the header,
    or units below it. Comments, which begin with ``#``, are left out anyway."""
    stream: str | None = None
    """The streams that are read of sound and moving pictures, "audio", "video" or "both"; by
    default those that there are."""
    step: float | None = None
    """Seconds of a sample of sound and moving pictures, as for :func:`read_media`; 1 by default."""
    window: int | None = None
    """The number of samples of a recording that are averaged to one, whose features are the mean
    of each column and its standard deviation. None and 1 leave samples as they are; commands that
    learn choose a window if none is given."""
    rate: float | None = None
    """Samples per second of recordings whose times are not in their files."""
    array: str = "X"
    """The name of the array (T, P) of samples in ``.npz`` files, such as "probs" of a model of
    scores."""
    max_bytes: int | None = None
    """The most bytes of memory that a file may take, which is checked before it is read. By default
    256 MiB or 100 times the size of the file, whichever is more."""
    optional: frozenset[str] = frozenset()
    """Names of the columns above that a table may lack."""
    wanted: Sequence[str] = ()
    """Features of a model: if a file has all of them, nothing else is read."""
    in_order: bool = True
    """Whether rows follow each other in time, so that missing values can be interpolated."""

    def __post_init__(self) -> None:
        for name in SEQUENCES:
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("time_column", "recording_column"):
            if not isinstance(getattr(self, name), str | None):
                object.__setattr__(self, name, ",".join(getattr(self, name)))
        separator = self.separator and TYPED.get(self.separator, self.separator)
        is_one = separator in (None, BLANKS_BETWEEN) or len(separator) == 1
        is_mark = self.decimal in (None, ".", ",") and separator != (self.decimal or "")
        # models hold them as they were typed
        rate, step = (
            value and (float(value) if is_number_text(str(value)) else -1.0)
            for value in (self.rate, self.step)
        )
        fits = rate is None or 0 < rate < np.inf
        refuse_unless(fits, "rate", "a number of samples per second", self.rate)
        refuse_unlisted("missing", self.missing, TREATMENTS)
        for line in self.skip_lines:
            refuse_below(1, "skip_lines", line)
        if self.window is not None:
            refuse_below(1, "window", self.window)
        fitting = ("interpolate", "mask") if self.in_order else ("impute",)
        if not (is_one and is_mark):
            raise SettingsError(
                "separator must be one letter, 'tab' or 'space', and decimal another one, '.' or "
                f"',', got {self.separator!r} and {self.decimal!r}"
            )
        if not self.in_order and self.window not in (None, 1):
            raise SettingsError(
                parameter("window") + " is for recordings: the rows of a table are in no order"
            )
        if self.missing not in (None, "error", *fitting):
            raise SettingsError(
                parameter("missing", self.missing)
                + f" is for {'tables' if self.in_order else 'recordings'}: "
                + parameter("missing", "interpolate")
                + " puts values between samples that follow each other, and "
                + parameter("missing", "impute")
                + " puts the median of their column there, of rows in no order"
            )
        object.__setattr__(self, "separator", separator)
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "step", step)

    @property
    def roles(self) -> tuple[str | None, ...]:
        """The columns of labels, times, chunks and recordings; None for those not named."""
        time: Any = self.time_column  # several columns have become one text by now
        key: Any = self.recording_column
        return self.label_column, time, self.chunk_column, key

    @property
    def joined(self) -> dict[str, tuple[str, ...]]:
        """The several columns of a time, or of the name of a recording, by these joined names."""
        several = [name for name in self.roles[1::2] if name is not None and "," in name]
        return {name: tuple(map(str.strip, name.split(","))) for name in several}

    def label_in(self, columns: Sequence[str]) -> str | None:
        """The column of labels as these columns write it, in capitals or not; None without one."""
        asked = (self.label_column or "").lower()
        alike = [name for name in columns if name.lower() == asked]
        return self.label_column if self.label_column in columns else (*alike, None)[0]

    def for_columns(self, columns: Sequence[str]) -> "FileOptions":
        """The same options, with the label column as these columns write it."""
        return replace(self, label_column=self.label_in(columns) or self.label_column)

    def chosen(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Choose features among columns without a role; refuse options that name other columns."""
        names = set(columns)
        for option in ("features", "ignore", "categories"):
            if strangers := [name for name in getattr(self, option) if name not in names]:
                raise DataError(
                    f"{option} names {listed(strangers)}, which it has no column of; its features "
                    f"are {listed(list(columns))}"
                )
        wanted = tuple(dict.fromkeys(map(self.column_of, self.wanted)))
        if wanted and set(wanted) <= names:
            return wanted
        ignored = set(self.ignore)
        kept = dict.fromkeys(self.features or columns)
        return tuple(name for name in kept if name not in ignored)

    def column_of(self, feature: str) -> str:
        """Return the column of a feature, which may be one of its categories."""
        column = feature.partition("=")[0]
        return column if column in self.categories else feature


USUAL_OPTIONS = FileOptions()
