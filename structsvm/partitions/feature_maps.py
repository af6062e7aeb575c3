"""The joint feature map and the loss of a partition problem, as values it holds.

An oracle maximises a score and a loss at once, so that a problem whose feature map or loss is
another one needs an oracle, or a training sample, that knows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from structsvm.partitions.labelled import LabelledSample
from structsvm.partitions.losses import Projector, partition_loss
from structsvm.support.arrays import Floats


class FeatureMap(Protocol):
    """``T phi(x, M)`` with respect to a metric of either kind."""

    @property
    def name(self) -> str:
        """The formula of the feature map, as text."""

    def full(self, x: LabelledSample, y: Any) -> Floats:
        """The slope of the score with respect to a full metric, (P, P)."""

    def diagonal(self, x: LabelledSample, y: Any) -> Floats:
        """The slope of the score with respect to a diagonal metric, (P,)."""


class Loss(Protocol):
    """What predicting a partition costs when another is true."""

    @property
    def name(self) -> str:
        """The formula of the loss, as text."""

    def __call__(self, truth: Projector, guess: Projector) -> float:
        """Zero if they are equal, never negative."""


@dataclass(frozen=True)
class SecondMoment:
    """``phi(X, M) = X^T M X / T``: the scatter between clusters (Lajugie et al., eq. (5))."""

    name: str = "X^T M X / T"

    def full(self, x: LabelledSample, y: Any) -> Floats:
        """Return ``X^T M X``, (P, P)."""
        return x.gram(y)

    def diagonal(self, x: LabelledSample, y: Any) -> Floats:
        """Return the diagonal of ``X^T M X``, (P,)."""
        return x.gram_diagonal(y)


@dataclass(frozen=True)
class SquaredDistance:
    """``|M - M'|_F^2 = K + K' - 2 Tr(M M')`` (Lajugie et al., section "Loss functions")."""

    name: str = "|M - M'|_F^2"

    def __call__(self, truth: Projector, guess: Projector) -> float:
        """At most ``K + K' - 2``."""
        return partition_loss(truth, guess)


SECOND_MOMENT = SecondMoment()
SQUARED_DISTANCE = SquaredDistance()
