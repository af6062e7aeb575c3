"""Labels of samples, and breakpoints: sorted segment ends, the last being T, as in ruptures."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from structsvm.data.values import full_labels
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Ints


def labels_to_breakpoints(labels: ArrayLike) -> list[int]:
    """Return the segment ends of a vector of labels (T,): where the label changes, and T.

    Raises
    ------
    DataError
        If the labels are no vector, or an empty one, or some are missing.

    Examples
    --------
    >>> from structsvm.interop import labels_to_breakpoints
    >>> labels_to_breakpoints(["rest", "rest", "walk", "rest"])
    [2, 3, 4]
    """
    values = full_labels(labels)
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    return [*map(int, changes), values.size]


def breakpoints_to_labels(breakpoints: ArrayLike) -> Ints:
    """Return the number of the segment of each sample, from 0, (T,).

    Examples
    --------
    >>> from structsvm.interop import breakpoints_to_labels
    >>> breakpoints_to_labels([2, 5]).tolist()
    [0, 0, 1, 1, 1]
    """
    labels = EquivalenceMatrix.from_breakpoints(breakpoints).labels
    assert labels is not None
    return np.array(labels)
