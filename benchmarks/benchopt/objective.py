"""The structured risk of metric learning for change-point detection."""

import numpy as np
from benchopt import BaseObjective

from structsvm import MetricLearner
from structsvm.interop import risk_of
from structsvm.solvers import Stopping
from structsvm.solvers.run import Run


class Objective(BaseObjective):
    """``F(w) = Omega(w) + sum_i omega_i L_i(w)``, exact: every oracle is called at ``w``."""

    name = "Large-margin metric learning"
    url = "https://arxiv.org/abs/1303.1280"
    min_benchopt_version = "1.6"
    requirements = ["pip::structsvm-partitioning"]

    parameters = {"metric": ["diagonal", "full"], "lam": [0.1]}

    def set_data(self, Xs, ys):
        self.risk = risk_of(MetricLearner(metric=self.metric, lam=self.lam), Xs, ys)

    def get_objective(self):
        return {"risk": self.risk}

    def evaluate_result(self, w, lower):
        """``F(w)``, and what the solver certifies at its best."""
        run = Run(self.risk, Stopping())
        planes = run.evaluate(w, np.arange(self.risk.n_instances))
        value = planes.penalty + float(planes.values.sum())
        return {"value": value, "certified_excess": value - lower}

    def get_one_result(self):
        return {"w": self.risk.null, "lower": 0.0}
