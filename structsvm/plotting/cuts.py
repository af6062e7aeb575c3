"""An image with its parts marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.plotting.style import OKABE_ITO, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TINT = 0.35
"""Share of the colour of a part in what is seen of it."""
STRIP = 256
"""Rows that are coloured at a time."""
MOST_PIXELS = 4_000_000
"""The largest number of pixels of a drawn image; a page has fewer."""


def overlay(image: Any, labels: Any, *, tint: float = TINT) -> NDArray[np.uint8]:
    """The image with its parts in colours and their borders in white on black.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C)
        uint8 or uint16 over the range of its type, or floats in [0, 1].
    labels : array of int of shape (H, W)
        Part of each pixel, 0, 1, ...
    tint : float in [0, 1]
        0 draws the borders alone.

    Returns
    -------
    array of uint8 of shape (H, W, 3)

    Raises
    ------
    DataError
        If the labels do not have one entry for each pixel.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.plotting import overlay
    >>> overlay(np.zeros((4, 6)), np.repeat([[0, 0, 0, 1, 1, 1]], 4, axis=0)).shape
    (4, 6, 3)
    """
    from scipy.ndimage import binary_dilation

    pixels = np.asarray(image)
    parts = np.asarray(labels)
    if parts.shape != pixels.shape[:2]:
        raise DataError(f"labels of shape {parts.shape} for an image of {pixels.shape[:2]} pixels")
    colours = np.array([_rgb(OKABE_ITO[k % len(OKABE_ITO)]) for k in range(int(parts.max()) + 1)])
    inner = _border(parts)
    outer = binary_dilation(inner)
    seen = np.empty((*parts.shape, 3), dtype=np.uint8)
    for top in range(0, len(parts), STRIP):  # a photograph as floats takes eight times its size
        rows = slice(top, top + STRIP)
        mixed = (1 - tint) * _as_rgb(pixels[rows]) + tint * colours[parts[rows]]
        seen[rows] = np.round(mixed)
    seen[outer] = 0
    seen[inner] = 255
    return seen


def plot_cut(image: Any, labels: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw an image with its parts marked.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C)
    labels : array of int of shape (H, W), optional
        As :meth:`structsvm.MetricLearner.predict` returns them; the bare image without.
    ax : matplotlib axes, optional
        New ones if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.plotting import plot_cut
    >>> axes = plot_cut(np.zeros((4, 6)), np.repeat([[0, 0, 0, 1, 1, 1]], 4, axis=0))
    >>> axes.has_data()
    True
    """
    pixels = np.asarray(image)
    H, W = pixels.shape[:2]
    step = int(np.ceil(np.sqrt(H * W / MOST_PIXELS))) or 1
    seen = pixels[::step, ::step]
    shown = _as_rgb(seen) if labels is None else overlay(seen, np.asarray(labels)[::step, ::step])
    ax = new_axes(ax, width=6.0, height=6.0 * H / W)
    whole = (-0.5, W - 0.5, H - 0.5, -0.5)
    ax.imshow(shown.astype(np.uint8), interpolation="nearest", extent=whole)
    ax.set_axis_off()
    return ax


def _as_rgb(image: NDArray[Any]) -> NDArray[np.float64]:
    """(H, W, 3) in [0, 255]."""
    if image.ndim == 2:
        image = image[:, :, None]
    top = 1.0 if image.dtype.kind in "fb" else float(np.iinfo(image.dtype).max)
    channels = image[:, :, :3] if image.shape[2] >= 3 else np.repeat(image[:, :, :1], 3, axis=2)
    return np.asarray(channels * (255.0 / top), dtype=np.float64)


def _rgb(colour: str) -> tuple[int, int, int]:
    value = int(colour.lstrip("#"), 16)
    return value >> 16, value >> 8 & 255, value & 255


def _border(parts: NDArray[Any]) -> NDArray[np.bool_]:
    """Pixels whose right or lower neighbour is of another part."""
    border = np.zeros(parts.shape, dtype=np.bool_)
    border[:, :-1] |= parts[:, :-1] != parts[:, 1:]
    border[:-1] |= parts[:-1] != parts[1:]
    return border
