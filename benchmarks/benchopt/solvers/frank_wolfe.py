"""Block-coordinate Frank-Wolfe with cached planes."""

from benchopt import BaseSolver

from structsvm.evaluation.compare import solver_named
from structsvm.solvers import Stopping


class Solver(BaseSolver):
    name = "frank-wolfe"
    sampling_strategy = "iteration"
    requirements = ["pip::structsvm-partitioning"]
    references = ["S. Lacoste-Julien et al., Block-coordinate Frank-Wolfe, ICML (2013)"]

    def set_objective(self, risk):
        self.risk = risk
        self.run(1)  # the first call of an oracle may compile it

    def run(self, n_iter):
        solver = solver_named(self.name, Stopping(1e-9, max_iter=max(1, n_iter)))
        self.solution = solver.solve(self.risk)

    def get_result(self):
        return {"w": self.solution.w, "lower": self.solution.lower}
