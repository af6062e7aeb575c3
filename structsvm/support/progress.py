"""Progress of long work, reported to functions that watch it.

The work reports what it is doing (:func:`stage`, :func:`tell`) without knowing its watchers, which
costs nothing if there are none. Only the thread that called :func:`watching` is heard.
"""

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from structsvm.support.interrupts import Alarm

__all__ = [
    "OutOfTimeError",
    "Watcher",
    "in_time",
    "is_watched",
    "share",
    "stage",
    "tell",
    "until",
    "watching",
]

Watcher = Callable[[str, float], None]
"""A function of what is being done, in words, and the part that is done, from 0 to 1."""
T = TypeVar("T")
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Report the progress of this block to a function, in addition to earlier watchers."""
    outer = _watcher.get()
    ended = False

    def listening(words: str, part: float) -> None:
        if not ended:
            watcher(words, part)
            if outer is not None:
                outer(words, part)

    _watcher.set(listening)
    try:
        yield
    finally:
        ended = True
        _watcher.set(outer)


class OutOfTimeError(BaseException):
    """Raised by :func:`until` when time is over; handlers of ``Exception`` do not catch it."""


@contextmanager
def until(end: float) -> Iterator[None]:
    """Raise OutOfTimeError in this block after ``end``, on the clock of :func:`time.monotonic`.

    The block ends at the next report of progress. In the main thread, work that reports none is
    interrupted like by Ctrl-C, and so neither in compiled code nor while a file is written.
    """

    def watch(*_: object) -> None:
        if time.monotonic() > end:
            raise OutOfTimeError

    alarm = Alarm(end - time.monotonic())
    try:
        with alarm, watching(watch):
            yield
    except (Exception, KeyboardInterrupt) as error:
        if alarm.has_rung:
            raise OutOfTimeError from error
        raise
    if alarm.has_rung:
        raise OutOfTimeError


def is_watched() -> bool:
    """Whether there is a watcher; without one, reports need not be put into words."""
    return _watcher.get() is not None


def tell(words: str, part: float) -> None:
    """Report what is being done, and the part that is done, from 0 to 1."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(words, min(max(part, 0.0), 1.0))


def stage(words: str, items: Sequence[T]) -> Iterator[T]:
    """Yield the items; each counts as an equal share of the progress."""
    for i, item in enumerate(items):
        with share(words, i / len(items), (i + 1) / len(items)):
            yield item


def in_time(words: str, items: Sequence[T], end: float, fewest: int) -> Iterator[tuple[int, T]]:
    """Yield numbers and items: all in order, or with a finite ``end`` in random order until then.

    The first item always comes first, and at least ``fewest`` items are yielded.
    """
    order = list(range(len(items)))
    if end < math.inf:
        others = order[1:]
        random.Random(0).shuffle(others)
        order[1:] = others
    for n, i in enumerate(stage(words, order)):
        if n >= fewest and time.monotonic() > end:
            return
        yield i, items[i]


@contextmanager
def share(words: str, start: float, end: float) -> Iterator[None]:
    """Progress in this block counts as the part from ``start`` to ``end`` of the whole."""
    outer = _watcher.get()
    if outer is None:
        yield
        return

    def own(inner: str, part: float) -> None:
        outer(f"{words}: {inner}", start + part * (end - start))

    outer(words, start)
    _watcher.set(own)
    try:
        yield
    finally:
        if _watcher.get() is own:  # unless work that has begun meanwhile has set another one
            _watcher.set(outer)
