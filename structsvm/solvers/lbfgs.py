"""L-BFGS as a generator of iterates, with a line search that also works at kinks."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from structsvm.support import Floats

MEMORY = 10  # number of steps from which the curvature is estimated
SUFFICIENT_FALL = 1e-3  # part of the fall predicted by the gradient that a step must reach
CURVATURE = 0.9  # largest part of the slope that may be left after a step
MAX_TRIALS = 20  # most evaluations of a line search
MAX_GROWTH = 4.0  # largest factor from the length of a trial to that of the next one
TRIAL_BORDER = 0.1  # part of an interval at each of its ends where no trial is made
MACHINE_EPS = float(np.finfo(float).eps)
Evaluate = Callable[[Floats], tuple[float, Floats]]
"""The value of a function at a point, and its gradient."""
Pair = tuple[Floats, Floats]  # a step, and by how much the gradient changed


class Iterate(NamedTuple):
    """A point, with the value of the function and its gradient."""

    x: Floats
    value: float
    gradient: Floats


class LineTrial(NamedTuple):
    """A step length, with the value of the function there and its slope along the direction."""

    length: float
    value: float
    slope: float


def descend(evaluate: Evaluate, x: Floats) -> Iterator[Iterate]:
    """Points of decreasing value, the start first (Nocedal and Wright, algorithm 7.5)."""
    pairs: deque[Pair] = deque(maxlen=MEMORY)
    now = Iterate(x, *evaluate(x))
    yield now
    while now.gradient.any():
        if pairs:
            next_point = _step(evaluate, now, _direction(now.gradient, pairs), 1.0)
        else:
            length = 1.0 / max(1.0, float(np.linalg.norm(now.gradient)))
            next_point = _step(evaluate, now, -now.gradient, length)
        if next_point is None:
            if not pairs:
                return
            pairs.clear()
            continue
        step = next_point.x - now.x
        change = next_point.gradient - now.gradient
        if step @ change > MACHINE_EPS * abs(step @ now.gradient) and change @ change > 0.0:
            pairs.append((step, change))
        now = next_point
        yield now


def _direction(gradient: Floats, pairs: Sequence[Pair]) -> Floats:
    """The quasi-Newton direction, by two loops over the pairs."""
    direction = -gradient
    shares = []
    for step, change in reversed(pairs):
        share = (step @ direction) / (step @ change)
        shares.append(share)
        direction = direction - share * change
    step, change = pairs[-1]
    direction = direction * ((step @ change) / (change @ change))
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        direction = direction + (share - (change @ direction) / (step @ change)) * step
    return direction


def _step(evaluate: Evaluate, now: Iterate, direction: Floats, length: float) -> Iterate | None:
    """A point that keeps both weak Wolfe conditions, or at least the first; None if none is found.

    The interval of Lewis and Overton (Nonsmooth optimization via quasi-Newton methods, 2013), with
    minima of cubics for trials.
    """
    low = LineTrial(0.0, now.value, float(now.gradient @ direction))
    first = low
    high: LineTrial | None = None
    lower: Iterate | None = None
    if not first.slope < 0.0:
        return None
    for _ in range(MAX_TRIALS):
        x = now.x + length * direction
        point = Iterate(x, *evaluate(x))
        trial = LineTrial(length, point.value, float(point.gradient @ direction))
        enough = first.value + SUFFICIENT_FALL * length * first.slope
        if not (trial.value <= enough and trial.value < first.value):
            high = trial
        elif trial.slope >= CURVATURE * first.slope:
            return point
        else:
            low = trial
            lower = point
        length = _longer(first, trial) if high is None else _between(low, high)
    return lower


def _longer(first: LineTrial, trial: LineTrial) -> float:
    """The next length while no trial was too long: a minimum of the cubic, within limits."""
    minimum = _cubic_minimum(first, trial)
    longest = MAX_GROWTH * trial.length
    return min(max(minimum, (1.0 + TRIAL_BORDER) * trial.length), longest) if minimum else longest


def _between(low: LineTrial, high: LineTrial) -> float:
    """The next length inside an interval: a minimum of the cubic, not too near to the ends."""
    width = high.length - low.length
    minimum = _cubic_minimum(low, high)
    if not minimum:
        return low.length + 0.5 * width
    return min(max(minimum, low.length + TRIAL_BORDER * width), high.length - TRIAL_BORDER * width)


def _cubic_minimum(a: LineTrial, b: LineTrial) -> float | None:
    """The minimiser of the cubic through two trials, if it has one (Nocedal and Wright, 3.59)."""
    if not np.isfinite([b.value, b.slope]).all():
        return None
    width = b.length - a.length
    bend = a.slope + b.slope - 3.0 * (b.value - a.value) / width
    square = bend**2 - a.slope * b.slope
    if square < 0.0:
        return None
    root = float(np.sqrt(square))
    divisor = b.slope - a.slope + 2.0 * root
    return b.length - width * (b.slope + root - bend) / divisor if divisor else None
