"""What a problem calls its instances, clusters and items in messages."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, SupportsInt

from structsvm.errors import Text, nth
from structsvm.support import counted


@dataclass(frozen=True)
class Words:
    """The nouns for instances, clusters and items, in the singular; their plural ends in s.

    Examples
    --------
    >>> from structsvm.partitions import Words
    >>> words = Words("table", "cluster", "row")
    >>> words.wholes(1), words.parts(3), words.items(150)
    ('1 table', '3 clusters', '150 rows')
    """

    whole: str
    """An instance, which is partitioned."""
    part: str
    """A cluster."""
    item: str
    """An item, of which instances consist."""
    finer: str = ""
    """What gives an instance more items, if anything does."""
    named: str = "state"
    """The class of an item, where labels are names that mean the same in all instances."""

    @property
    def of_graphs(self) -> bool:
        """Whether instances are graphs, or images, of which graphs are made."""
        return self in (GRAPHS, IMAGES)

    def seen_in(self, instances: Iterable[Any]) -> "Words":
        """What messages call these instances; graphs that were made of images are images."""
        regions = [getattr(x.side, "regions", None) for x in instances]
        return self if any(one is None for one in regions) else IMAGES

    def numbered(self, i: SupportsInt) -> Text:
        """An instance by its number, in messages."""
        return nth(self.whole, i)

    def items(self, n: int) -> str:
        return counted(n, self.item)

    def parts(self, n: int) -> str:
        return counted(n, self.part)

    def wholes(self, n: int, adjective: str = "") -> str:
        return counted(n, f"{adjective} {self.whole}".strip())


RECORDINGS = Words("recording", "segment", "sample")
TABLES = Words("table", "cluster", "row")
GRAPHS = Words(
    "graph", "cluster", "node", "of an image: raise n_superpixels of GraphOfImage", named="region"
)
IMAGES = Words("image", "part", "pixel", named="region")
