"""Images and label maps in files."""

import os
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from scipy import ndimage

from structsvm.errors import DataError, SettingsError, parameter, warn, without_warnings
from structsvm.support import limits, require

IMAGE_KINDS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".webp")
MASK_KINDS = (*IMAGE_KINDS, ".npy")
MOST_GREY = 2**16 - 1
FEW_LEVELS = 16  # levels of 8 bits up to which 16 bits are hardly used, as by cameras of 12 bits
MOST_LABELS = 64
"""A mask with more different values was drawn with soft edges, or compressed with losses."""
RARE = 0.02  # a value of fewer of the pixels may be that of a soft edge
SOFT_PART = 0.8  # share of the pixels with rare values that must lie between two other values
MOST_DOUBTFUL = 0.25  # the largest share of all pixels that may have rare values
VOID = 255  # the value of unjudged pixels in masks of Pascal VOC and Cityscapes
LEAVES_OUT = parameter("missing_labels", VOID) + " leaves them out"
TRANSPARENT = 1 << 24  # the label of transparent pixels, which is no colour
OPAQUE = 128  # the opacity, of 255, from which on a pixel is visible
GREYS = ("1", "L", "LA", "La")
"""Pillow's modes of greys; those with an A also have an opacity, which is left out."""
LOSSY = (".jpg", ".jpeg", ".webp")  # endings of files that may be compressed with losses
NEAR_GREYS = 8  # greys of such a label map that differ by less are taken for these losses


def is_picture(x: Any) -> bool:
    """Whether it is a path, or an image of Pillow."""
    return isinstance(x, str | PathLike) or hasattr(x, "getbands")


def pixels_of(picture: Any, max_pixels: int | None = None) -> NDArray[np.uint8]:
    """Grey (H, W) or RGB (H, W, 3) values in 8 bits, from a path or an image of Pillow."""
    name = _check_kind(picture, IMAGE_KINDS)
    values = _values(_opened(picture, name, max_pixels), name)
    if values.dtype == np.uint8:
        return values
    low = int(values.min())
    high = int(values.max())
    levels = (high >> 8) - (low >> 8) + 1
    greys = f"{name}: greys from {low} to {high}"
    few = (
        f"{greys} of {MOST_GREY} are {levels} of the 256 levels that are told apart: save it with "
        "8 bits, or spread them over all 16"
    )
    beyond = f"{greys}, 16 bits go from 0 to {MOST_GREY}: save it with 8 or 16 bits"
    if low < 0 or high > MOST_GREY:
        raise DataError(beyond)
    if levels == 1 and high > low:
        raise DataError(few)
    if 1 < levels <= FEW_LEVELS:
        warn(few)
    return (values >> 8).astype(np.uint8)


def label_map_of(picture: Any) -> NDArray[np.int64]:
    """The labels of the pixels, (H, W): a colour is the same integer in every image."""
    values, doubt = read_label_map(picture)
    if doubt:
        warn(doubt)
    return values


def read_label_map(
    picture: Any, max_pixels: int | None = None, missing: Sequence[str] = ()
) -> tuple[NDArray[np.int64], str]:
    """A label map, -1 where a value is ``missing``, and a sentence on a doubt about it, or ""."""
    name = _check_kind(picture, MASK_KINDS)
    left_out = [_as_value(text) for text in missing]
    if name.lower().endswith(".npy"):
        values = _array(Path(picture), max_pixels).astype(np.int64)
        return _with_hard_edges(name, np.where(np.isin(values, left_out), -1, values)), ""
    image = _opened(picture, name, max_pixels)
    values = _values(image, name)
    if values.ndim == 3:  # one integer for a colour
        values = values.astype(np.int64) @ (1 << 16, 1 << 8, 1)
    indices = np.asarray(image) if image.mode == "P" else values  # of a palette
    values = np.where(_is_seen(image), values.astype(np.int64), TRANSPARENT)
    is_missing = np.isin(values, left_out) | np.isin(indices, left_out)
    doubt = "" if left_out else _doubt_about_void(name, np.unique(indices), LEAVES_OUT)
    values = _with_hard_edges(name, np.where(is_missing, -1, values))
    kinds = np.unique(values[values >= 0])
    shades = np.unique(kinds & 255)
    near = shades.size > 2 and np.diff(shades).min() < NEAR_GREYS
    if kinds.size > MOST_LABELS or (near and name.lower().endswith(LOSSY)):
        raise DataError(
            f"{name} has {kinds.size} different values: it looks drawn with soft edges, or "
            "compressed with losses; save one value per region, as .png or .npy"
        )
    return values, doubt


def _as_value(text: str) -> int:
    """The integer of a label, written as a number or as a colour."""
    with suppress(ValueError):
        return int(text[1:], 16) if text.startswith("#") else int(text)
    raise SettingsError(
        f"missing_labels of label maps are whole numbers, or colours as '#e0e0c0', got {text!r}"
    )


