"""Images in files, or as Pillow holds them, as arrays of pixels and as label maps."""

from __future__ import annotations

import os
from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from structsvm.errors import DataError, DataWarning, SettingsError, warn
from structsvm.storage import limits, npz
from structsvm.support.extras import require
from structsvm.support.quiet import without_warnings

KINDS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".webp")
MASK_KINDS = (*KINDS, ".npy")

MOST_GREY = 2**16 - 1
FEW_LEVELS = 16
"""Of the 256 of 8 bits: what a camera of 12 bits leaves of 16."""
MOST_LABELS = 64
"""A mask with more different values was drawn with soft edges, or compressed with losses."""
GREYS = ("1", "L", "LA", "La")
"""What Pillow calls greys; those with an A also say how opaque they are, which is left out."""
RARE, MOSTLY, MOST_DOUBTFUL = 0.02, 0.8, 0.25
"""Parts of the pixels: of a value of a soft edge, of such that look so, and of all of them."""
LOSSY, NEAR = (".jpg", ".jpeg", ".webp"), 8
"""Kinds that are compressed with losses, which show as greys that differ by less than this."""


def is_picture(x: Any) -> bool:
    return isinstance(x, str | PathLike) or hasattr(x, "getbands")


def pixels_of(picture: Any, max_pixels: int | None = None) -> NDArray[np.uint8]:
    """Grey (H, W) or RGB (H, W, 3), in 8 bits, of the path of an image or an image of Pillow."""
    _refuse_other_files(picture, KINDS)
    values = _values(picture, max_pixels)
    if values.dtype == np.uint8:
        return values
    low, high = int(values.min()), int(values.max())
    if low < 0 or high > MOST_GREY:
        raise DataError(
            f"{_called(picture)}: greys from {low} to {high}, 16 bits go from 0 to {MOST_GREY}: "
            "save it with 8 or 16 bits"
        )
    levels = (high >> 8) - (low >> 8) + 1
    message = (
        f"{_called(picture)}: greys from {low} to {high} of {MOST_GREY} are {levels} of the 256 "
        "levels that are told apart: save it with 8 bits, or spread them over all 16"
    )
    if levels == 1 and high > low:
        raise DataError(message)
    if 1 < levels <= FEW_LEVELS:
        warn(message, DataWarning)
    return (values >> 8).astype(np.uint8)


def label_map_of(picture: Any, max_pixels: int | None = None) -> NDArray[np.int64]:
    """The values of a label map, (H, W): one colour is one label, in every image."""
    _refuse_other_files(picture, MASK_KINDS)
    if _suffix(picture) == ".npy":
        return _array(Path(picture), max_pixels).astype(np.int64)
    pixels = _values(picture, max_pixels)
    values = pixels
    if pixels.ndim == 3:  # one integer for a colour
        values = pixels.astype(np.int32) @ (1 << 16, 1 << 8, 1)
    values = _with_hard_edges(_called(picture), pixels, values)
    kinds, shades = np.unique(values), np.unique(values & 255)
    near = shades.size > 2 and np.diff(shades).min() < NEAR
    if kinds.size > MOST_LABELS or (near and _suffix(picture) in LOSSY):
        raise DataError(
            f"{_called(picture)} has {kinds.size} different values: it looks drawn with soft "
            "edges, or compressed with losses; save one value per region, as .png or .npy"
        )
    return values.astype(np.int64)


