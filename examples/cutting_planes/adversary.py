"""Regression against an adversary who knows the regression and moves some measurements."""

import cvxpy as cp
import numpy as np

from structsvm.modeling import OracleMax


def robust_regression(A: np.ndarray, b: np.ndarray, moved: int, by: float) -> cp.Problem:
    """Least squares when any ``moved`` entries of ``b`` may be wrong by as much as ``by``."""
    x = cp.Variable(A.shape[1], name="x")

    def adversary(x):
        residuals = A @ x - b
        worst = np.argsort(-np.abs(residuals))[:moved]
        damage = 2 * by * np.abs(residuals[worst]).sum() + moved * by**2
        return damage, 2 * by * np.sign(residuals[worst]) @ A[worst]

    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b) + OracleMax(x, adversary)))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 5))
    problem = robust_regression(A, A @ np.ones(5) + rng.normal(size=20), moved=3, by=3.0)
    print(problem.solve(method="cutting-plane"), problem.var_dict["x"].value)
