"""Columns that are constant, and warnings of columns and labels that may be meant otherwise."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.checks import Names, values_of_arrays
from structsvm.data.deferred import (
    Data,
    arrays_among,
    map_arrays,
    now_or_later,
)
from structsvm.data.instance import Instance
from structsvm.data.labels import label_values
from structsvm.data.missing import magnitudes, scales
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError, join, parameter, warn
from structsvm.support import Floats, some_of

CONSTANT_UP_TO = 1e-12
"""A feature is constant if its standard deviation is at most this part of its largest magnitude."""


def warn_about_constant_features(
    instances: Sequence[Instance], names: Names, words: Words = RECORDINGS
) -> None:
    """Warn when a feature is constant within every recording."""
    constant = np.all(constant_features(instances), axis=0)
    if constant.all():
        raise DataError(
            f"every feature is constant in every {words.whole}: nothing distinguishes {words.part}s"
        )
    if constant.any():
        which = [names[j] if names else str(j) for j in np.flatnonzero(constant).tolist()]
        warn(f"constant in every {words.whole}, so without influence: feature {some_of(which)}")


def column_values(X: Floats) -> Floats:
    """The least, largest, first (NaN if any is) and middle value of each column, (4, P)."""
    values = np.array([np.fmin.reduce(X), np.fmax.reduce(X), X[0], X[len(X) // 2]])
    values[2, np.isnan(X).any(axis=0)] = np.nan
    return values


def values_of_columns(task: str, instances: Sequence[Instance]) -> Floats:
    """The :func:`column_values` of each instance, (N, 4, P); NaN becomes the least value, or 0."""
    extremes = [instance.extremes for instance in instances if instance.extremes is not None]
    if len(extremes) == len(instances):
        values = np.array(extremes)
    else:
        Xs = [instance.data for instance in instances]
        values = now_or_later(
            Xs, values_of_arrays, lambda: np.array(map_arrays(task, column_values, Xs))
        )
    if math.isnan(values.sum()):
        values = np.nan_to_num(np.where(np.isnan(values), values[:, :1], values), copy=False)
    return values


def constant_features(instances: Sequence[Instance]) -> NDArray[np.bool_]:
    """Which features of each instance are constant, (N, P)."""
    values = values_of_columns("looking for constant features", instances)
    tolerances = CONSTANT_UP_TO * np.abs(values).max(axis=1)
    # Two samples that are d apart have a deviation of d / sqrt(2 T) at least.
    widest = np.sqrt([[2 * instance.n_samples] for instance in instances]) * tolerances
    ranges = values[:, 1] - values[:, 0]
    constant = np.asarray(ranges <= widest)
    near = np.flatnonzero((constant & (ranges > 0)).any(axis=1)).tolist()
    exact = map_arrays("looking closer", is_constant, [instances[i].data for i in near])
    for i, features in zip(near, exact, strict=True):
        constant[i] = features
    return constant


def is_constant(X: Floats) -> NDArray[np.bool_]:
    """Which features of an instance are constant up to rounding, (P,)."""
    return scales(X) <= CONSTANT_UP_TO * magnitudes(X)


FEWEST_THAT_RISE = 10  # rows: in fewer of them a measurement may rise throughout by chance
ROWS_OF_A_RECORDING = 5  # rows that the recordings of a long table have at least, on average
BETWEEN_WORDS = re.compile(r"(?<=[^\W_])[\s_-]+(?=[^\W_])")
LETTERS_OF_SYMBOLS = 2
"""Names up to this length are symbols, such as syllables a and A of a song, and no words."""
IDENTIFIERS = {
    "id", "ids", "uid", "uuid", "subject", "person", "patient", "participant", "user", "animal",
    "recording", "session", "trial", "sequence", "series", "episode", "index", "row",
}  # fmt: skip
"""Words in the names of columns that identify rows or recordings, and hold no measurements."""
PREDICTED_COLUMN = re.compile(r"segment|cluster|.*_predicted")
"""Names of the columns that predictions add to a table."""


def warn_about_columns(Xs: Sequence[Data], names: Sequence[str] | None, first: str) -> None:
    """Warn of columns that are probably no measurements, by their names and values in memory."""
    if names is None:
        return
    in_memory = arrays_among(Xs)
    arrays = [X for X in in_memory if len(X) >= FEWEST_THAT_RISE]
    if in_memory and _are_values(names):
        called = some_of(list(map(repr, names)), 3)
        warn(
            first + f": its columns are called {called}, which looks like a row of values: if it "
            "has no header, write one, or a sample is lost"
        )
    key_and_time = _long_table(arrays[0], names) if len(arrays) == 1 else ()
    if key_and_time:
        number, time = key_and_time
        warn(
            f"column {time!r} begins again wherever column {number!r} changes, and both are "
            f"features now: if every {number!r} is a recording of its own, give "
            + parameter("recording_column", number)
            + " and "
            + parameter("time_column", time)
        )
    doubtful = [
        name
        for j, name in enumerate(names)
        if arrays and name not in key_and_time and all(_is_doubtful(name, X[:, j]) for X in arrays)
    ]
    if doubtful:
        one = doubtful[0]
        roles = [parameter(f"{role}_column", one) for role in ("time", "recording", "label")]
        warn(
            f"{some_of(list(map(repr, doubtful)), 12)} only rises, or holds whole numbers and is "
            "called as identifiers and predictions are, and would be learned from: unless it was "
            "measured, say what it is, "
            + join(roles[:2])
            + " or "
            + roles[2]
            + ", or leave it out, "
            + parameter("ignore", one)
        )


def _is_doubtful(name: str, column: Floats) -> bool:
    """Whether a column only rises, or has whole numbers and the name of an identifier."""
    steps = np.diff(column)  # a switch that is turned on once rises in one row alone
    if (steps >= 0).all() and 2 * np.count_nonzero(steps) > steps.size:
        return True
    is_odd_name = tells_which(name) or bool(PREDICTED_COLUMN.fullmatch(name))
    return is_odd_name and bool((column == np.round(column)).all())


def tells_which(name: str) -> bool:
    """Whether the name of a column is that of an identifier, and not of a measurement."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return not IDENTIFIERS.isdisjoint(words)


