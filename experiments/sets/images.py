"""Images with their foreground."""

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.sets.fetch import REGISTRY
from structsvm.datasets.public import PublicSet
from structsvm.errors import SettingsError
from structsvm.support.lazy import require

WEIZMANN_HORSE = PublicSet(
    "weizmann_horse",
    "ZJW-HUST/Deeplab-Weizmann-Horse",
    "9e226a491e88e2f49e6021adafe4908c88ace342",
    licence="none stated there: ask the authors before you pass the images on",
    citation="Borenstein and Ullman (2002), Class-specific, top-down segmentation, ECCV; "
    "Borenstein, Sharon and Ullman (2004), Combining top-down and bottom-up segmentation, CVPR "
    "workshops",
    registry=REGISTRY,
)
N_HORSES = 327


@dataclass(frozen=True, eq=False)
class SegmentedImage:
    """A colour image (H, W, 3) and the mask (H, W) of its foreground."""

    name: str
    rgb: NDArray[np.uint8]
    """(h, w, 3)."""
    foreground: NDArray[np.bool_]
    """(h, w)."""


def fetch_weizmann_horse(
    numbers: Iterable[int] = range(1, N_HORSES + 1),
    *,
    longest_side: int = 160,
    data_home: str | PathLike[str] | None = None,
) -> list[SegmentedImage]:
    """Photographs of horses with masks."""
    if longest_side < 1:
        raise SettingsError(f"longest_side must be >= 1, got {longest_side}")
    folders = {
        PurePosixPath(path).stem: PurePosixPath(path).parent.name.rpartition("_")[2]
        for path in WEIZMANN_HORSE.checksums
    }
    found = []
    for number in numbers:
        name = f"horse{number:03d}"
        if name not in folders:
            raise SettingsError(f"numbers must be in 1..{N_HORSES}, got {number}")
        image, mask = (
            WEIZMANN_HORSE.fetch(f"weizmann_horse_db/{kind}_{folders[name]}/{name}.png", data_home)
            for kind in ("horse", "mask")
        )
        found.append(_shrunk(name, image, mask, longest_side))
    return found


def _shrunk(name: str, image: Path, mask: Path, longest_side: int) -> SegmentedImage:
    pillow: Any = require("PIL.Image", "datasets", "reading images")
    with pillow.open(image) as opened:
        rgb = opened.convert("RGB")
    with pillow.open(mask) as opened:
        marked = np.asarray(opened) > 0
    scale = min(1.0, longest_side / max(rgb.size))
    size = tuple(max(1, round(side * scale)) for side in rgb.size)
    share = pillow.fromarray(np.uint8(255) * marked).resize(size, pillow.Resampling.BOX)
    shrunk = rgb.resize(size, pillow.Resampling.BOX)
    return SegmentedImage(name, np.asarray(shrunk), np.asarray(share) >= 128)
