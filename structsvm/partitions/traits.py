"""What is true of a partition problem, and what it calls its data in messages."""

from __future__ import annotations

from dataclasses import dataclass

from structsvm.support.plain import counted

LEAST_KAPPA = 1e-12
"""A loss of a smaller weight drowns in the rounding of the scores."""


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


@dataclass(frozen=True)
class Traits:
    """The properties of a family of partitions.

    Examples
    --------
    >>> from structsvm.partitions import Traits
    >>> from structsvm.problems import ChangePoint
    >>> Traits(contiguous=True, given_k=True).learns_price
    True
    >>> ChangePoint().traits.contiguous, ChangePoint().traits.given_k
    (True, False)
    """

    words: Words = RECORDINGS
    """What samples and clusters are called in messages."""
    contiguous: bool = False
    """Whether clusters are segments of consecutive samples, so that there are breakpoints."""
    given_k: bool = False
    """Whether the number of clusters is given, at learning time as at prediction time."""
    learns_price: bool = True
    """Whether the price ``beta`` of a cluster is a weight next to the metric."""
    kappa: float = 1.0
    """The loss is multiplied by this."""
    convex: bool = True
    """Whether the objective is convex, so that learning has a certified lower bound."""
    shrinkage: float | None = None
    """Shrinkage of the whitening that full metrics start from by default; None for none."""
    standardize: str | None = "recording"
    """How features are standardised by default."""
    lam: float = 0.1
    """Strength of the regularizer by default."""
    lams: tuple[float, ...] = (1.0, 0.2, 0.04, 0.008)
    """The strengths that model selection chooses from by default."""
    candidates: tuple[str, ...] = ("untrained", "rca", "diagonal", "full")
    """The metrics that model selection chooses from by default; a larger menu measured worse."""
    baselines: tuple[str, ...] = ("pca", "rca")
    """The metrics that a learned one is compared with, apart from the untrained one."""

    def __post_init__(self) -> None:
        """Multiply in double precision, whatever precision a setting of a problem has."""
        object.__setattr__(self, "kappa", float(self.kappa))
