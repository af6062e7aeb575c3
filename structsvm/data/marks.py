"""Labels that mark where recordings change: 1 at the first sample of a segment, 0 elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataWarning, warn
from structsvm.support.arrays import Bools

YES, NO = ("true", "yes"), ("false", "no")
"""Words for 1 and 0."""
MOST_MARKS = 0.1
"""Of the samples: with more of them, ones that stand alone are no marks of changes."""


def warn_about_marks(labels: Sequence[Any], sizes: Sequence[int]) -> None:
    """Warn of labels that are 0 but for single ones, which mark changes as likely as states."""
    marks = [
        marks_of(y) if np.ndim(y) == 1 and len(y) == T else None
        for y, T in zip(labels, sizes, strict=True)
    ]
    if look_like_changes(marks):
        n = sum(int(found.sum()) for found in marks if found is not None)
        warn(
            f"the labels are 0 but for {n} single {'sample' if n == 1 else 'samples'} with 1, each "
            "of which is taken for a segment of its own. If a 1 marks the first sample of a new "
            "segment, give np.cumsum(y) (labels_are='changes' where files are read)",
            DataWarning,
        )


def marks_of(y: Any) -> Bools | None:
    """Where labels are 1 or yes, all others being 0 or no; None if they are anything else."""
    try:
        texts: NDArray[Any] = np.asarray(y)
    except ValueError:
        return None
    if texts.ndim != 1 or not texts.size or texts.dtype.kind not in "biufUO":
        return None
    if texts.dtype.kind == "b":
        return texts
    words = {str(value).lower() for value in texts.tolist()} if texts.dtype.kind in "UO" else set()
    if words and words <= {*YES, *NO}:
        return np.array([str(value).lower() in YES for value in texts.tolist()])
    values: Any = texts
    if texts.dtype.kind not in "iuf":
        try:
            values = texts.astype(np.float64)
        except (TypeError, ValueError):
            return None
    return np.asarray(values == 1) if bool(np.isin(values, (0, 1)).all()) else None


def look_like_changes(marks: Sequence[Bools | None]) -> bool:
    """Whether labels are ones that stand alone among zeros, in all of some recordings."""
    ones = [found for found in marks if found is not None]
    if not ones or len(ones) < len(marks):
        return False
    n = sum(int(found.sum()) for found in ones)
    alone = not any((found[1:] & found[:-1]).any() for found in ones)
    return alone and 0 < n <= MOST_MARKS * sum(found.size for found in ones)
