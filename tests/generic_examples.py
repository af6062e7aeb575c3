"""The examples of the generic SVM, and the optimum over all labellings, written out."""

import itertools
import sys
from pathlib import Path

import cvxpy as cp
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "generic_svm"))

import chain
import few_weights
import multiclass
import slack_rescaling

__all__ = [
    "blobs",
    "chain",
    "every_labelling",
    "few_weights",
    "multiclass",
    "program",
    "slack_rescaling",
]


def program(
    problem, xs, ys, labellings, weights, rescale_slack=False, omega=None, constraints=None
):
    """The optimum by one program over all labellings, written from the definition."""
    w = cp.Variable(problem.weight_space().dim)
    slacks = cp.Variable(len(xs), nonneg=True)
    kept = [] if constraints is None else list(constraints(w))
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        others = labellings(x)
        away = np.array([problem.joint_feature(x, o) - problem.joint_feature(x, y) for o in others])
        losses = np.array([problem.loss(y, o) for o in others])
        scores = away @ w
        scores = cp.multiply(losses, 1 + scores) if rescale_slack else losses + scores
        kept.append(slacks[i] >= scores)
    size = 0.5 * cp.sum_squares(w) if omega is None else omega(w)
    objective = cp.Minimize(size + np.asarray(weights) @ slacks)
    return cp.Problem(objective, kept).solve(solver="CLARABEL")


def blobs(rng, n=18):
    """Three overlapping classes in the plane, with a constant feature."""
    y = np.arange(n) % 3
    X = np.column_stack([np.eye(3)[y][:, :2] + 0.7 * rng.normal(size=(n, 2)), np.ones(n)])
    return X, y


def every_labelling(T, n_states):
    """All labellings of a chain of T samples."""
    labellings = [np.array(y) for y in itertools.product(range(n_states), repeat=T)]
    return lambda _: labellings
