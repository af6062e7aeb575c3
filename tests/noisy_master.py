"""Masters that are wrong, or fail: what is certified has to hold for whatever they answer."""

import warnings
from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np

from structsvm.errors import MasterError
from structsvm.masters.base import Master, MasterSolution
from structsvm.masters.cvxpy import CvxpyMaster, solved
from structsvm.masters.newton import NewtonMaster


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


@dataclass(frozen=True)
class FailsAfter(CvxpyMaster):
    """The default master for so many problems, and then none: nothing takes over from cvxpy."""

    problems: int = 0
    solved: list[str] = field(default_factory=list)

    def solve(self, risk, cuts, request):
        if len(self.solved) == self.problems:
            raise MasterError("no answer")
        answer = solved(NewtonMaster(), risk, cuts, request)
        self.solved.append(answer.label)
        return answer
