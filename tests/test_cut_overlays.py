"""Pictures of cuts: borders and tints over an image."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from structsvm.errors import DataError
from structsvm.plotting import overlay, plot_cut


def test_overlays():
    labels = np.zeros((6, 8), dtype=int)
    labels[:, 4:] = 1
    for image in (
        np.full((6, 8), 100, dtype=np.uint8),
        np.full((6, 8, 3), 100, dtype=np.uint8),
        np.full((6, 8, 4), 0.4),
    ):
        marked = overlay(image, labels)
        assert marked.shape == (6, 8, 3)
        assert marked.dtype == np.uint8
        assert (marked[:, 3] == 255).all()  # the border
        assert (marked[:, 0] != marked[:, 7]).any(axis=1).all()  # two tints
    bare = overlay(np.full((6, 8), 100, dtype=np.uint8), labels, tint=0)
    assert (bare[:, 0] == 100).all()
    with pytest.raises(DataError, match="labels of shape"):
        overlay(np.zeros((4, 4)), labels)


def test_pictures():
    image = np.zeros((6, 8, 3), dtype=np.uint8)
    assert plot_cut(image).images[0].get_array().shape == (6, 8, 3)
    assert plot_cut(image, np.arange(48).reshape(6, 8) // 24).images
    plt.close("all")
