"""Warnings that are ignored in one thread for a while, and nowhere else.

``warnings.catch_warnings`` sets the filters of the whole process and restores those that it found:
blocks that overlap in several threads leave each other's behind, for good.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock, local
from typing import Any


@contextmanager
def without_warnings(*categories: type[Warning], beginning: str = "") -> Iterator[None]:
    """Run the block without warnings of these categories from this thread."""
    with ExitStack() as stack:
        for category in categories:
            stack.enter_context(_ignored(category, beginning))
        yield


class _Here:
    """Stands for the pattern of messages in a filter; matches in threads that are inside a block.

    One for each category and beginning, so that a copy is the same one.
    """

    def __init__(self, category: type[Warning], beginning: str) -> None:
        self.category, self.beginning = category, beginning
        self.blocks = 0
        """In all threads."""
        self.mine = local()

    @property
    def pattern(self) -> str:
        return re.escape(self.beginning)

    def match(self, text: str) -> bool:
        return getattr(self.mine, "blocks", 0) > 0 and text.startswith(self.beginning)

    def enter(self) -> None:
        self.mine.blocks = getattr(self.mine, "blocks", 0) + 1
        with _lock:
            self.blocks += 1
            self.remove()
            _filters().insert(0, self.filter)

    def leave(self) -> None:
        self.mine.blocks -= 1
        with _lock:
            self.blocks -= 1
            if self.blocks == 0:
                self.remove()

    def remove(self) -> None:
        """From wherever it is among the filters: others set theirs in between."""
        filters = _filters()
        while self.filter in filters:
            filters.remove(self.filter)

    @property
    def filter(self) -> tuple[Any, ...]:
        return ("ignore", self, self.category, None, 0)

    def __reduce__(self) -> Any:
        return _here, (self.category, self.beginning)  # scikit-learn sends filters to its workers


_lock = Lock()
_known: dict[tuple[type[Warning], str], _Here] = {}


def _unlock() -> None:
    """In a forked child, where the thread that held the lock is no more."""
    global _lock
    _lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


def _here(category: type[Warning], beginning: str) -> _Here:
    with _lock:
        return _known.setdefault((category, beginning), _Here(category, beginning))


def _filters() -> Any:
    return warnings.filters


@contextmanager
def _ignored(category: type[Warning], beginning: str) -> Iterator[None]:
    here = _here(category, beginning)
    here.enter()
    try:
        yield
    finally:
        here.leave()
