"""Cutting planes in cvxpy against the full program, a loop of one's own, and the learner.

    make bench-modeling

CVaR of 100,000 scenarios of 50 assets (docs/cutting-planes-in-cvxpy.md), and the hinge losses of
twelve recordings. CPU seconds on one thread, in one run; a full program is solved once, all else
three times in turns.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import cvxpy as cp
import numpy as np
from _harness import Goal, cpu_seconds_in_turns, report
from numpy.typing import NDArray

from structsvm import MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.interop import risk_of
from structsvm.io import arrays_and_labels
from structsvm.modeling import StructuredHinge
from structsvm.problems import ChangePoint
from structsvm.solvers import CuttingPlane, Stopping

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "cutting_planes"))

from cvar import least_cvar

Floats = NDArray[np.float64]

SHARE, MOST, TOL = 0.05, 0.2, 1e-4

LIMIT = 30.0
"""Wall seconds after which HiGHS is stopped; its CPU time is then that of an unfinished run."""


def scenarios(n: int, n_assets: int) -> Floats:
    """Losses with heavy tails and a common part."""
    rng = np.random.default_rng(0)
    market = rng.standard_t(4, size=(n, 1)) * rng.uniform(0.3, 1.0, n_assets)
    return np.asarray(market + rng.standard_t(4, size=(n, n_assets)))


def ours(losses: Floats) -> float:
    """The example of the documentation."""
    return float(least_cvar(losses, SHARE).solve(method="cutting-plane", tol=TOL))


def full_program(losses: Floats, solver: str) -> float | None:
    """Rockafellar and Uryasev (2000): a variable and a constraint for each scenario.

    None when it was stopped.
    """
    n, n_assets = losses.shape
    x = cp.Variable(n_assets, nonneg=True)
    t = cp.Variable()
    excess = cp.Variable(n, nonneg=True)
    kept = [excess >= losses @ x - t, cp.sum(x) == 1, x <= MOST]
    problem = cp.Problem(cp.Minimize(t + cp.sum(excess) / (SHARE * n)), kept)
    problem.solve(solver=solver, **({"time_limit": LIMIT} if solver == "HIGHS" else {}))
    return float(problem.value) if problem.status == cp.OPTIMAL else None


def own_loop(losses: Floats) -> float:
    """What one writes by hand: a new problem each round, with one more constraint."""
    n, n_assets = losses.shape
    n_worst = round(SHARE * n)
    x = cp.Variable(n_assets, nonneg=True)
    z = cp.Variable()
    kept = [cp.sum(x) == 1, x <= MOST, z >= -100.0]
    best = np.inf
    while True:
        lower = cp.Problem(cp.Minimize(z), kept).solve(solver="CLARABEL")
        loss = losses @ x.value
        worst = np.argpartition(loss, -n_worst)[-n_worst:]
        best = min(best, float(loss[worst].mean()))
        if best - lower <= TOL * max(1.0, abs(best)):
            return best
        kept.append(z >= losses[worst].mean(axis=0) @ x)


def cvar_goals(n: int, n_assets: int) -> list[Goal]:
    """Against the full program, and against a loop of one's own."""
    losses = scenarios(n, n_assets)
    values = [ours(losses), own_loop(losses)]
    runs = (partial(ours, losses), partial(own_loop, losses))
    mine, loop = cpu_seconds_in_turns(*runs, repeats=3, warm=False)
    name = f"CVaR, {n} scenarios of {n_assets}: against"
    goals = [Goal.at_least(f"{name} a loop that rebuilds the problem", mine, loop, 3.0)]
    for solver in ("CLARABEL", "HIGHS"):
        found: list[float | None] = []
        run = partial(_kept, found, losses, solver)
        (full,) = cpu_seconds_in_turns(run, repeats=1, warm=False)
        stopped = f", stopped after {LIMIT:.0f} s" if found[0] is None else ""
        named = f"{name} cvxpy and {solver.title()}{stopped}"
        goals.append(Goal.at_least(named, mine, full, 5.0))
        values += [value for value in found if value is not None]
    spread = (max(values) - min(values)) / max(1.0, abs(values[0]))
    assert spread <= 2 * TOL, values
    return goals


def _kept(found: list[float | None], losses: Floats, solver: str) -> None:
    found.append(full_program(losses, solver))


def learner_goals(metric: str, n_features: int) -> list[Goal]:
    """The same objective to the same gap, by the solver of the learner and in cvxpy."""
    recordings = relevant_changes(
        12, n_samples=400, n_features=n_features, n_relevant=3, random_state=0
    )
    Xs, ys = arrays_and_labels(recordings)
    risk = risk_of(MetricLearner(metric=metric), Xs, ys)
    known = CuttingPlane(Stopping(tol=1e-3)).solve(risk)
    gap = 1e-3 * (known.null - known.lower) / max(1.0, known.upper)
    seen = [x.X for x in risk.xs]
    ends = [y.breakpoints for y in risk.ys]

    def by_learner() -> None:
        CuttingPlane(Stopping(tol=1e-3)).solve(risk)

    def by_cvxpy() -> None:
        P = n_features
        B = cp.Variable(P, nonneg=True) if metric == "diagonal" else cp.Variable((P, P), PSD=True)
        price = cp.Variable(nonneg=True)
        weight = risk.regularizer.parts[0].weight  # type: ignore[attr-defined]
        ridge = risk.regularizer.parts[1].weight  # type: ignore[attr-defined]
        size = 0.5 * weight * cp.sum_squares(B) + 0.5 * ridge * cp.square(price)
        hinge = StructuredHinge(ChangePoint(), seen, ends, [B, price])
        problem = cp.Problem(cp.Minimize(size + hinge))
        value = problem.solve(method="cutting-plane", tol=gap)
        assert known.lower * (1 - 1e-3) <= value <= known.upper * (1 + 1e-3)

    learner, modelled = cpu_seconds_in_turns(by_learner, by_cvxpy, repeats=3)
    return [
        Goal.at_most(
            f"{metric} metric of {n_features} features: against MetricLearner",
            modelled,
            learner,
            1.5,
        )
    ]


def main() -> None:
    """Measure all three, the largest last."""
    goals = [
        *learner_goals("diagonal", 20),
        *learner_goals("full", 8),
        *learner_goals("full", 20),
        *cvar_goals(10_000, 50),
        *cvar_goals(100_000, 50),
    ]
    report("modeling", goals)


if __name__ == "__main__":
    main()
