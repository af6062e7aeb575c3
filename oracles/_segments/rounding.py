"""By how much rounding may make a segmentation look better than the best one."""

from __future__ import annotations

import math

import numpy as np

from structsvm.data.gaps import means
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.arrays import Bools, Floats, Ints

ROUNDING = 2.0**-51
"""Of the prefix sums, for each unit of scatter; measured at 2^-53 or less in
``tests/test_exact_arithmetic.py``."""

NEGLIGIBLE = 1e-10
"""What rounding may be of the price of a segment, or of the noise, before the answer says so."""


def rounding_of(objective: TraceObjective, value: float, negligible: float = NEGLIGIBLE) -> float:
    """By how much rounding may make a segmentation look better than the best one."""
    Z, T = objective.Z, objective.n_samples
    away = np.nan_to_num(Z - means(Z), copy=False)
    error, price = _error_and_price(objective, float(np.vdot(away, away)))
    del away
    if price == 0.0 and T > 1:
        price = float(np.median(np.nansum(np.square(np.diff(Z, axis=0)), axis=1)))
    if price == 0.0 or error <= negligible * price:
        return 0.0
    return error + float(np.spacing(abs(value)))


def may_round(objective: TraceObjective, scatter: float) -> bool:
    error, price = _error_and_price(objective, scatter)
    return price == 0.0 or 1.001 * error > NEGLIGIBLE * price


def may_round_at(price: float, lengths: Ints, scatters: Floats) -> Bools:
    return np.asarray(1.001 * (ROUNDING * np.sqrt(lengths) * scatters) > NEGLIGIBLE * price)


def _error_and_price(objective: TraceObjective, scatter: float) -> tuple[float, float]:
    """The errors of scores, and the price of a segment with what the loss makes of it."""
    price = abs(objective.shift)
    if objective.truth is not None and objective.has_truth:
        scatter += objective.truth_weight * objective.truth.n_clusters
        price += objective.truth_weight
    return ROUNDING * math.sqrt(objective.n_samples) * scatter, price
