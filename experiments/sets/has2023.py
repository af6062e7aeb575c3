"""The Human Activity Segmentation Challenge of ECML/PKDD 2023, from the file that you download."""

import hashlib
import json
from ast import literal_eval
from collections.abc import Mapping
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, SettingsError
from structsvm.io.recording import Recording
from structsvm.support.lazy import require

PLACE = (
    "https://github.com/patrickzib/human_activity_segmentation_challenge, "
    "datasets/has2023_master.csv.zip"
)
COMMIT = "a77bf78d1ff7e7115e64b2214da809660f99d943"
GIT_OBJECT = "753bd32cb9e4f081d5aa165924d73fb979b025db"
"""The name of the file in git at that commit: the SHA-1 of its length and content."""
SENSORS = tuple(f"{axis}-{kind}" for kind, axis in product(("acc", "gyro", "mag"), "xyz"))
"""Those that all series have; position and speed are of the outdoor ones alone."""
SPLITS = ("public", "private")


def read_has2023(
    path: str | PathLike[str], split: str | None = None, *, verify: bool = True
) -> list[Recording]:
    """Read has2023_master.csv.zip: 250 series of activities of 16 people, at 50 Hz."""
    if split not in (None, *SPLITS):
        raise SettingsError(f"split must be 'public', 'private' or None, got {split!r}")
    if verify:
        _verify(Path(path))
    pandas = require("pandas", "files", "reading HAS-2023")
    table = pandas.read_csv(path, compression="zip", dtype=str, keep_default_na=False)
    needed = ("ts_id", "subject", "split", "change_points", "activities", *SENSORS)
    missing = [column for column in needed if column not in table]
    if missing:
        raise DataError(f"{path}: no column {', '.join(missing)}; the file is that of {PLACE}")
    rows = table.to_dict("records")
    return [_series(row) for row in rows if split in (None, row["split"])]


def _verify(path: Path) -> None:
    content = path.read_bytes()
    found = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if found != GIT_OBJECT:
        raise DataError(
            f"{path} is not the file of the challenge: git hash-object gives {found}, and that of "
            f"{PLACE} at commit {COMMIT[:10]} is {GIT_OBJECT}. Download it again, or read it as it "
            "is with verify=False"
        )


def _series(row: Mapping[str, str]) -> Recording:
    name = f"s{int(row['subject']):02d}_{int(row['ts_id']):03d}"
    channels = [_numbers(row[sensor], name, sensor) for sensor in SENSORS]
    lengths = sorted({len(channel) for channel in channels})
    if len(lengths) > 1:
        raise DataError(f"series {name} has sensors of {lengths[0]} and of {lengths[-1]} samples")
    changes = _numbers(row["change_points"], name, "change_points").astype(np.int64)
    activities = [str(activity) for activity in literal_eval(row["activities"])]
    ends = [*changes.tolist(), lengths[0]]
    starts = [0, *ends[:-1]]
    if len(activities) != len(ends) or any(a >= b for a, b in zip(starts, ends, strict=True)):
        raise DataError(
            f"series {name} of {lengths[0]} samples has {len(activities)} activities and the "
            f"change points {changes.tolist()}: one less is needed, in order, within the series"
        )
    y = np.repeat(np.array(activities), np.subtract(ends, starts))
    return Recording(name, np.column_stack(channels), y, SENSORS)


def _numbers(cell: str, name: str, column: str) -> NDArray[np.float64]:
    """A cell such as ``[0.1, nan, 2]``."""
    try:
        values: Any = json.loads(cell.replace("nan", "NaN") or "[]")
        return np.asarray(values, dtype=np.float64)
    except ValueError:
        start = cell if len(cell) <= 40 else f"{cell[:40]}..."
        raise DataError(f"series {name}, column {column}: no list of numbers: {start!r}") from None
