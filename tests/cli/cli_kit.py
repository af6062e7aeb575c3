"""Recordings and images that the tests of the command line share."""

import numpy as np

from structsvm.datasets import relevant_changes

TRAIN, TEST = (
    relevant_changes(4, n_samples=200, n_features=6, n_relevant=2, jump=2.0, random_state=s)
    for s in (0, 1)
)


def table(path, content):
    path.write_text(content, encoding="utf-8")
    return path


def paint(rng, size=32):
    """Return an image of a disc that differs by hue, and its mask."""
    y, x = np.mgrid[:size, :size]
    row, column = rng.integers(10, size - 10, 2)
    mask = (y - row) ** 2 + (x - column) ** 2 < 64
    light = 0.2 + 0.8 * np.kron(rng.random((4, 4)), np.ones((size // 4, size // 4)))
    colour = np.where(mask[..., None], [1.0, 0.85, 0.7], [0.7, 0.85, 1.0])
    return np.round(255 * light[..., None] * colour).astype(np.uint8), mask
