"""Slack rescaling of a problem whose oracle can say which labelling is best at each loss.

Margin rescaling, which structsvm learns with, asks for ``score(y') + loss(y, y')`` to stay below
``score(y)``; slack rescaling (Tsochantaridis et al., 2005) asks every wrong labelling for the same
margin and weighs its violation by its loss:

    L(w) = max_y' loss(y, y') (1 + score(y') - score(y))

The product does not decompose as the sum does, so that a program that maximises ``score + loss``
cannot maximise it. It can be maximised exactly where the loss takes few values and the best
labelling *at each value* can be found: classes, the Hamming loss of chains. It cannot for the
partition losses of metric learning, which take as many values as there are partitions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.problem import Problem, Separation
from structsvm.status import Quality
from structsvm.weights import WeightSpace

Floats = NDArray[np.float64]


class LossLevels(Problem):
    """A problem whose loss takes few values."""

    @abstractmethod
    def best_at_each_loss(self, w: Floats, x: Any, y: Any) -> Iterable[Any]:
        """For every value the loss can take, a labelling of largest score among those."""


@dataclass(frozen=True)
class Wrong:
    """A labelling next to the true one: what a labelling is under slack rescaling."""

    truth: Any
    guess: Any


@dataclass(frozen=True)
class SlackRescaled(Problem):
    """The same problem with its violations weighed by the loss.

    A solver only needs ``loss + <w, feature(y') - feature(y)>``. With labellings that know the
    truth, the feature ``loss (phi(x, y') - phi(x, y))``, zero at the truth, makes it the slack
    rescaled hinge. Give the solver :meth:`truths` for labels.
    """

    inner: LossLevels

    def truths(self, ys: Iterable[Any]) -> list[Wrong]:
        """Labels as this problem writes them."""
        return [Wrong(y, y) for y in ys]

    def weight_space(self) -> WeightSpace:
        return self.inner.weight_space()

    def joint_feature(self, x: Any, y: Wrong) -> Floats:
        away = self.inner.joint_feature(x, y.guess) - self.inner.joint_feature(x, y.truth)
        return self.inner.loss(y.truth, y.guess) * away

    def loss(self, y: Wrong, y_hat: Wrong) -> float:
        return self.inner.loss(y.truth, y_hat.guess)

    def separate(self, w: Floats, x: Any, y: Wrong) -> Separation:
        found = [Wrong(y.truth, g) for g in self.inner.best_at_each_loss(w, x, y.truth)]
        values = [self.loss(y, other) + self.joint_feature(x, other) @ w for other in found]
        return Separation(found[int(np.argmax(values))], 0.0, Quality.EXACT)

    def predict(self, w: Floats, x: Any) -> Any:
        """A plain labelling: the truth has no part in it."""
        return self.inner.predict(w, x)
