"""How far long work has come, told to whoever watches.

The work says what it is doing (:func:`stage`, :func:`tell`); it does not know who listens, and
costs nothing when nobody does. Only the thread that called :func:`watching` is heard.
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
"""Takes what is being done, in words, and how much of it is done, from 0 to 1."""
T = TypeVar("T")
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Let a function, too, know of all progress in this block."""
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
    """What :func:`until` ends work with; no handler of errors takes it for one."""


@contextmanager
def until(end: float) -> Iterator[None]:
    """End this block with an error after ``end``, on the clock of :func:`time.monotonic`.

    It ends where its work tells of itself. Work that does not is ended in the main thread as Ctrl-C
    would end it, and so neither in compiled code nor while a file is written.
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
    """Whether anybody listens: what is told need not be put into words if nobody does."""
    return _watcher.get() is not None


def tell(words: str, part: float) -> None:
    """Say what is being done, and how much of it is done, from 0 to 1."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(words, min(max(part, 0.0), 1.0))


def stage(words: str, items: Sequence[T]) -> Iterator[T]:
    """The items one after another, each an equal share of the progress."""
    for i, item in enumerate(items):
        with share(words, i / len(items), (i + 1) / len(items)):
            yield item


def in_time(words: str, items: Sequence[T], end: float, fewest: int) -> Iterator[tuple[int, T]]:
    """The items with their places: in order, or, until ``end``, the first and others at random."""
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
    """What is told in this block counts as the part from ``start`` to ``end`` of the whole."""
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
        if _watcher.get() is own:  # and not that of work which began meanwhile
            _watcher.set(outer)
