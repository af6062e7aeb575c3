"""Tiny structured problems whose labellings can all be listed, and their optimum by one program."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.masters.base import Cut, WorkingSet
from structsvm.problem import (
    Problem,
    Quality,
    RegularizedRisk,
    Regularizer,
    Separation,
    Solution,
    WeightSpace,
)


@dataclass(frozen=True)
class Listed(Problem):
    """A sample is the list of the features of its labellings; labellings are numbers."""

    space: WeightSpace

    def weight_space(self) -> WeightSpace:
        return self.space

    def joint_feature(self, x, y) -> np.ndarray:
        return x.features[y]

    def loss(self, y, y_hat) -> float:
        return float(y != y_hat) * (1.0 + 0.1 * y_hat)

    def separate(self, w, x, y) -> Separation:
        losses = [self.loss(y, k) for k in range(len(x.features))]
        return Separation(int(np.argmax(losses + x.features @ w)), 0.0, Quality.EXACT)

    def predict(self, w, x) -> int:
        return int(np.argmax(x.features @ w))


class Once(Listed):
    """Finds a labelling at the zero weight only, and says that it is exact."""

    def separate(self, w, x, y) -> Separation:
        answer = super().separate(w, x, y)
        return answer if np.abs(w).max() == 0 else Separation(y, 0.0, Quality.EXACT)


class Relaxed(Listed):
    """Of its labellings those from the 15th on are those of a relaxation."""

    def loss(self, y, y_hat) -> float:
        return float(y != y_hat) * (1.0 + 0.05 * (y_hat % 15))

    def separate(self, w, x, y) -> Separation:
        answer = super().separate(w, x, y)
        return replace(answer, quality=Quality.EXACT if answer.y < 15 else Quality.RELAXATION)


@dataclass(frozen=True, eq=False)
class Instance:
    features: np.ndarray


def listed_risk(
    space: WeightSpace,
    regularizer: Regularizer,
    *,
    n_samples: int = 4,
    n_labels: int = 8,
    seed: int = 0,
    problem: Problem | None = None,
    constraints: Callable[[Any], list[Any]] | None = None,
) -> RegularizedRisk:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_samples, n_labels, space.dim))
    favoured = space.project(rng.standard_normal(space.dim))
    features[:, 0] += 0.3 * favoured  # there is something to learn
    return RegularizedRisk(
        problem=Listed(space) if problem is None else problem,
        xs=[Instance(f) for f in features],
        ys=[0] * n_samples,
        regularizer=regularizer,
        sample_weight=np.full(n_samples, 1.0 / n_samples),
        null=np.zeros(space.dim),
        constraints=constraints,
    )


def all_cuts(risk: RegularizedRisk) -> WorkingSet:
    """Every cut there is."""
    cuts = WorkingSet(risk.n_instances, risk.space.dim)
    problem = risk.problem
    for i, (x, y) in enumerate(zip(risk.xs, risk.ys, strict=True)):
        truth = problem.joint_feature(x, y)
        omega = risk.sample_weight[i]
        cuts.add(
            Cut(i, omega * problem.loss(y, k), omega * (problem.joint_feature(x, k) - truth))
            for k in range(len(x.features))
        )
    return cuts


def optimum(risk: RegularizedRisk) -> float:
    """``min F`` by one conic program over all the labellings of all the samples, to 1e-9."""
    import cvxpy as cp  # not with the problems, which worker processes import

    cuts = all_cuts(risk)
    B, w, constraints = risk.space.variable()
    slacks = cp.Variable(risk.n_instances, nonneg=True)
    constraints = [*constraints, slacks[cuts.groups] >= cuts.intercepts + cuts.slopes @ w]
    if risk.constraints is not None:
        constraints += risk.constraints(B)
    omega = risk.regularizer.as_cvxpy(B, w, risk.space)
    problem = cp.Problem(cp.Minimize(omega + cp.sum(slacks)), constraints)
    tight = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    problem.solve(solver="CLARABEL", **tight)
    assert problem.status == cp.OPTIMAL
    return float(problem.value)


def objective(risk: RegularizedRisk, w: np.ndarray) -> float:
    """``F(w)`` by listing."""
    total = risk.penalty(w)
    for omega, x, y in zip(risk.sample_weight, risk.xs, risk.ys, strict=True):
        losses = np.array([risk.problem.loss(y, k) for k in range(len(x.features))])
        total += omega * np.max(losses + (x.features - x.features[y]) @ w)
    return float(total)


def column(solution: Solution, name: str) -> list[Any]:
    """One number of each iteration."""
    return [getattr(entry, name) for entry in solution.history.entries]
