"""Images as graphs of their pixels or superpixels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from structsvm.errors import DataError, warn
from structsvm.graphs.graph import FeatureGraph, unique_edges
from structsvm.support import (
    Floats,
    Ints,
    counted,
    refuse_below,
    refuse_unless,
    refuse_unlisted,
    require,
)

POSITION_SCALE = (0.28, 0.25)
"""Standard deviations of x and y over an image, about, in units of its longer side."""
LAB = (25.0, 12.0, 12.0)  # standard deviations of L, a and b over a photograph, about
MOST_PIXELS = 1_000_000
"""The most pixels for SLIC: larger images are reduced by a whole factor."""
FEWER = 5  # the compactness is raised if superpixels are so many times fewer than asked for,
PIXELS_OF_ONE = 16  # and the image has at least so many pixels for each that was asked for
COMPACTNESS_STEP = 3.0  # factor by which it is raised
MAX_COMPACTNESS = 1e4  # where superpixels are a grid
SMOOTHED_BY = (1.0, 2.0, 4.0, 8.0)
"""Standard deviations in pixels of the Gaussian filters for the classifier of pixels."""
GRADIENT_SCALE, TEXTURE_SCALE, CENTRE_SCALE, BORDER_SCALE = 0.8, 0.7, 0.14, 0.12


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
        Of SLIC: larger values make rounder superpixels. For a noisy image with far too few
        superpixels it is raised, with a warning.
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
        refuse_unlisted("nodes", self.nodes, ("superpixels", "pixels"))
        refuse_unlisted("edges", self.edges, ("all", "adjacent"))
        refuse_unlisted("features", self.features, ("colour+position", "all"))
        refuse_below(2, "n_superpixels", self.n_superpixels)
        fits = self.radius >= 1 and self.compactness > 0
        sizes = (self.radius, self.compactness)
        refuse_unless(fits, "radius and compactness", "at least 1 pixel, and > 0", sizes)


def from_image(image: Any, settings: GraphOfImage | None = None) -> FeatureGraph:
    """Convert an image to a graph, whose nodes are superpixels or pixels."""
    settings = settings or GraphOfImage()
    image = np.asanyarray(image)
    factor = 1 if settings.nodes == "pixels" else _factor(image)
    pixels = in_unit_range(image, factor)
    H, W = pixels.shape[:2]
    planes = _planes(pixels, settings.features)
    values = np.stack([plane for _, plane, _ in planes], axis=-1)
    spatial = np.array([is_spatial for _, _, is_spatial in planes])
    features = tuple(name for name, _, _ in planes)
    edges: Ints | None
    if settings.nodes == "pixels":
        regions = np.arange(H * W).reshape(H, W)
        edges = pixel_edges(H, W, settings.radius)
        X = values.reshape(H * W, -1)
        sizes = np.ones(H * W)
        return FeatureGraph(X, edges, sizes, features, spatial, regions, in_units=True, image=image)
    regions = _superpixels(pixels, settings)
    T = int(regions.max()) + 1
    sizes = np.bincount(regions.ravel(), minlength=T).astype(np.float64)
    planes_of = np.moveaxis(values, -1, 0)
    means = [np.bincount(regions.ravel(), plane.ravel(), T) / sizes for plane in planes_of]
    X = np.stack(means, axis=1)
    for name, offset, scale in (("gradient", 0.3, GRADIENT_SCALE), ("texture", 0.5, TEXTURE_SCALE)):
        if name in features:  # on a logarithmic scale, after averaging
            j = features.index(name)
            X[:, j] = np.log(X[:, j] + offset) / scale
    edges = None
    if settings.edges == "adjacent":
        right = np.vstack([regions[:, :-1].ravel(), regions[:, 1:].ravel()])
        down = np.vstack([regions[:-1].ravel(), regions[1:].ravel()])
        pairs = np.hstack([right, down])
        edges = unique_edges(pairs[:, pairs[0] != pairs[1]])
    if factor > 1:
        regions = _enlarged(regions, factor, image)
        sizes = np.bincount(regions.ravel(), minlength=T).astype(np.float64)
    return FeatureGraph(X, edges, sizes, features, spatial, regions, in_units=True, image=image)


def _superpixels(pixels: Floats, settings: GraphOfImage) -> Ints:
    """The superpixel of each pixel, (H, W); noisy images get a larger compactness."""
    asked = settings.n_superpixels
    compactness = settings.compactness
    regions = _regions(pixels, asked, compactness)
    n_first = int(regions.max()) + 1
    n = n_first
    has_pixels = asked <= regions.size / PIXELS_OF_ONE
    while FEWER * n < asked and has_pixels and compactness < MAX_COMPACTNESS:
        compactness *= COMPACTNESS_STEP
        regions = _regions(pixels, asked, compactness)
        n = int(regions.max()) + 1
    if compactness > settings.compactness:
        warn(
            f"an image has {counted(n_first, 'superpixel')} where {asked} were asked for, as noisy "
            f"ones do: with a compactness of {compactness:g} in the place of "
            f"{settings.compactness:g} there are {n}, which are taken"
        )
    return regions


def _regions(pixels: Floats, n_regions: int, compactness: float) -> Ints:
    """The number of the SLIC region of each pixel, (H, W)."""
    segmentation = require("skimage.segmentation", "images", "superpixels")
    superpixels = segmentation.slic(
        pixels[:, :, :3] if pixels.shape[2] in (3, 4) else pixels,
        n_segments=n_regions,
        compactness=compactness,
        start_label=0,
        channel_axis=2,
    )
    numbers = np.unique(superpixels, return_inverse=True)[1]
    regions: Ints = numbers.reshape(superpixels.shape).astype(np.int64)
    return regions


def named_pixels(image: NDArray[Any]) -> FeatureGraph:
    """The pixels of an image as a graph without edges, with features for a classifier of pixels.

    Nodes of an image of more than a million pixels are blocks of pixels. The features are those of
    "all" and, at four scales, lightness, edges, and the two curvatures, which show thin lines.
    """
    factor = _factor(image)
    planes = [plane for _, plane, _ in _planes(in_unit_range(image, factor), "all")]
    light = planes[0]
    for scale in SMOOTHED_BY:
        orders = ((2, 0), (1, 1), (0, 2))
        yy, xy, xx = (ndimage.gaussian_filter(light, scale, order) for order in orders)
        mean = (xx + yy) / 2
        spread = np.hypot((xx - yy) / 2, xy)
        edges = ndimage.gaussian_gradient_magnitude(light, scale)
        planes += [ndimage.gaussian_filter(light, scale), edges, mean - spread, mean + spread]
    values = np.stack(planes, axis=-1)
    X = values.reshape(-1, values.shape[-1])
    regions = _enlarged(np.arange(len(X)).reshape(values.shape[:2]), factor, image)
    return FeatureGraph(X, np.empty((2, 0), np.int64), regions=regions)


def _enlarged(regions: Ints, factor: int, image: NDArray[Any]) -> Ints:
    """The regions of a reduced image, repeated for all pixels of the original one, (H, W)."""
    H, W = image.shape[:2]
    return regions.repeat(factor, axis=0)[:H].repeat(factor, axis=1)[:, :W]


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
    """The factor that reduces an image to no more than MOST_PIXELS pixels: 1, 2, ..."""
    factor = 1
    (H, W) = image.shape[:2] if image.ndim in (2, 3) else (0, 0)
    while -(-H // factor) * -(-W // factor) > MOST_PIXELS:
        factor += 1
    return factor


def _reduced(image: NDArray[Any], factor: int) -> Floats:
    """Means over blocks of ``factor`` x ``factor`` pixels; the last blocks may be smaller."""
    H, W = image.shape[:2]
    rows = np.arange(0, H, factor)
    columns = np.arange(0, W, factor)
    down = np.add.reduceat(image, rows, axis=0, dtype=np.float64)
    total = np.add.reduceat(down, columns, axis=1)
    height = np.diff(rows, append=H)
    width = np.diff(columns, append=W)
    return np.asarray(total / (height[:, None] * width)[:, :, None])


def in_unit_range(image: NDArray[Any], factor: int = 1) -> Floats:
    """An image as (H, W, C) in [0, 1], reduced by a factor."""
    is_integer = image.dtype in (np.uint8, np.uint16)
    is_shaped = image.ndim in (2, 3) and image.size > 0
    is_known = is_integer or image.dtype.kind in "fb"
    low, high = (image.min(), image.max()) if is_shaped and not is_integer and is_known else (0, 1)
    if np.ma.is_masked(image):
        raise DataError("the image has masked pixels: fill them first (image.filled(...))")
    if not is_shaped:
        raise DataError(f"an image must have shape (H, W) or (H, W, C), got {image.shape}")
    if not is_known:
        raise DataError(
            f"an image of {image.dtype} values: give uint8 (white is 255), uint16 (65535) or "
            "floats (1)"
        )
    if not (low >= 0 and high <= 1):
        raise DataError(
            f"a float image must lie in [0, 1], this one spans [{float(low):.3g}, "
            f"{float(high):.3g}]: rescale it, and fill NaN"
        )
    image = image[:, :, None] if image.ndim == 2 else image
    pixels = image if factor == 1 else _reduced(image, factor)
    white = float(np.iinfo(image.dtype).max) if is_integer else 1.0
    return np.asarray(pixels, dtype=np.float64) / white


def _planes(pixels: Floats, features: str) -> list[tuple[str, Floats, bool]]:
    """Name, values (H, W) in fixed units, and whether it is spatial, for each feature of pixels."""
    H, W, C = pixels.shape
    longer = max(H, W)
    y, x = np.mgrid[:H, :W] + 0.5
    names = [f"channel{c}" for c in range(C)]
    channels = pixels * 4.0  # in units of a quarter of their range
    if C == 1:
        names = ["L"]
        channels = pixels * 100.0 / LAB[0]
    elif C in (3, 4):
        colour = require("skimage.color", "images", "colour")
        names = ["L", "a", "b"]
        channels = colour.rgb2lab(pixels[:, :, :3]) / np.array(LAB)
    planes = [(name, channels[..., c], False) for c, name in enumerate(names)]
    planes += [
        ("x", x / longer / POSITION_SCALE[0], True),
        ("y", y / longer / POSITION_SCALE[1], True),
    ]
    if features == "colour+position":
        return planes
    light = channels[..., 0] * LAB[0]
    mean = ndimage.gaussian_filter(light, 3)
    contrast = np.sqrt(np.maximum(ndimage.gaussian_filter(light**2, 3) - mean**2, 0.0))
    border = np.minimum.reduce([x, W - x, y, H - y]) / longer
    return [
        *planes,
        ("gradient", ndimage.gaussian_gradient_magnitude(light, 1.0), False),
        ("texture", contrast, False),
        ("off-centre x", np.abs(x / W - 0.5) / CENTRE_SCALE, True),
        ("off-centre y", np.abs(y / H - 0.5) / CENTRE_SCALE, True),
        ("border", border / BORDER_SCALE, True),
    ]
