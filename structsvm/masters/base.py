"""What a master promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structsvm.cuts import WorkingSet
from structsvm.problem import RegularizedRisk

__all__ = ["Master", "MasterSolution"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MasterSolution:
    """An approximate minimiser of the restricted problem, and its multipliers."""

    w: Floats
    """In the cone, (d,)."""
    multipliers: Floats
    """One per cut, (C,): nonnegative, summing to at most 1 in each group."""
    label: str
    """Which solver answered, and which failed before it."""


class Master(ABC):
    """Solves ``min Omega(w) + sum_g max(0, max_{c in g} intercept_c + <slope_c, w>)`` over a cone.

    The answer may be inaccurate: bounds are computed from the multipliers by
    :func:`structsvm.solvers.bounds.lower_bound`, which is valid whatever they are.
    """

    @abstractmethod
    def solve(self, risk: RegularizedRisk, cuts: WorkingSet, precise: bool) -> MasterSolution:
        """Solve the restricted problem, as accurately as can be if ``precise``.

        Raises
        ------
        MasterError
            When no solver gives an answer.
        """


def clean_multipliers(multipliers: Floats, cuts: WorkingSet) -> Floats:
    """Clip to ``>= 0`` and scale every group down to a sum of at most 1."""
    alpha = np.maximum(np.nan_to_num(multipliers), 0.0)
    sums = np.bincount(cuts.groups, weights=alpha, minlength=cuts.n_groups)
    return np.asarray(alpha / np.maximum(sums, 1.0)[cuts.groups])
