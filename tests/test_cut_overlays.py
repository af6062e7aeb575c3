"""Pictures of cuts: borders and tints over an image, and what each feature counts."""

import numpy as np
import pytest
from cut_cases import planted

from structsvm import MetricLearner, NormalizedCut
from structsvm.errors import DataError
from structsvm.plotting import overlay, plot_cut, plot_cut_weights


@pytest.fixture(scope="module")
def learner():
    graphs, labels = planted(np.random.default_rng(5), n=6)
    return MetricLearner(NormalizedCut()).fit(graphs, labels)


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


def test_pictures(learner):
    image = np.zeros((6, 8, 3), dtype=np.uint8)
    assert plot_cut(image).images[0].get_array().shape == (6, 8, 3)
    assert plot_cut(image, np.arange(48).reshape(6, 8) // 24).images
    ax = plot_cut_weights(learner)
    assert ax.get_yticklabels()[0].get_text() == "x0"
    import matplotlib.pyplot as plt

    plt.close("all")
