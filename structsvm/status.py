"""What a solver returns, under the path that these names of :mod:`structsvm.problem` had before."""

from structsvm.problem import (
    History,
    HistoryEntry,
    Quality,
    Solution,
    Status,
    SupportLabelling,
    relative_gap,
)

__all__ = [
    "History",
    "HistoryEntry",
    "Quality",
    "Solution",
    "Status",
    "SupportLabelling",
    "relative_gap",
]
