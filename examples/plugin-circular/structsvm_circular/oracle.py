"""The best segmentation of a circular sequence, exactly, by dynamic programming."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleError
from structsvm.partitions import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    EquivalenceMatrix,
    Oracle,
    Quality,
    TraceObjective,
)

__all__ = ["CircularOracle"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CircularOracle(Oracle):
    """Maximises ``Tr(A M)`` over the partitions of a circle of T samples into arcs.

    Some arc begins somewhere: cut there, the circle is a sequence, whose best segmentation is
    found by dynamic programming. All T places to cut are tried at once, in vectors. Time O(T^3),
    times K for a known number of arcs; memory O(T^2).
    """

    takes = frozenset({"n_clusters"})

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise ``Tr(A M)`` over the circular segmentations, into K arcs if K is given.

        Raises
        ------
        OracleError
            When there are fewer samples than arcs, or boundaries are prescribed.
        """
        constraint.validate(objective.n_samples)
        if constraint.has_boundaries:
            raise OracleError("a circular segmentation takes no forced or forbidden boundaries")
        scores = arc_scores(objective)
        if constraint.n_clusters is None:
            cut, sizes = best_arcs(scores + objective.shift)
        else:
            cut, sizes = best_k_arcs(scores, constraint.n_clusters)
        labels = np.roll(np.repeat(np.arange(len(sizes)), sizes), cut)
        y = EquivalenceMatrix.from_labels(labels)
        value = objective.value(y)
        return Argmax(y, value, value, Quality.EXACT)


def arc_scores(objective: TraceObjective) -> Floats:
    """What an arc adds to ``Tr(A M)``, the shift apart: entry ``[l - 1, s]``, l samples from s on.

    ``|sum of Z|^2 / l``, where the truth takes part as further columns of negative sign. The mean
    of ``Z`` adds the same to every partition, and would cost digits.
    """
    Z = objective.Z - objective.Z.mean(axis=0)
    signs = np.ones(Z.shape[1])
    if objective.truth is not None and objective.has_truth:
        U = np.sqrt(objective.truth_weight) * objective.truth.factor()
        Z = np.hstack([Z, U])
        signs = np.concatenate([signs, -np.ones(U.shape[1])])
    T = Z.shape[0]
    sums = np.concatenate([np.zeros((1, Z.shape[1])), np.cumsum(np.vstack([Z, Z]), axis=0)])
    return np.array([(sums[n : n + T] - sums[:T]) ** 2 @ signs / n for n in range(1, T + 1)])


def best_arcs(scores: Floats) -> tuple[int, list[int]]:
    """Where to cut the circle, and the sizes of the best arcs from there on."""
    T = scores.shape[0]
    best = np.zeros((T + 1, T))
    last = np.zeros((T + 1, T), dtype=np.int64)
    for t in range(1, T + 1):
        best[t], last[t] = _extend(best[:t], scores, t)
    cut = int(np.argmax(best[T]))
    sizes = []
    t = T
    while t:
        sizes.append(int(last[t, cut]))
        t -= sizes[-1]
    return cut, sizes[::-1]


def best_k_arcs(scores: Floats, K: int) -> tuple[int, list[int]]:
    """Where to cut the circle, and the sizes of the best K arcs from there on."""
    T = scores.shape[0]
    best = np.full((T + 1, T), -np.inf)
    best[0] = 0.0
    lasts = []
    for _ in range(K):
        longer = np.full((T + 1, T), -np.inf)
        last = np.zeros((T + 1, T), dtype=np.int64)
        for t in range(1, T + 1):
            longer[t], last[t] = _extend(best[:t], scores, t)
        best = longer
        lasts.append(last)
    cut = int(np.argmax(best[T]))
    sizes = []
    t = T
    for last in reversed(lasts):
        sizes.append(int(last[t, cut]))
        t -= sizes[-1]
    return cut, sizes[::-1]


def _extend(best: Floats, scores: Floats, t: int) -> tuple[Floats, Ints]:
    """Best value of t samples from each cut on, and the size of its last arc: both (T,).

    ``best[t - n, cut]`` is what the samples before the last arc are worth, which has n samples and
    begins at ``cut + t - n``.
    """
    T = scores.shape[0]
    n = np.arange(1, t + 1)[:, None]
    start = (np.arange(T)[None, :] + t - n) % T
    values = best[::-1] + scores[n - 1, start]
    size = np.argmax(values, axis=0)
    return np.take_along_axis(values, size[None, :], axis=0)[0], (size + 1).astype(np.int64)
