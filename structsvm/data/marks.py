"""Labels that mark where recordings change: 1 at the first sample of a segment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import parameter, warn, wording
from structsvm.support.values import Bools

YES = ("true", "yes")
NO = ("false", "no")
"""Words for 1 and 0."""
MOST_MARKS = 0.1
"""Part of the samples up to which ones that stand alone may mark changes."""


def warn_about_marks(labels: Sequence[Any]) -> None:
    """Warn of labels that are 0 but for single ones, which mark changes as likely as states."""
    n = count_marks(labels)
    if n:
        warn(
            f"the labels are 0 but for {n} single samples with 1, each of which is taken for a "
            "segment of its own. If a 1 marks the first sample of a new segment, give "
            + wording(
                "np.cumsum(y) (labels_are='changes' where files are read)",
                of_files=parameter("labels_are", "changes"),
            )
        )


def marks_of(y: Any) -> Bools | None:
    """Where labels are 1 or yes, all others being 0 or no; None if they are anything else."""
    try:
        values: NDArray[Any] = np.asarray(y)
    except ValueError:
        return None
    if values.ndim != 1 or not values.size or values.dtype.kind not in "biufUO":
        return None
    if values.dtype.kind in "UO":
        words = np.char.lower(values.astype(str))
        if np.isin(words, (*YES, *NO)).all():
            return np.isin(words, YES)
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            return None
    return np.asarray(values == 1) if bool(np.isin(values, (0, 1)).all()) else None


def count_marks(labels: Sequence[Any]) -> int:
    """How many ones stand alone among zeros, where all labels that are known are nothing else."""
    marks = [marks_of(y) for y in labels if y is not None]
    ones = [marked for marked in marks if marked is not None]
    if len(ones) < len(marks) or any((marked[1:] & marked[:-1]).any() for marked in ones):
        return 0
    n = sum(int(marked.sum()) for marked in ones)
    return n if n <= MOST_MARKS * sum(marked.size for marked in ones) else 0
