"""Images whose pixels are labelled here and there."""

import numpy as np
import pytest

from structsvm import MetricLearner, NormalizedCut, evaluate
from structsvm.graphs import GraphOfImage
from structsvm.learner.steps import encode
from structsvm.learner.training_set import TrainingSet
from structsvm.partitions.equivalence import EquivalenceMatrix, partition_loss


def test_labels_that_reach_every_superpixel_are_full():
    rng = np.random.default_rng(0)
    mask = np.tile(np.arange(64) < 30, (48, 1)).astype(int)
    images = [
        np.uint8(200 * np.where(mask, 0.5, 0.9) + 20 * rng.random(mask.shape)) for _ in range(2)
    ]
    scribble = np.full(mask.shape, -1)
    scribble[::3, ::3] = mask[::3, ::3]
    problem = NormalizedCut(image=GraphOfImage(n_superpixels=40))
    known = TrainingSet.of(problem, images, [scribble] * 2)
    assert all(labels.truth is not None for labels in known.labels)


def test_pixels_without_a_label_are_not_measured_and_known_maps_are_kept():
    rng, images, masks = np.random.default_rng(0), [], []
    for i in range(4):
        mask = np.zeros((36, 48), dtype=int)
        mask[7 + i : 25, 9 + i : 31] = 1
        images.append(rng.integers(90, 110, (36, 48, 3)).astype(np.uint8))
        images[-1][mask > 0, 0] += 60
        masks.append(mask)
    problem = NormalizedCut(image=GraphOfImage(n_superpixels=30, compactness=30))
    learner = MetricLearner(problem).fit(images[:3], masks[:3])
    some = np.where(np.arange(36)[:, None] % 2, masks[3], -1)  # of each superpixel some pixels
    found, known = learner.predict(images[3]), some >= 0
    expected = partition_loss(
        EquivalenceMatrix.from_labels(some[known]), EquivalenceMatrix.from_labels(found[known])
    )
    assert expected > 0
    assert -learner.score(images[3], some) == pytest.approx(expected)
    assert evaluate(learner, [images[3]], [some]).scores["learned"]["loss"] == pytest.approx(
        expected
    )
    for labels in (some, masks[3]):
        (kept,) = learner.predict_partitions([images[3]], known=[labels])
        assert kept == encode(learner, [images[3]], [masks[3]])[0].M