def _with_hard_edges(name: str, pixels: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """A label map in which the values of soft edges, (H, W), are those of the levels beside them.

    These are at least two rare values, hardly ever side by side with themselves, whose pixels lie
    between a darker and a brighter one, or are nearly as dark as a level.
    """
    kinds, codes, sizes = np.unique(values, return_inverse=True, return_counts=True)
    rare = sizes < RARE * values.size
    if rare.sum() < 2 or 2 * rare.sum() < kinds.size or not 2 <= (~rare).sum() <= MOST_LABELS:
        return values
    codes = codes.reshape(values.shape)
    doubtful = rare[codes]
    alone = ndimage.minimum_filter(codes, 3) != ndimage.maximum_filter(codes, 3)
    grey = pixels.astype(np.float64).reshape(*values.shape, -1)
    light = grey @ (1.0, 2.0, 4.0)[: grey.shape[2]]  # two colours may have one sum
    between = (ndimage.minimum_filter(light, 3) < light) & (
        light < ndimage.maximum_filter(light, 3)
    )
    levels = np.flatnonzero(~rare)
    first = [np.unravel_index(int((codes == k).argmax()), codes.shape) for k in levels]
    away = np.array([np.abs(grey - grey[place]).max(axis=2) for place in first])
    is_soft = alone & (between | (away.min(axis=0) < NEAR))
    if np.mean(is_soft[doubtful]) < MOSTLY or doubtful.mean() > MOST_DOUBTFUL:
        return values
    beside = [ndimage.maximum_filter(codes == k, 5) for k in levels]
    away = np.where(beside, away, away + 1e9)  # a level that is not beside it is the last choice
    found = values.copy()
    found[doubtful] = kinds[levels][away.argmin(axis=0)][doubtful]
    warn(
        f"{name}: {int(rare.sum())} of its {kinds.size} values, in {doubtful.mean():.1%} of the "
        f"pixels, are those of soft edges or of losses: each is taken for the nearest of "
        f"{levels.size} levels",
        DataWarning,
    )
    return found


def _array(path: Path, max_pixels: int | None) -> NDArray[Any]:
    """Integers of an .npy file, (H, W)."""
    try:
        with path.open("rb") as file:
            shape = npz.npy_shape(file)
            if len(shape) == 2:
                limits.check_pixels(shape[0], shape[1], max_pixels)
            values: NDArray[Any] = np.load(file, allow_pickle=False)
    except SettingsError:
        raise
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as an array: {error}") from error
    if values.ndim != 2 or values.dtype.kind not in "iub":
        raise DataError(f"{path}: expected integers of shape (H, W), got {values.shape}")
    return values


def _values(picture: Any, max_pixels: int | None) -> NDArray[Any]:
    """Grey values as they are stored, integers (H, W), or RGB (H, W, 3) in 8 bits."""
    pillow: Any = require("PIL.Image", "images", "reading images")
    upright: Any = require("PIL.ImageOps", "images", "reading images").exif_transpose
    name = _called(picture)
    try:
        # The size of a file is spoken of here; the image of somebody else is left open.
        with without_warnings(pillow.DecompressionBombWarning):
            is_file = isinstance(picture, str | PathLike)
            source = pillow.open(picture) if is_file else nullcontext(picture)
        with source as opened:
            width, height = opened.size
            limits.check_pixels(height, width, max_pixels)
            pages = getattr(opened, "n_frames", 1)
            if pages > 1 and opened.format == "TIFF":
                warn(
                    f"{name}: of its {pages} pages the first is read; save the others as files of "
                    "their own if they are images too",
                    DataWarning,
                )
            if opened.mode == "F":
                raise DataError(
                    f"{name}: greys are floating-point numbers, of which nobody knows what is "
                    "black or white: save it with 8 or 16 bits"
                )
            turned = upright(opened)
            if turned.mode.startswith("I"):
                return np.asarray(turned).astype(np.int64)
            return np.asarray(turned.convert("L" if turned.mode in GREYS else "RGB"))
    except (DataError, SettingsError):
        raise
    except (
        *(OSError, SyntaxError, ValueError),
        pillow.DecompressionBombError,  # PIL.Image.MAX_IMAGE_PIXELS
    ) as error:
        raise DataError(f"{name}: cannot be read as an image: {error}") from error


def _refuse_other_files(picture: Any, kinds: tuple[str, ...]) -> None:
    """Raise DataError for a path at which there is no file of these kinds."""
    if not isinstance(picture, str | PathLike):
        return
    if not os.path.isfile(picture) or _suffix(picture) not in kinds:
        raise DataError(
            f"{picture}: no such file, or of no kind that is read: give {', '.join(kinds)}; "
            "structsvm.io.read_images reads the images of a folder"
        )


def _suffix(picture: Any) -> str:
    return Path(picture).suffix.lower() if isinstance(picture, str | PathLike) else ""


def _called(picture: Any) -> str:
    return str(picture) if isinstance(picture, str | PathLike) else "the image"
