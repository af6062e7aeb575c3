"""The scores of segments add up to the objective of the segmentations that they make."""

import itertools

import numpy as np
import pytest

from structsvm.partitions import EquivalenceMatrix, TraceObjective


@pytest.mark.parametrize("truth", [None, [0, 0, 1, 1, 1, 2], [0, 1, 0, 1, 1, 0]])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_they_add_up_to_the_value(rng, truth, offset):
    objective = TraceObjective(
        rng.normal(size=(6, 2)) + offset,
        truth=None if truth is None else EquivalenceMatrix.from_labels(truth),
        truth_weight=0.0 if truth is None else 1.3,
        shift=-0.4,
    )
    scores = objective.segment_scores()
    size = 10.0 + np.sum(objective.Z**2)
    assert scores.shape == (7, 7)
    assert np.all(np.isneginf(scores[np.tril_indices(7)]))
    for inner in itertools.product([False, True], repeat=5):
        ends = [t for t in range(1, 6) if inner[t - 1]] + [6]
        found = sum(scores[s, t] for s, t in itertools.pairwise([0, *ends]))
        value = objective.value(EquivalenceMatrix.from_breakpoints(ends))
        assert found == pytest.approx(value, abs=1e-13 * size)
