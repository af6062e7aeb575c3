"""The least and the greatest value of stretches of a recording, at once at any zoom."""

from __future__ import annotations

from typing import Any

import numpy as np

from structsvm.plotting.report_pictures import quantised
from structsvm.support.arrays import Floats

FINEST, COARSER = 16, 4
"""Samples of a block of the finest level, and how many of its blocks make one of the next."""


class Pyramid:
    """Levels of blocks of the columns of an array (T, P): the minimum and the maximum of each."""

    def __init__(self, X: Floats) -> None:
        self.columns = np.ascontiguousarray(X.T)
        self.levels = [(1, self.columns, self.columns)]
        block = FINEST
        while block < len(X):
            earlier, low, high = self.levels[-1]
            starts = np.arange(0, low.shape[1], block // earlier)
            lows = np.fmin.reduceat(low, starts, axis=1)
            self.levels.append((block, lows, np.fmax.reduceat(high, starts, axis=1)))
            block *= COARSER
        _, low, high = self.levels[-1]
        self.limits = np.stack([np.fmin.reduce(low, axis=1), np.fmax.reduce(high, axis=1)], axis=1)

    def traces(self, start: int, end: int, n_bins: int, columns: slice) -> list[dict[str, Any]]:
        """What the report's script draws of each column between two samples."""
        n = end - start
        block, low, high = next(
            level for level in reversed(self.levels) if level[0] * n_bins <= n or level[0] == 1
        )
        first = start // block
        last = -(-end // block)
        low = low[columns, first:last]
        high = high[columns, first:last]
        is_whole = low.shape[1] <= 2 * n_bins
        if not is_whole:
            starts = np.arange(n_bins) * low.shape[1] // n_bins
            low = np.fmin.reduceat(low, starts, axis=1)
            high = np.fmax.reduceat(high, starts, axis=1)
        traces = []
        for lows, highs, (least, most) in zip(low, high, self.limits[columns], strict=True):
            least, most = (0.0, 0.0) if np.isnan(least) else (float(least), float(most))
            bins = {"low": quantised(lows, least, most), "high": None}
            if block > 1 or not is_whole:
                bins["high"] = quantised(highs, least, most)
            about = {"min": least, "max": most, "from": first * block, "to": last * block}
            traces.append(about | bins)
        return traces
