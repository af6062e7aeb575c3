"""What a problem calls its samples, clusters and items in messages."""

from __future__ import annotations

from dataclasses import dataclass

from structsvm.support.plain import counted

LARGEST = 1e150
"""Values whose squares, of millions of them, still have a sum."""


@dataclass(frozen=True)
class Words:
    """The nouns for samples, clusters and items, in the singular; their plural ends in s.

    Examples
    --------
    >>> from structsvm.partitions import Words
    >>> words = Words("table", "cluster", "row")
    >>> words.wholes(1), words.parts(3), words.items(150)
    ('1 table', '3 clusters', '150 rows')
    """

    whole: str
    """What is partitioned."""
    part: str
    """What it is partitioned into."""
    item: str
    """What it consists of."""
    finer: str = ""
    """How to make it of more of these, if there is a way."""
    named: str = "state"
    """What an item is, where labels are names that mean the same in all of them."""
    bearer: str = ""
    """What then bears a name, if it is no item: superpixels do, and not pixels."""

    @property
    def bearers(self) -> str:
        """What bears the names of states, in the plural."""
        return f"{self.bearer or self.item}s"

    def items(self, n: int) -> str:
        """Return a number of items in words: "1 row", "3 samples"."""
        return counted(n, self.item)

    def parts(self, n: int) -> str:
        """So many of what one is partitioned into: "1 cluster", "3 segments"."""
        return counted(n, self.part)

    def wholes(self, n: int, adjective: str = "") -> str:
        """Return a number of wholes in words: "1 table", "3 held-out recordings"."""
        return counted(n, f"{adjective} {self.whole}".strip())


RECORDINGS = Words("recording", "segment", "sample")
TABLES = Words("table", "cluster", "row")
GRAPHS = Words(
    "graph", "cluster", "node", "of an image: raise n_superpixels of GraphOfImage", named="region"
)
IMAGES = Words("image", "part", "pixel", named="region", bearer="superpixel")
