"""A master that is wrong: what is certified has to hold for whatever it answers."""

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from structsvm.masters.base import Master, MasterSolution


@dataclass(frozen=True)
class Noisy(Master):
    """SCS at 1e-1, with noise on the weight and on the multipliers."""

    noise: float
    seed: int = 0

    def solve(self, risk, cuts, request):
        rng = np.random.default_rng([self.seed, len(cuts)])
        B, w, constraints = risk.space.variable()
        slacks = cp.Variable(cuts.n_groups, nonneg=True)
        stack = slacks[cuts.groups] >= cuts.intercepts + cuts.slopes @ w
        omega = risk.regularizer.as_cvxpy(B, w, risk.space)
        problem = cp.Problem(cp.Minimize(omega + cp.sum(slacks)), [*constraints, stack])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver="SCS", eps_abs=1e-1, eps_rel=1e-1)
        return MasterSolution(
            w.value + self.noise * rng.standard_normal(risk.space.dim),
            stack.dual_value + self.noise * rng.standard_normal(len(cuts)),
            "noisy",
        )
