"""Our WARI and state matching score beside those of tsseg-eval, on random states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tsseg_eval import metrics

from experiments.studies._state_scores import state_matching_score, weighted_adjusted_rand_index
from structsvm import EquivalenceMatrix

DRAWS = 2000


def states(rng: np.random.Generator, T: int) -> NDArray[np.int64]:
    """Segments of up to five states, numbered in the order in which they appear.

    Where two matchings of states overlap alike, the numbers decide which of them is taken.
    """
    starts = np.sort(rng.integers(0, T, int(rng.integers(1, 9))))
    drawn = rng.integers(0, 5, starts.size + 1)[np.searchsorted(starts, np.arange(T), side="right")]
    labels = EquivalenceMatrix.from_labels(drawn).labels
    assert labels is not None
    return labels


def their_wari(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    """Theirs, without the step that makes counts whole numbers."""
    (tn, fp), (fn, tp) = metrics.weighted_pair_confusion_matrix(a, b, metrics.linear_distance)
    if fn == fp == 0:
        return 1.0
    return float(2 * (tp * tn - fn * fp) / ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)))


def main() -> None:
    rng = np.random.default_rng(0)
    for _ in range(DRAWS):
        T = int(rng.integers(50, 300))
        a = states(rng, T)
        b = states(rng, T)
        truth = EquivalenceMatrix.from_labels(a)
        guess = EquivalenceMatrix.from_labels(b)
        np.testing.assert_allclose(
            weighted_adjusted_rand_index(truth, guess), their_wari(a, b), atol=1e-9
        )
        np.testing.assert_allclose(
            state_matching_score(truth, guess), metrics.state_matching_score(a, b), atol=1e-9
        )
        rounded = metrics.weighted_adjusted_rand_score(a, b)
        assert abs(rounded - their_wari(a, b)) < 1e-3
    print(f"the same for {DRAWS} pairs of random states")


if __name__ == "__main__":
    main()
