"""Graphs as users hold them, also as images, made into arrays; what comes in is never changed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from scipy import ndimage

from structsvm.data.checks import refuse_hidden
from structsvm.errors import DataError, SettingsError, refuse, warn, without_warnings
from structsvm.graphs.graph import FeatureGraph, unique_edges
from structsvm.messages import parameter
from structsvm.support import archive
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import counted, refuse_below, refuse_unless, refuse_unlisted
from structsvm.support.lazy import require

NODE_FEATURES = ("features", "feature", "x", "mean color")
"""Names under which the nodes of a networkx graph are looked at for their feature vector; the last
is that of the region adjacency graphs of scikit-image."""
SIZE = "pixel count"
NO_FEATURES = ("label", SIZE)
"""Attributes that are never features by themselves: labels, and the sizes of superpixels."""


def as_graph(x: Any, settings: GraphOfImage | None = None) -> FeatureGraph:
    """Convert a networkx graph, an adjacency matrix with features, or an image.

    Parameters
    ----------
    x : FeatureGraph, networkx.Graph, (adjacency, features), or image
        The features of the nodes of a networkx graph, undirected, are the vector under
        ``features``, ``feature``, ``x`` or ``mean color``, or else all attributes but ``label``,
        which are numbers, in the order of their names; weights of edges and self-loops are ignored.
        The region adjacency graphs of scikit-image are taken as they are, their pixel counts as
        sizes. An adjacency matrix, (T, T), sparse or dense and symmetric, only says where there is
        an edge; features are (T, P).
        Images are arrays of shape (H, W) or (H, W, C), images of Pillow, or the paths of files:
        grey, RGB (A is dropped) or C channels of any kind; uint8 or uint16 over the range of its
        type, or floats in [0, 1]. Colour is turned into L, a, b. Superpixels of one of more than a
        million pixels are computed after it is reduced by a whole factor.
    settings : GraphOfImage, optional
        How images become graphs.

    Returns
    -------
    FeatureGraph
        Of an image, ``regions`` (H, W) is the node of each pixel.

    Raises
    ------
    DataError
        Saying what was found and what would do.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.graphs import as_graph
    >>> graph = as_graph((np.ones((3, 3)), np.array([[0.0], [1.0], [9.0]])))
    >>> graph.n_samples, graph.n_edges
    (3, 3)
    """
    if isinstance(x, FeatureGraph):
        pairs: Any = () if x.edges is None else map(tuple, x.edges.T.tolist())
        for what, things in (("edge", pairs), ("node", x.nodes or ())):
            for name, n in Counter(things).most_common(1):
                refuse(DataError, (n > 1, f"the {what} {name!r} is given {n} times: give it once"))
        return x
    if hasattr(x, "nodes") and hasattr(x, "edges"):
        return from_networkx(x)
    if isinstance(x, tuple) and len(x) == 2:
        return from_adjacency(*x)
    if isinstance(x, np.ndarray) and x.ndim in (2, 3):
        return from_image(x, settings)
    if is_picture(x):
        return from_image(pixels_of(x), settings)
    found = f"an array of shape {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
    raise DataError(
        "expected a networkx graph, a pair (adjacency, features), a FeatureGraph, an image of "
        f"shape (H, W) or (H, W, C), one of Pillow or the path of one, got {found}"
    )


def from_networkx(graph: Any) -> FeatureGraph:
    """Convert a networkx graph whose nodes have features."""
    nodes = tuple(graph.nodes)
    if graph.is_directed() or not nodes:
        raise DataError(
            f"the graph is directed or has no nodes: {graph}; similarity is symmetric, "
            "to_undirected() makes it so"
        )
    for a, b, weight in graph.edges(data="weight"):
        if a != b and isinstance(weight, Real) and weight < 0:
            raise DataError(
                f"the edge between {a!r} and {b!r} has the weight {weight}: an edge says that two "
                "nodes may be similar; remove those that say they are not, or the weights"
            )
    X, names = _features(graph)
    place = {node: i for i, node in enumerate(nodes)}
    pairs = [(place[a], place[b]) for a, b in graph.edges() if a != b]
    return FeatureGraph(
        X,
        unique_edges(np.array(pairs, dtype=np.int64).reshape(-1, 2).T),
        sizes=np.array([graph.nodes[node].get(SIZE, 1) for node in nodes], dtype=np.float64),
        features=names,
        nodes=nodes,
    )


def from_adjacency(adjacency: Any, features: Any) -> FeatureGraph:
    """Convert a symmetric adjacency matrix (T, T), sparse or dense, and features (T, P)."""
    nodes = FeatureGraph(features)
    T = nodes.n_samples
    refuse_hidden(adjacency, "the adjacency matrix")
    try:
        A = sp.coo_array(adjacency, copy=True)
    except (TypeError, ValueError) as error:
        raise DataError(f"the adjacency matrix holds no numbers: {error}") from None
    shapes = f"adjacency of shape {A.shape} and features of shape {nodes.X.shape}"
    refuse(DataError, (A.shape != (T, T), f"{shapes}: expected (T, T), (T, P)"))
    A.sum_duplicates()
    there = (A.data != 0) & (A.coords[0] != A.coords[1])
    (i, j) = (ends[there] for ends in A.coords)
    values = A.data[there]
    wrong = np.flatnonzero(~((values > 0) & (values < np.inf)))
    if wrong.size:
        raise DataError(
            f"the adjacency matrix has {values[wrong[0]]} in row {i[wrong[0]]}, column "
            f"{j[wrong[0]]} ({wrong.size} below 0, NaN or inf in all): give 0 where two nodes are "
            "not similar, or abs(A) if every entry is an edge"
        )
    edges = unique_edges(np.vstack([i, j]).astype(np.int64))
    is_symmetric = i.size == 2 * edges.shape[1]
    refuse(DataError, (not is_symmetric, "the adjacency matrix is not symmetric: give A + A.T"))
    return replace(nodes, edges=edges)


def is_one(Xs: Any) -> bool:
    """Whether this is a graph or an image by itself, and no list of some."""
    if isinstance(Xs, np.ndarray):
        return Xs.dtype != object and Xs.ndim in (2, 3)
    if isinstance(Xs, tuple) and len(Xs) == 2:
        shapes = [np.shape(part) for part in Xs]
        return len(shapes[0]) == len(shapes[1]) == 2 and shapes[0] == (shapes[1][0],) * 2
    if isinstance(Xs, FeatureGraph) or is_picture(Xs):
        return True
    return hasattr(Xs, "nodes") and hasattr(Xs, "edges")


def as_list(Xs: Any) -> list[Any]:
    """One graph or image is a list of one."""
    try:
        return [Xs] if is_one(Xs) else list(Xs)
    except TypeError:
        raise DataError(f"expected a list of graphs or images, got {type(Xs).__name__}") from None


def _features(graph: Any) -> tuple[Floats, tuple[str, ...]]:
    """The vectors of the nodes, (T, P), and the attributes that they are made of, if several."""
    (first, has), *_ = graph.nodes(data=True)
    key = next((name for name in NODE_FEATURES if name in has), None)
    names = sorted((name for name in has if name not in NO_FEATURES), key=str)
    if key is None and not (names and all(isinstance(has[n], Real | np.bool_) for n in names)):
        raise DataError(
            f"node {first!r} carries {', '.join(map(repr, has)) or 'nothing'}; a feature vector is "
            f"looked for under {', '.join(map(repr, NODE_FEATURES))}, or else every attribute but "
            "'label' is a number: put the numbers of each node under 'features'"
        )
    rows: list[Floats] = []
    for node, held in graph.nodes(data=True):
        called = f"{key or names!r} of node {node!r}"
        row = np.empty(0)
        try:
            value = [held[name] for name in names] if key is None else held[key]
        except KeyError as error:
            raise DataError(f"node {node!r} has no attribute {error}") from None
        refuse_hidden(value, called)
        with suppress(TypeError, ValueError):
            row = np.atleast_1d(np.asarray(value, dtype=np.float64))
        if row.ndim != 1 or not row.size or (rows and row.size != rows[0].size):
            right = f"({rows[0].size},) as that of {first!r}" if rows else "(P,)"
            raise DataError(f"{called} is no vector of numbers, {right}: {value!r}")
        rows.append(row)
    return np.vstack(rows), () if key else tuple(names)


# ---- images


POSITION = (0.28, 0.25)
"""Scale of x and y over the longer side: about their spread over the pixels of an image."""
LAB = (25.0, 12.0, 12.0)
"""Scale of L, a and b: about their spread over the pixels of a photograph."""
MOST_PIXELS = 1_000_000
"""Of what superpixels are computed on. Larger images are reduced for that, by a whole factor."""
FEWER, PIXELS_OF_ONE = 5, 16
"""A warning names an image with so many times fewer superpixels than were asked for, if it has so
many pixels for each."""
SCALES = (1.0, 2.0, 4.0, 8.0)
"""Standard deviations in pixels of what a classifier of pixels sees around each."""
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
        refuse_unlisted("nodes", self.nodes, ("superpixels", "pixels"))
        refuse_unlisted("edges", self.edges, ("all", "adjacent"))
        refuse_unlisted("features", self.features, ("colour+position", "all"))
        refuse_below(2, "n_superpixels", self.n_superpixels)
        fits = self.radius >= 1 and self.compactness > 0
        given = (self.radius, self.compactness)
        refuse_unless(fits, "radius and compactness", "at least 1 pixel, and > 0", given)


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
    segmentation = require("skimage.segmentation", "images", "superpixels")
    found = segmentation.slic(
        pixels[:, :, :3] if pixels.shape[2] in (3, 4) else pixels,
        n_segments=settings.n_superpixels,
        compactness=settings.compactness,
        start_label=0,
        channel_axis=2,
    )
    regions = np.unique(found, return_inverse=True)[1].reshape(found.shape).astype(np.int64)
    T = int(regions.max()) + 1
    asked = settings.n_superpixels
    if FEWER * T < asked <= regions.size / PIXELS_OF_ONE:
        warn(
            f"an image has {counted(T, 'superpixel')} where {asked} were asked for, as noisy ones "
            f"do: raise compactness, which is {settings.compactness:g}, or smooth the image"
        )
    sizes = np.bincount(regions.ravel(), minlength=T).astype(np.float64)
    planes_of = np.moveaxis(values, -1, 0)
    means = [np.bincount(regions.ravel(), plane.ravel(), T) / sizes for plane in planes_of]
    X = np.stack(means, axis=1)
    for name, offset, scale in (("gradient", 0.3, GRADIENT), ("texture", 0.5, TEXTURE)):
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


def named_pixels(image: NDArray[Any]) -> FeatureGraph:
    """The pixels of an image with what a classifier looks at, none of which are joined.

    Those of an image of more than a million pixels are blocks. Beside "all" features are, at four
    scales, lightness, edges, and the two curvatures, in which thin lines show.
    """
    factor = _factor(image)
    found = [plane for _, plane, _ in _planes(in_unit_range(image, factor), "all")]
    light = found[0]
    for scale in SCALES:
        orders = ((2, 0), (1, 1), (0, 2))
        yy, xy, xx = (ndimage.gaussian_filter(light, scale, order) for order in orders)
        mean = (xx + yy) / 2
        spread = np.hypot((xx - yy) / 2, xy)
        edges = ndimage.gaussian_gradient_magnitude(light, scale)
        found += [ndimage.gaussian_filter(light, scale), edges, mean - spread, mean + spread]
    values = np.stack(found, axis=-1)
    X = values.reshape(-1, values.shape[-1])
    regions = _enlarged(np.arange(len(X)).reshape(values.shape[:2]), factor, image)
    return FeatureGraph(X, np.empty((2, 0), np.int64), regions=regions)


def _enlarged(regions: Ints, factor: int, image: NDArray[Any]) -> Ints:
    """Regions of an image that was reduced by a factor, of all of its pixels, (H, W)."""
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
    """By how much an image is reduced to have no more than MOST_PIXELS pixels: 1, 2, ..."""
    factor = 1
    (H, W) = image.shape[:2] if image.ndim in (2, 3) else (0, 0)
    while -(-H // factor) * -(-W // factor) > MOST_PIXELS:
        factor += 1
    return factor


def _reduced(image: NDArray[Any], factor: int) -> Floats:
    """Means over blocks of ``factor`` x ``factor`` pixels, the last ones perhaps narrower."""
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
    refuse(
        DataError,
        (
            np.ma.is_masked(image),
            "the image has masked pixels: fill them first (image.filled(...))",
        ),
        (not is_shaped, f"an image must have shape (H, W) or (H, W, C), got {image.shape}"),
        (
            not is_known,
            f"an image of {image.dtype} values: give uint8 (white is 255), uint16 (65535) or "
            "floats (1)",
        ),
        (
            not (low >= 0 and high <= 1),
            f"a float image must lie in [0, 1], this one spans [{float(low):.3g}, "
            f"{float(high):.3g}]: rescale it, and fill NaN",
        ),
    )
    image = image[:, :, None] if image.ndim == 2 else image
    pixels = image if factor == 1 else _reduced(image, factor)
    white = float(np.iinfo(image.dtype).max) if is_integer else 1.0
    return np.asarray(pixels, dtype=np.float64) / white


def _planes(pixels: Floats, features: str) -> list[tuple[str, Floats, bool]]:
    """Name, values (H, W) in fixed units and whether it is a place, of each feature of pixels."""
    H, W, C = pixels.shape
    longer = max(H, W)
    y, x = np.mgrid[:H, :W] + 0.5
    names = [f"channel{c}" for c in range(C)]
    channels = pixels * 4.0  # 1 is a quarter of the range
    if C == 1:
        names = ["L"]
        channels = pixels * 100.0 / LAB[0]
    elif C in (3, 4):
        colour = require("skimage.color", "images", "colour")
        names = ["L", "a", "b"]
        channels = colour.rgb2lab(pixels[:, :, :3]) / np.array(LAB)
    planes = [(name, channels[..., c], False) for c, name in enumerate(names)]
    planes += [("x", x / longer / POSITION[0], True), ("y", y / longer / POSITION[1], True)]
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
        ("off-centre x", np.abs(x / W - 0.5) / CENTRED, True),
        ("off-centre y", np.abs(y / H - 0.5) / CENTRED, True),
        ("border", border / BORDER, True),
    ]


# ---- images and label maps in files


KINDS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".webp")
MASK_KINDS = (*KINDS, ".npy")

MOST_GREY = 2**16 - 1
FEW_LEVELS = 16
"""Of the 256 of 8 bits: what a camera of 12 bits leaves of 16."""
MOST_LABELS = 64
"""A mask with more different values was drawn with soft edges, or compressed with losses."""
VOID = 255
"""The value of pixels that nobody judged in masks of Pascal VOC and Cityscapes."""
LEAVES_OUT = parameter("missing_labels", VOID) + " leaves them out"
UNSEEN = 1 << 24
"""The label of transparent pixels, which is no colour."""
OPAQUE = 128
"""Of 255, from which on a pixel is seen."""
GREYS = ("1", "L", "LA", "La")
"""What Pillow calls greys; those with an A also say how opaque they are, which is left out."""
RARE, MOSTLY, MOST_DOUBTFUL = 0.02, 0.8, 0.25
"""Parts of the pixels: of a value of a soft edge, of such that look so, and of all of them."""
LOSSY = (".jpg", ".jpeg", ".webp")
NEAR = 8
"""Kinds that are compressed with losses, which show as greys that differ by less than this."""


def is_picture(x: Any) -> bool:
    return isinstance(x, str | PathLike) or hasattr(x, "getbands")


def pixels_of(picture: Any, max_pixels: int | None = None) -> NDArray[np.uint8]:
    """Grey (H, W) or RGB (H, W, 3), in 8 bits, of the path of an image or an image of Pillow."""
    name = _check_kind(picture, KINDS)
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
    refuse(DataError, (low < 0 or high > MOST_GREY, beyond), (levels == 1 and high > low, few))
    if 1 < levels <= FEW_LEVELS:
        warn(few)
    return (values >> 8).astype(np.uint8)


def label_map_of(picture: Any, max_pixels: int | None = None) -> NDArray[np.int64]:
    """The values of a label map, (H, W): one colour is one label, in every image.

    Pixels that cannot be seen have the label :data:`UNSEEN`.
    """
    values, doubt = read_label_map(picture, max_pixels)
    if doubt:
        warn(doubt)
    return values


def read_label_map(
    picture: Any, max_pixels: int | None = None, missing: Sequence[str] = ()
) -> tuple[NDArray[np.int64], str]:
    """A label map as :func:`label_map_of`, and what is doubtful about its values, if anything is.

    Pixels of the values ``missing``, numbers, colours such as "#e0e0c0" or places in a palette, are
    -1.
    """
    name = _check_kind(picture, MASK_KINDS)
    left_out = [_as_value(one) for one in missing]
    if name.lower().endswith(".npy"):
        values = _with_hard_edges(name, _array(Path(picture), max_pixels).astype(np.int64))
        return np.where(np.isin(values, left_out), -1, values), ""
    image = _opened(picture, name, max_pixels)
    values = _values(image, name)
    if values.ndim == 3:  # one integer for a colour
        values = values.astype(np.int64) @ (1 << 16, 1 << 8, 1)
    places = np.asarray(image) if image.mode == "P" else values
    values = np.where(_is_seen(image), values.astype(np.int64), UNSEEN)
    is_missing = np.isin(values, left_out) | np.isin(places, left_out)
    doubt = "" if left_out else _doubt_about_void(name, np.unique(places), LEAVES_OUT)
    values = _with_hard_edges(name, values)
    kinds = np.unique(values)
    shades = np.unique(values & 255)
    near = shades.size > 2 and np.diff(shades).min() < NEAR
    if kinds.size > MOST_LABELS or (near and name.lower().endswith(LOSSY)):
        raise DataError(
            f"{name} has {kinds.size} different values: it looks drawn with soft edges, or "
            "compressed with losses; save one value per region, as .png or .npy"
        )
    return np.where(is_missing, -1, values), doubt


def _as_value(text: str) -> int:
    with suppress(ValueError):
        return int(text[1:], 16) if text.startswith("#") else int(text)
    raise SettingsError(
        f"missing_labels of label maps are whole numbers, or colours as '#e0e0c0', got {text!r}"
    )


def _is_seen(image: Any) -> NDArray[np.bool_]:
    """Which pixels of a picture are opaque; all of one that is as opaque everywhere."""
    if "A" not in image.getbands() and "transparency" not in image.info:
        return np.ones(image.size[::-1], dtype=np.bool_)
    opaque = np.asarray(image.convert("RGBA"))[:, :, 3] >= OPAQUE
    return opaque | (not opaque.any())


def _doubt_about_void(name: str, values: NDArray[Any], way_out: str) -> str:
    """A sentence on 255 beside small labels, which many sets give to pixels nobody judged."""
    others = values[values != VOID]
    if not (2 <= others.size < values.size and others.max() < MOST_LABELS):
        return ""
    return (
        name + f": {VOID} is a label beside {others.min()} to {others.max()}: if it marks pixels "
        "that are not to be judged, " + way_out
    )


def levelled(y: Any, name: str) -> Any:
    """Labels of pixels, (H, W), as :func:`label_map_of` has those of a picture; others as given."""
    values: Any = np.asarray(y) if isinstance(y, list | tuple) and np.ndim(y[0]) == 1 else y
    is_map = isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind in "iuf"
    if not is_map or not np.isfinite(values).all():
        return y
    # Those of files, of which it is told where they are read, are wider.
    doubt = _doubt_about_void(name, np.unique(values), "give -1 there")
    if doubt and values.dtype == np.uint8:
        warn(doubt)
    return _with_hard_edges(name, values)


def _with_hard_edges(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """A label map in which the values of soft edges, (H, W), are those of the nearest levels.

    These are at least two rare values, most of which lie between a darker and a brighter one.
    """
    kinds, codes, sizes = np.unique(values, return_inverse=True, return_counts=True)
    rare = (sizes < RARE * values.size) & (kinds >= 0)  # -1 is no level
    if rare.sum() < 2 or 2 * rare.sum() < kinds.size or not 2 <= (~rare).sum() <= MOST_LABELS:
        return values
    codes = codes.reshape(values.shape)
    doubtful = rare[codes]
    is_soft = (ndimage.minimum_filter(codes, 3) < codes) & (
        codes < ndimage.maximum_filter(codes, 3)
    )
    if is_soft[doubtful].mean() < MOSTLY or doubtful.mean() > MOST_DOUBTFUL:
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
            archive.check_pixels(values.shape[0], values.shape[1], max_pixels)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as an array: {error}") from error
    if values.ndim != 2 or values.dtype.kind not in "iub":
        raise DataError(f"{path}: expected integers of shape (H, W), got {values.shape}")
    return values


def _opened(picture: Any, name: str, max_pixels: int | None) -> Any:
    """An image of Pillow, turned as its camera was held."""
    pillow: Any = require("PIL.Image", "images", "reading images")
    upright: Any = require("PIL.ImageOps", "images", "reading images").exif_transpose
    try:
        # The size of a file is spoken of here; the image of somebody else is left open.
        with without_warnings(pillow.DecompressionBombWarning):
            is_file = isinstance(picture, str | PathLike)
            source = pillow.open(picture) if is_file else nullcontext(picture)
        with source as opened:
            width, height = opened.size
            archive.check_pixels(height, width, max_pixels)
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
    """What to call a picture; DataError for a path at which there is no file of these kinds."""
    if not isinstance(picture, str | PathLike):
        return "the image"
    if not os.path.isfile(picture) or not str(picture).lower().endswith(kinds):
        raise DataError(
            f"{picture}: no such file, or of no kind that is read: give {', '.join(kinds)}; "
            "structsvm.io.read_images reads the images of a folder"
        )
    return str(picture)
