"""By how much rounding may make a segmentation look better than the best one."""

from __future__ import annotations

import math

import numpy as np

from structsvm.data.gaps import means
from structsvm.partitions.oracle import TraceObjective

ROUNDING = 2.0**-51
"""Of the prefix sums, for each unit of scatter; measured at 2^-53 or less in
``tests/test_exact_arithmetic.py``."""

NEGLIGIBLE = 1e-10
"""What rounding may be of the price of a segment, or of the noise, before the answer says so."""


def rounding_of(
    objective: TraceObjective,
    value: float,
    negligible: float = NEGLIGIBLE,
    scatter: float | None = None,
) -> float:
    """By how much rounding may make a segmentation look better than the best one."""
    Z, T = objective.Z, objective.n_samples
    if scatter is None:
        away = np.nan_to_num(Z - means(Z), copy=False) if objective.gaps else Z - Z.mean(axis=0)
        scatter = float(np.vdot(away, away))
    price = abs(objective.shift)
    if objective.truth is not None and objective.has_truth:
        scatter += objective.truth_weight * objective.truth.n_clusters
        price += objective.truth_weight
    if price == 0.0 and T > 1:
        price = float(np.median(np.nansum(np.square(np.diff(Z, axis=0)), axis=1)))
    if price == 0.0 or is_negligible(scatter, T, price, negligible):
        return 0.0
    return ROUNDING * math.sqrt(T) * scatter + float(np.spacing(abs(value)))


def is_negligible(scatter: float, T: int, price: float, part: float = NEGLIGIBLE) -> bool:
    return ROUNDING * math.sqrt(T) * scatter <= part * price
