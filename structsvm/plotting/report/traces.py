"""Recordings small enough for a page: quantised, and minimum and maximum of each bin if long."""

from __future__ import annotations

from typing import Any

import numpy as np

from structsvm.support.arrays import Floats

LEVELS = 999
"""Values of a trace are 0 to 999, its minimum to its maximum: finer than any screen."""


def envelope(values: Floats, n_bins: int) -> dict[str, Any]:
    """A trace as a page draws it: ``low``, and ``high`` if there are more values than bins."""
    T, there = values.size, values[~np.isnan(values)]
    if not there.size:
        return {"min": 0.0, "max": 0.0, "low": [None] * min(T, n_bins), "high": None}
    least, most = float(there.min()), float(there.max())
    plain: dict[str, Any] = {"min": least, "max": most}
    if T <= 2 * n_bins:
        return plain | {"low": _quantised(values, least, most), "high": None}
    starts = np.arange(n_bins) * T // n_bins
    lows, highs = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
    return plain | {
        "low": _quantised(lows, least, most),
        "high": _quantised(highs, least, most),
    }


def _quantised(values: Floats, least: float, most: float) -> list[int | None]:
    """Halved before they are subtracted, so that the largest floats do not overflow."""
    span = most / 2 - least / 2
    if span == 0:
        levels = np.where(np.isnan(values), np.nan, LEVELS // 2)
    else:
        levels = np.rint((values / 2 - least / 2) / span * LEVELS)
    return [None if np.isnan(level) else int(level) for level in levels.tolist()]
