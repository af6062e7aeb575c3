"""Samples as arrays: their gaps, their copies, in memory or read when they are needed."""

from __future__ import annotations

import hashlib
import math
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, SupportsInt, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from structsvm.errors import DataError
from structsvm.messages import Text, nth, parameter
from structsvm.parallel import single_threaded, spread
from structsvm.support import archive
from structsvm.support.arrays import Floats, Ints, Stack, largest, largest_of_all
from structsvm.support.checks import counted, read_only
from structsvm.support.codec import fingerprint

# ---- what a problem calls its samples, clusters and items in messages


LARGEST = 1e150
"""Values whose squares, of millions of them, still have a sum."""


@dataclass(frozen=True)
class Words:
    """The nouns for samples, clusters and items, in the singular; their plural ends in s.

    Examples
    --------
    >>> from structsvm.partitions import Words
    >>> words = Words("table", "cluster", "row")
    >>> words.wholes(1), words.parts(3), words.items(150)
    ('1 table', '3 clusters', '150 rows')
    """

    whole: str
    """A sample, which is partitioned."""
    part: str
    """A cluster."""
    item: str
    """An item, of which samples consist."""
    finer: str = ""
    """The way to more items of a sample, if there is one."""
    named: str = "state"
    """The class of an item, where labels are names that mean the same in all samples."""

    def numbered(self, i: SupportsInt) -> Text:
        """A sample by its number, in messages."""
        return nth(self.whole, i)

    def items(self, n: int) -> str:
        return counted(n, self.item)

    def parts(self, n: int) -> str:
        return counted(n, self.part)

    def wholes(self, n: int, adjective: str = "") -> str:
        return counted(n, f"{adjective} {self.whole}".strip())


RECORDINGS = Words("recording", "segment", "sample")
TABLES = Words("table", "cluster", "row")
GRAPHS = Words(
    "graph", "cluster", "node", "of an image: raise n_superpixels of GraphOfImage", named="region"
)
IMAGES = Words("image", "part", "pixel", named="region")


# ---- missing values: a NaN adds nothing to any sum, and a mean is that of the values there are
#
# The distortion of a segment in a diagonal metric is then, with ``O_p`` the samples of it in which
# feature p has a value,
#
#     sum_p b_p sum_{t in O_p} (x_tp - mean of x_p over O_p)^2,
#
# which is the smallest one that any values in place of the missing ones can give. A full metric
# mixes features, so that a sample of which one is missing has no place in it.


def has_gaps(X: Floats) -> bool:
    return math.isnan(largest_of_all(X))


def magnitudes(X: Floats) -> Floats:
    """The largest magnitude in each column (T, P) of the values there are, (P,); 0 if none."""
    found = largest(X)
    return np.fmax.reduce(np.abs(X), axis=0, initial=0.0) if np.isnan(found).any() else found


def blocks(X: Floats) -> list[tuple[int, int, int]]:
    """Rows ``start, ..., end - 1`` of a column without a value, as ``(start, end, column)``."""
    found = []
    for j, missing in enumerate(np.isnan(X).T):
        edges = np.flatnonzero(np.diff(missing, prepend=False, append=False))
        found += [(start, end, j) for start, end in edges.reshape(-1, 2).tolist()]
    return sorted(found, key=lambda block: (block[0], block[2]))


def means(X: Floats) -> Floats:
    """The mean of each column (T, P) over the rows in which it has a value, (P,); 0 if in none."""
    if not has_gaps(X):
        return np.asarray(X.mean(axis=0))
    total = (~np.isnan(X)).sum(axis=0)
    return np.asarray(np.nansum(X, axis=0) / np.maximum(total, 1))


def scales(X: Floats) -> Floats:
    """The standard deviation of each column over the rows in which it has a value, (P,)."""
    return np.asarray(X.std(axis=0) if not has_gaps(X) else np.sqrt(means((X - means(X)) ** 2)))


