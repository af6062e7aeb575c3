"""The best polynomial approximation of |t| on [-1, 1]: a linear program with a constraint per t."""

import cvxpy as cp
import numpy as np
from numpy.polynomial import Chebyshev

from structsvm.modeling import OracleMax


def nearest_polynomial(degree: int) -> cp.Problem:
    """Minimise the largest error of an even polynomial; its variable is called ``c``."""
    even = np.arange(0, degree + 1, 2)
    c = cp.Variable(even.size, name="c")

    def largest_error(c):
        error = -np.bincount(even, c, minlength=degree + 1)
        error[1] += 1.0  # |t| is t on [0, 1], and everything is symmetric
        error = Chebyshev(error)
        roots = error.deriv().roots()
        t = np.append(roots.real[np.isreal(roots) & (0 <= roots.real) & (roots.real <= 1)], [0, 1])
        worst = t[np.abs(error(t)).argmax()]
        return abs(error(worst)), -np.sign(error(worst)) * np.cos(even * np.arccos(worst))

    return cp.Problem(cp.Minimize(OracleMax(c, largest_error, sign="nonneg")), [cp.abs(c) <= 1])


if __name__ == "__main__":
    print(nearest_polynomial(10).solve(method="cutting-plane", tol=1e-6))
