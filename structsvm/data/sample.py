"""Samples as arrays, in memory or read when they are needed, and what messages call them."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from structsvm.data.gaps import has_gaps
from structsvm.errors import DataError
from structsvm.parallel import single_threaded
from structsvm.parallel.once import spread, spread_in_threads
from structsvm.storage import archive
from structsvm.support.arrays import Floats, Ints
from structsvm.support.plain import counted, read_only
from structsvm.support.stack import Stack

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
        shape, known_by = (rows.size, self.n_features), digest.hexdigest()[:16]
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
    return [made for part in spread_in_threads(_made_of, parts, step) for made in part]


def of_each(
    words: str, function: Callable[..., Any], Xs: Sequence[Data], *others: Sequence[Any]
) -> list[Any]:
    """``function(X, ...)`` of each: in threads, or by the worker that reads it."""
    return [found for part in _in_batches(words, _of_part, function, Xs, others) for found in part]


def sum_of_each(
    words: str,
    function: Callable[..., Any],
    Xs: Sequence[Data],
    *others: Sequence[Any],
    weights: Floats | None = None,
) -> Floats:
    """The sum of ``function(X, ...)`` over arrays, weighted (N,); parameters of :func:`of_each`."""
    weights = np.ones(len(Xs)) if weights is None else weights
    parts = _in_batches(words, _sum_of_part, function, Xs, (weights.tolist(), *others))
    return np.asarray(np.add.reduce(parts))


def _in_batches(
    words: str,
    task: Callable[[Any, Any], Any],
    function: Callable[..., Any],
    Xs: Sequence[Data],
    others: Sequence[Sequence[Any]],
) -> list[Any]:
    tasks = list(zip(Xs, *others, strict=True))
    parts = [tasks[a:b] for a, b in batches_of([X.shape[0] for X in Xs])]
    if any(isinstance(X, Deferred) for X in Xs):
        return spread(words, task, parts, function)
    return spread_in_threads(task, parts, function)


def stack_of(Xs: Sequence[Floats], step: Step | None) -> Stack:
    if step is None:
        return Stack.of(Xs)
    of_stack: Callable[[Stack], Stack] | None = getattr(step, "of_stack", None)
    return Stack.of([step(X) for X in Xs]) if of_stack is None else of_stack(Stack.of(Xs))


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
    ranges, begin, total = [], 0, 0
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
        data, side = self.data, self.side
        if side is not None and not hasattr(side, "at"):
            raise DataError(
                f"some items of a sample have no meaning without its {type(side).__name__}: give "
                "the side information a method at(rows), which returns that of these items"
            )
        some = data.at(rows) if isinstance(data, Deferred) else data[rows]
        return replace(self, data=some, side=None if side is None else side.at(rows), states=None)

    def made_by(self, step: Step) -> Sample:
        """Return the same items with the features (T, P) that a step makes of these."""
        return Sample(derived(self.data, step), self.side, self.states)

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
