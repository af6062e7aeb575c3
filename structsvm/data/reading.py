"""The door for recordings, in memory or not: how each of them becomes an array, checked."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.deferred import Deferred, Origin
from structsvm.data.gaps import has_gaps
from structsvm.data.marks import warn_about_marks
from structsvm.data.rows import (
    Rows,
    as_frame,
    names_of,
    rows_in_time,
    warn_about_order,
    without_counting,
)
from structsvm.data.sample import Sample
from structsvm.data.samples import (
    as_floats,
    as_list,
    check_names,
    check_samples,
    check_width,
    checked_names,
    is_constant,
)
from structsvm.data.sources import Item, Source, source_of
from structsvm.data.times import TimeAxis, warn_about_times
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError, StructSVMError
from structsvm.parallel.once import spread
from structsvm.support.arrays import Floats
from structsvm.support.blocks import mapping_of
from structsvm.support.frames import refuse_other_columns

PARTS = 256
"""A pass over recordings that are not in memory is in at most so many parts."""


def read_arrays(
    Xs: Any,
    feature_names: Sequence[str] | None = None,
    n_features: int | None = None,
    words: Words = RECORDINGS,
    missing: str | None = None,
) -> tuple[list[Sample], list[str] | None]:
    """Recordings as users hold them, as samples, and the names of their features."""
    source = source_of(Xs)
    if source is not None:
        return _read_later(source, feature_names, n_features, words, missing)
    pairs = [_with_side(x) for x in as_list(Xs)]
    arrays, names = check_samples([X for X, _ in pairs], feature_names, n_features, words, missing)
    sides = [side for _, side in pairs]
    return [Sample(X, side) for X, side in zip(arrays, sides, strict=True)], names


def labels_that_came(samples: Sequence[Sample], words: Words = RECORDINGS) -> list[Any] | None:
    """The labels that came with recordings that are not in memory; None if none did."""
    found = [s.data.labels if isinstance(s.data, Deferred) else None for s in samples]
    if all(y is None for y in found):
        return None
    for i, y in enumerate(found):
        if y is None:
            raise DataError(f"{words.whole} {i} has no labels, and others came with theirs")
    return found


def content_of(X: Floats) -> str:
    """The first digits of the SHA-256 of an array's values."""
    values = np.ascontiguousarray(X, dtype=np.float64)
    digest = hashlib.sha256(repr(values.shape).encode())
    digest.update(values.data)
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class _How:
    """How every recording of a source is read."""

    words: Words
    missing: str | None
    names: tuple[str, ...] | None
    """Of the features; None if they have none."""


Seen = tuple[tuple[int, int], bool, str, NDArray[np.bool_], Any]
"""What was seen of a recording when it was first read: the first fields of :class:`_Place`."""


@dataclass(frozen=True, eq=False)
class _Place(Origin):
    """A recording of a source."""

    stamp: Any = field(metadata={"fingerprint": False})
    source: Source = field(metadata={"fingerprint": False})
    index: int = field(metadata={"fingerprint": False})
    how: _How

    def read(self) -> Floats:
        """The values, as they were when they were first read."""
        X, _, stamp, _ = _read(self.source, self.index, self.how)
        if X.shape != self.shape or stamp != self.stamp or has_gaps(X) != self.has_gaps:
            raise DataError(
                f"{_called(self.source, self.index, self.how.words)} has changed since it was "
                f"first read (shape {self.shape} then, {X.shape} now): recordings that are read "
                "when they are needed must stay as they are"
            )
        return X


