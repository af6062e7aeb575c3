"""The properties of a family of partitions, which messages, learning and selection use."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.data import RECORDINGS, STANDARDIZE, Words
from structsvm.errors import SettingsError
from structsvm.support import is_number, refuse_unlisted

LEAST_KAPPA = 1e-12  # a loss with a smaller weight is lost in the rounding of the scores


@dataclass(frozen=True)
class Traits:
    """The properties of a family of partitions.

    Examples
    --------
    >>> from structsvm.partitions import Traits
    >>> Traits(contiguous=True, given_k=True).learns_price
    True
    """

    words: Words = RECORDINGS
    """Nouns for instances and clusters in messages."""
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
    """Standardisation of features by default."""
    lam: float = 0.1
    """Strength of the regularizer by default."""
    lams: tuple[float, ...] = (1.0, 0.2, 0.04, 0.008)
    """The strengths that model selection chooses from by default."""
    candidates: tuple[str, ...] = ("untrained", "rca", "diagonal", "full")
    """The metrics that model selection chooses from by default; a larger menu measured worse."""
    baselines: tuple[str, ...] = ("pca", "rca")
    """The metrics that a learned one is compared with, apart from the untrained one."""
    menu: str = "structsvm.learner.menu:Menu"
    """Where the methods are listed that these partitions are compared with and chosen from: the
    module and the name of a :class:`structsvm.learner.menu.Menu`, loaded when it is asked for."""

    def __post_init__(self) -> None:
        """Refuse values that no learner can use, and make kappa a float."""
        refuse_kappa(self.kappa, 1.0 if self.convex else np.inf)
        if self.shrinkage is not None and not 0 <= self.shrinkage <= 1:
            raise SettingsError(f"shrinkage must be None or from 0 to 1, got {self.shrinkage!r}")
        refuse_unlisted("standardize", self.standardize, STANDARDIZE)
        object.__setattr__(self, "kappa", float(self.kappa))


def refuse_kappa(kappa: Any, most: float = 1.0) -> None:
    """Refuse a weight of the loss that is no number from 1e-12 to ``most``."""
    if not (is_number(kappa) and LEAST_KAPPA <= kappa <= most and kappa < np.inf):
        raise SettingsError(
            f"kappa must be from {LEAST_KAPPA:g} to {most:g}, got {kappa!r}: a smaller one drowns "
            "in rounding, and with one above 1 a loss may reward a cluster by more than it costs"
        )
