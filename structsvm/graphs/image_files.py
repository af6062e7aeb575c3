"""Images in files, or as Pillow holds them, as arrays of pixels and as label maps."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, DataWarning, SettingsError, warn
from structsvm.storage import limits
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
LOSSY, NEAR = (".jpg", ".jpeg"), 8
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
    told = f"{_called(picture)}: greys from {low} to {high} of {MOST_GREY} are {levels} of the 256 "
    way_out = "levels that are told apart: save it with 8 bits, or spread them over all 16"
    if levels == 1 < high - low + 1:
        raise DataError(told + way_out)
    if 1 < levels <= FEW_LEVELS:
        warn(told + way_out, DataWarning)
    return (values >> 8).astype(np.uint8)


def label_map_of(picture: Any, max_pixels: int | None = None) -> NDArray[np.int64]:
    """The values of a label map, (H, W): one colour is one label, in every image."""
    _refuse_other_files(picture, MASK_KINDS)
    is_array = _suffix(picture) == ".npy"
    values = _array(Path(picture), max_pixels) if is_array else _colours(picture, max_pixels)
    kinds = np.unique(values)
    near = kinds.size > 2 and np.diff(kinds).min() < NEAR
    if not is_array and (kinds.size > MOST_LABELS or (near and _suffix(picture) in LOSSY)):
        raise DataError(
            f"{_called(picture)} has {kinds.size} different values: it looks drawn with soft "
            "edges, or compressed with losses; save one value per region, as .png or .npy"
        )
    return values.astype(np.int64)


def _array(path: Path, max_pixels: int | None) -> NDArray[Any]:
    """Integers of an .npy file, (H, W)."""
    try:
        with path.open("rb") as file:
            shape = limits.npy_shape(file)
            if len(shape) == 2:
                limits.check_pixels(shape[0], shape[1], max_pixels)
            values: NDArray[Any] = np.load(file, allow_pickle=False)
    except limits.TooLarge as error:
        raise DataError(f"{path}: {error}") from error
    except SettingsError:
        raise
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as an array: {error}") from error
    if values.ndim != 2 or values.dtype.kind not in "iub":
        raise DataError(f"{path}: expected integers of shape (H, W), got {values.shape}")
    return values


def _colours(picture: Any, max_pixels: int | None) -> NDArray[Any]:
    """One integer for the grey or the colour of each pixel, (H, W)."""
    values = _values(picture, max_pixels)
    if values.ndim == 2:
        return values
    red, green, blue = (values[..., channel].astype(np.int32) for channel in range(3))
    return red << 16 | green << 8 | blue


def _values(picture: Any, max_pixels: int | None) -> NDArray[Any]:
    """Grey values as they are stored, integers (H, W), or RGB (H, W, 3) in 8 bits."""
    pillow: Any = require("PIL.Image", "images", "reading images")
    upright: Any = require("PIL.ImageOps", "images", "reading images").exif_transpose
    name = _called(picture)
    try:
        with _opened(pillow, picture) as opened:
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
    except limits.TooLarge as error:
        raise DataError(f"{name}: {error}") from error
    except (DataError, SettingsError):
        raise
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{name}: cannot be read as an image: {error}") from error
    except pillow.DecompressionBombError as error:
        raise DataError(
            f"{name}: {error}; Pillow reads larger ones once PIL.Image.MAX_IMAGE_PIXELS is raised"
        ) from error


def _opened(pillow: Any, picture: Any) -> AbstractContextManager[Any]:
    """The image before it is decoded; of the size of a file we speak ourselves."""
    if not isinstance(picture, str | PathLike):
        return nullcontext(picture)  # that of somebody else is left open
    with without_warnings(pillow.DecompressionBombWarning):
        opened: AbstractContextManager[Any] = pillow.open(picture)
        return opened


def _refuse_other_files(picture: Any, kinds: tuple[str, ...]) -> None:
    """Raise DataError for a path at which there is no file of these kinds."""
    if not isinstance(picture, str | PathLike):
        return
    if os.path.isdir(picture):
        raise DataError(f"{picture} is a folder: structsvm.io.read_images reads its images")
    if not os.path.exists(picture):
        raise DataError(f"{picture}: no such file")
    if _suffix(picture) not in kinds:
        raise DataError(f"{picture}: not a kind of image that is read; give {', '.join(kinds)}")


def _suffix(picture: Any) -> str:
    return Path(picture).suffix.lower() if isinstance(picture, str | PathLike) else ""


def _called(picture: Any) -> str:
    return str(picture) if isinstance(picture, str | PathLike) else "the image"
