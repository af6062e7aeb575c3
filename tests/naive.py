"""Plain twins of the searches for segments: a few lines of numpy each, to compare them with.

All take the scores of the segments, (T + 1, T + 1), as ``TraceObjective.segment_scores`` writes
them down; what is not allowed is minus infinity.
"""

import numpy as np


def best(scores: np.ndarray) -> tuple[float, list[int]]:
    """Algorithm 1 of Lajugie et al.: the best value and segmentation, every start looked at."""
    T = scores.shape[0] - 1
    value, start = np.zeros(T + 1), np.zeros(T + 1, dtype=int)
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
    value, starts = np.zeros(T + 1), np.array([], dtype=int)
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
