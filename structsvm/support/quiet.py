"""Warnings that are ignored in one thread for a while, and nowhere else.

``warnings.catch_warnings`` sets the filters of the whole process and restores those that it found:
blocks that overlap in several threads leave each other's behind, for good.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import local
from typing import Any


@contextmanager
def without_warnings(*categories: type[Warning], beginning: str = "") -> Iterator[None]:
    """Run the block without warnings of these categories from this thread."""
    ignored = [_here(category, beginning) for category in categories]
    for here in ignored:
        here.inside.blocks = here.blocks + 1
        _filters().insert(0, here.filter)
    try:
        yield
    finally:
        for here in ignored:
            here.inside.blocks -= 1
            with suppress(ValueError):  # the block has reset the filters
                _filters().remove(here.filter)


class _Here:
    """Stands for the pattern of messages in a filter; matches in threads that are inside a block.

    A filter for each block is in the list; all of one category and beginning are equal.
    """

    def __init__(self, category: type[Warning], beginning: str) -> None:
        self.category, self.beginning = category, beginning
        self.pattern = re.escape(beginning)
        self.inside = local()

    @property
    def blocks(self) -> int:
        """How many of this thread are open."""
        return getattr(self.inside, "blocks", 0)

    @property
    def filter(self) -> tuple[Any, ...]:
        return ("ignore", self, self.category, None, 0)

    def match(self, text: str) -> bool:
        return self.blocks > 0 and text.startswith(self.beginning)

    def __reduce__(self) -> Any:
        return _here, (self.category, self.beginning)  # scikit-learn sends filters to its workers


_known: dict[tuple[type[Warning], str], _Here] = {}


def _here(category: type[Warning], beginning: str) -> _Here:
    return _known.setdefault((category, beginning), _Here(category, beginning))


def _filters() -> Any:
    return warnings.filters
