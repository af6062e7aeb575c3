"""Calls of the separation oracles, and the cuts and values that they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structsvm.cuts import Cut
from structsvm.errors import OracleError, StructSVMError
from structsvm.problem import RegularizedRisk, Separation
from structsvm.status import Quality

__all__ = ["Evaluation", "Evaluator", "Plane"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TRUTHS_IN_MEMORY = 2**28
"""Bytes that the joint features of the true labellings may take before they are recomputed."""


@dataclass(frozen=True, eq=False)
class Plane:
    """The answer of one oracle: a lower bound of the weighted hinge loss of its sample."""

    intercept: float
    """``omega_i loss(y_i, y)``."""
    slope: Floats
    """``omega_i (phi(x_i, y) - phi(x_i, y_i))``, (d,)."""
    value: float
    """At the weight at which the oracle was called; nonnegative."""
    slack: float
    """The hinge loss exceeds the value by at most this, if the oracle knows."""
    quality: Quality


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Every separation oracle called at one weight, summed over the samples of each group."""

    w: Floats
    penalty: float
    """Omega(w)."""
    slopes: Floats
    """(n_groups, d)."""
    intercepts: Floats
    values: Floats
    """Weighted hinge losses of the labellings found, (n_groups,)."""
    slacks: Floats
    quality: Quality
    """The weakest of the answers."""

    @property
    def value(self) -> float:
        """``F(w)`` with the labellings found."""
        return self.penalty + float(self.values.sum())

    def cuts(self) -> list[Cut]:
        """One for each group."""
        triples = zip(self.intercepts, self.slopes, strict=True)
        return [Cut(g, float(intercept), slope) for g, (intercept, slope) in enumerate(triples)]


class Evaluator:
    """Calls the oracles of the samples, counting the calls.

    Parameters
    ----------
    risk : RegularizedRisk
    before_call : callable
        Called before each oracle; may raise to end the run.
    """

    def __init__(self, risk: RegularizedRisk, before_call: Callable[[], None]) -> None:
        self.risk = risk
        self.oracle_calls = 0
        self._before_call = before_call
        self._keeps = risk.n_samples * risk.space.dim * 8 <= TRUTHS_IN_MEMORY
        self._truths: dict[int, Floats] = {}

    def __call__(self, w: Floats, groups: Ints) -> Evaluation:
        """``F`` and one cut for each group at ``w``; ``groups`` holds the group of each sample."""
        n_groups = int(groups.max()) + 1
        slopes = np.zeros((n_groups, w.size))
        intercepts, values, slacks = np.zeros((3, n_groups))
        qualities = set()
        for i, g in enumerate(groups):
            plane = self.plane(i, w)
            slopes[g] += plane.slope
            intercepts[g] += plane.intercept
            values[g] += plane.value
            slacks[g] += plane.slack
            qualities.add(plane.quality)
        weakest = next(q for q in reversed(Quality) if q in qualities)
        penalty = self.risk.penalty(w)
        return Evaluation(w, penalty, slopes, intercepts, values, slacks, weakest)

    def plane(self, i: int, w: Floats) -> Plane:
        """Call the oracle of sample ``i``."""
        risk = self.risk
        answer = self._separate(i, w)
        omega = float(risk.sample_weight[i])
        slope = omega * (risk.problem.joint_feature(risk.xs[i], answer.y) - self._truth(i))
        intercept = omega * risk.problem.loss(risk.ys[i], answer.y)
        value = intercept + float(slope @ w)
        if not np.isfinite(value):
            raise OracleError(f"sample {i}: the labelling found has the value {value}")
        heuristic = answer.quality is Quality.HEURISTIC
        slack = 0.0 if heuristic else omega * answer.slack
        if value < 0:  # the true labelling is always a candidate
            return Plane(0.0, np.zeros_like(slope), 0.0, max(0.0, value + slack), answer.quality)
        return Plane(intercept, slope, value, slack, answer.quality)

    def _truth(self, i: int) -> Floats:
        if i in self._truths:
            return self._truths[i]
        truth = self.risk.problem.joint_feature(self.risk.xs[i], self.risk.ys[i])
        if self._keeps:
            self._truths[i] = truth
        return truth

    def _separate(self, i: int, w: Floats) -> Separation:
        self._before_call()
        self.oracle_calls += 1
        try:
            return self.risk.problem.separate(w, self.risk.xs[i], self.risk.ys[i])
        except StructSVMError as error:
            error.add_note(f"while separating sample {i}")
            raise
        except Exception as error:
            raise OracleError(
                f"sample {i}: the separation oracle raised {type(error).__name__}: {error}"
            ) from error
