"""Which stretch to label next: margins by enumeration, what is labelled already, bad input."""

import numpy as np
import pytest
from sequential_cases import segment_scores, segmentations

from structsvm import MetricLearner, PartialLabels
from structsvm.datasets import relevant_changes
from structsvm.learner.suggest import suggest_labels
from structsvm.partitions.oracle import TraceObjective

RISE = [*range(12), 12, *[-1] * 11]
"""The first twelve samples are segments of their own."""


@pytest.fixture(scope="module")
def learner():
    made = relevant_changes(4, n_samples=200, n_features=4, n_relevant=2, random_state=0)
    return MetricLearner(metric="diagonal").fit([r.X for r in made], [r.y for r in made])


def test_the_margin_is_that_of_another_number_of_changes(learner) -> None:
    """All segmentations of 10 samples, every stretch of 4."""
    X = np.random.default_rng(1).standard_normal((10, 4)) * np.repeat([1.0, 9.0], 5)[:, None]
    Z = learner.inputs_.standardizer(X) @ learner.metric_.factor
    values = segment_scores(TraceObjective(Z, shift=-learner.metric_.price))
    boundary = segmentations(10)[0]
    found = suggest_labels(learner, [X], length=4, n=9)
    assert found
    assert all(a.end <= b.start or b.end <= a.start for a in found for b in found if a != b)
    for asked in found:
        counts = boundary[:, asked.start + 1 : asked.end].sum(axis=1)
        now = counts[values.argmax()]
        margin = (values.max() - values[counts != now].max()) / learner.metric_.price
        assert asked.margin == pytest.approx(margin)


def test_a_stretch_that_comes_and_goes_makes_two_changes(learner) -> None:
    """No segmentation with a single change is nearly as good as that with both of a short rise."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((1, 4)), 24, axis=0) + 0.01 * rng.standard_normal((24, 4))
    X[:12:2] += 3.0  # so that the rise is not all that varies
    for height in np.linspace(0.25, 8.0, 32):
        X[16:18] = X[20] + height
        Z = learner.inputs_.standardizer(X) @ learner.metric_.factor
        values = segment_scores(TraceObjective(Z[12:], shift=-learner.metric_.price))
        boundary = segmentations(12)[0]
        (asked,) = suggest_labels(learner, [X], PartialLabels(RISE), length=12, n=1)
        assert (asked.start, asked.end) == (12, 24)
        counts = boundary.sum(axis=1)
        margin = values.max() - values[counts != counts[values.argmax()]].max()
        assert asked.margin == pytest.approx(margin / learner.metric_.price)


def test_what_is_labelled_is_not_asked_for(learner) -> None:
    made = relevant_changes(3, n_samples=200, n_features=4, n_relevant=2, random_state=1)
    Xs = [r.X for r in made]
    ys = [made[0].y, np.where(np.arange(200) < 150, made[1].y, -1), PartialLabels()]
    found = suggest_labels(learner, Xs, ys, length=50, n=4)
    assert {asked.recording for asked in found[:2]} == {1, 2}
    assert all(asked.recording != 0 for asked in found)
    assert all(asked.start >= 125 for asked in found if asked.recording == 1)
    margins = [asked.margin for asked in found[:2]]
    assert margins == sorted(margins)
    assert suggest_labels(learner, Xs[:1], ys[:1], length=50) == []
