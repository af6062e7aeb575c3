"""Images as graphs: pixels joined within a radius, or superpixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, DataWarning, SettingsError, warn
from structsvm.graphs.graph import FeatureGraph, unique_edges
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import refuse_below, refuse_unlisted
from structsvm.support.extras import require
from structsvm.support.plain import counted

POSITION = (0.28, 0.25)
"""Scale of x and y over the longer side: about their spread over the pixels of an image."""
LAB = (25.0, 12.0, 12.0)
"""Scale of L, a and b: about their spread over the pixels of a photograph."""
MOST_PIXELS = 1_000_000
"""Of what superpixels are computed on. Larger images are reduced for that, by a whole factor."""
FEWER, PIXELS_OF_ONE = 5, 16
"""A warning names an image with so many times fewer superpixels than were asked for, if it has so
many pixels for each."""
GRADIENT, TEXTURE, CENTRED, BORDER = 0.8, 0.7, 0.14, 0.12


@dataclass(frozen=True)
class GraphOfImage:
    """Settings for the conversion of images to graphs.

    Parameters
    ----------
    nodes : {"superpixels", "pixels"}
        Superpixels are those of SLIC (scikit-image); a pixel is joined to those within ``radius``.
    n_superpixels : int
        About so many superpixels.
    compactness : float
        Of SLIC: larger values make rounder superpixels.
    edges : {"all", "adjacent"}
        Which superpixels are joined: all pairs, or those that touch.
    radius : float
        In pixels.
    features : {"colour+position", "all"}
        L, a, b and x, y; "all" adds the gradient, the local contrast, the distances from both axes
        of the image and from its border. Fixed units: nothing is scaled by the image.

    Examples
    --------
    >>> from structsvm.graphs import GraphOfImage
    >>> from structsvm.problems import NormalizedCut
    >>> NormalizedCut(image=GraphOfImage(n_superpixels=50, edges="adjacent")).image.n_superpixels
    50
    """

    nodes: str = "superpixels"
    n_superpixels: int = 150
    compactness: float = 10.0
    edges: str = "all"
    radius: float = 5.0
    features: str = "all"

    def __post_init__(self) -> None:
        """Check the settings."""
        choices = {
            "nodes": ("superpixels", "pixels"),
            "edges": ("all", "adjacent"),
            "features": ("colour+position", "all"),
        }
        for name, allowed in choices.items():
            refuse_unlisted(name, getattr(self, name), allowed)
        refuse_below(2, "n_superpixels", self.n_superpixels)
        if not self.radius >= 1:
            raise SettingsError(f"radius must be at least 1 pixel, got {self.radius}")
        if not self.compactness > 0:
            raise SettingsError(f"compactness must be > 0, got {self.compactness}")


def from_image(image: Any, settings: GraphOfImage | None = None) -> FeatureGraph:
    """Convert an image to a graph, whose nodes are superpixels or pixels.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 1), (H, W, 3), (H, W, 4) or (H, W, C)
        Grey, RGB (A is dropped) or C channels of any kind: uint8 or uint16 over the range of its
        type, or floats in [0, 1]. Colour is turned into L, a, b. An image of more than a million
        pixels is reduced by the smallest whole factor that makes it smaller than that.
    settings : GraphOfImage, optional

    Returns
    -------
    FeatureGraph
        ``regions`` (H, W) is the node of each pixel.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.graphs import GraphOfImage, from_image
    >>> image = np.zeros((4, 6, 3))
    >>> image[:, 3:] = 1.0
    >>> graph = from_image(image, GraphOfImage(nodes="pixels", radius=1.5))
    >>> graph.n_samples, graph.regions.shape
    (24, (4, 6))
    """
    settings = settings or GraphOfImage()
    image = np.asanyarray(image)
    factor = 1 if settings.nodes == "pixels" else _factor(image)
    pixels = in_unit_range(image, factor)
    H, W = pixels.shape[:2]
    channels, names = _channels(pixels)
    planes = _planes(channels, names, settings.features)
    values = np.stack([plane for _, plane, _ in planes], axis=-1)
    spatial = np.array([is_spatial for _, _, is_spatial in planes])
    features = tuple(name for name, _, _ in planes)
    edges: Ints | None
    if settings.nodes == "pixels":
        regions, edges = np.arange(H * W).reshape(H, W), pixel_edges(H, W, settings.radius)
        X, sizes = values.reshape(H * W, -1), np.ones(H * W)
        return FeatureGraph(X, edges, sizes, features, spatial, regions, in_units=True)
    segmentation = require("skimage.segmentation", "images", "superpixels")
    found = segmentation.slic(
        pixels[:, :, :3] if pixels.shape[2] in (3, 4) else pixels,
        n_segments=settings.n_superpixels,
        compactness=settings.compactness,
        start_label=0,
        channel_axis=2,
    )
    regions = np.unique(found, return_inverse=True)[1].reshape(found.shape).astype(np.int64)
    T, asked = int(regions.max()) + 1, settings.n_superpixels
    if FEWER * T < asked <= regions.size / PIXELS_OF_ONE:
        warn(
            f"an image has {counted(T, 'superpixel')} where {asked} were asked for, as noisy ones "
            f"do: raise compactness, which is {settings.compactness:g}, or smooth the image",
            DataWarning,
        )
    sizes = np.bincount(regions.ravel(), minlength=T).astype(np.float64)
    planes_of = np.moveaxis(values, -1, 0)
    means = [np.bincount(regions.ravel(), plane.ravel(), T) / sizes for plane in planes_of]
    X = np.stack(means, axis=1)
    for name, offset, scale in (("gradient", 0.3, GRADIENT), ("texture", 0.5, TEXTURE)):
        if name in features:  # on a logarithmic scale, after averaging
            j = features.index(name)
            X[:, j] = np.log(X[:, j] + offset) / scale
    edges = _touching(regions) if settings.edges == "adjacent" else None
    if factor > 1:
        H, W = image.shape[:2]
        regions = regions.repeat(factor, axis=0)[:H].repeat(factor, axis=1)[:, :W]
        sizes = np.bincount(regions.ravel(), minlength=T).astype(np.float64)
    return FeatureGraph(X, edges, sizes, features, spatial, regions, in_units=True)


def pixel_edges(height: int, width: int, radius: float) -> Ints:
    """Pairs of pixels at most ``radius`` apart, ``i < j``, by index arithmetic, (2, E)."""
    index = np.arange(height * width).reshape(height, width)
    reach = int(radius)
    pairs = []
    for dy in range(reach + 1):
        for dx in range(-reach if dy else 1, reach + 1):
            if dx * dx + dy * dy > radius * radius or dy >= height or abs(dx) >= width:
                continue
            first = index[: height - dy, max(0, -dx) : width - max(0, dx)]
            second = index[dy:, max(0, dx) : width - max(0, -dx)]
            pairs.append(np.vstack([first.ravel(), second.ravel()]))
    return np.hstack(pairs) if pairs else np.empty((2, 0), dtype=np.int64)


def _factor(image: NDArray[Any]) -> int:
    """By how much an image is reduced to have no more than MOST_PIXELS pixels: 1, 2, ..."""
    factor, (H, W) = 1, image.shape[:2] if image.ndim in (2, 3) else (0, 0)
    while -(-H // factor) * -(-W // factor) > MOST_PIXELS:
        factor += 1
    return factor


def _reduced(image: NDArray[Any], factor: int) -> Floats:
    """Means over blocks of ``factor`` x ``factor`` pixels, the last ones perhaps narrower."""
    H, W = image.shape[:2]
    rows, columns = np.arange(0, H, factor), np.arange(0, W, factor)
    down = np.add.reduceat(image, rows, axis=0, dtype=np.float64)
    total = np.add.reduceat(down, columns, axis=1)
    height, width = np.diff(rows, append=H), np.diff(columns, append=W)
    return np.asarray(total / (height[:, None] * width)[:, :, None])


def in_unit_range(image: NDArray[Any], factor: int = 1) -> Floats:
    """An image as (H, W, C) in [0, 1], reduced by a factor."""
    if np.ma.is_masked(image):
        raise DataError("the image has masked pixels: fill them first (image.filled(...))")
    if image.ndim == 2:
        image = image[:, :, None]
    if image.ndim != 3 or image.size == 0:
        raise DataError(f"an image must have shape (H, W) or (H, W, C), got {image.shape}")
    pixels = image if factor == 1 else _reduced(image, factor)
    if image.dtype in (np.uint8, np.uint16):
        return np.asarray(pixels / float(np.iinfo(image.dtype).max))
    if image.dtype.kind not in "fb":
        raise DataError(
            f"an image of {image.dtype} values, of which nobody knows what is white: give uint8 "
            "(255), uint16 (65535) or floats (1)"
        )
    if not (image.min() >= 0 and image.max() <= 1):
        raise DataError(
            f"a float image must lie in [0, 1], this one spans [{float(image.min()):.3g}, "
            f"{float(image.max()):.3g}]: rescale it, and fill NaN"
        )
    return pixels.astype(np.float64)


def _channels(pixels: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Appearance in fixed units, (H, W, C), the lightness or its like first."""
    C = pixels.shape[2]
    if C == 1:
        return pixels * 100.0 / LAB[0], ("L",)
    if C in (3, 4):
        colour = require("skimage.color", "images", "colour")
        return colour.rgb2lab(pixels[:, :, :3]) / np.array(LAB), ("L", "a", "b")
    return pixels * 4.0, tuple(f"channel{c}" for c in range(C))  # 1 is a quarter of the range


