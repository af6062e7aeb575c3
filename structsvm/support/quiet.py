"""Warnings that are ignored in one thread for a while, and nowhere else.

``warnings.catch_warnings`` sets the filters of the whole process and restores those that it found:
blocks that overlap in several threads leave each other's behind, for good.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@contextmanager
def without_warnings(*categories: type[Warning], beginning: str = "") -> Iterator[None]:
    """Run the block without warnings of these categories from this thread."""
    filters: Any = warnings.filters
    ignored = [("ignore", _Here(beginning), category, None, 0) for category in categories]
    filters[:0] = ignored
    try:
        yield
    finally:
        for one in ignored:
            with suppress(ValueError):  # the block has reset the filters
                filters.remove(one)


@dataclass(frozen=True)
class _Here:
    """Stands for the pattern of messages in a filter."""

    beginning: str
    thread: int = field(default_factory=threading.get_ident)

    @property
    def pattern(self) -> str:
        return re.escape(self.beginning)  # scikit-learn sends it to its workers

    def match(self, text: str) -> bool:
        return threading.get_ident() == self.thread and text.startswith(self.beginning)
