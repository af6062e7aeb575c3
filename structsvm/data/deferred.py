"""Recordings that are read when they are needed: where they are, and what is made of them.

What is done to an array in memory at once is written down for one that is not, and done each time
that it is read, by whoever reads it. A process keeps what it reads again as far as there is room.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.parallel import single_threaded
from structsvm.parallel.once import spread, spread_in_threads
from structsvm.storage import limits
from structsvm.support.arrays import Floats, Ints
from structsvm.support.plain import read_only
from structsvm.support.stack import Stack

Step = Callable[[Floats], Floats]
"""A function of an array (T, P) that other processes can be sent; T stays what it was.

It may have a method ``of_stack`` that makes the same of a :class:`Stack` of arrays, which it may
write to.
"""

BATCH = 10_000
"""Items of samples that are worked on together, if there are so many."""


@dataclass(frozen=True, eq=False)
class Origin(ABC):
    """A recording that can be read any number of times, with the same values each time."""

    shape: tuple[int, int]
    """T and P."""
    has_gaps: bool
    """Whether values are missing."""
    fingerprint: str
    """What the values are known by."""
    constant: NDArray[np.bool_] | None
    """Which features are constant, (P,); None if that has to be seen."""

    @abstractmethod
    def read(self) -> Floats:
        """The values, (T, P), checked."""


@dataclass(frozen=True, eq=False)
class Deferred:
    """An array (T, P) that is read, and made of what was read, when it is needed."""

    origin: Origin
    steps: tuple[Step, ...]
    """What is done to what is read, in this order."""
    n_features: int
    """P, after all steps."""
    labels: Any = field(default=None, metadata={"fingerprint": False})
    """The labels that came with the recording; they stay in the process that learns."""

    @property
    def shape(self) -> tuple[int, int]:
        """T and P."""
        return self.origin.shape[0], self.n_features

    @property
    def has_gaps(self) -> bool:
        return self.origin.has_gaps

    @property
    def constant(self) -> NDArray[np.bool_] | None:
        """Which features are constant, (P,); None once anything is made of them."""
        return None if self.steps else self.origin.constant

    def then(self, step: Step, n_features: int | None = None) -> Deferred:
        """Return what a further step makes of it, with P' features; P by default."""
        P = self.n_features if n_features is None else n_features
        return Deferred(self.origin, (*self.steps, step), P, self.labels)

    def at(self, rows: Ints) -> Deferred:
        """Return what some of its rows are, by their numbers."""
        digest = hashlib.sha256(self.origin.fingerprint.encode())
        digest.update(np.ascontiguousarray(rows).data)
        shape, known_by = (rows.size, self.n_features), digest.hexdigest()[:16]
        some = _Rows(shape, self.has_gaps, known_by, None, self, rows)
        return Deferred(some, (), self.n_features)

    def read(self) -> Floats:
        """Read it, unless this process has kept it: (T, P), read-only."""
        known = _kept.get(self)
        if known is not None:
            return known
        X = self.make()
        _kept.offer(self, X)
        return X

    def make(self) -> Floats:
        """Read it and make of it what is needed, (T, P), read-only; nothing is kept."""
        X = self.origin.read()
        with single_threaded():
            for step in self.steps:
                X = step(X)
        return read_only(X)

    def __reduce__(self) -> tuple[Any, ...]:
        """To other processes it travels as the place where it is read."""
        return Deferred, (self.origin, self.steps, self.n_features)

    def __deepcopy__(self, memo: Any) -> Deferred:
        """Nothing in it is ever changed."""
        return self


@dataclass(frozen=True, eq=False)
class _Rows(Origin):
    """Some rows of what is read when it is needed, which is then read as a whole."""

    whole: Deferred
    rows: Ints

    def read(self) -> Floats:
        return self.whole.read()[self.rows]


Data = Floats | Deferred
"""An array (T, P), in memory or not."""


def in_memory(X: Data) -> Floats:
    """An array itself, or what is read."""
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
    if len(Xs) < 2 or not hasattr(step, "of_stack"):
        return [step(X) for X in Xs]
    return stack_of(Xs, step).arrays()


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


class _Kept:
    """What was read, for as long as its owner lives: the first that have room, and the last one."""

    def __init__(self) -> None:
        self._arrays: weakref.WeakKeyDictionary[Deferred, Floats] = weakref.WeakKeyDictionary()
        self._lock = threading.RLock()  # a finalizer may run while it is held
        self._bytes = 0
        self._last = threading.local()

    def get(self, owner: Deferred) -> Floats | None:
        last = getattr(self._last, "array", None)
        if last is not None and owner in last:
            found: Floats = last[owner]
            return found
        return self._arrays.get(owner)

    def offer(self, owner: Deferred, X: Floats) -> None:
        """Keep it if there is room, and in any case until this thread reads another one."""
        size = X.nbytes
        with self._lock:
            if self._bytes + size <= limits.KEPT:
                self._bytes += size
                self._arrays[owner] = X
                weakref.finalize(owner, self._give_back, size).atexit = False
                return
        self._last.array = weakref.WeakKeyDictionary({owner: X})

    def _give_back(self, size: int) -> None:
        with self._lock:
            self._bytes -= size


_kept = _Kept()
