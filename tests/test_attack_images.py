"""Pixels whose white nobody knows are refused, as floats beyond 1 are."""

import numpy as np
import pytest
from PIL import Image

from structsvm.errors import DataError
from structsvm.graphs import from_image
from structsvm.graphs.image_files import pixels_of

IMAGE = np.random.default_rng(0).integers(0, 256, (16, 16, 3))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint32, np.int16])
def test_an_image_of_wide_integers_is_not_black(kind):
    """Over the range of its type, 255 is 1 of 36 thousand million million."""
    with pytest.raises(DataError, match=r"an image of u?int\d\d from 0 to 255: nobody knows"):
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
