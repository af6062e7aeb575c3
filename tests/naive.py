"""Plain twins of the fast kernels: a few lines of numpy each, to compare them with.

Those of segments take their scores, (T + 1, T + 1), as ``TraceObjective.segment_scores`` writes
them down, where what is not allowed is minus infinity; those of clusters and spectra take the
matrix ``A`` (T, T) of the objective.
"""

import numpy as np


def best(scores: np.ndarray) -> tuple[float, list[int]]:
    """Algorithm 1 of Lajugie et al.: the best value and segmentation, every start looked at."""
    T = scores.shape[0] - 1
    value = np.zeros(T + 1)
    start = np.zeros(T + 1, dtype=int)
    for t in range(1, T + 1):
        candidates = value[:t] + scores[:t, t]
        start[t] = candidates.argmax()
        value[t] = candidates[start[t]]
    ends = [T]
    while start[ends[-1]] > 0:
        ends.append(int(start[ends[-1]]))
    return float(value[T]), ends[::-1]


def best_of_known_length(scores: np.ndarray, K: int) -> float:
    """The same with one layer for each number of segments."""
    T = scores.shape[0] - 1
    value = np.full((K + 1, T + 1), -np.inf)
    value[0, 0] = 0.0
    for t in range(1, T + 1):
        value[1:, t] = (value[:-1, :t] + scores[:t, t]).max(axis=1)
    return float(value[K, T])


def pelt(scores: np.ndarray, kappa: float) -> float:
    """PELT: forget a start once its value plus ``kappa`` is no better than the best."""
    T = scores.shape[0] - 1
    value = np.zeros(T + 1)
    starts = np.array([], dtype=int)
    for t in range(1, T + 1):
        starts = np.append(starts, t - 1)
        candidates = value[starts] + scores[starts, t]
        value[t] = candidates.max()
        starts = starts[candidates + kappa > value[t]]
    return float(value[T])


def lengths_only(scores: np.ndarray, shortest: int, longest: int) -> np.ndarray:
    """The scores of the segments of these lengths."""
    starts, ends = np.indices(scores.shape)
    return np.where((ends - starts >= shortest) & (ends - starts <= longest), scores, -np.inf)


def value(A: np.ndarray, labels: np.ndarray) -> float:
    """``Tr(A M)``, cluster by cluster."""
    clusters = [labels == k for k in np.unique(labels)]
    return float(sum(A[np.ix_(k, k)].sum() / k.sum() for k in clusters))


def hartigan(A: np.ndarray, labels: np.ndarray, order: np.ndarray, fixed: bool) -> np.ndarray:
    """Put one sample after the other where ``Tr(A M)`` is largest, until none moves."""
    moved = True
    while moved:
        moved = False
        for t in order:
            if fixed and np.count_nonzero(labels == labels[t]) == 1:
                continue
            others = range(labels.max() + 2 - fixed)
            choices = [np.where(np.arange(labels.size) == t, k, labels) for k in others]
            values = [value(A, choice) for choice in choices]
            if max(values) > value(A, labels) + 1e-10:
                labels = choices[int(np.argmax(values))]
                moved = True
        labels = np.unique(labels, return_inverse=True)[1]
    return labels


def ward(points: np.ndarray, weights: np.ndarray, K: int) -> np.ndarray:
    """Merge the two clusters whose merger costs least, until K are left."""
    labels = np.arange(len(points))
    while (names := np.unique(labels)).size > K:
        n = np.array([weights[labels == k].sum() for k in names])
        m = np.array([np.average(points[labels == k], 0, weights[labels == k]) for k in names])
        cost = np.sum((m[:, None] - m) ** 2, axis=2) * np.outer(n, n) / np.add.outer(n, n)
        cost[np.tril_indices(names.size)] = np.inf
        a, b = np.unravel_index(cost.argmin(), cost.shape)
        labels = np.where(labels == names[b], names[a], labels)
    return labels


def spectral(A: np.ndarray, K: int | None, centered: bool) -> float:
    """The value of the spectral relaxation from all eigenvalues."""
    T = A.shape[0]
    if not centered:
        w = np.linalg.eigvalsh(A)[::-1]
        return float(w[: max(1, int(np.sum(w > 0))) if K is None else K].sum())
    others = np.linalg.svd(np.ones((1, T)))[2][1:].T
    w = np.linalg.eigvalsh(others.T @ A @ others)[::-1] if T > 1 else np.empty(0)
    return float(A.sum() / T + (w[: K - 1].sum() if K is not None else w[w > 0].sum()))