@dataclass(frozen=True, eq=False)
class InMetric:
    """``X L`` of samples (T, P), for a factor (P, r) that is looked at once; missing where X is."""

    factor: Floats

    @cached_property
    def picked(self) -> tuple[Ints | None, Floats] | None:
        """The feature of each column, None for all in their order, and its scale, (r,).

        None of a metric that mixes features.
        """
        P, r = self.factor.shape
        columns = np.nonzero(self.factor)[1]
        if not self.factor.size or np.unique(columns).size < columns.size:
            return None
        feature = np.abs(self.factor).argmax(axis=0)
        in_order = np.array_equal(feature, np.arange(P))
        return (None if in_order else feature), self.factor[feature, np.arange(r)]

    def __call__(self, X: Floats) -> Floats:
        """Map samples to the metric, (T, r)."""
        if self.picked is None:
            Z = np.asarray(X @ self.factor)
            if math.isnan(Z.sum()):
                raise DataError(
                    "values are missing (NaN), and this metric mixes features: masked values take "
                    + parameter("metric", "diagonal")
                    + "; interpolate them for a full metric"
                )
            return Z
        feature, scale = self.picked
        return np.asarray((X if feature is None else X.take(feature, axis=1)) * scale)

    def of_stack(self, Xs: Stack) -> Stack:
        """Map arrays that are side by side, each as by itself; they may change."""
        if self.picked is None:
            return Stack.of([self(X) for X in Xs.arrays()])
        feature, scale = self.picked
        rows = Xs.rows if feature is None else Xs.rows.take(feature, axis=1)
        rows *= scale
        return Stack(rows, Xs.first)


def filled(X: Floats, times: Floats | None = None) -> Floats:
    """Interpolate missing values between samples (at ``times``)."""
    if not has_gaps(X):
        return X
    found = X.copy()
    at = np.arange(len(X)) if times is None else times
    for column in found.T:
        missing = np.isnan(column)
        known: Any = column[~missing]
        column[missing] = np.interp(at[missing], at[~missing], known) if known.size else 0.0
    return found


# ---- recordings that are read when they are needed: where they are, and what is made of them


Step = Callable[[Floats], Floats]
"""A function of an array (T, P) that other processes can be sent; T stays what it was.

It may have a method ``of_stack`` that makes the same of a :class:`Stack` of arrays, which it may
write to.
"""

BATCH = 10_000
"""Items of samples that are worked on together, if there are so many."""


@dataclass(frozen=True, eq=False)
class Origin:
    """A recording that can be read any number of times, with the same values each time."""

    shape: tuple[int, int]
    has_gaps: bool
    fingerprint: str
    """A digest of the values."""
    constant: NDArray[np.bool_] | None
    """Which features are constant, (P,); None if that is not known."""
    read: Callable[[], Floats] = field(metadata={"fingerprint": False})
    """Gives the values, (T, P), checked; other processes can be sent it."""


@dataclass(frozen=True, eq=False)
class Deferred:
    """An array (T, P) that is read, and made of what was read, when it is needed."""

    origin: Origin
    steps: tuple[Step, ...]
    """Functions that are applied to the values, in this order."""
    n_features: int
    """P, after all steps."""
    labels: Any = field(default=None, metadata={"fingerprint": False})
    """The labels that came with the recording; they stay in the process that learns."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.origin.shape[0], self.n_features

    @property
    def has_gaps(self) -> bool:
        return self.origin.has_gaps

    def then(self, step: Step, n_features: int | None = None) -> Deferred:
        """The same with a further step, and P' features after it; P by default."""
        P = self.n_features if n_features is None else n_features
        return Deferred(self.origin, (*self.steps, step), P, self.labels)

    def at(self, rows: Ints) -> Deferred:
        """Some of its rows, by their numbers."""
        digest = hashlib.sha256(self.origin.fingerprint.encode())
        digest.update(np.ascontiguousarray(rows).data)
        shape = (rows.size, self.n_features)
        known_by = digest.hexdigest()[:16]
        some = Origin(shape, self.has_gaps, known_by, None, partial(_rows_of, self, rows))
        return Deferred(some, (), self.n_features)

    def read(self) -> Floats:
        """Read it, unless this process has kept it: (T, P), read-only."""
        last = getattr(_last, "array", {})
        kept: Floats | None = _kept.get(self, last.get(self))
        if kept is not None:
            return kept
        X = self.origin.read()
        with single_threaded():
            for step in self.steps:
                X = step(X)
        X = read_only(X)
        with _lock:
            if sum(one.nbytes for one in _kept.values()) + X.nbytes <= archive.KEPT:
                _kept[self] = X
            else:
                _last.array = weakref.WeakKeyDictionary({self: X})
        return X

    def __reduce__(self) -> tuple[Any, ...]:
        """To other processes it travels as the place where it is read."""
        return Deferred, (self.origin, self.steps, self.n_features)

    def __deepcopy__(self, memo: Any) -> Deferred:
        """Nothing in it is ever changed."""
        return self


def _rows_of(whole: Deferred, rows: Ints) -> Floats:
    return whole.read()[rows]


