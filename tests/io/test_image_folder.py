"""Folders of images with same-named label maps."""

import shutil
import warnings
from itertools import product

import numpy as np
import pytest
from cases import cases
from PIL import Image, ImageFilter
from scipy.ndimage import binary_dilation, binary_erosion

from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.graphs.label_maps import label_map_of, pixels_of, read_label_map
from structsvm.io import read_images
from structsvm.io.paired_names import paired_names

RNG = np.random.default_rng(0)


def write(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, array)
    else:
        Image.fromarray(array).save(path)
    return path


@pytest.fixture
def folder(tmp_path):
    """Two images, colour and grey, with masks of different kinds."""
    rgb = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    mask = np.zeros((6, 8), dtype=np.uint8)
    mask[2:4] = 255
    write(tmp_path / "img" / "b.png", rgb)
    write(tmp_path / "img" / "a.png", rgb[..., 0])
    write(tmp_path / "mask" / "b.png", mask)
    write(tmp_path / "mask" / "a.npy", mask // 85)
    return tmp_path


def test_images_and_masks_are_read_from_two_folders(folder):
    first, second = read_images(folder)
    assert (first.name, second.name) == ("a", "b")
    assert first.image.shape == (6, 8)
    assert second.image.shape == (6, 8, 3)
    assert second.image.dtype == np.uint8
    assert (second.labels == 255).sum() == (first.labels == 3).sum() == 16


def test_images_given_as_files_find_their_masks_in_a_folder(folder):
    (image,) = read_images(folder / "img" / "b.png", folder / "mask")
    assert image.labels is not None
    (alone,) = read_images(str(folder / "img" / "b.png"), need_labels=False)
    assert alone.labels is None


def test_a_colour_is_the_same_label_in_an_image_that_lacks_others(folder):
    """Names of regions are learned across images: a rank would name the second one as the first."""
    mask = np.zeros((6, 8), dtype=np.uint8)
    mask[:, 4:] = 200
    write(folder / "mask" / "b.png", mask)
    (folder / "mask" / "a.npy").unlink()
    mask[:, :2] = 120
    write(folder / "mask" / "a.png", mask)
    first, second = read_images(folder)
    assert np.unique(first.labels).tolist() == [0, 120, 200]
    assert np.unique(second.labels).tolist() == [0, 200]


def test_a_grey_with_an_opacity_is_the_grey():
    """As GIMP writes greys: 255 was the name of one region, and 16777215 that of the same one."""
    grey = Image.fromarray(np.array([[0, 255]], dtype=np.uint8))
    np.testing.assert_array_equal(label_map_of(grey.convert("LA")), [[0, 255]])
    np.testing.assert_array_equal(pixels_of(grey.convert("LA")), pixels_of(grey))


def test_images_and_masks_of_16_bits_are_read(folder):
    """Read as 8 bits they would be white throughout."""
    mask = np.zeros((6, 8), dtype=np.uint16)
    mask[2:4] = 40_000
    mask[5] = 300
    grey = np.arange(48, dtype=np.uint16).reshape(6, 8) * 1300
    write(folder / "img" / "a.png", grey)
    write(folder / "mask" / "b.png", mask)
    first, second = read_images(folder)
    assert first.image.dtype == np.uint8
    np.testing.assert_array_equal(first.image, grey // 256)
    np.testing.assert_array_equal(second.labels, mask)
    write(folder / "img" / "c.tif", np.full((6, 8), 0.5, dtype=np.float32))
    with pytest.raises(DataError, match=r"c.tif: greys are floats"):
        read_images(folder / "img" / "c.tif", need_labels=False)
    write(folder / "img" / "c.tif", np.full((6, 8), 70_000, dtype=np.int32))
    with pytest.raises(DataError, match="greys from 70000 to 70000, 16 bits go from 0 to 65535"):
        read_images(folder / "img" / "c.tif", need_labels=False)


def test_label_maps_may_add_an_ending_to_the_names_of_all_images(tmp_path):
    halves = (np.arange(48).reshape(6, 8) // 24).astype(np.uint8)
    for name in ("sky", "sky_2"):
        write(tmp_path / "raw" / f"{name}.png", halves)
        write(tmp_path / "approved" / f"{name}_L.png", halves)
    with pytest.warns(DataWarning, match="'sky_L' is taken for that of 'sky'"):
        images = read_images(tmp_path / "raw", tmp_path / "approved")
    assert [len(np.unique(one.labels)) for one in images] == [2, 2]
    with pytest.raises(DataError, match=r"its folders 'approved', 'raw' hold some: .* masks=FOLD"):
        read_images(tmp_path)
    (tmp_path / "approved" / "sky_L.png").unlink()  # another image's is none of its own
    with pytest.raises(DataError, match=r"sky.png: no label map of that name"):
        read_images(tmp_path / "raw", tmp_path / "approved")


@cases(
    (["img_1", "img_2", "img_10"], ["mask_1", "mask_2", "mask_10"]),
    (["21_training", "22_training"], ["21_manual1", "22_manual1"]),
    (["sky"], ["gt-sky"]),
    (["img_1", "img_2"], ["mask_01", "mask_02"]),
    (["sky_1", "sky_2"], ["sky_1_L", "sky_2_L", "sky_3_L", "sky_1_small"]),
)
def test_label_maps_may_begin_or_end_otherwise_than_images(names, others):
    assert paired_names(names, set(others)) == dict(zip(names, others, strict=False))


@cases(
    (["img_1", "img_2"], ["mask_1", "mask_3"]),
    (["img_1", "img_2"], ["a_1", "a_2", "b_1", "b_2"]),
    (["sky"], ["sea"]),
    (["S1"], ["S10"]),
    (["S1", "S2"], ["S10", "S20"]),
    (["1-a", "2-a"], ["11-a", "12-a"]),
    ([], ["sea"]),
)
def test_names_that_differ_in_several_ways_are_not_paired(names, others):
    assert paired_names(names, set(others)) == {}


@cases("{}_seg", "gt_{}", "{}_masks", "{} label")
def test_label_maps_may_stand_beside_images(tmp_path, called):
    """They were taken for images without labels."""
    halves = (np.arange(48).reshape(6, 8) // 24).astype(np.uint8)
    names = ["sky", "sky_2", "sea"]
    for name in names:
        write(tmp_path / f"{name}.png", halves * 90)
        write(tmp_path / f"{called.format(name)}.png", halves)
    with pytest.warns(DataWarning, match=f"'{called.format('sea')}' is taken for that of 'sea'"):
        images = read_images(tmp_path)
    assert [one.name for one in images] == sorted(names)
    assert [np.unique(one.labels).tolist() for one in images] == [[0, 1]] * 3


def test_images_that_are_called_alike_are_no_label_maps(tmp_path):
    for name in ("sky", "sky_blurred", "sea", "sea_blurred"):
        write(tmp_path / f"{name}.png", np.zeros((6, 8), dtype=np.uint8))
    assert len(read_images(tmp_path, need_labels=False)) == 4
    write(tmp_path / "sky_mask.png", np.zeros((6, 8), dtype=np.uint8))
    with pytest.raises(DataError, match=r"sky_mask.png may be one, or a prediction"):
        read_images(tmp_path / "sky.png")


def test_images_that_cannot_be_read_are_named(folder, tmp_path):
    def broken(name, content, message):
        path = folder / name
        path.write_bytes(content)
        with pytest.raises(DataError, match=message):
            read_images(folder)

    (folder / "mask" / "b.png").unlink()
    with pytest.raises(DataError, match=r"img.b.png: no label map of that name in .*mask"):
        read_images(folder)
    broken("mask/b.png", b"no picture", r"mask.b.png: cannot be read as an image")
    (folder / "mask" / "b.png").unlink()
    write(folder / "mask" / "b.npy", np.zeros((6, 8)))
    with pytest.raises(DataError, match=r"b.npy: expected integers"):
        read_images(folder)
    write(folder / "mask" / "b.npy", np.zeros((5, 8), dtype=int))
    with pytest.raises(DataError, match=r"b.npy has 5 x 8 pixels, .*b.png has 6 x 8"):
        read_images(folder)
    (folder / "mask" / "b.npy").unlink()
    write(folder / "mask" / "b.png", np.arange(240, dtype=np.uint8).reshape(30, 8))
    with pytest.raises(DataError, match="240 different values: it looks drawn with soft edges"):
        read_images(folder)
    (folder / "mask" / "b.png").unlink()
    broken("mask/b.npy", b"no array", r"b.npy: cannot be read as an array")


@cases(
    ("nowhere", None, "nowhere: no such file"),
    ("img/b.png", "nowhere", "nowhere: no such folder"),
    ("mask/a.npy", None, "no images|, or no images"),
    ("empty", None, "no images|, or no images"),
    ("img/b.png", None, "no folder of masks was given"),
)
def test_missing_paths_of_images_and_masks_are_named(folder, monkeypatch, paths, masks, message):
    monkeypatch.chdir(folder)
    (folder / "empty").mkdir()
    with pytest.raises(DataError, match=message):
        read_images(paths, masks)


# ---- label maps with soft edges, resized or compressed: parts are those of the levels


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
def test_soft_edges_of_masks_get_the_nearest_level(tmp_path, picture, parts):
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
def test_masks_compressed_with_losses_are_mended_or_refused(tmp_path, kind, quality):
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


@cases(objects(20), np.array(THREE), np.uint8(100 * (X // 30)), ids=["small", "three", "four"])
def test_label_maps_of_many_classes_are_left_as_they_are(tmp_path, mask):
    Image.fromarray(mask).save(tmp_path / "mask.png")
    assert np.array_equal(label_map_of(tmp_path / "mask.png"), mask)


# ---- pixels that nobody judged, and objects in the alpha channel

RIM = binary_dilation(DISC) & ~binary_erosion(DISC)
JUDGED = np.where(RIM, 255, np.where(X > 90, 1 + DISC, DISC)).astype(np.uint8)
PALETTE = [
    0,
    0,
    0,
    128,
    0,
    0,
    0,
    128,
    0,
    *(k for k, _ in product(range(3, 255), range(3))),
    224,
    224,
    192,
]


def with_mask(folder, mask, kind="png"):
    """A folder of one image and its label map."""
    for name in ("img", "mask"):
        (folder / name).mkdir(exist_ok=True)
    Image.new("RGB", (128, 96)).save(folder / "img" / "a.png")
    if kind == "npy":
        np.save(folder / "mask" / "a.npy", mask)
    else:
        mask.save(folder / "mask" / f"a.{kind}")
    return folder


def void_masks():
    grey = Image.fromarray(JUDGED)
    palette = Image.fromarray(JUDGED, "P")
    palette.putpalette(PALETTE)
    return {
        "grey": (grey, "png", ["255"]),
        "palette": (palette, "png", ["255"]),
        "colour": (palette.convert("RGB"), "png", ["#e0e0c0"]),
        "colours as numbers": (palette.convert("RGB"), "bmp", ["7", str(0xE0E0C0)]),
        "array": (JUDGED, "npy", ["255"]),
    }


@pytest.mark.parametrize(("mask", "kind", "missing"), void_masks().values(), ids=void_masks())
def test_pixels_of_missing_labels_have_no_label(tmp_path, mask, kind, missing):
    """The rim around objects of Pascal VOC was a part of its own."""
    (found,) = read_images(with_mask(tmp_path, mask, kind), missing_labels=missing)
    assert np.array_equal(found.labels == -1, RIM)
    assert np.unique(found.labels).size == 4 - (not DISC[X > 90].any())


@pytest.mark.parametrize("kind", ["npy", "png"])
@cases((slice(40, 60), slice(49, 52)), (slice(45, 55), slice(50, 100)), ids=["few", "many"])
def test_missing_labels_beside_soft_edges_are_no_label(tmp_path, kind, rows, columns):
    """A few in an array were taken for a soft edge; the edge beside many got their value."""
    away = np.hypot(*np.mgrid[-50:50, -50:50])
    mask = np.clip(200 - 40 * (away - 25), 0, 200).astype(np.uint8)
    mask[rows, columns] = 255
    path = write(tmp_path / f"mask.{kind}", mask)
    with pytest.warns(DataWarning, match="soft edges"):
        labels, _ = read_label_map(path, missing=["255"])
    assert (labels[rows, columns] == -1).all()
    assert np.unique(labels).tolist() == [-1, 0, 200]


def test_a_label_255_beside_small_ones_is_warned_of_once(tmp_path):
    folder = with_mask(tmp_path, void_masks()["palette"][0])
    shutil.copy(folder / "img" / "a.png", folder / "img" / "b.png")
    shutil.copy(folder / "mask" / "a.png", folder / "mask" / "b.png")
    with pytest.warns(
        DataWarning, match=r"255 is a label beside 0 to .*missing_labels=255.* 1 more"
    ):
        read_images(folder)
    TWO.save(folder / "mask" / "a.png")
    TWO.save(folder / "mask" / "b.png")
    first, _ = read_images(folder)
    assert np.unique(first.labels).tolist() == [0, 255]
    with pytest.raises(SettingsError, match="whole numbers, or colours as '#e0e0c0', got 'void'"):
        read_images(folder, missing_labels=["void"])


@cases(
    ("LA", [255, 255], "png"),
    ("LA", [0, 0], "png"),
    ("RGBA", [(250, 10, 10), (250, 10, 10)], "png"),
    ("RGBA", [(0, 0, 0), (255, 255, 255)], "webp"),
)
def test_an_object_in_the_alpha_channel_is_a_part(tmp_path, mode, colours, kind):
    """It was a label map of one part."""
    ground, ink = (Image.new(mode.rstrip("A") or "L", TWO.size, colour) for colour in colours)
    ground.paste(ink, mask=TWO)
    ground.putalpha(TWO)
    lossless = {"lossless": True, "exact": True} if kind == "webp" else {}
    ground.save(tmp_path / f"mask.{kind}", **lossless)
    found = label_map_of(tmp_path / f"mask.{kind}")
    assert np.unique(found).size == 2
    assert np.array_equal(found == found[0, 0], ~DISC)
    soft = TWO.filter(ImageFilter.GaussianBlur(0.6))
    ground.putalpha(soft)
    ground.save(tmp_path / "soft.png")
    assert np.unique(label_map_of(tmp_path / "soft.png")).size == 2


def test_an_alpha_channel_that_says_nothing_is_left_out(tmp_path):
    for alpha in (0, 90, 255):
        picture = THREE.convert("RGBA")
        picture.putalpha(alpha)
        picture.save(tmp_path / "mask.png")
        assert np.unique(label_map_of(tmp_path / "mask.png")).size == 3
