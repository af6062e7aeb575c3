"""A multiclass SVM (Crammer and Singer, 2001) as a plain structured problem.

    python examples/generic_svm/multiclass.py

A labelling is a class here, and loss-augmented inference a maximum over classes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from structsvm import StructuredSVM
from structsvm.partitions import Quality
from structsvm.problem import Free, Problem, Separation

Floats = NDArray[np.float64]
Class = Hashable


@dataclass(frozen=True)
class Multiclass(Problem):
    """Samples are vectors (P,), labellings are classes: numbers, texts or the like.

    ``w`` holds a weight vector for each class, (n_classes, P), flattened.
    """

    classes: tuple[Class, ...] = ()
    """Those of the training samples if none are given."""
    n_features: int | None = None
    """P; that of the training samples if it is not given."""
    costs: tuple[tuple[float, ...], ...] | None = None
    """Loss of predicting column for row, zero on the diagonal; None for 0 or 1."""

    def sized(self, xs: Sequence[Floats], ys: Sequence[Class]) -> Multiclass:
        classes = self.classes or tuple(np.unique(np.asarray(ys)).tolist())
        return replace(self, classes=classes, n_features=len(xs[0]))

    def weight_space(self) -> Free:
        assert self.n_features is not None
        return Free(len(self.classes) * self.n_features)

    def joint_feature(self, x: Floats, y: Class) -> Floats:
        phi = np.zeros((len(self.classes), len(x)))
        phi[self.classes.index(y)] = x
        return phi.ravel()

    def loss(self, y: Class, y_hat: Class) -> float:
        return float(self._losses(y)[self.classes.index(y_hat)])

    def separate(self, w: Floats, x: Floats, y: Class) -> Separation:
        worst = int(np.argmax(self._losses(y) + self._scores(w, x)))
        return Separation(self.classes[worst], 0.0, Quality.EXACT)

    def predict(self, w: Floats, x: Floats) -> Class:
        return self.classes[int(np.argmax(self._scores(w, x)))]

    def best_at_each_loss(self, w: Floats, x: Floats, y: Class) -> Sequence[Class]:
        """Every class: there are few. It is what slack rescaling needs (slack_rescaling.py)."""
        return self.classes

    def _scores(self, w: Floats, x: Floats) -> Floats:
        return np.asarray(w.reshape(len(self.classes), -1) @ x)

    def _losses(self, y: Class) -> Floats:
        row = self.classes.index(y)
        if self.costs is not None:
            return np.asarray(self.costs[row], dtype=np.float64)
        return (np.arange(len(self.classes)) != row).astype(np.float64)


def main() -> None:
    digits = load_digits()
    split = train_test_split(digits.data / 16.0, digits.target, random_state=0)
    X_train, X_test, y_train, y_test = split
    svm = StructuredSVM(Multiclass(), lam=0.01, solver="one-slack").fit(X_train, y_train)
    print(svm.solution_.summary())
    accuracy = np.mean(np.array(svm.predict(X_test)) == y_test)
    print(f"accuracy on {len(y_test)} digits held out: {accuracy:.3f}")


if __name__ == "__main__":
    main()