_kept: weakref.WeakKeyDictionary[Deferred, Floats] = weakref.WeakKeyDictionary()
"""Arrays as long as their owners live: the first ones that have room."""
_last = threading.local()
"""The last array that each thread has read without room for it."""
_lock = threading.Lock()

Data = Floats | Deferred
"""An array (T, P), in memory or not."""


def in_memory(X: Data) -> Floats:
    return X.read() if isinstance(X, Deferred) else X


def derived(X: Data, step: Step, n_features: int | None = None) -> Data:
    return X.then(step, n_features) if isinstance(X, Deferred) else step(X)


def all_derived(Xs: Sequence[Data], step: Step, n_features: int | None = None) -> list[Data]:
    if any(isinstance(X, Deferred) for X in Xs):
        return [derived(X, step, n_features) for X in Xs]
    parts = [Xs[a:b] for a, b in batches_of([X.shape[0] for X in Xs])]
    return [made for part in spread("", _made_of, parts, step) for made in part]


def of_each(
    words: str, function: Callable[..., Any], Xs: Sequence[Data], *others: Sequence[Any]
) -> list[Any]:
    """``function(X, ...)`` of each: in threads, or by the worker that reads it."""
    tasks = list(zip(Xs, *others, strict=True))
    return [found for part in _in_batches(words, _of_part, function, tasks) for found in part]


def sum_of_each(
    words: str,
    function: Callable[..., Any],
    Xs: Sequence[Data],
    weights: Floats,
    *others: Sequence[Any],
) -> Floats:
    """The sum of ``function(X, ...)`` over arrays, weighted (N,); parameters of :func:`of_each`."""
    tasks = list(zip(Xs, weights.tolist(), *others, strict=True))
    return np.asarray(np.add.reduce(_in_batches(words, _sum_of_part, function, tasks)))


def _in_batches(
    words: str, task: Callable[[Any, Any], Any], function: Any, tasks: list[tuple[Any, ...]]
) -> list[Any]:
    """What a task makes of each batch of arrays, and of what there is beside each of them."""
    parts = [tasks[a:b] for a, b in batches_of([X.shape[0] for X, *_ in tasks])]
    on_demand = any(isinstance(X, Deferred) for X, *_ in tasks)
    return spread(words if on_demand else "", task, parts, function)


def _made_of(Xs: Sequence[Floats], step: Step) -> list[Floats]:
    of_stack: Callable[[Stack], Stack] | None = getattr(step, "of_stack", None)
    if len(Xs) < 2 or of_stack is None:
        return [step(X) for X in Xs]
    return of_stack(Stack.of(Xs)).arrays()


def _of_part(tasks: Sequence[tuple[Any, ...]], function: Callable[..., Any]) -> list[Any]:
    return [function(in_memory(X), *others) for X, *others in tasks]


def _sum_of_part(tasks: Sequence[tuple[Any, ...]], function: Callable[..., Any]) -> Any:
    return sum(weight * function(in_memory(X), *others) for X, weight, *others in tasks)


def batches_of(sizes: Sequence[int], most: int | None = None) -> list[tuple[int, int]]:
    """Ranges of samples with these numbers of items, each a moment's work for a worker."""
    most = BATCH if most is None else most
    ranges = []
    begin = 0
    total = 0
    for end, size in enumerate(sizes, start=1):
        total += size
        if total >= most or end == len(sizes):
            ranges.append((begin, end))
            begin, total = end, 0
    return ranges


# ---- what is partitioned, as arrays: the value that a problem makes of what users hand in


