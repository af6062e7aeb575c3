"""Draw an image with its parts."""

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import label_values
from structsvm.errors import DataError
from structsvm.graphs.images import in_unit_range
from structsvm.graphs.label_maps import is_picture, label_map_of, pixels_of
from structsvm.plotting.style import OKABE_ITO, new_axes
from structsvm.support import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


TINT = 0.35  # opacity of the colour of a part
STRIP = 256  # rows that are coloured at a time
MOST_PIXELS_DRAWN = 4_000_000  # pixels of a drawn image, at most


def overlay(image: Any, labels: Any, *, tint: float = TINT) -> NDArray[np.uint8]:
    """Return the image with tinted parts, and borders between them in white beside black.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), image of Pillow, or path of an image
        uint8 or uint16 over the range of its type, or floats in [0, 1].
    labels : array of int or bool of shape (H, W), image of Pillow, or path of one
        Part of each pixel, 0, 1, ...; -1 for an unknown part, which is not tinted. Values larger
        than the number of colours, as in masks of 0 and 255, are numbered.
    tint : float in [0, 1]
        0 draws the borders alone.

    Returns
    -------
    array of uint8 of shape (H, W, 3)

    Raises
    ------
    DataError
        If the image is no image, or the labels are not one integer for each pixel.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.plotting import overlay
    >>> overlay(np.zeros((4, 6)), np.repeat([[0, 0, 0, 1, 1, 1]], 4, axis=0)).shape
    (4, 6, 3)
    """
    from scipy.ndimage import binary_dilation

    pixels = _pixels(image)
    parts = _parts(labels, pixels)
    colours = np.array([list(bytes.fromhex(colour[1:])) for colour in OKABE_ITO])
    inner = np.zeros(parts.shape, dtype=np.bool_)  # pixels whose right or lower neighbour differs
    inner[:, :-1] |= parts[:, :-1] != parts[:, 1:]
    inner[:-1] |= parts[:-1] != parts[1:]
    outer = binary_dilation(inner)
    drawn = np.empty((*parts.shape, 3), dtype=np.uint8)
    for top in range(0, len(parts), STRIP):  # strips, because floats take eight times the memory
        rows = slice(top, top + STRIP)
        bare = _as_rgb(pixels[rows])
        strip = parts[rows]
        mixed = (1 - tint) * bare + tint * colours[strip % len(colours)]
        drawn[rows] = np.round(np.where(strip[..., None] < 0, bare, mixed))
    drawn[outer] = 0
    drawn[inner] = 255
    return drawn


def plot_cut(image: Any, labels: Any = None, *, ax: "Axes | None" = None) -> "Axes":
    """Draw an image with its parts.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), image of Pillow, or path of an image
    labels : array of int of shape (H, W), image of Pillow, or path of one, optional
        As :meth:`structsvm.MetricLearner.predict` returns them, or as for :func:`overlay`; without
        labels, the bare image is drawn.

    Raises
    ------
    DataError
        If the image is no image, or the labels are not one integer for each pixel.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.plotting import plot_cut
    >>> axes = plot_cut(np.zeros((4, 6)), np.repeat([[0, 0, 0, 1, 1, 1]], 4, axis=0))
    >>> axes.has_data()
    True
    """
    pixels = _pixels(image)
    parts = None if labels is None else _parts(labels, pixels)
    H, W = pixels.shape[:2]
    step = int(np.ceil(np.sqrt(H * W / MOST_PIXELS_DRAWN))) or 1
    fewer = pixels[::step, ::step]
    shown = _as_rgb(fewer) if parts is None else overlay(fewer, parts[::step, ::step])
    ax = new_axes(ax, width=6.0, height=6.0 * H / W)
    whole = (-0.5, W - 0.5, H - 0.5, -0.5)
    ax.imshow(np.round(shown).astype(np.uint8), interpolation="nearest", extent=whole)
    ax.set_axis_off()
    return ax


def as_file(pixels: NDArray[Any], kind: str, **settings: Any) -> bytes:
    """Pixels as the content of an image file, of a kind that Pillow writes."""
    buffer = io.BytesIO()
    pillow = require("PIL.Image", "images", "writing images")
    pillow.fromarray(pixels).save(buffer, format=kind, **settings)
    return buffer.getvalue()


def _pixels(image: Any) -> NDArray[Any]:
    """An image as an array, (H, W) or (H, W, C)."""
    pixels = pixels_of(image) if is_picture(image) else np.asanyarray(image)
    if pixels.ndim not in (2, 3) or not pixels.size:
        raise DataError(f"an image must have shape (H, W) or (H, W, C), got {pixels.shape}")
    return pixels


def _parts(labels: Any, pixels: NDArray[Any]) -> NDArray[np.int64]:
    """The part of each pixel, (H, W); values beyond the number of colours are numbered."""
    parts = label_map_of(labels) if is_picture(labels) else label_values(labels)
    if parts.dtype.kind not in "iub":
        raise DataError(f"labels of {parts.dtype} values: give integers 0, 1, ... for the parts")
    if parts.shape != pixels.shape[:2]:
        raise DataError(f"labels of shape {parts.shape} for an image of {pixels.shape[:2]} pixels")
    parts = parts.astype(np.int64)
    if parts.max(initial=0) < len(OKABE_ITO):
        return parts
    return np.where(parts < 0, -1, np.searchsorted(np.unique(parts[parts >= 0]), parts))


def _as_rgb(image: NDArray[Any]) -> NDArray[np.float64]:
    """An image as floats (H, W, 3) in [0, 255]."""
    channels = in_unit_range(image)
    if channels.shape[2] < 3:
        channels = np.repeat(channels[:, :, :1], 3, axis=2)
    return np.asarray(255.0 * channels[:, :, :3], dtype=np.float64)
