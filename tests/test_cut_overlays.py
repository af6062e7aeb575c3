"""Pictures of cuts: borders and tints over an image."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

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


def test_pixels_without_a_label_have_no_colour():
    image = np.full((6, 8, 3), 100, dtype=np.uint8)
    labels = np.full((6, 8), -1)
    labels[:, 5:] = 0
    marked = overlay(image, labels)
    assert (marked[:, :3] == 100).all()
    assert (marked[:, 7] != 100).any()


def test_masks_and_pictures_are_label_maps_and_images(tmp_path):
    image, mask = np.zeros((6, 8, 3), dtype=np.uint8), np.arange(8) >= np.full((6, 1), 4)
    image[..., 0] = 40
    Image.fromarray(image).save(tmp_path / "image.png")
    Image.fromarray(np.uint8(128 * mask)).save(tmp_path / "mask.png")
    expected = overlay(image, mask.astype(int))
    for labels in (mask, np.where(mask, 0xFF0000, 0)):
        np.testing.assert_array_equal(overlay(image, labels), expected)
    picture, drawn = Image.open(tmp_path / "image.png"), tmp_path / "mask.png"
    np.testing.assert_array_equal(overlay(picture, drawn), expected)
    shown = plot_cut(str(tmp_path / "image.png"), Image.open(drawn)).images[0].get_array()
    np.testing.assert_array_equal(shown, expected)
    plt.close("all")


@pytest.mark.parametrize(
    ("image", "labels", "message"),
    [
        (np.full((4, 4), 200), None, "nobody knows what is white"),
        (np.full((4, 4), np.nan), None, "NaN or inf"),
        (np.zeros(4), None, "must have shape"),
        (np.zeros((4, 4)), np.full((4, 4), "sky"), "give integers"),
        (np.zeros((4, 4)), np.zeros((4, 5), dtype=int), "labels of shape"),
    ],
)
def test_what_cannot_be_drawn_is_refused(image, labels, message):
    with pytest.raises(DataError, match=message):
        plot_cut(image, labels)