def _is_seen(image: Any) -> NDArray[np.bool_]:
    """Which pixels of a picture are opaque, (H, W); all if none is."""
    if "A" not in image.getbands() and "transparency" not in image.info:
        return np.ones(image.size[::-1], dtype=np.bool_)
    opaque = np.asarray(image.convert("RGBA"))[:, :, 3] >= OPAQUE
    return opaque | (not opaque.any())


def _doubt_about_void(name: str, values: NDArray[Any], way_out: str) -> str:
    """A sentence if 255 is beside small labels: many data sets mark unjudged pixels by it."""
    others = values[values != VOID]
    if not (2 <= others.size < values.size and others.max() < MOST_LABELS):
        return ""
    return (
        name + f": {VOID} is a label beside {others.min()} to {others.max()}: if it marks pixels "
        "that are not to be judged, " + way_out
    )


def levelled(y: Any, name: str) -> Any:
    """A label map without soft edges, (H, W), as :func:`label_map_of` has; other labels as is."""
    values: Any = np.asarray(y) if isinstance(y, list | tuple) and np.ndim(y[0]) == 1 else y
    is_map = isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind in "iuf"
    if not is_map or not np.isfinite(values).all():
        return y
    # Label maps from files are int64; the doubt about them is told where they are read.
    doubt = _doubt_about_void(name, np.unique(values), "give -1 there")
    if doubt and values.dtype == np.uint8:
        warn(doubt)
    return _with_hard_edges(name, values)


def _with_hard_edges(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """A label map (H, W) with the values of soft edges replaced by the nearest frequent value."""
    kinds, codes, sizes = np.unique(values, return_inverse=True, return_counts=True)
    rare = (sizes < RARE * values.size) & (kinds >= 0)  # -1 marks a missing label
    if rare.sum() < 2 or 2 * rare.sum() < kinds.size or not 2 <= (~rare).sum() <= MOST_LABELS:
        return values
    codes = codes.reshape(values.shape)
    doubtful = rare[codes]
    is_soft = (ndimage.minimum_filter(codes, 3) < codes) & (
        codes < ndimage.maximum_filter(codes, 3)
    )
    if is_soft[doubtful].mean() < SOFT_PART or doubtful.mean() > MOST_DOUBTFUL:
        return values
    nearest = ndimage.distance_transform_edt(doubtful, return_distances=False, return_indices=True)
    warn(
        name + f": {int(rare.sum())} of its {kinds.size} values, in {doubtful.mean():.1%} of the "
        f"pixels, are those of soft edges or of losses: each is taken for the nearest of "
        f"{int((~rare).sum())} levels"
    )
    return np.asarray(values[tuple(nearest)])


def _array(path: Path, max_pixels: int | None) -> NDArray[Any]:
    """Integers of an .npy file, (H, W)."""
    try:
        values: NDArray[Any] = open_memmap(path, mode="r")
        if values.ndim == 2:
            limits.check_pixels(values.shape[0], values.shape[1], max_pixels)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as an array: {error}") from error
    if values.ndim != 2 or values.dtype.kind not in "iub":
        raise DataError(f"{path}: expected integers of shape (H, W), got {values.shape}")
    return values


def _opened(picture: Any, name: str, max_pixels: int | None) -> Any:
    """An image of Pillow, rotated upright by its EXIF orientation."""
    pillow: Any = require("PIL.Image", "images", "reading images")
    upright: Any = require("PIL.ImageOps", "images", "reading images").exif_transpose
    try:
        # The size is checked below; an image that the user has opened stays open.
        with without_warnings(pillow.DecompressionBombWarning):
            is_file = isinstance(picture, str | PathLike)
            source = pillow.open(picture) if is_file else nullcontext(picture)
        with source as opened:
            width, height = opened.size
            limits.check_pixels(height, width, max_pixels)
            pages = getattr(opened, "n_frames", 1)
            if pages > 1 and opened.format == "TIFF":
                warn(f"{name}: of its {pages} pages the first is read")
            return upright(opened)  # a copy
    except (
        *(OSError, SyntaxError, ValueError),
        pillow.DecompressionBombError,  # PIL.Image.MAX_IMAGE_PIXELS
    ) as error:
        raise DataError(f"{name}: cannot be read as an image: {error}") from error


def _values(image: Any, name: str) -> NDArray[Any]:
    """Grey values as they are stored, integers (H, W), or RGB (H, W, 3) in 8 bits."""
    if image.mode == "F":
        raise DataError(f"{name}: greys are floats: save it with 8 or 16 bits")
    if image.mode.startswith("I"):
        return np.asarray(image).astype(np.int64)
    return np.asarray(image.convert("L" if image.mode in GREYS else "RGB"))


def _check_kind(picture: Any, kinds: tuple[str, ...]) -> str:
    """The name of a picture in messages; a DataError for a path without a file of these kinds."""
    if not isinstance(picture, str | PathLike):
        return "the image"
    if not os.path.isfile(picture) or not str(picture).lower().endswith(kinds):
        raise DataError(
            f"{picture}: no such file, or of no kind that is read: give {', '.join(kinds)}; "
            "structsvm.io.read_images reads the images of a folder"
        )
    return str(picture)