@dataclass(frozen=True, eq=False)
class Sample:
    """T items with P features each, such as a recording, a table or the nodes of a graph.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import Sample
    >>> sample = Sample(np.zeros((5, 2)), side="a tree over the five items")
    >>> sample.n_samples, sample.n_features, sample.side
    (5, 2, 'a tree over the five items')
    """

    data: Data
    """(T, P), finite: an array, or where to read one when it is needed."""
    side: Any = None
    """What else the problem has to know of it, such as a tree or the edges of a graph. Its method
    ``at(rows)`` makes that of some of the items, for labels in part. If it knows what the features
    are, its method ``with_features(X, names)`` makes one that knows others."""
    states: Floats | None = None
    """(T, C) how probable each named state is, if the features of a learner know states."""

    @property
    def X(self) -> Floats:
        """The features, (T, P), read now if they are not in memory."""
        return in_memory(self.data)

    @property
    def is_deferred(self) -> bool:
        """Whether the features are read when they are needed."""
        return isinstance(self.data, Deferred)

    @property
    def n_samples(self) -> int:
        """The number of items, T."""
        return int(self.data.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features, P."""
        return int(self.data.shape[1])

    @property
    def has_gaps(self) -> bool:
        """Whether values are missing."""
        return self.data.has_gaps if isinstance(self.data, Deferred) else has_gaps(self.data)

    def at(self, rows: Ints) -> Sample:
        """Return some of the items, by their numbers, as a sample of their own.

        Raises
        ------
        DataError
            If there is side information that has no method ``at``.
        """
        data = self.data
        side = self.side
        if side is not None and not hasattr(side, "at"):
            raise DataError(
                f"some items of a sample have no meaning without its {type(side).__name__}: give "
                "the side information a method at(rows), which returns that of these items"
            )
        some = data.at(rows) if isinstance(data, Deferred) else data[rows]
        return replace(self, data=some, side=None if side is None else side.at(rows), states=None)

    def with_features(self, X: Data, made: tuple[str, ...] | None = None) -> Sample:
        """Return the same items, or some of them, with other features, (T, P').

        ``made`` are their names where a stage of features has made them of those measured.
        """
        side = self.side
        if made is not None and hasattr(side, "with_features"):
            side = side.with_features(X, made)
        return replace(self, data=X, side=side, states=None)


def all_made_by(samples: Sequence[Sample], step: Step) -> list[Sample]:
    made = all_derived([sample.data for sample in samples], step)
    return [Sample(X, x.side, x.states) for x, X in zip(samples, made, strict=True)]


def is_prepared(Xs: Any) -> TypeGuard[list[Sample]]:
    return isinstance(Xs, list) and bool(Xs) and all(isinstance(x, Sample) for x in Xs)


# ---- copies, which are not independent


NEAR = 1e-3
"""Difference of two copies at most, in standard deviations of a column: one may have been written
with fewer digits, or with a little noise."""
BLOCKS = 16
"""Parts whose means say which samples may be near copies."""


def contents(items: Sequence[Any]) -> Ints:
    """A number for each sample, the same for those that are copies or near copies, (N,)."""
    exact = np.unique([fingerprint(item) for item in items], return_inverse=True)[1]
    first = np.unique(exact, return_index=True)[1]
    pairs = [(exact[a], exact[b]) for a, b in _near([items[i] for i in first], first)]
    return connected(pairs, first.size)[exact]


def connected(pairs: Any, n: int) -> Ints:
    """The number of the group of each of n things, of which pairs (E, 2) are in one, (n,)."""
    ends = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
    links = coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


def near_rows(X: Floats) -> Ints:
    """A number for each row, the same for those that are copies or near copies, (T,)."""
    step = NEAR * X.std(axis=0)
    cells = np.floor(X / np.where(step > 0, step, 1.0) + 0.381966)  # no round value is at an edge
    return np.unique(cells, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def joined(units: Ints, numbers: Ints) -> Ints:
    """The unit of each recording, (N,), where units that have copies in common are one."""
    pairs = np.column_stack([units, units.max() + 1 + numbers])
    group = connected(pairs, int(pairs.max()) + 1)[units]
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _near(items: Sequence[Any], places: Ints) -> list[tuple[int, int]]:
    """Pairs of places of arrays that are near copies of each other."""
    from scipy.spatial import cKDTree

    by_shape: dict[tuple[int, ...], list[int]] = {}
    for k, item in enumerate(items):
        if isinstance(item, np.ndarray) and item.ndim == 2 and len(item) > 1:
            by_shape.setdefault(item.shape, []).append(k)
    found = []
    for (T, P), alike in by_shape.items():
        if len(alike) < 2:
            continue
        starts = np.arange(0, T, max(1, T // BLOCKS))
        columns = np.linspace(1, 2, P)
        arrays = [np.nan_to_num(items[k]) for k in alike]
        lengths = np.diff(starts, append=T)[:, None]
        marks = np.array([np.add.reduceat(X, starts) / lengths @ columns for X in arrays])
        # No two values of near copies differ by more, nor do the means of blocks of them.
        radius = NEAR * max(float(X.std(axis=0) @ columns) for X in arrays) * starts.size**0.5
        for a, b in cKDTree(marks).query_pairs(radius):
            X = items[alike[a]]
            Y = items[alike[b]]
            apart = np.abs(X - Y) > NEAR * np.nanstd(X, axis=0)  # False where values are missing
            if not apart.any() and (np.isnan(X) == np.isnan(Y)).all():
                found.append((int(places[alike[a]]), int(places[alike[b]])))
    return found
