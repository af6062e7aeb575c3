"""Does an objective that is not convex fit its gradient, its parts and its convex model."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from structsvm.problem import CompositeRisk, Problem
from structsvm.support.arrays import Floats
from structsvm.testing.optimization import Promises, require_all
from structsvm.weights import WeightSpace

WEIGHTS, DIRECTIONS = 4, 3
"""Weights at which the gradient is compared with differences, and directions at each."""
STEP, ACCURACY = 1e-5, 1e-3
"""Length of a difference, and what it may be off for the size of what is compared."""
SMOOTH = 0.75
"""The share of differences that have to agree: the others may lie across a kink."""
ROUNDING = 1e-7


def check_composite(name: str, risk: CompositeRisk, rng: np.random.Generator, where: str) -> None:
    """Gradient, parts, model and copies of a risk, at its start and at random weights near it."""
    require_all(f"{name} [{where}]", _promises(risk, rng))


def _promises(risk: CompositeRisk, rng: np.random.Generator) -> Promises:
    weights, agree = _weights(risk, rng), []
    values = [risk.losses(w) for w in weights]
    for w, (value, gradient) in zip(weights, values, strict=True):
        nonnegative = np.isfinite(value) and value >= -ROUNDING
        yield nonnegative, f"losses is {value!r}: a mean of hinge losses is finite, not negative"
        shape = np.shape(gradient)
        fits = shape == w.shape and np.isfinite(gradient).all()
        yield fits, f"the gradient of losses has shape {shape} or is not finite: return {w.shape}"
        directions = rng.standard_normal((DIRECTIONS, w.size))
        agree += [_agrees(risk, w, gradient, d / np.linalg.norm(d)) for d in directions]
    yield (
        np.mean(agree) >= SMOOTH,
        f"the gradient of losses agrees with {sum(agree)} of {len(agree)} differences: it is not "
        "that of the value returned with it",
    )
    for w, (value, _) in zip(weights, values, strict=True):
        scale = ROUNDING * (1.0 + abs(value))
        parts = [risk.part([i]).losses(w)[0] for i in range(risk.n_samples)]
        yield (
            abs(sum(parts) - value) <= scale,
            "the parts of the risk do not add up to it: part(which) is the sum over some samples",
        )
        model = risk.model(w, risk.regularizer)
        asked = zip(model.xs, model.ys, model.sample_weight, strict=True)
        touching = sum(omega * _hinge(model.problem, w, x, y) for x, y, omega in asked)
        yield (
            abs(touching - value) <= scale,
            f"the model is {touching!r} where the losses are {value!r}: it has to touch them there",
        )
    again, last = pickle.loads(pickle.dumps(risk)).losses(weights[-1])[0], values[-1][0]
    same = abs(again - last) <= ROUNDING * (1.0 + abs(again))
    yield same, "losses differ after pickling: seed every random choice"


def _hinge(problem: Problem, w: Floats, x: Any, y: Any) -> float:
    """``max_y' loss + <w, phi(x, y') - phi(x, y)>``, at least that of the truth."""
    found = problem.separate(w, x, y)
    gain = problem.joint_feature(x, found.y) - problem.joint_feature(x, y)
    return max(0.0, float(problem.loss(y, found.y)) + float(gain @ w))


def _weights(risk: CompositeRisk, rng: np.random.Generator) -> list[Floats]:
    """The start and weights inside the cone near it, so that a difference stays in it."""
    space: WeightSpace = risk.space
    found = [risk.start]
    for _ in range(WEIGHTS - 1):
        step = 0.2 * rng.standard_normal(space.dim)
        found.append(np.asarray(space.project(risk.start + step) + 0.2 * risk.start))
    return found


def _agrees(risk: CompositeRisk, w: Floats, gradient: Floats, direction: Floats) -> bool:
    slope = float(gradient @ direction)
    above, below = risk.losses(w + STEP * direction)[0], risk.losses(w - STEP * direction)[0]
    difference = (above - below) / (2.0 * STEP)
    return abs(slope - difference) <= ACCURACY * (1.0 + abs(slope) + float(np.abs(gradient).max()))
