"""The least and the greatest value of stretches of a recording, at once at any zoom."""

from itertools import repeat
from typing import Any

import numpy as np

from structsvm.plotting.report_pictures import binned, extremes_between
from structsvm.support import Floats

COARSER = 8  # blocks of a level that make one of the next


class Pyramid:
    """Levels of blocks of the columns of an array (T, P): the minimum and the maximum of each."""

    def __init__(self, X: Floats) -> None:
        columns = np.ascontiguousarray(X.T)
        self.levels = [(columns, columns)]
        while (n := self.levels[-1][0].shape[1]) > 1:
            self.levels.append(extremes_between(*self.levels[-1], np.arange(0, n, COARSER)))

    def traces(self, start: int, end: int, n_bins: int, columns: slice) -> list[dict[str, Any]]:
        """What the script of the report needs to draw each column between two samples."""
        level = int(np.log(max((end - start) / n_bins, 1)) / np.log(COARSER))
        level = min(level, len(self.levels) - 1)
        block = COARSER**level
        first = start // block
        n = -(-end // block) - first
        size = -(-n // n_bins)
        last = first + -(-n // size) * size  # whole bins, also where the last one is not all shown
        low, high = (one[columns, first:last] for one in self.levels[level])
        starts = np.arange(0, low.shape[1], size)
        ends = {"from": first * block, "to": (first + starts.size * size) * block}
        least, most = (np.nan_to_num(one[columns, 0]).tolist() for one in self.levels[-1])
        bins = starts if block * size > 1 else None
        each = zip(low, high, repeat(bins), least, most)
        return [ends | binned(*one) for one in each]
