"""Images whose pixels are labelled here and there."""

import numpy as np

from structsvm import MetricLearner, NormalizedCut
from structsvm.graphs import GraphOfImage


def test_labels_that_reach_every_superpixel_are_full():
    rng = np.random.default_rng(0)
    mask = np.tile(np.arange(64) < 30, (48, 1)).astype(int)
    images = [
        np.uint8(200 * np.where(mask, 0.5, 0.9) + 20 * rng.random(mask.shape)) for _ in range(2)
    ]
    scribble = np.full(mask.shape, -1)
    scribble[::3, ::3] = mask[::3, ::3]
    problem = NormalizedCut(image=GraphOfImage(n_superpixels=40))
    known = MetricLearner(problem).read(images, [scribble] * 2)
    assert all(labels.truth is not None for labels in known.labels)
