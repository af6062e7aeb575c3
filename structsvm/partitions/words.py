"""What a problem calls its data, so that messages speak of what the user handed in."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GRAPHS", "IMAGES", "RECORDINGS", "TABLES", "Words"]


@dataclass(frozen=True)
class Words:
    """Nouns in the singular; their plural ends in s."""

    whole: str
    """What is partitioned."""
    part: str
    """What it is partitioned into."""
    item: str
    """What it consists of."""

    def items(self, n: int) -> str:
        """So many of what one consists of: "1 row", "3 samples"."""
        return _counted(n, self.item)

    def parts(self, n: int) -> str:
        """So many of what one is partitioned into: "1 cluster", "3 segments"."""
        return _counted(n, self.part)

    def wholes(self, n: int, adjective: str = "") -> str:
        """So many of them: "1 table", "3 held-out recordings"."""
        return _counted(n, f"{adjective} {self.whole}".strip())


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


RECORDINGS = Words("recording", "segment", "sample")
TABLES = Words("table", "cluster", "row")
GRAPHS = Words("graph", "cluster", "node")
IMAGES = Words("image", "part", "pixel")
