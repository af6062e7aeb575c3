"""What a report says: the verdict and its surroundings in words, all else as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from structsvm.errors import DataError
from structsvm.partitions.traits import Words
from structsvm.verdict import Verdict

__all__ = ["Sheet", "checked_names"]


@dataclass(frozen=True, eq=False)
class Sheet:
    """The content of a page, whatever was learned."""

    verdict: Verdict
    notes: tuple[str, ...]
    """What a reader must know before trusting the figures."""
    words: Words
    sure: str
    """Heading over how good the optimum is."""
    bounds: str
    """Caption of the course of the objective."""
    data: dict[str, Any]
    """What the scripts of the page read."""
    drag: str = "Drag over a stretch to zoom in. "

    @property
    def state(self) -> str:
        """How the verdict is marked: "yes", "no" or "open"."""
        if self.verdict.pays:
            return "yes"
        return "no" if self.verdict.harms else "open"


def checked_names(names: Sequence[str] | None, n: int, words: Words) -> list[str]:
    """What to call them: by their numbers if they have no names."""
    if names is None:
        return [str(i) for i in range(n)]
    if len(names) != n:
        raise DataError(f"{words.wholes(n)} but {len(names)} names")
    return list(names)
