"""What a picture is like: the energies of Gabor filters (GIST) and the distribution of colours."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.fft import fft2, ifft2

from structsvm.support.arrays import Floats
from structsvm.support.extras import require

Pixels = NDArray[np.uint8]

SIZE = 64
"""Pixels on each side of what is described, whatever the size of the pictures of the file."""
SCALES = {"coarse": 0.08, "medium": 0.16, "fine": 0.32}
"""Frequencies of the filters, in cycles per pixel."""
ANGLES = (0, 45, 90, 135)
CELLS = ("top_left", "top_right", "bottom_left", "bottom_right")
HUES, LEVELS = 8, 4
"""Bins of hue, and of saturation and of value."""
PICTURE = (
    *(f"gabor_{s}_{angle}_{cell}" for s in SCALES for angle in ANGLES for cell in CELLS),
    *(f"hue_{i}" for i in range(HUES)),
    *(f"saturation_{i}" for i in range(LEVELS)),
    *(f"value_{i}" for i in range(LEVELS)),
)
"""The features of a picture, in their order."""
FLAT = 1e-3
"""The energy of a filter that counts as none; grey levels are from 0 to 1."""
LUMA = np.array([0.2126, 0.7152, 0.0722], dtype=np.float32)


def describe_picture(pixels: Pixels) -> Floats:
    """The features :data:`PICTURE` of red, green and blue, (SIZE, SIZE, 3)."""
    grey = pixels @ (LUMA / 255)
    filtered = np.abs(ifft2(fft2(grey - grey.mean()) * _filters()))
    half = SIZE // 2
    energies = filtered.reshape(-1, 2, half, 2, half).mean(axis=(2, 4)).ravel()
    color = require("skimage.color", "media", "describing pictures")
    hue, saturation, value = color.rgb2hsv(pixels).reshape(-1, 3).T
    return np.concatenate(
        [
            np.log(np.maximum(energies, FLAT)),
            _shares(hue, HUES, saturation),
            _shares(saturation, LEVELS),
            _shares(value, LEVELS),
        ]
    )


def _shares(values: Floats, bins: int, weights: Floats | None = None) -> Floats:
    """The part of the pixels in each of equal bins of [0, 1], all zero if no pixel counts."""
    counts = np.histogram(values, bins, (0.0, 1.0), weights=weights)[0].astype(np.float64)
    return counts / values.size


@cache
def _filters() -> NDArray[np.complex64]:
    """Transforms of the filters, which have no answer to a flat picture: (12, SIZE, SIZE)."""
    filters = require("skimage.filters", "media", "describing pictures")
    found = []
    for frequency in SCALES.values():
        for angle in ANGLES:
            kernel = filters.gabor_kernel(frequency, theta=np.deg2rad(angle), n_stds=2)
            kernel = kernel - kernel.mean()
            padded = np.zeros((SIZE, SIZE), dtype=np.complex64)
            height, width = kernel.shape
            padded[:height, :width] = kernel
            found.append(fft2(np.roll(padded, (-(height // 2), -(width // 2)), axis=(0, 1))))
    return np.array(found, dtype=np.complex64)
