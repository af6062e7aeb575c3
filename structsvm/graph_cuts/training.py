"""One run of learning to cut, and the choice of its regularizer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from structsvm.errors import LearningError
from structsvm.graph_cuts.metric import CutMetric, calibrate_threshold
from structsvm.graphs.graph import FeatureGraph
from structsvm.graphs.labels import NodeLabels, region_loss
from structsvm.partitions.metric import metric_factor
from structsvm.partitions.problem import metric_space
from structsvm.problems.normalized_cut import CutRisk, NormalizedCut
from structsvm.regularizers import SquaredNorm
from structsvm.solvers.cccp import CCCP
from structsvm.solvers.descent import Callback, Descent
from structsvm.solvers.quasi_newton import QuasiNewton
from structsvm.status import Status
from structsvm.support.progress import stage

__all__ = ["LAMS", "Training", "counting", "grid_shares", "shares"]

Floats = NDArray[np.float64]
Sample = tuple[FeatureGraph, NodeLabels, float]
"""A graph, its labels and its weight."""

LAMS = (0.002, 0.02, 0.2)
"""What cross-validation chooses from."""
COSTS = (3.0, 2.0, 1.0)
"""About how long a run with each of them takes: a weak regularizer takes more steps."""
GRAPHS_COST, COUNTING_COST, GRID_COST = 1.5, 3.0, 7.5
"""About how long, in the same unit, it takes to make the graphs of as many images, to find out how
clusters are counted in them, and to tune the grid. Measured on photographs of 160 x 118 pixels as
superpixels."""

logger = logging.getLogger("structsvm")


@dataclass(frozen=True, eq=False)
class Training:
    """How to learn from labelled graphs."""

    problem: NormalizedCut
    metric: str
    solver: QuasiNewton | CCCP
    scale: Floats
    """The features are multiplied by this, and then the identity is where learning starts, (P,)."""

    def learn(
        self, samples: Sequence[Sample], lam: float, callback: Callback | None = None
    ) -> tuple[CutMetric, Descent]:
        """One run from the start."""
        problem, space = self.problem, metric_space(self.metric, self.scale.size)
        risk = CutRisk(
            [problem.hinge(graph, truth, self.scale) for graph, truth, _ in samples],
            space,
            SquaredNorm(lam, center=1.0),
            problem.decoder if problem.oracle == "rounded" else None,
            np.array([weight for _, _, weight in samples]),
        )
        solution = self.solver.minimize(risk, space.identity(), callback)
        L = metric_factor(space.to_metric(solution.w))
        if not L.size or not np.isfinite(L).all():
            raise LearningError(
                f"the best metric found is zero (lam={lam:g}): use a larger lam or less margin",
                solution.status,
            )
        return CutMetric(self.scale[:, None] * L), solution

    def choose_lam(self, samples: Sequence[Sample], cv: int) -> tuple[float, dict[str, float]]:
        """The ``lam`` of least held-out loss, the larger one of two, and all these losses."""
        N = len(samples)
        if N < 2:
            logger.info("one graph cannot be cross-validated: lam = %g", LAMS[1])
            return LAMS[1], {}
        seed = self.problem.random_state
        losses, total = dict.fromkeys(LAMS, 0.0), sum(weight for _, _, weight in samples)
        folds = KFold(min(cv, N), shuffle=True, random_state=seed).split(samples)
        runs = [(learn, test, lam) for learn, test in folds for lam in LAMS]
        costs = [COSTS[LAMS.index(lam)] for _, _, lam in runs]
        for learn, test, lam in stage("cross-validation of lam", runs, costs):
            metric, solution = self.learn([samples[i] for i in learn], lam)
            if solution.status is Status.INTERRUPTED:
                raise KeyboardInterrupt("while choosing lam")
            for graph, truth, weight in (samples[i] for i in test):
                cut = metric.cut(self.problem.decoder, graph, truth.n_clusters)
                losses[lam] += weight * region_loss(truth, cut) / total
        best = min(losses, key=lambda lam: (losses[lam], -lam))
        return best, {f"{lam:g}": loss for lam, loss in losses.items()}


def shares(n: int, cv: int, problem: NormalizedCut) -> tuple[float, float, float]:
    """What part of the time is gone when there are graphs, a ``lam``, and a metric.

    All three are 0 where no ``lam`` has to be chosen: how many steps a single run takes nobody
    knows beforehand, and any guess of the time left would be wrong.
    """
    if n < 2:
        return 0.0, 0.0, 0.0
    graphs, counting = _other_costs(problem)
    runs = sum(COSTS) * (min(cv, n) - 1)
    made, chosen, learned = _parts(graphs, runs, sum(COSTS) / len(COSTS), counting)
    return made, chosen, learned


def grid_shares(problem: NormalizedCut) -> tuple[float, float]:
    """What part of the time is gone when there are graphs, and when the grid is tuned."""
    graphs, counting = _other_costs(problem)
    made, tuned = _parts(graphs, GRID_COST, counting / 2.0)
    return made, tuned


def _other_costs(problem: NormalizedCut) -> tuple[float, float]:
    """Of making graphs, which costs nothing beside cutting them into pixels, and of counting."""
    graphs = GRAPHS_COST if problem.nodes == "superpixels" else 0.0
    return graphs, 0.0 if problem.known_clusters else COUNTING_COST


def _parts(*costs: float) -> list[float]:
    """What part is done after each but the last."""
    done = np.cumsum(costs)
    return [float(part) for part in done[:-1] / done[-1]]


def counting(
    problem: NormalizedCut,
    metric: CutMetric,
    graphs: Sequence[FeatureGraph],
    truths: Sequence[NodeLabels],
    weights: Floats,
) -> CutMetric:
    """The metric with a threshold, if it has to count clusters."""
    if problem.known_clusters:
        return metric
    threshold = calibrate_threshold(metric, problem.decoder, graphs, truths, weights)
    return replace(metric, threshold=threshold)
