"""Segmentations and partitions in the forms that libraries use.

``breakpoints`` are sorted segment ends, the last being T (ruptures, and this library);
``changepoints`` are the first samples of all segments but the first (skchange, sktime, aeon): the
same numbers without T.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from structsvm.data.values import full_labels, refuse_hidden, refuse_no_array
from structsvm.errors import DataError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats, Ints


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


def breakpoints_to_changepoints(breakpoints: ArrayLike) -> Ints:
    """Return the breakpoints without the last one, which is not a change, (K - 1,).

    Examples
    --------
    >>> from structsvm.interop import breakpoints_to_changepoints
    >>> breakpoints_to_changepoints([2, 5, 9]).tolist()
    [2, 5]
    """
    ends = EquivalenceMatrix.from_breakpoints(breakpoints).breakpoints
    return np.asarray(ends[:-1], dtype=np.int64)


def changepoints_to_breakpoints(changepoints: ArrayLike, n_samples: int) -> list[int]:
    """Return the segment ends: the changes, which are in ``1..T-1``, and T.

    Raises
    ------
    DataError
        If the changes are not increasing integers in ``1..T-1``.

    Examples
    --------
    >>> from structsvm.interop import changepoints_to_breakpoints
    >>> changepoints_to_breakpoints([2, 5], n_samples=9)
    [2, 5, 9]
    """
    changes = np.asarray(changepoints)
    if changes.size == 0:
        changes = changes.astype(np.int64)
    if changes.size and changes[-1] >= n_samples:
        raise DataError(f"change {changes[-1]} is outside 1..{n_samples - 1}: do not include T")
    return EquivalenceMatrix.from_breakpoints(np.append(changes, n_samples)).breakpoints


def labels_to_matrix(labels: ArrayLike) -> Floats:
    """Return the rescaled equivalence matrix of a partition, (T, T), for small T.

    Examples
    --------
    >>> from structsvm.interop import labels_to_matrix
    >>> labels_to_matrix(["rest", "rest", "walk"]).round(3).tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    return EquivalenceMatrix.from_labels(labels).dense()


def matrix_to_labels(M: ArrayLike) -> Ints:
    """Return the partition of an equivalence matrix, (T,), rescaled or of zeros and ones.

    Raises
    ------
    DataError
        When the entries do not say who is with whom, or are no numbers.

    Examples
    --------
    >>> from structsvm.interop import matrix_to_labels
    >>> matrix_to_labels([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]).tolist()
    [0, 0, 1]
    """
    refuse_no_array(M, "the equivalence matrix")
    refuse_hidden(M, "the equivalence matrix")
    try:
        values = np.asarray(M, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"an equivalence matrix is of numbers, (T, T), got {M!r}") from None
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.size == 0:
        raise DataError(f"an equivalence matrix has shape (T, T), got {values.shape}")
    together = values > 0.5 * values.max(axis=1, keepdims=True)
    partition = EquivalenceMatrix.from_labels(together.argmax(axis=1))
    assert partition.labels is not None
    same = partition.labels[:, None] == partition.labels[None, :]
    rescaled = same / partition.sizes[partition.labels][:, None]
    if not (np.allclose(values, rescaled, atol=1e-8) or np.array_equal(values, same)):
        raise DataError("this is no equivalence matrix: some sample is with others only in part")
    return np.array(partition.labels)
