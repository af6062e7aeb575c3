"""The least and the greatest value of stretches of a recording, at once at any zoom."""

from __future__ import annotations

from typing import Any

import numpy as np

from structsvm.plotting.report_pictures import quantised
from structsvm.support.values import Floats

COARSER = 8  # blocks of a level that make one of the next


class Pyramid:
    """Levels of blocks of the columns of an array (T, P): the minimum and the maximum of each."""

    def __init__(self, X: Floats) -> None:
        columns = np.ascontiguousarray(X.T)
        self.levels = [(columns, columns)]
        while self.levels[-1][0].shape[1] > COARSER:
            self.levels.append(_joined(*self.levels[-1], COARSER))
        low, high = self.levels[-1]
        self.limits = np.stack([np.fmin.reduce(low, axis=1), np.fmax.reduce(high, axis=1)], axis=1)

    def traces(self, start: int, end: int, n_bins: int, columns: slice) -> list[dict[str, Any]]:
        """What the script of the report draws of each column between two samples."""
        level = int(np.log((end - start) / n_bins) / np.log(COARSER)) if end - start > n_bins else 0
        level = min(level, len(self.levels) - 1)
        block = COARSER**level
        first = start // block
        n = -(-end // block) - first
        size = -(-n // n_bins)
        last = first + -(-n // size) * size  # whole bins, also where the last one is not all shown
        low, high = self.levels[level]
        low, high = _joined(low[columns, first:last], high[columns, first:last], size)
        about = {"from": first * block, "to": (first + low.shape[1] * size) * block}
        traces = []
        limits = np.nan_to_num(self.limits[columns]).tolist()
        for lows, highs, (least, most) in zip(low, high, limits, strict=True):
            bins = {"low": quantised(lows, least, most), "high": None}
            if block * size > 1:
                bins["high"] = quantised(highs, least, most)
            traces.append({**about, **bins, "min": least, "max": most})
        return traces


def _joined(low: Floats, high: Floats, size: int) -> tuple[Floats, Floats]:
    starts = np.arange(0, low.shape[1], size)
    return np.fmin.reduceat(low, starts, axis=1), np.fmax.reduceat(high, starts, axis=1)
