"""The properties of a partition problem."""

from __future__ import annotations

from dataclasses import dataclass

from structsvm.data.words import RECORDINGS, Words

LEAST_KAPPA = 1e-12
"""A loss of a smaller weight drowns in the rounding of the scores."""


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