def _read_later(
    source: Source,
    feature_names: Sequence[str] | None,
    n_features: int | None,
    words: Words,
    missing: str | None,
) -> tuple[list[Sample], list[str] | None]:
    """Samples that are read when they are needed, each of which is read and checked once now."""
    if not len(source):
        raise DataError(f"no {words.whole}s were given: the sequence is empty")
    names = None if feature_names is None else checked_names(feature_names)
    if names is None:
        first = _item(source, 0, words)
        found = names_of(without_counting([_rows(first, "", words).X], None)[0])
        found = list(first.features or ()) if found is None else found
        names = [str(name) for name in found] or None
    how = _How(words, missing, None if names is None else tuple(names))
    numbers = np.array_split(np.arange(len(source)), min(len(source), PARTS))
    parts = [(source, some.tolist()) for some in numbers]
    looks: list[tuple[Seen, Any, TimeAxis | None, bool]]
    looks = [look for part in spread("reading", _look_at, parts, how) for look in part]
    expected = looks[0][0][0][1] if n_features is None else n_features
    samples = []
    for i, (seen, labels, _, _) in enumerate(looks):
        P = seen[0][1]
        check_width(P, expected, f"{words.whole} {i}", words, n_features is not None)
        samples.append(Sample(Deferred(_Place(*seen, source, i, how), (), P, labels)))
    check_names(names, expected, words)
    called = [_called(source, i, words) for i in range(len(source))]
    warn_about_order([name for name, look in zip(called, looks, strict=True) if look[3]])
    warn_about_times(called, [axis for _, _, axis, _ in looks])
    labels = [labels for _, labels, _, _ in looks]
    if words is RECORDINGS:
        warn_about_marks(labels, [seen[0][0] for seen, *_ in looks])
    return samples, names


def _look_at(
    part: tuple[Source, list[int]], how: _How
) -> list[tuple[Seen, Any, TimeAxis | None, bool]]:
    """Read some recordings, one at a time, and note what is to be known of each."""
    source, numbers = part
    found = []
    for i in numbers:
        X, labels, stamp, rows = _read(source, i, how)
        seen = (len(X), X.shape[1]), has_gaps(X), content_of(X), is_constant(X), stamp
        found.append((seen, _small(labels), rows.axis, rows.order is not None))
    return found


def _read(source: Source, i: int, how: _How) -> tuple[Floats, Any, Any, Rows]:
    """A recording, checked; the labels that came with it, its stamp and its rows."""
    item, called = _item(source, i, how.words), _called(source, i, how.words)
    names = None if how.names is None else list(how.names)
    rows = _rows(item, called, how.words)
    (held,) = without_counting([rows.X], names)
    if item.recording is not None:
        X = held.X if names is None else held.with_features(names, "the others").X
        labels = held.y
    else:
        X, labels = held, rows.labels(item.y, called)
        columns = item.features if held is item.X else names_of(held)
        if columns is not None and names is not None:
            refuse_other_columns(called, list(map(str, columns)), names)
    X = as_floats(X, called, names, how.missing)
    if mapping_of(X) is None:
        X = np.array(X)  # a source may read every recording into the same array
    return X, labels, _guarded(source, i, how.words, "stamp"), rows


def _rows(item: Item, called: str, words: Words) -> Rows:
    """A recording as it was found, in the order of time."""
    held = as_frame(item.X) if item.recording is None else item.recording
    return rows_in_time(held, called) if words is RECORDINGS else Rows(held, given=held)


def _item(source: Source, i: int, words: Words) -> Any:
    return _guarded(source, i, words, "item")


def _guarded(source: Source, i: int, words: Words, method: str) -> Any:
    """Ask a source; what its code raises becomes an error that names the recording."""
    try:
        return getattr(source, method)(i)
    except StructSVMError as error:
        raise DataError(f"{_called(source, i, words)}: {error}") from error
    except Exception as error:
        raise DataError(
            f"{_called(source, i, words)} cannot be read: {type(error).__name__}: {error}"
        ) from error


def _called(source: Source, i: int, words: Words) -> str:
    """The number of a recording, and where it is."""
    place = source.place(i)
    return f"{words.whole} {i}" + (f" ({place})" if place else "")


def _small(labels: Any) -> Any:
    """Labels in few bytes: they are the only part of a recording that stays in memory."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu" and labels.size:
        least, most = int(labels.min()), int(labels.max())
        return labels.astype(np.promote_types(np.min_scalar_type(least), np.min_scalar_type(most)))
    return labels


def _with_side(x: Any) -> tuple[Any, Any]:
    """A sample and its side information: ``(X, side)`` with a two-dimensional X, or X alone."""
    if isinstance(x, tuple) and len(x) == 2 and len(getattr(x[0], "shape", ())) == 2:
        return x
    return x, None
