"""Cutting planes with one slack for all recordings."""

from benchopt import BaseSolver

from structsvm.evaluation.compare import solver_named
from structsvm.solvers import Stopping


class Solver(BaseSolver):
    name = "one-slack"
    sampling_strategy = "iteration"
    requirements = ["pip::structsvm-partitioning"]
    references = ["T. Joachims, T. Finley and C.-N. Yu, Machine Learning 77 (2009)"]

    parameters = {"master": ["newton"]}

    def set_objective(self, risk):
        self.risk = risk
        self.run(1)  # the first call of an oracle may compile it

    def run(self, n_iter):
        name = f"{self.name}/{self.master}"
        solver = solver_named(name, Stopping(1e-9, max_iter=max(1, n_iter)))
        self.solution = solver.solve(self.risk)

    def get_result(self):
        return {"w": self.solution.w, "lower": self.solution.lower}
