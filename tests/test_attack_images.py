"""Pixels whose white nobody knows are refused, as floats beyond 1 are."""

import numpy as np
import pytest
from PIL import Image

from structsvm.errors import DataError, DataWarning
from structsvm.graphs import GraphOfImage, from_image
from structsvm.graphs.image_files import pixels_of

IMAGE = np.random.default_rng(0).integers(0, 256, (16, 16, 3))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint32, np.int16])
def test_an_image_of_wide_integers_is_not_black(kind):
    """Over the range of its type, 255 is 1 of 36 thousand million million."""
    with pytest.raises(DataError, match=r"an image of u?int\d\d values, of which nobody knows"):
        from_image(IMAGE.astype(kind))


def test_what_has_a_white_is_the_same_image():
    found = [from_image(pixels).X for pixels in (np.uint8(IMAGE), np.uint16(257 * IMAGE))]
    np.testing.assert_allclose(found[0], from_image(IMAGE / 255).X)
    np.testing.assert_allclose(found[0], found[1])


def test_a_photograph_is_turned_as_viewers_show_it(tmp_path):
    """A phone held upright stores pixels that lie, and says so; masks are drawn on what is seen."""
    image, exif = Image.fromarray(np.uint8(IMAGE[:8])), Image.Exif()
    exif[0x0112] = 6  # a quarter turn clockwise
    path = tmp_path / "photo.png"
    image.save(path, exif=exif)
    np.testing.assert_array_equal(pixels_of(path), np.rot90(IMAGE[:8], -1))
    with Image.open(path) as opened:
        np.testing.assert_array_equal(pixels_of(opened), np.rot90(IMAGE[:8], -1))


def test_an_image_of_16_bits_that_uses_few_of_them_is_not_black(tmp_path):
    """A camera of 8 or of 12 bits, whose microscope saves 16."""
    path = tmp_path / "cells.tif"
    Image.fromarray(IMAGE[..., 0].astype(np.uint16)).save(path)
    with pytest.raises(
        DataError, match=r"cells.tif: greys from 1 to 254 of 65535 are 1 of the 256"
    ):
        pixels_of(path)
    Image.fromarray((IMAGE[..., 0] * 16).astype(np.uint16)).save(path)
    with pytest.warns(
        DataWarning, match=r"cells.tif: greys from 16 to 4064 of 65535 are 16 of the 256"
    ):
        pixels_of(path)
    Image.fromarray((IMAGE[..., 0] * 257).astype(np.uint16)).save(path)
    np.testing.assert_array_equal(pixels_of(path), IMAGE[..., 0])


def test_of_several_pages_one_is_said_to_be_read(tmp_path):
    pages = [Image.fromarray(np.uint8(IMAGE[..., channel])) for channel in range(3)]
    pages[0].save(tmp_path / "stack.tif", save_all=True, append_images=pages[1:])
    with pytest.warns(DataWarning, match="stack.tif: of its 3 pages the first is read"):
        np.testing.assert_array_equal(pixels_of(tmp_path / "stack.tif"), IMAGE[..., 0])


def test_few_superpixels_of_a_noisy_image_are_named():
    """Noise breaks superpixels into pieces, which are joined to whatever lies beside them."""
    y, x = np.mgrid[:60, :80]
    rng = np.random.default_rng(0)
    disc = np.where((y - 30) ** 2 + (x - 40) ** 2 < 225, 180, 60) + rng.normal(size=(60, 80)) * 25
    image = np.uint8(np.clip(np.stack([disc, disc, 240 - disc], axis=2), 0, 255))
    with pytest.warns(DataWarning, match=r"has \d+ superpixels where 150 were asked for.*compact"):
        assert from_image(image).n_samples < 30
    assert from_image(image, GraphOfImage(compactness=100.0)).n_samples > 100
