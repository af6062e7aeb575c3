"""A multiclass SVM (Crammer and Singer, 2001) as a plain structured problem.

    python examples/generic_svm/multiclass.py

structsvm.solvers know nothing of partitions: here a labelling is a class, and loss-augmented
inference a maximum over classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from slack_rescaling import LossLevels

from structsvm.problem import RegularizedRisk, Separation
from structsvm.regularizers import SquaredNorm
from structsvm.solution import Solution
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.status import Quality
from structsvm.weights import Free

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Multiclass(LossLevels):
    """Samples are vectors (P,), labellings are classes 0, 1, ...

    ``w`` holds a weight vector for each class, (n_classes, P), flattened.
    """

    n_classes: int
    n_features: int
    costs: Floats | None = None
    """Loss of predicting column for row, zero on the diagonal; None for 0 or 1."""

    def weight_space(self) -> Free:
        return Free(self.n_classes * self.n_features)

    def joint_feature(self, x: Floats, y: int) -> Floats:
        phi = np.zeros((self.n_classes, self.n_features))
        phi[y] = x
        return phi.ravel()

    def loss(self, y: int, y_hat: int) -> float:
        return float(self._losses(y)[y_hat])

    def separate(self, w: Floats, x: Floats, y: int) -> Separation:
        return Separation(int(np.argmax(self._losses(y) + self._scores(w, x))), 0.0, Quality.EXACT)

    def predict(self, w: Floats, x: Floats) -> int:
        return int(np.argmax(self._scores(w, x)))

    def best_at_each_loss(self, w: Floats, x: Floats, y: int) -> Sequence[int]:
        """Every class: there are few."""
        return range(self.n_classes)

    def _scores(self, w: Floats, x: Floats) -> Floats:
        return np.asarray(w.reshape(self.n_classes, self.n_features) @ x)

    def _losses(self, y: int) -> Floats:
        if self.costs is not None:
            return np.asarray(self.costs[y])
        return (np.arange(self.n_classes) != y).astype(np.float64)


def train(
    problem: Multiclass,
    xs: Floats,
    ys: Sequence[int],
    C: float = 1.0,
    sample_weight: Floats | None = None,
    tol: float = 1e-3,
) -> Solution:
    """Minimise ``1/2 |w|^2 + C sum_i sample_weight_i L_i(w)``."""
    weights = np.ones(len(ys)) if sample_weight is None else np.asarray(sample_weight)
    space = problem.weight_space()
    risk = RegularizedRisk(problem, xs, ys, SquaredNorm(), C * weights, null=np.zeros(space.dim))
    return CuttingPlane(Stopping(tol, max_iter=2000), slack="one").solve(risk)


def main() -> None:
    digits = load_digits()
    split = train_test_split(digits.data / 16.0, digits.target, random_state=0)
    X_train, X_test, y_train, y_test = split
    problem = Multiclass(n_classes=10, n_features=64)
    solution = train(problem, X_train, y_train.tolist(), C=0.1)
    guesses = [problem.predict(solution.w, x) for x in X_test]
    print(solution.summary())
    print(f"accuracy on {len(y_test)} digits held out: {np.mean(guesses == y_test):.3f}")


if __name__ == "__main__":
    main()
