"""The best partition of a handful of samples by looking at every one: for tests and teaching."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleError
from structsvm.partitions import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    EquivalenceMatrix,
    Oracle,
    TraceObjective,
)
from structsvm.problem import Quality
from structsvm.support import Floats, is_whole

Labels = NDArray[np.int8]
MOST_ENUMERATED = {False: 11, True: 18}
"""Largest T, by whether only segmentations count: 678,570 partitions, 131,072 segmentations."""
MOST_LISTED = {False: 13, True: 24}  # largest T whose partitions are only listed, in 0.4 GB


@dataclass(frozen=True)
class ExhaustiveOracle(Oracle):
    """Maximises ``Tr(A M)`` by enumeration.

    The first of several maximisers in lexicographic order of labels is returned.

    Parameters
    ----------
    contiguous : bool
        Enumerate the ``2^(T-1)`` segmentations (T at most 18) instead of all partitions of a set
        (T at most 11; their number is the Bell number).

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import ExhaustiveOracle
    >>> from structsvm.partitions import TraceObjective
    >>> objective = TraceObjective(np.array([[0.0], [9.0], [0.0], [9.0]]), shift=-1.0)
    >>> ExhaustiveOracle().ask(objective).y.labels.tolist()
    [0, 1, 0, 1]
    >>> ExhaustiveOracle(contiguous=True).ask(objective).y.breakpoints
    [1, 2, 3, 4]
    """

    takes = frozenset({"n_clusters", "boundaries", "regions"})

    contiguous: bool = False

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise over every partition that ``constraint`` allows."""
        T = objective.n_samples
        most = MOST_ENUMERATED[self.contiguous]
        if T > most:
            what = "segmentations" if self.contiguous else "partitions"
            raise OracleError(
                f"there are too many {what} of {T} samples to look at each (at most {most} "
                "samples): use a sequential, spectral or clustering oracle"
            )
        if self.contiguous:
            labels = all_segmentations(T)
            labels = labels[_respects_boundaries(labels, constraint)]
        else:
            if constraint.has_boundaries:
                raise OracleError("boundaries and regions belong to segmentations")
            labels = all_partitions(T)
        if constraint.n_clusters is not None:
            labels = labels[labels.max(axis=1) == constraint.n_clusters - 1]
        if not len(labels):
            raise OracleError("no partition satisfies the constraint: it contradicts itself")
        # As M 1 = 1, the mean adds the same to all partitions, and only costs digits.
        centred = replace(objective, Z=objective.Z - objective.Z.mean(axis=0))
        best = int(np.argmax(_values(labels, centred)))
        y = EquivalenceMatrix.from_labels(labels[best].astype(np.int64))
        value = objective.value(y)
        return Argmax(y, value, value, Quality.EXACT)


def all_partitions(n_samples: int) -> Labels:
    """Every partition of a set, one row of labels each, in lexicographic order.

    The labels are restricted growth strings: a sample joins one of the clusters used so far or
    opens the next one.

    Returns
    -------
    array of shape (Bell(T), T)

    Raises
    ------
    OracleError
        If there are more than can be listed: of 1 to 13 samples all are.

    Examples
    --------
    >>> from structsvm.oracles import all_partitions
    >>> all_partitions(3).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]]
    """
    _refuse_number(n_samples, MOST_LISTED[False])
    labels = np.zeros((1, 1), dtype=np.int8)
    for _ in range(n_samples - 1):
        choices = labels.max(axis=1) + 2
        first = np.repeat(np.cumsum(choices) - choices, choices)
        joined = (np.arange(first.size) - first).astype(np.int8)
        labels = np.column_stack((np.repeat(labels, choices, axis=0), joined))
    return labels


def all_segmentations(n_samples: int) -> Labels:
    """Every segmentation, one row of labels each, in lexicographic order.

    Returns
    -------
    array of shape (2^(T-1), T)

    Raises
    ------
    OracleError
        If there are more than can be listed: of 1 to 24 samples all are.

    Examples
    --------
    >>> from structsvm.oracles import all_segmentations
    >>> all_segmentations(3).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 1], [0, 1, 2]]
    """
    _refuse_number(n_samples, MOST_LISTED[True])
    codes = np.arange(2 ** (n_samples - 1))[:, None]
    changes = (codes >> np.arange(n_samples - 2, -1, -1)) & 1
    labels = np.zeros((codes.size, n_samples), dtype=np.int8)
    np.cumsum(changes, axis=1, out=labels[:, 1:])
    return labels


def _refuse_number(n_samples: int, most: int) -> None:
    if not (is_whole(n_samples) and 1 <= n_samples <= most):
        raise OracleError(f"n_samples must be an integer from 1 to {most}, got {n_samples!r}")


def _values(labels: Labels, objective: TraceObjective) -> Floats:
    """``Tr(A M)`` of every row of labels, from ``1_S^T A 1_S / |S|`` of the ``2^T`` subsets S."""
    T = objective.n_samples
    members = ((np.arange(2**T)[:, None] >> np.arange(T)) & 1).astype(np.float64)
    sizes = np.maximum(members.sum(axis=1), 1.0)
    single = np.einsum("st,st->s", members @ objective.dense(), members) / sizes
    powers = 1 << np.arange(T)
    return np.asarray(sum(single[(labels == k) @ powers] for k in range(T)))


def _respects_boundaries(labels: Labels, constraint: Constraint) -> NDArray[np.bool_]:
    """Whether each segmentation keeps the boundaries and regions of a constraint, (n,)."""
    boundary = np.diff(labels, axis=1) != 0
    forced = boundary[:, [t - 1 for t in constraint.forced]].all(axis=1)
    forbidden = boundary[:, [t - 1 for t in constraint.forbidden]].any(axis=1)
    is_allowed = forced & ~forbidden
    for region in constraint.regions:
        changes = boundary[:, region.first - 1 : region.end - 1].sum(axis=1)
        is_allowed &= changes >= region.changes if region.or_more else changes == region.changes
    return np.asarray(is_allowed)
