"""A portfolio of least mean loss over the worst five per cent of 100,000 scenarios (CVaR)."""

import cvxpy as cp
import numpy as np

from structsvm.modeling import OracleMax


def least_cvar(losses: np.ndarray, share: float) -> cp.Problem:
    """Minimise the mean of the worst ``share`` of the scenarios, the rows of ``losses``."""
    n_scenarios, n_assets = losses.shape
    n_worst = round(share * n_scenarios)
    x = cp.Variable(n_assets, nonneg=True, name="x")

    def cvar(x):
        loss = losses @ x
        worst = np.argpartition(loss, -n_worst)[-n_worst:]
        return loss[worst].mean(), losses[worst].mean(axis=0)

    return cp.Problem(cp.Minimize(OracleMax(x, cvar)), [cp.sum(x) == 1, x <= 0.2])


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    market = rng.standard_t(4, size=(100_000, 1)) * rng.uniform(0.3, 1.0, 50)
    problem = least_cvar(market + rng.standard_t(4, size=(100_000, 50)), 0.05)
    print(problem.solve(method="cutting-plane"), problem.solver_stats.extra_stats.summary())
