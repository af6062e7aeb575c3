"""The properties of a partition problem, and what learning and comparison ask of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from structsvm.data.sample import Sample
from structsvm.data.samples import STANDARDIZE
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import SettingsError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import FeatureMap, LabelledSample, Loss
from structsvm.partitions.losses import Projector
from structsvm.partitions.metric import Metric
from structsvm.partitions.oracle import Oracle
from structsvm.support.checks import is_number
from structsvm.support.contract import raise_wrong

LEAST_KAPPA = 1e-12
"""A loss of a smaller weight drowns in the rounding of the scores."""

NUMBERS = int | float | np.bool_ | np.integer | np.floating


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
        """Refuse what no learner can do with; multiply in double precision."""
        refuse_kappa(self.kappa, 1.0 if self.convex else np.inf)
        if self.shrinkage is not None and not 0 <= self.shrinkage <= 1:
            raise SettingsError(f"shrinkage must be None or from 0 to 1, got {self.shrinkage!r}")
        if self.standardize not in STANDARDIZE:
            raise SettingsError(
                f"standardize must be one of {STANDARDIZE}, got {self.standardize!r}"
            )
        object.__setattr__(self, "kappa", float(self.kappa))


def refuse_kappa(kappa: Any, most: float = 1.0) -> None:
    """Refuse a weight of the loss that is no number from 1e-12 to ``most``."""
    if not (is_number(kappa) and LEAST_KAPPA <= kappa <= most and kappa < np.inf):
        limits = (
            f"at least {LEAST_KAPPA:g}" if most == np.inf else f"from {LEAST_KAPPA:g} to {most:g}"
        )
        raise SettingsError(
            f"kappa must be {limits}, got {kappa!r}: a smaller one drowns in rounding, and with "
            "one above 1 a loss may reward a cluster by more than it costs"
        )


class Family(Protocol):
    """The part of a partition problem that learning and comparison ask."""

    @property
    def traits(self) -> Traits: ...

    @property
    def loss(self) -> Loss: ...

    @property
    def feature_map(self) -> FeatureMap: ...

    def decoder(self, sample: Sample) -> Oracle: ...

    def training_sample(self, sample: Sample, truth: EquivalenceMatrix) -> LabelledSample: ...

    def partition(self, sample: Sample, metric: Metric) -> EquivalenceMatrix: ...


def loss_of(problem: Family, truth: Projector, guess: Projector) -> float:
    """The loss of a problem, which is a number."""
    found: Any = problem.loss(truth, guess)
    if not isinstance(found, NUMBERS) or found != found:
        raise_wrong(problem, "loss", found, "a number")
    return float(found)
