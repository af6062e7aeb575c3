"""Arrays in memory, or read when they are needed, and functions applied to both."""

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
"""A function from an array (T, P) to one (T, P') that other processes can be sent.

It may have a method ``of_stack`` that does the same for a :class:`Stack` of arrays, which it may
write to.
"""

BATCH = 10_000
"""The number of items from which on instances are one task of a worker."""


@dataclass(frozen=True, eq=False)
class Origin:
    """A recording that can be read any number of times, with the same values each time."""

    shape: tuple[int, int]
    has_gaps: bool
    fingerprint: str
    """A digest of the values."""
    read: Callable[[], Floats] = field(metadata={"fingerprint": False})
    """Returns the values, (T, P), checked; other processes can be sent it."""


@dataclass(frozen=True, eq=False)
class Deferred:
    """An array (T, P) that is read, and taken through some steps, when it is needed."""

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
        """Some of the rows, by their numbers."""
        digest = hashlib.sha256(self.origin.fingerprint.encode())
        digest.update(np.ascontiguousarray(rows).data)
        shape = (rows.size, self.n_features)
        read = partial(_rows_of, self, rows)
        origin = Origin(shape, self.has_gaps, digest.hexdigest()[:16], read)
        return Deferred(origin, (), self.n_features)

    def read(self) -> Floats:
        """Return the values, (T, P), read-only; read them unless this process has kept them."""
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
        """What other processes need to read the data, without labels."""
        return Deferred, (self.origin, self.steps, self.n_features)

    def __deepcopy__(self, memo: Any) -> "Deferred":
        """The object itself, because it is never changed."""
        return self


def _rows_of(whole: Deferred, rows: Ints) -> Floats:
    return whole.read()[rows]


_kept: weakref.WeakKeyDictionary[Deferred, Floats] = weakref.WeakKeyDictionary()
"""Arrays that were read first, up to :data:`limits.KEPT_BYTES`, as long as their owners live."""
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
    """Those of the data that are arrays in memory."""
    return [X for X in Xs if not isinstance(X, Deferred)]


def take_rows(X: Data, rows: Ints) -> Data:
    """Some of the rows, by their numbers."""
    return X.at(rows) if isinstance(X, Deferred) else X[rows]


def digest_of(X: Data) -> str:
    """A digest of the values; of deferred data, of those that are read, before any step."""
    return X.origin.fingerprint if isinstance(X, Deferred) else fingerprint(X)


def labels_read_with(X: Data) -> Any:
    """The labels that are read together with deferred data; None for an array in memory."""
    return X.labels if isinstance(X, Deferred) else None


def bytes_to_read(X: Data) -> int:
    """The bytes that reading it will take; 0 for an array in memory."""
    T, P = X.shape
    return 8 * T * P if isinstance(X, Deferred) else 0


def all_in_memory(Xs: Sequence[Data], words: Words) -> list[Floats]:
    """All data as arrays in memory; refuse data that are read one at a time."""
    arrays = arrays_among(Xs)
    if len(arrays) < len(Xs):
        raise DataError(
            f"this needs all {words.whole}s at once, and these are read one at a time: give some "
            "of them as arrays"
        )
    return arrays


# ---- functions of data: applied at once to arrays in memory, to others when they are needed


def now_or_later(
    Xs: Sequence[Data], now: Callable[[list[Floats]], Made], later: Callable[[], Made]
) -> Made:
    """``now(arrays)`` if all arrays are in memory, else ``later()``."""
    arrays = arrays_among(Xs)
    return now(arrays) if len(arrays) == len(Xs) else later()


def apply(X: Data, step: Step, n_features: int | None = None) -> Data:
    """Apply a step, now or when the data are read; it makes P' features, P by default."""
    return X.then(step, n_features) if isinstance(X, Deferred) else step(X)


def apply_each(Xs: Sequence[Data], step: Step, n_features: int | None = None) -> list[Data]:
    """Apply a step to each as :func:`apply` does, to many arrays at a time if all are in memory."""
    if any(isinstance(X, Deferred) for X in Xs):
        return [apply(X, step, n_features) for X in Xs]
    parts = [Xs[a:b] for a, b in batches_of([X.shape[0] for X in Xs])]
    return list(chain.from_iterable(spread("", _apply_to_part, parts, step)))


def map_arrays(
    title: str, function: Callable[..., Any], Xs: Sequence[Data], *others: Sequence[Any]
) -> list[Any]:
    """``function(X, *others)`` for each, in threads, or in the worker that reads it."""
    tasks = list(zip(Xs, *others, strict=True))
    return list(chain.from_iterable(_in_batches(title, _map_part, function, tasks)))


def sum_arrays(
    title: str,
    function: Callable[..., Any],
    Xs: Sequence[Data],
    weights: Floats,
    *others: Sequence[Any],
) -> Floats:
    """The sum of ``function(X, *others)`` with ``weights`` (N,); as :func:`map_arrays`."""
    tasks = list(zip(Xs, weights.tolist(), *others, strict=True))
    return np.asarray(np.add.reduce(_in_batches(title, _sum_part, function, tasks)))


def _in_batches(
    title: str, run: Callable[[Any, Any], Any], function: Any, tasks: list[tuple[Any, ...]]
) -> list[Any]:
    """``run(batch, function)`` for batches of tasks, each of which begins with an array."""
    batches = [tasks[a:b] for a, b in batches_of([X.shape[0] for X, *_ in tasks])]
    on_demand = any(isinstance(X, Deferred) for X, *_ in tasks)
    return spread(title if on_demand else "", run, batches, function)


def apply_in_stack(Xs: Stack, step: Step) -> Stack:
    """Apply a step to each array of a stack, which it may write to."""
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


def batches_of(sizes: Sequence[int], n_items: int | None = None) -> list[tuple[int, int]]:
    """Ranges of consecutive instances that have ``n_items`` items, or hardly more, together."""
    n_items = BATCH if n_items is None else n_items
    ranges = []
    begin = 0
    total = 0
    for end, size in enumerate(sizes, start=1):
        total += size
        if total >= n_items or end == len(sizes):
            ranges.append((begin, end))
            begin, total = end, 0
    return ranges
