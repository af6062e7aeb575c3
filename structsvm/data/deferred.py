"""Arrays in memory, or read when they are needed, and what is made of them."""

import hashlib
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, TypeGuard, TypeVar

import numpy as np

from structsvm.data.missing import has_gaps
from structsvm.data.words import Words
from structsvm.errors import DataError
from structsvm.parallel import single_threaded
from structsvm.parallel.by_name import spread
from structsvm.support import Floats, Ints, Stack, fingerprint, limits, read_only

Step = Callable[[Floats], Floats]
"""A function of an array (T, P) that other processes can be sent; T stays what it was.

It may have a method ``of_stack`` that makes the same of a :class:`Stack` of arrays, which it may
write to.
"""

BATCH = 10_000
"""Items of instances that are worked on together, if there are so many."""


@dataclass(frozen=True, eq=False)
class Origin:
    """A recording that can be read any number of times, with the same values each time."""

    shape: tuple[int, int]
    has_gaps: bool
    fingerprint: str
    """A digest of the values."""
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

    def then(self, step: Step, n_features: int | None = None) -> "Deferred":
        """These data with a further step, after which there are P' features; P by default."""
        P = self.n_features if n_features is None else n_features
        return Deferred(self.origin, (*self.steps, step), P, self.labels)

    def at(self, rows: Ints) -> "Deferred":
        digest = hashlib.sha256(self.origin.fingerprint.encode())
        digest.update(np.ascontiguousarray(rows).data)
        shape = (rows.size, self.n_features)
        known_by = digest.hexdigest()[:16]
        some = Origin(shape, self.has_gaps, known_by, partial(_rows_of, self, rows))
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
            if sum(one.nbytes for one in _kept.values()) + X.nbytes <= limits.KEPT_BYTES:
                _kept[self] = X
            else:
                _last.array = weakref.WeakKeyDictionary({self: X})
        return X

    def __reduce__(self) -> tuple[Any, ...]:
        """To other processes it travels as the place where it is read."""
        return Deferred, (self.origin, self.steps, self.n_features)

    def __deepcopy__(self, memo: Any) -> "Deferred":
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
Made = TypeVar("Made")


def in_memory(X: Data) -> Floats:
    """The values, read now if they have to be."""
    return X.read() if isinstance(X, Deferred) else X


def is_data(X: Any) -> TypeGuard[Data]:
    """Whether this is an array (T, P) of floats, or where to read one."""
    return isinstance(X, Deferred) or (
        isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64
    )


def gaps_in(X: Data) -> bool:
    """Whether values are missing."""
    return X.has_gaps if isinstance(X, Deferred) else has_gaps(X)


def arrays_among(Xs: Sequence[Data]) -> list[Floats]:
    """The instances that are in memory."""
    return [X for X in Xs if not isinstance(X, Deferred)]


def take_rows(X: Data, rows: Ints) -> Data:
    """Some of the rows, by their numbers."""
    return X.at(rows) if isinstance(X, Deferred) else X[rows]


def digest_of(X: Data) -> str:
    """A digest of the values, or of those that were read."""
    return X.origin.fingerprint if isinstance(X, Deferred) else fingerprint(X)


def labels_read_with(X: Data) -> Any:
    """The labels that came with a recording where it is read; None of an array."""
    return X.labels if isinstance(X, Deferred) else None


def bytes_to_read(X: Data) -> int:
    """How much memory it takes beside what is taken now."""
    T, P = X.shape
    return 8 * T * P if isinstance(X, Deferred) else 0


def all_in_memory(Xs: Sequence[Data], words: Words) -> list[Floats]:
    """All arrays at once, which are refused where they are read one at a time."""
    arrays = arrays_among(Xs)
    if len(arrays) < len(Xs):
        raise DataError(
            f"this needs all {words.whole}s at once, and these are read one at a time: give some "
            "of them as arrays"
        )
    return arrays


# ---- what is made of data: at once of arrays in memory, of others when they are needed


def now_or_later(
    Xs: Sequence[Data], now: Callable[[list[Floats]], Made], later: Callable[[], Made]
) -> Made:
    """What is made of all arrays at once, or, where some are not in memory, in another way."""
    arrays = arrays_among(Xs)
    return now(arrays) if len(arrays) == len(Xs) else later()


def apply(X: Data, step: Step, n_features: int | None = None) -> Data:
    """What a step makes of it, with P' features; P by default."""
    return X.then(step, n_features) if isinstance(X, Deferred) else step(X)


def apply_each(Xs: Sequence[Data], step: Step, n_features: int | None = None) -> list[Data]:
    """What a step makes of each, of arrays in memory many at a time."""
    if any(isinstance(X, Deferred) for X in Xs):
        return [apply(X, step, n_features) for X in Xs]
    parts = [Xs[a:b] for a, b in batches_of([X.shape[0] for X in Xs])]
    return list(chain.from_iterable(spread("", _apply_to_part, parts, step)))


def map_arrays(
    words: str, function: Callable[..., Any], Xs: Sequence[Data], *others: Sequence[Any]
) -> list[Any]:
    """``function(X, ...)`` of each: in threads, or by the worker that reads it."""
    tasks = list(zip(Xs, *others, strict=True))
    return list(chain.from_iterable(_in_batches(words, _map_part, function, tasks)))


def sum_arrays(
    words: str,
    function: Callable[..., Any],
    Xs: Sequence[Data],
    weights: Floats,
    *others: Sequence[Any],
) -> Floats:
    """The sum of ``function(X, ...)`` over arrays, weighted (N,); as :func:`map_arrays`."""
    tasks = list(zip(Xs, weights.tolist(), *others, strict=True))
    return np.asarray(np.add.reduce(_in_batches(words, _sum_part, function, tasks)))


def _in_batches(
    words: str, task: Callable[[Any, Any], Any], function: Any, tasks: list[tuple[Any, ...]]
) -> list[Any]:
    """What a task makes of each batch of arrays, and of what there is beside each of them."""
    parts = [tasks[a:b] for a, b in batches_of([X.shape[0] for X, *_ in tasks])]
    on_demand = any(isinstance(X, Deferred) for X, *_ in tasks)
    return spread(words if on_demand else "", task, parts, function)


def apply_in_stack(Xs: Stack, step: Step) -> Stack:
    """What a step makes of each of the arrays, which may change."""
    of_stack: Callable[[Stack], Stack] | None = getattr(step, "of_stack", None)
    return Stack.of([step(X) for X in Xs.arrays()]) if of_stack is None else of_stack(Xs)


def _apply_to_part(Xs: Sequence[Floats], step: Step) -> list[Floats]:
    if len(Xs) < 2 or not hasattr(step, "of_stack"):
        return [step(X) for X in Xs]
    return apply_in_stack(Stack.of(Xs), step).arrays()


def _map_part(tasks: Sequence[tuple[Any, ...]], function: Callable[..., Any]) -> list[Any]:
    return [function(in_memory(X), *others) for X, *others in tasks]


def _sum_part(tasks: Sequence[tuple[Any, ...]], function: Callable[..., Any]) -> Any:
    return sum(weight * function(in_memory(X), *others) for X, weight, *others in tasks)


def batches_of(sizes: Sequence[int], most: int | None = None) -> list[tuple[int, int]]:
    """Ranges of instances with these numbers of items, each a moment's work for a worker."""
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
