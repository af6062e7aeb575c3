"""Folders of images and of their label maps, which have the names of the images."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from structsvm.data import UNKNOWN
from structsvm.errors import DataError, parameter, printable, warn, wording
from structsvm.graphs.label_maps import IMAGE_KINDS, MASK_KINDS, pixels_of, read_label_map
from structsvm.io.paired_names import names_apart, paired_names
from structsvm.support import counted, in_time, listed

IMAGE_FOLDERS = ("img", "imgs", "image", "images", "jpegimages")
MASK_FOLDERS = (
    *("mask", "masks", "label", "labels", "annotation", "annotations", "segmentationclass"),
    *("gt", "truth", "groundtruth", "ground_truth"),
)
MAP_WORDS = (*MASK_FOLDERS, "seg", "segmentation")  # in names of label maps beside images
MASK_ENDING = "_mask"  # may be added to the name of an image in that of its label map
OVERLAY = "_overlay"  # the end of the name of a picture of predicted parts


@dataclass(frozen=True, eq=False)
class LabelledImage:
    """An image, and a label for each of its pixels if they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.io import LabelledImage
    >>> image = LabelledImage("sky", np.zeros((2, 3, 3), dtype=np.uint8), None, "sky.png")
    >>> image.labels is None
    True
    """

    name: str
    image: NDArray[np.uint8]
    """(H, W) or (H, W, C)."""
    labels: NDArray[np.int64] | None
    """The label of each pixel, (H, W), -1 where it has none."""
    source: str
    """The file of the image."""


@dataclass(frozen=True)
class LabelMaps:
    """A folder of label maps."""

    folder: Path
    names: Mapping[str, str] = field(default_factory=dict)
    """The names of label maps by those of images, if none is that of its image or has ``_mask``."""

    @classmethod
    def of(cls, folder: Path, images: Sequence[Path]) -> "LabelMaps":
        """A folder of label maps, whose names may all differ from those of images in one way."""
        usual = cls(folder)
        if any(map(usual.map_of, images)):
            return usual
        stems = {one.stem for one in folder.iterdir() if one.suffix.lower() in MASK_KINDS}
        if images and folder.resolve() == images[0].parent.resolve():
            stems.difference_update(image.stem for image in images)
        names = paired_names([image.stem for image in images], stems)
        if names:
            image, name = next(iter(names.items()))
            warn(f"{folder}: label maps have other names, {name!r} is taken for that of {image!r}")
        return cls(folder, names)

    def map_of(self, image: Path) -> Path | None:
        """The label map of an image, if there is one."""
        kinds = list(chain.from_iterable((kind, kind.upper()) for kind in MASK_KINDS))
        usual = (image.stem, image.stem + MASK_ENDING)
        stems = [self.names[image.stem]] if image.stem in self.names else usual
        maps = [self.folder / f"{stem}{kind}" for stem, kind in product(stems, kinds)]
        maps = [one for one in maps if one.is_file() and one.resolve() != image.resolve()]
        return maps[0] if maps else None


def read_images(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    masks: str | PathLike[str] | None = None,
    *,
    need_labels: bool = True,
    missing_labels: Sequence[str] = (),
    max_pixels: int | None = None,
) -> list[LabelledImage]:
    """Read images and their label maps.

    Parameters
    ----------
    paths : path or list of paths
        Image files and folders of them; ``NAME_mask`` and ``NAME_overlay`` beside ``NAME`` are no
        images, because predictions are called so. Where half of the files are called as the others
        with a word such as ``NAME_seg`` or ``gt_NAME``, they are the label maps. A folder may
        instead hold two folders, ``img`` (or ``images``) and ``mask`` (or ``masks``,
        ``labels``, ``annotations``, ``gt``).
    masks : path, optional
        The folder of the label maps, which have the names of the images, or these with ``_mask``
        added, or names that all begin or end otherwise in the same way: images, of which every
        colour is a label (two for a mask), or ``.npy`` arrays of integers, in which -1 marks pixels
        without a label. What is
        transparent is a label, too.
    need_labels : bool
        Whether an image without a label map is an error.
    missing_labels : sequence of str
        Values of label maps that mark pixels without a label, such as "255" of Pascal VOC and
        Cityscapes: numbers, colours such as "#e0e0c0", or places in the palette of an image.
    max_pixels : int, optional
        Larger images are refused before they are decoded. By default 50 million.

    Returns
    -------
    list of LabelledImage
        By name within each folder.

    Raises
    ------
    DataError, SettingsError
        Naming the file; when a missing label is neither a number nor a colour.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> from structsvm.io import read_images
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.fromarray(np.zeros((4, 6, 3), dtype=np.uint8)).save(Path(folder) / "sky.png")
    ...     (image,) = read_images(folder, need_labels=False)
    >>> image.name, image.image.shape
    ('sky', (4, 6, 3))
    """
    return read_in_time(images_of(paths, masks), need_labels, missing_labels, max_pixels)


def images_of(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]], masks: str | PathLike[str] | None
) -> list[tuple[Path, LabelMaps | None]]:
    """The files of images, each with the folder that holds its label map, if any does."""
    paths = [paths] if isinstance(paths, str | PathLike) else paths
    if masks is not None and not os.path.isdir(masks):
        raise DataError(f"{masks}: no such folder")
    files: dict[Path | None, list[Path]] = {}
    for path in map(Path, paths):
        images, beside = _images_of(path)
        files.setdefault(beside if masks is None else Path(masks), []).extend(images)
    pairs = list[tuple[Path, LabelMaps | None]]()
    for folder, images in files.items():
        maps = None if folder is None else LabelMaps.of(folder, images)
        pairs += [(image, maps) for image in images]
    return pairs


def read_in_time(
    pairs: Sequence[tuple[Path, LabelMaps | None]],
    need_labels: bool,
    missing: Sequence[str],
    max_pixels: int | None = None,
    end: float = math.inf,
    fewest: int = 1,
) -> list[LabelledImage]:
    """Read images and label maps until ``end``, at least ``fewest`` of them."""
    images: dict[int, LabelledImage] = {}
    doubts = list[str]()
    for i, (file, maps) in in_time("images", pairs, end, fewest):
        images[i], doubt = _read(file, maps, need_labels, missing, max_pixels)
        doubts += [doubt] if doubt else []
    if doubts:
        more = f"; so it is in {len(doubts) - 1} more" if len(doubts) > 1 else ""
        warn(doubts[0] + more)
    return [images[i] for i in sorted(images)]


def _images_of(path: Path) -> tuple[list[Path], Path | None]:
    """Return the image files of a path, and the folder of label maps beside them, if any."""
    # os.path.isfile is False for a name that is too long; Path.is_file raises
    if os.path.isfile(path) and path.suffix.lower() in IMAGE_KINDS:
        return [path], None
    entries = list(path.iterdir()) if os.path.isdir(path) else []
    inside = {entry.name.lower(): entry for entry in entries if entry.is_dir()}
    images = next((inside[name] for name in IMAGE_FOLDERS if name in inside), None)
    masks = next((inside[name] for name in MASK_FOLDERS if name in inside), None)
    for several in (entries, [] if images is None else images.iterdir()):
        visible = [one for one in several if one.is_file() and not one.name.startswith(".")]
        files = {one for one in visible if one.suffix.lower() in IMAGE_KINDS}
        files.difference_update(made_of_images(files))
        if files:
            maps = names_apart({one.stem for one in files}, MAP_WORDS) if masks is None else {}
            own = [one for one in files if one.stem in maps] if maps else files
            return sorted(own), visible[0].parent if maps else masks
    folders = [
        one.name
        for one in inside.values()
        if any(file.suffix.lower() in IMAGE_KINDS for file in one.iterdir())
    ]
    message = f"{path}: no such file, or no images ({', '.join(IMAGE_KINDS)}) there"
    if not folders:
        raise DataError(message)
    raise DataError(
        f"{message}; its folders {listed(sorted(folders), 4)} hold some: name that of the images, "
        "and that of their label maps, " + wording("masks=FOLDER", of_files="--labels FOLDER")
    )


def made_of_images(files: Iterable[Path]) -> list[Path]:
    """The label maps and overlays among files, which are named after an image beside them."""
    files = list(files)
    bare = {path.with_suffix("") for path in files if path.suffix.lower() in IMAGE_KINDS}
    return [
        path
        for path, end in product(files, (MASK_ENDING, OVERLAY))
        if path.stem.endswith(end) and path.with_name(path.stem.removesuffix(end) or end) in bare
    ]


def _read(
    path: Path,
    masks: LabelMaps | None,
    need_labels: bool,
    missing: Sequence[str],
    max_pixels: int | None,
) -> tuple[LabelledImage, str]:
    """Read an image and its label map; return also what is doubtful about the map, or ""."""
    image = pixels_of(path, max_pixels)
    labels = None
    doubt = ""
    own = _needed_map_of(path, masks) if need_labels else masks and masks.map_of(path)
    if own is not None:
        labels, doubt = read_label_map(own, max_pixels, missing)
        sizes = [" x ".join(map(str, one.shape[:2])) for one in (labels, image)]
        if sizes[0] != sizes[1]:
            raise DataError(f"{own} has {sizes[0]} pixels, {path} has {sizes[1]}")
    return LabelledImage(printable(path.stem), image, labels, str(path)), doubt


def _needed_map_of(path: Path, masks: LabelMaps | None) -> Path:
    """The label map of an image; refuse one without."""
    own = None if masks is None else masks.map_of(path)
    if own is None:
        if masks is not None:
            raise DataError(f"{path}: no label map of that name in {masks.folder}")
        remedy = wording("masks=FOLDER", of_files=parameter("labels", "FOLDER"))
        beside = LabelMaps(path.parent).map_of(path)
        raise DataError(
            f"{path}: no label map of that name, and no folder of masks was given: "
            "give the folder that holds images/ and masks/, or name that of the masks ("
            + remedy
            + ")"
            + (f"; {beside} may be one, or a prediction" if beside else "")
        )
    return own


def refuse_without_parts(
    pairs: Sequence[tuple[Path, LabelMaps | None]], missing: Sequence[str], may_be_one: bool
) -> None:
    """Refuse images without label maps, and, unless they ``may_be_one``, maps of one label each."""
    maps = [_needed_map_of(path, masks) for path, masks in pairs]
    if may_be_one:
        return
    for one in maps:
        labels, _ = read_label_map(one, None, missing)
        if np.unique(labels[labels != UNKNOWN]).size > 1:
            return
    raise DataError(
        f"each of {counted(len(maps), 'label map')} has a single label, the first is {maps[0]}: "
        "there is nothing to cut, label what is to be told apart"
    )
