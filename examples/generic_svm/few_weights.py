"""Which measurements distinguish wines: an L1 regularizer and a constraint, written in cvxpy.

    python examples/generic_svm/few_weights.py

The regularizer takes any convex expression of the weight, and constraints are a list as in any
program of cvxpy. Here weights are sparse, and the weights of a measurement add up to zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from structsvm import StructuredSVM
from structsvm.partitions import Quality
from structsvm.problem import Custom, Free, Problem, Separation

Floats = NDArray[np.float64]
N_CLASSES = 3


@dataclass(frozen=True)
class Wines(Problem):
    """Samples are measurements (P,), labellings are classes 0, 1, 2, wrong ones cost 1.

    ``w`` holds a weight for each class and measurement, (3, P), flattened.
    """

    n_features: int

    def weight_space(self) -> Free:
        return Free(N_CLASSES * self.n_features)

    def joint_feature(self, x: Floats, y: int) -> Floats:
        return np.outer(np.arange(N_CLASSES) == y, x).ravel()

    def loss(self, y: int, y_hat: int) -> float:
        return float(y != y_hat)

    def separate(self, w: Floats, x: Floats, y: int) -> Separation:
        losses = np.arange(N_CLASSES) != y
        return Separation(int(np.argmax(losses + self._scores(w, x))), 0.0, Quality.EXACT)

    def predict(self, w: Floats, x: Floats) -> int:
        return int(np.argmax(self._scores(w, x)))

    def _scores(self, w: Floats, x: Floats) -> Floats:
        return w.reshape(N_CLASSES, -1) @ x


def balanced(w: cp.Expression) -> list[Any]:
    """The weights of each measurement add up to zero: one class gains what the others lose."""
    return [cp.sum(cp.reshape(w, (N_CLASSES, w.size // N_CLASSES), order="C"), axis=0) == 0]


def main() -> None:
    wine = load_wine()
    X_train, X_test, y_train, y_test = train_test_split(
        StandardScaler().fit_transform(wine.data), wine.target, random_state=0
    )
    svm = StructuredSVM(
        Wines(X_train.shape[1]), lam=0.05, regularizer=Custom(cp.norm1), constraints=balanced
    )
    svm.fit(X_train, y_train)
    weights = svm.weight_.reshape(N_CLASSES, -1)
    used = np.abs(weights).max(axis=0) > 1e-4
    print(svm.solution_.summary())
    print("measurements in use:", ", ".join(np.array(wine.feature_names)[used]))
    print(f"accuracy on {len(y_test)} wines held out: {1 + svm.score(X_test, y_test):.3f}")


if __name__ == "__main__":
    main()
