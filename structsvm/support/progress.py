"""How far long work has come, told to whoever watches.

The work says what it is doing (:func:`stage`, :func:`tell`); it does not know who listens, and
costs nothing when nobody does. Only the thread that called :func:`watching` is heard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["Watcher", "stage", "tell", "watching"]

Watcher = Callable[[str, float], None]
"""Takes what is being done, in words, and how much of it is done, from 0 to 1."""

T = TypeVar("T")

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Let a function know of all progress in this block."""
    outer = _watcher.get()
    _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.set(outer)


def tell(words: str, part: float) -> None:
    """Say what is being done, and how much of it is done, from 0 to 1."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(words, min(max(part, 0.0), 1.0))


def stage(words: str, items: Sequence[T]) -> Iterator[T]:
    """The items one after another, all taking about as long.

    What is told while one of them is worked on counts as a part of its share.
    """
    outer = _watcher.get()
    if outer is None:
        yield from items
        return
    try:
        for i, item in enumerate(items):
            outer(words, i / len(items))
            _watcher.set(_share(outer, words, i, len(items)))
            yield item
    finally:
        _watcher.set(outer)


def _share(outer: Watcher, words: str, i: int, n: int) -> Watcher:
    """A watcher of item ``i`` of ``n`` for whom the whole is all of them."""
    return lambda inner, part: outer(f"{words}: {inner}", (i + part) / n)
