"""Label maps with soft edges, resized or compressed: parts are those of the levels."""

import warnings

import numpy as np
import pytest
from PIL import Image, ImageFilter

from structsvm.errors import DataError, DataWarning
from structsvm.graphs.images import label_map_of

Y, X = np.mgrid[:96, :128]
DISC = (Y - 48) ** 2 + (X - 60) ** 2 < 500
TWO = Image.fromarray(np.uint8(DISC) * 255)
THREE = Image.fromarray(np.uint8(np.where(DISC, 255, np.where(X > 90, 128, 0))))
COLOURED = Image.merge("RGB", [TWO, Image.new("L", TWO.size), TWO.point(lambda v: 255 - v)])
SOFT = {
    "blurred": (TWO.filter(ImageFilter.GaussianBlur(0.6)), 2),
    "blurred more": (TWO.filter(ImageFilter.GaussianBlur(1.2)), 2),
    "resized": (TWO.resize((160, 120), Image.Resampling.BICUBIC), 2),
    "made small": (TWO.resize((80, 60), Image.Resampling.LANCZOS), 2),
    "of three levels": (THREE.filter(ImageFilter.GaussianBlur(0.6)), 3),
    "of two colours": (COLOURED.filter(ImageFilter.GaussianBlur(0.6)), 2),
}


@pytest.mark.parametrize(("picture", "parts"), SOFT.values(), ids=SOFT)
def test_values_of_edges_are_those_of_the_nearest_level(tmp_path, picture, parts):
    picture.save(tmp_path / "mask.png")
    with pytest.warns(DataWarning, match=rf"% of the pixels, are those of soft .* {parts} levels"):
        found = label_map_of(tmp_path / "mask.png")
    assert np.unique(found).size == parts


def parts_or_refusal(path):
    try:
        return np.unique(label_map_of(path)).size
    except DataError as error:
        return "compressed with losses" in str(error) or error


@pytest.mark.parametrize("quality", [50, 70, 80, 95])
@pytest.mark.parametrize("kind", ["jpg", "webp"])
def test_losses_are_mended_or_refused(tmp_path, kind, quality):
    path = tmp_path / f"mask.{kind}"
    TWO.save(path, quality=quality)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert parts_or_refusal(path) in (2, True)


def objects(n):
    """Small objects of n classes on a background."""
    mask = np.zeros((96, 128), dtype=np.uint8)
    for k in range(n):
        mask[4 + 9 * (k % 9) : 9 + 9 * (k % 9), 4 + 10 * (k // 9) : 9 + 10 * (k // 9)] = k + 1
    mask[:, 100:] = 200
    return mask


@pytest.mark.parametrize(
    "mask",
    [objects(20), np.array(THREE), np.uint8(100 * (X // 30))],
    ids=["small", "three", "four"],
)
def test_maps_of_classes_are_left_as_they_are(tmp_path, mask):
    Image.fromarray(mask).save(tmp_path / "mask.png")
    assert np.array_equal(label_map_of(tmp_path / "mask.png"), mask)
