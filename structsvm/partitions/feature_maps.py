"""The joint feature map and the loss of a partition problem, as values it holds.

An oracle maximises a score and a loss at once, so that a problem whose feature map or loss is
another one needs an oracle, or a training sample, that knows it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from structsvm.partitions.labelled import LabelledSample
from structsvm.partitions.losses import Projector
from structsvm.support.arrays import Floats

Loss = Callable[[Projector, Projector], float]
"""What predicting a partition, the second, costs when the first is true: 0 if they are equal, never
negative."""


class FeatureMap(Protocol):
    """``T phi(x, M)`` with respect to a metric of either kind."""

    def full(self, x: LabelledSample, y: Any) -> Floats:
        """The slope of the score with respect to a full metric, (P, P)."""

    def diagonal(self, x: LabelledSample, y: Any) -> Floats:
        """The slope of the score with respect to a diagonal metric, (P,)."""


class SecondMoment:
    """``phi(X, M) = X^T M X / T``: the scatter between clusters (Lajugie et al., eq. (5))."""

    def full(self, x: LabelledSample, y: Any) -> Floats:
        """Return ``X^T M X``, (P, P)."""
        return x.gram(y)

    def diagonal(self, x: LabelledSample, y: Any) -> Floats:
        """Return the diagonal of ``X^T M X``, (P,)."""
        return x.gram_diagonal(y)


SECOND_MOMENT = SecondMoment()
