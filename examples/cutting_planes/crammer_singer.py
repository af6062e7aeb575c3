"""The multiclass support vector machine of Crammer and Singer (2001), with its own oracle."""

import cvxpy as cp
import numpy as np
from sklearn.datasets import load_iris

from structsvm.modeling import OracleMax


def multiclass(X: np.ndarray, y: np.ndarray, lam: float) -> cp.Problem:
    """Minimise ``lam / 2 |W|^2`` and the mean hinge loss; ``W`` has a column for each class."""
    truth = np.eye(y.max() + 1)[y]
    W = cp.Variable((X.shape[1], truth.shape[1]), name="W")

    def hinges(W):
        margins = 1 - truth + X @ W
        wrong = np.eye(truth.shape[1])[margins.argmax(axis=1)]
        values = margins.max(axis=1) - ((X @ W) * truth).sum(axis=1)
        return values, X[:, :, None] * (wrong - truth)[:, None, :]

    losses = OracleMax(W, hinges, n_terms=len(y), sign="nonneg")
    return cp.Problem(cp.Minimize(lam / 2 * cp.sum_squares(W) + cp.sum(losses) / len(y)))


if __name__ == "__main__":
    X, y = load_iris(return_X_y=True)
    problem = multiclass(np.column_stack([X - X.mean(axis=0), np.ones(len(X))]), y, lam=0.01)
    print(problem.solve(method="cutting-plane"), problem.var_dict["W"].value)
