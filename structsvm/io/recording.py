"""One recording, labelled or not, with the names of its features."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.times import TimeAxis
from structsvm.errors import DataError
from structsvm.support.arrays import Floats
from structsvm.support.plain import counted


@dataclass(frozen=True, eq=False)
class Origin:
    """Where the samples of a recording lie in the table they were read from."""

    path: Path
    rows: NDArray[np.int64]  # the row of each sample, (T,), counted from 0 after the header
    format: Any = None  # how the text of the file is written, if it is text
    lines: NDArray[np.int64] | None = None
    """The line of each row of the table, if it is in a file that people open."""
    options: Any = None  # the FileOptions it was read with
    left_out: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Rows of a table that are no samples, because values are missing in them."""

    @property
    def written(self) -> NDArray[np.int64]:
        """The rows that are written: those of samples, and those that were left out."""
        some = np.concatenate([self.rows, self.left_out])
        return np.sort(some) if self.left_out.size else self.rows

    def place(self, start: int, end: int | None = None) -> str:
        """Return words for samples ``start, ..., end - 1`` as rows and lines of the table."""
        first, last = int(self.rows[start]), int(self.rows[start if end is None else end - 1])
        rows, lines = f"row {first}", f"line {self.line(first)}"
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
    >>> recording.with_features(["y", "x"], "the metric").features
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
    """Rows with the same number belong together, -1 for rows in no chunk, (T,)."""
    time: TimeAxis | None = None
    """When each sample was measured, if that is known."""
    origin: Origin | None = None
    """The rows of the table that it was read from."""
    fine: Recording | None = None
    """What its samples are windows of, if they are: that recording as it was measured."""
    window: int = 1
    """The number of samples of ``fine`` in each of its own; the last one has those that remain."""

    def __repr__(self) -> str:
        about = f"{counted(len(self.X), 'sample')} of {counted(len(self.features), 'feature')}"
        return f"<Recording {self.name!r}: {about}, {'un' if self.y is None else ''}labelled>"

    @property
    def edges(self) -> NDArray[np.int64]:
        """Where samples begin, in those of ``fine`` if they are windows, and the end, (T + 1,)."""
        ends = len(self.X if self.fine is None else self.fine.X)
        return np.append(np.arange(len(self.X)) * self.window, ends)

    @property
    def where(self) -> str:
        return self.name if self.source is None else self.source

    def place(self, start: int, end: int | None = None) -> str:
        """Return words for samples ``start, ..., end - 1``, or for one."""
        rows = Origin(Path(), np.arange(len(self.X))) if self.origin is None else self.origin
        return rows.place(start, end)

    def at(self, rows: NDArray[np.int64]) -> Recording:
        """Return the recording of some samples, in this order."""
        found: dict[str, Any] = {"X": self.X[rows]}
        found |= {k: held[rows] for k in ("y", "chunks") if (held := getattr(self, k)) is not None}
        if self.time is not None:
            found["time"] = self.time.at(rows)
        if self.origin is not None:
            nothing = self.origin.left_out[:0]
            found["origin"] = replace(self.origin, rows=self.origin.rows[rows], left_out=nothing)
        if self.fine is not None:
            windows = np.split(np.arange(len(self.fine.X)), self.edges[1:-1])
            found["fine"] = self.fine.at(np.concatenate([windows[t] for t in rows]))
        return replace(self, **found)

    def with_features(self, features: Sequence[str], owner: str) -> Recording:
        """Return the recording with its columns in the order of ``features``, matched by name.

        Raises
        ------
        DataError
            Naming the features that are missing and those that are too many, or two of one name;
            ``owner`` is who has the right ones.
        """
        wanted = tuple(features)
        if wanted == self.features:
            return self
        here, there = set(self.features), set(wanted)
        missing = [name for name in wanted if name not in here]
        extra = [name for name in self.features if name not in there]
        twice = repeated_in(self.features) or repeated_in(wanted)
        if twice or missing or extra:
            why = f": lacks {listed(missing)} and has {listed(extra)} besides"
            if twice:
                why = f", or in another order, and two of them are called {twice[0]!r}: give each "
                why += "its own name"
            raise DataError(f"{self.where} has other features than {owner}{why}")
        return self.choosing(wanted)

    def choosing(self, features: Sequence[str]) -> Recording:
        places = {name: j for j, name in enumerate(self.features)}
        order = [places[name] for name in features]
        return replace(self, X=np.ascontiguousarray(self.X[:, order]), features=tuple(features))


def share_features(recordings: Sequence[Recording]) -> list[Recording]:
    return [one.with_features(recordings[0].features, recordings[0].where) for one in recordings]


def arrays_and_labels(
    recordings: Sequence[Recording],
) -> tuple[list[Floats], list[NDArray[Any]]]:
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


def repeated_in(names: Sequence[str]) -> list[str]:
    return sorted(name for name, n in Counter(names).items() if n > 1)


def spelled(name: str) -> str:
    """Normalize a name: files of a Mac have ü as a u with two dots, tables as one letter."""
    return unicodedata.normalize("NFC", name)


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Return names in quotes, as many as a message can hold."""
    shown = ", ".join(map(repr, names[:limit])) or "nothing"
    more = len(names) - limit
    return f"{shown} and {more} more, the last {names[-1]!r}" if more > 0 else shown