def _long_table(X: Floats, features: Sequence[str]) -> tuple[str, ...]:
    """The names of a column that numbers stretches of rows and of one that rises in each; or ()."""
    for j, number in enumerate(features):
        starts = np.flatnonzero(np.diff(X[:, j])) + 1
        few = 0 < ROWS_OF_A_RECORDING * starts.size <= len(X) - ROWS_OF_A_RECORDING
        once = np.unique(X[:, j]).size == starts.size + 1
        if few and once and (X[:, j] == np.round(X[:, j])).all():
            for k, time in enumerate(features):
                if np.array_equal(np.flatnonzero(np.diff(X[:, k]) <= 0) + 1, starts):
                    return number, time
    return ()


def _are_values(names: Sequence[str]) -> bool:
    """Whether names of columns are numbers, as in a row of values, and do not count."""
    try:
        values = np.array([name.replace(",", ".") for name in names], dtype=np.float64)
    except ValueError:
        return False
    if values.size < 2:
        return bool((values != np.round(values)).any())
    return bool((np.diff(values) <= 0).any())


def warn_about_spellings(labels: Sequence[Any], called: Sequence[str]) -> None:
    """Warn of names of labels that differ in capitals, blanks or dashes alone."""
    written: dict[str, dict[str, str]] = {}
    for y, name in zip(labels, called, strict=True):
        for label in _names_in(y):
            if len(label) > LETTERS_OF_SYMBOLS:
                words = BETWEEN_WORDS.sub(" ", label.strip().casefold())
                written.setdefault(words, {}).setdefault(label, name)
    said = [
        join((f"{way!r} (in " + name + ")" for way, name in ways.items()), " and ")
        for ways in written.values()
        if len(ways) > 1
    ]
    if said:
        warn(
            "labels differ in capitals, blanks or dashes alone: "
            + some_of(said, 3)
            + ". They are read as different states: write them alike if they are one"
        )


def _names_in(y: Any) -> list[str]:
    """The different names among labels, also of partial ones; none of numbers and breakpoints."""
    labels = getattr(y, "labels", y)
    with suppress(DataError):  # anything but a vector is refused elsewhere
        values = label_values(() if labels is None else labels)
        if values.ndim == 1 and values.dtype.kind in "OU":
            return [str(one) for one in dict.fromkeys(values.tolist()) if isinstance(one, str)]
    return []