def _planes(
    channels: Floats, names: tuple[str, ...], features: str
) -> list[tuple[str, Floats, bool]]:
    """Name, values (H, W) and whether it is a place, of every feature of the pixels."""
    H, W = channels.shape[:2]
    longer = max(H, W)
    y, x = np.mgrid[:H, :W] + 0.5
    planes = [(name, channels[..., c], False) for c, name in enumerate(names)]
    planes += [("x", x / longer / POSITION[0], True), ("y", y / longer / POSITION[1], True)]
    if features == "colour+position":
        return planes
    from scipy.ndimage import gaussian_filter, gaussian_gradient_magnitude

    light = channels[..., 0] * LAB[0]
    mean = gaussian_filter(light, 3)
    contrast = np.sqrt(np.maximum(gaussian_filter(light**2, 3) - mean**2, 0.0))
    border = np.minimum.reduce([x, W - x, y, H - y]) / longer
    return [
        *planes,
        ("gradient", gaussian_gradient_magnitude(light, 1.0), False),
        ("texture", contrast, False),
        ("off-centre x", np.abs(x / W - 0.5) / CENTRED, True),
        ("off-centre y", np.abs(y / H - 0.5) / CENTRED, True),
        ("border", border / BORDER, True),
    ]


def _touching(regions: Ints) -> Ints:
    """Pairs of superpixels with a common border, (2, E)."""
    right = np.vstack([regions[:, :-1].ravel(), regions[:, 1:].ravel()])
    down = np.vstack([regions[:-1].ravel(), regions[1:].ravel()])
    pairs = np.hstack([right, down])
    return unique_edges(pairs[:, pairs[0] != pairs[1]])
