"""Columns that are no measurements: time, row numbers and identifiers among the features."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from structsvm.data.rows import without_counting
from structsvm.errors import DataWarning, warn
from structsvm.io.recording import Recording, listed
from structsvm.support.arrays import Floats

FEWEST_ROWS = 10
"""In fewer rows a measurement may rise throughout by chance."""
ROWS_OF_A_RECORDING = 5
"""Rows that the recordings of a long table have at least, on average."""

IDENTIFIERS = {
    "id", "ids", "uid", "uuid", "subject", "person", "patient", "participant", "user", "animal",
    "recording", "session", "trial", "sequence", "series", "episode", "index", "row",
}  # fmt: skip
"""Words in the name of a column that tell whose or which a row is, and not what was measured."""


PREDICTED, AGAIN = ("segment", "cluster"), "_predicted"
"""Names of the columns that predictions add to a table, and how the second of a name ends."""


def without_odd_columns(
    recordings: Sequence[Recording], named: Sequence[str] = ()
) -> list[Recording]:
    """The recordings without columns that only count, unless they were named.

    A warning tells of them, and of features that look like time or identifiers.
    """
    if named:
        return list(recordings)
    recordings = list(without_counting(recordings, None))
    _warn_about_columns(recordings)
    return recordings


def _warn_about_columns(recordings: Sequence[Recording]) -> None:
    arrays = [recording.X for recording in recordings if len(recording.X) >= FEWEST_ROWS]
    if not arrays:
        return
    features = recordings[0].features
    if _are_values(features):
        _warn(
            f"{recordings[0].where}: its columns are called {listed(list(features), 3)}, which "
            "looks like a row of values: if it has no header, write one, or a sample is lost"
        )
    whole = _long_table(arrays[0], features) if len(arrays) == 1 else None
    if whole is not None:
        number, time = whole
        _warn(
            f"column {time!r} begins again wherever column {number!r} changes, and both are "
            f"features now: if every {number!r} is a recording of its own, give "
            f"recording_column={number!r} and time_column={time!r}"
        )
    doubtful = [
        name
        for j, name in enumerate(features)
        if name not in (whole or ()) and all(_is_doubtful(name, X[:, j]) for X in arrays)
    ]
    if doubtful:
        it, first = "it was" if len(doubtful) == 1 else "they were", doubtful[0]
        _warn(
            f"{listed(doubtful)} only rises, or holds whole numbers and is called as identifiers "
            f"and predictions are, and would be learned from: unless {it} measured, say what it "
            f"is, time_column={first!r}, recording_column={first!r} or label_column={first!r}, or "
            f"leave it out, ignore={first!r}"
        )


def _warn(message: str) -> None:
    warn(message, DataWarning)


def _is_doubtful(name: str, column: Floats) -> bool:
    """Whether a feature looks like time, an identifier or what predictions add to a table."""
    is_called_so = _is_identifier(name) or name.removesuffix(AGAIN) in PREDICTED
    return _rises(column) or (is_called_so and _is_whole(column))


def _are_values(names: Sequence[str]) -> bool:
    try:
        values = np.array(names, dtype=np.float64)
    except ValueError:
        return False
    return bool(
        (values != np.round(values)).all() if len(names) == 1 else (np.diff(values) <= 0).any()
    )


def _is_identifier(name: str) -> bool:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return not IDENTIFIERS.isdisjoint(re.findall(r"[a-z]+", spaced.lower()))


def _rises(column: Floats) -> bool:
    """Never falls, and has a new value in most rows; a step that is switched on once has not."""
    steps = np.diff(column)
    return bool((steps >= 0).all() and 2 * np.count_nonzero(steps) > steps.size)


def _is_whole(column: Floats) -> bool:
    return bool((column == np.round(column)).all())


def _long_table(X: Floats, features: Sequence[str]) -> tuple[str, str] | None:
    """A column that numbers stretches of rows, and one that begins again in each of them."""
    for j, number in enumerate(features):
        starts = np.flatnonzero(np.diff(X[:, j])) + 1
        few = ROWS_OF_A_RECORDING * (starts.size + 1) <= len(X)
        once = np.unique(X[:, j]).size == starts.size + 1
        if not (starts.size and few and once and _is_whole(X[:, j])):
            continue
        for k, time in enumerate(features):
            steps = np.diff(X[:, k])
            again = np.flatnonzero(steps <= 0) + 1
            if np.array_equal(again, starts):
                return number, time
    return None
