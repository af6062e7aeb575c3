"""Slack rescaling of a problem whose oracle finds the best labelling at each value of the loss.

    python examples/generic_svm/slack_rescaling.py

Margin rescaling, the method of structsvm, requires ``score(y') + loss(y, y')`` to stay below
``score(y)``. Slack rescaling (Tsochantaridis et al., 2005) requires the same margin of every wrong
labelling, and weights its violation by its loss:

    L(w) = max_y' loss(y, y') (1 + score(y') - score(y))

The product does not decompose like the sum, and a program that maximises ``score + loss`` does not
maximise it. It can be maximised exactly if the loss takes few values and the best labelling *at
each value* can be found, as for classes and for the Hamming loss of chains. It cannot for the
partition losses of metric learning, which take as many values as there are partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from structsvm import StructuredSVM
from structsvm.partitions import Quality
from structsvm.problem import Free, Problem, Separation, WeightSpace

Floats = NDArray[np.float64]


class LossLevels(Protocol):
    """A problem whose loss takes few values."""

    def weight_space(self) -> WeightSpace: ...

    def joint_feature(self, x: Any, y: Any) -> Floats: ...

    def loss(self, y: Any, y_hat: Any) -> float: ...

    def predict(self, w: Floats, x: Any) -> Any: ...

    def best_at_each_loss(self, w: Floats, x: Any, y: Any) -> Iterable[Any]:
        """For every value the loss can take, a labelling of largest score among those."""


@dataclass(frozen=True)
class Wrong:
    """A labelling and the true one, which together are a labelling under slack rescaling."""

    truth: Any
    guess: Any


@dataclass(frozen=True)
class SlackRescaled(Problem):
    """The same problem with its violations weighted by the loss.

    A solver only needs ``loss + <w, feature(y') - feature(y)>``. With labellings that know the
    truth, the feature ``loss (phi(x, y') - phi(x, y))``, zero at the truth, makes it the slack
    rescaled hinge. Give the solver :meth:`truths` for labels.
    """

    inner: LossLevels

    def truths(self, ys: Iterable[Any]) -> list[Wrong]:
        """Labels in the form of this problem."""
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
        """A plain labelling, without the truth."""
        return self.inner.predict(w, x)


@dataclass(frozen=True)
class Grades(Problem):
    """Samples are vectors (P,), labellings are grades 0, 1, ..., the loss is their distance."""

    n_grades: int
    n_features: int

    def weight_space(self) -> Free:
        return Free(self.n_grades * self.n_features)

    def joint_feature(self, x: Floats, y: int) -> Floats:
        phi = np.zeros((self.n_grades, self.n_features))
        phi[y] = x
        return phi.ravel()

    def loss(self, y: int, y_hat: int) -> float:
        return float(abs(y - y_hat))

    def separate(self, w: Floats, x: Floats, y: int) -> Separation:
        losses = np.abs(np.arange(self.n_grades) - y)
        return Separation(int(np.argmax(losses + self._scores(w, x))), 0.0, Quality.EXACT)

    def predict(self, w: Floats, x: Floats) -> int:
        return int(np.argmax(self._scores(w, x)))

    def best_at_each_loss(self, w: Floats, x: Floats, y: int) -> Sequence[int]:
        """All grades, of which at most two have the same loss."""
        return range(self.n_grades)

    def _scores(self, w: Floats, x: Floats) -> Floats:
        return np.asarray(w.reshape(self.n_grades, self.n_features) @ x)


def main() -> None:
    rng = np.random.default_rng(0)
    truth = rng.uniform(0, 5, 400)
    ys = truth.astype(int).tolist()
    noisy = truth + rng.normal(0.0, 0.8, 400)
    X = np.column_stack([np.ones(400), noisy / 5, (noisy / 5) ** 2])
    grades = Grades(5, 3)
    rescaled = SlackRescaled(grades)
    margin = StructuredSVM(grades, lam=1e-3).fit(X[:200], ys[:200])
    slack = StructuredSVM(rescaled, lam=1e-3).fit(X[:200], rescaled.truths(ys[:200]))
    for name, svm in (("margin", margin), ("slack", slack)):
        errors = np.abs(np.array(svm.predict(X[200:])) - np.array(ys[200:]))
        print(f"{name} rescaling: {errors.mean():.3f} grades off, on average")


if __name__ == "__main__":
    main()
