"""Which clusters of two partitions of the same samples go together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from structsvm.partitions.equivalence import EquivalenceMatrix


def matched_labels(truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> NDArray[np.int64]:
    """The true labels, (T,), renamed to the numbers of the predicted clusters they go with."""
    assert truth.labels is not None
    rows, columns = linear_sum_assignment(-truth.contingency(guess))
    names = np.full(truth.n_clusters, -1, dtype=np.int64)
    names[rows] = columns
    alone = names < 0
    names[alone] = guess.n_clusters + np.arange(alone.sum())
    renamed: NDArray[np.int64] = names[truth.labels]
    return renamed


def misplaced(truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> NDArray[np.bool_]:
    """Samples that are not in the predicted cluster their true cluster goes with, (T,)."""
    assert guess.labels is not None
    wrong: NDArray[np.bool_] = guess.labels != matched_labels(truth, guess)
    return wrong
