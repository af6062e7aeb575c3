"""Warnings that are ignored for a while.

``warnings.catch_warnings`` restores the filters that it found: blocks that overlap in several
threads leave each other's behind, for good.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def without_warnings(*categories: type[Warning], beginning: str = "") -> Iterator[None]:
    """Ignore warnings of some categories while the block runs, in whatever thread."""
    message = re.compile(re.escape(beginning))
    before: Any = warnings.filters
    ignored = [("ignore", message, category, None, 0) for category in categories]
    before[:0] = ignored
    try:
        yield
    finally:
        now: Any = warnings.filters  # another list inside of ``catch_warnings``
        for filters in [before] if now is before else [before, now]:
            for entry in ignored:
                with suppress(ValueError):
                    filters.remove(entry)
