"""Slack rescaling by the oracle of margin rescaling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.errors import SettingsError
from structsvm.problem import Problem, RegularizedRisk, Separation
from structsvm.solvers.planes import weakest
from structsvm.status import Quality
from structsvm.support.arrays import Floats
from structsvm.weights import WeightSpace

MOST_CALLS = 40
CLOSE = 1e-7
"""Relative distance of the bounds at which the search ends."""
WIDEST = 30.0
"""The logarithm of the largest weight of the loss that is tried; the least is its inverse."""


@dataclass(frozen=True)
class SlackRescaled(Problem):
    """``max_y loss(y_i, y) (1 + <w, phi(x, y) - phi(x, y_i)>)``, by the oracle of another problem.

    With ``a`` the loss of a labelling and ``c = 1 + <w, phi(x, y) - phi(x, y_i)>``, every ``l > 0``
    has ``a c <= (l a + c)^2 / (4 l)`` where ``c >= 0``, and the oracle knows ``max l a + c``: that
    of margin rescaling at the weight ``w / l``. The least of these upper bounds is looked for by
    bisection over ``log l``, in which their square roots are convex; the best labelling on the way
    is the answer, and what lies between is its slack.
    """

    problem: Problem

    @classmethod
    def risk(cls, risk: RegularizedRisk) -> RegularizedRisk:
        problem = risk.problem
        if problem.signed_losses:
            raise SettingsError(
                "rescaling='slack' multiplies by the loss, and that of this problem may be "
                "negative: use rescaling='margin'"
            )
        pairs = list(zip(risk.xs, risk.ys, strict=True))
        return replace(risk, problem=cls(problem), xs=pairs, start=None)

    def weight_space(self) -> WeightSpace:
        return self.problem.weight_space()

    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Return the loss times how the features differ from those of the truth, (d,)."""
        sample, truth = x
        return self.loss(truth, y) * self._away(sample, truth, y)

    def loss(self, y: Any, y_hat: Any) -> float:
        return float(self.problem.loss(y, y_hat))

    def predict(self, w: Floats, x: Any) -> Any:
        return self.problem.predict(w, x[0])

    def separate(self, w: Floats, x: Any, y: Any) -> Separation:
        """Search for the labelling whose loss times margin is largest."""
        sample, _ = x
        best, most, upper, quality = y, 0.0, np.inf, Quality.EXACT
        low, high = -WIDEST, WIDEST
        for _ in range(MOST_CALLS):
            middle = 0.5 * (low + high)
            weight = float(np.exp(middle))
            answer = self.problem.separate(w / weight, sample, y)
            quality = weakest([quality, answer.quality])
            a = self.loss(y, answer.y)
            c = 1.0 + float(self._away(sample, y, answer.y) @ w)
            if a * c > most:
                best, most = answer.y, a * c
            highest = max(weight * (a + answer.slack) + c, 1.0)
            upper = min(upper, highest**2 / (4.0 * weight))
            if upper - most <= CLOSE * max(most, 1e-12):
                break
            low, high = (low, middle) if weight * a > c else (middle, high)
        return Separation(best, max(0.0, upper - most), quality)

    def _away(self, sample: Any, truth: Any, y: Any) -> Floats:
        found = self.problem.joint_feature(sample, y) - self.problem.joint_feature(sample, truth)
        return np.asarray(found)
