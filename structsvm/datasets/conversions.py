"""Files as their authors publish them to recordings: one function for each set.

What is computed is rounded to single precision, the precision of the sensors and more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from structsvm.datasets.public import Fetch
from structsvm.io.recording import Recording
from structsvm.support.arrays import Floats, Ints
from structsvm.support.extras import require

ACTIVITIES = ("SEATED", "STANDING_UP", "WALKING", "TURNING", "SITTING_DOWN")
AXES = ("x_acc", "y_acc", "z_acc", "x_gyro", "y_gyro", "z_gyro")
GRID_MS = 20
"""50 Hz, the grid that phone and watch are put on."""


def activity(name: str, fetch: Fetch) -> Recording:
    """One execution of :func:`fetch_har_spsw`."""
    logs = [table(fetch(f"DATA/{name[:3]}/{name}_{device}.csv")) for device in ("sp", "sw")]
    phone, watch = (log.drop_duplicates("timestamp") for log in logs)
    times = [frame["timestamp"].to_numpy(np.float64) for frame in (phone, watch)]
    grid = np.arange(max(t[0] for t in times), min(t[-1] for t in times), GRID_MS)
    channels = np.column_stack(
        [
            np.interp(grid, t, frame[axis])
            for t, frame in zip(times, (phone, watch), strict=True)
            for axis in AXES
        ]
    )
    # Where several lines have one time, the last of them says what is going on.
    line = np.searchsorted(logs[0]["timestamp"].to_numpy(np.float64), grid, side="right") - 1
    current = logs[0]["label"].map(ACTIVITIES.index).to_numpy()[line]
    X, features = activity_features(channels)
    return Recording(name, X, _most_frequent(current), features)


def activity_features(channels: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Mean and log(std + 0.01) over half a second, ten times a second, of channels and
    magnitudes.
    """
    names = [f"{device}.{axis}" for device in ("phone", "watch") for axis in AXES]
    names += [f"{device}.|{kind}|" for device in ("phone", "watch") for kind in ("acc", "gyro")]
    sizes = [np.linalg.norm(channels[:, j : j + 3], axis=1) for j in range(0, 12, 3)]
    mean, std = around(np.column_stack([channels, *sizes]), centres(len(channels)), 12)
    features = [f"{name}:{kind}" for kind in ("mean", "logstd") for name in names]
    return single(np.hstack([mean, np.log(std + 0.01)])), tuple(features)


def water_loop(name: str, fetch: Fetch) -> Recording:
    """One experiment of :func:`fetch_skab`."""
    folder, number = name.split("_")
    frame = table(fetch(f"data/{folder}/{int(number)}.csv"), separator=";")
    features = tuple(frame.columns[1:9])
    X = frame[list(features)].to_numpy(np.float64)
    return Recording(name, single(X), segments(frame["changepoint"] == 1), features)


def centres(n: int) -> Ints:
    """The middle of every five samples."""
    return np.arange(n // 5) * 5 + 2


def around(Z: Floats, centres: Ints, half: int) -> tuple[Floats, Floats]:
    """Mean and standard deviation of up to ``2 * half + 1`` rows around each centre."""
    windows = [Z[max(0, i - half) : i + half + 1] for i in centres]
    means, stds = (
        [getattr(np, kind)(window, axis=0) for window in windows] for kind in ("mean", "std")
    )
    return np.array(means), np.array(stds)


def _most_frequent(y: Ints) -> Ints:
    """The most frequent of every five labels; of two, the smaller number."""
    blocks = y[: len(y) // 5 * 5].reshape(-1, 5)
    return np.array([np.bincount(block).argmax() for block in blocks])


def segments(changes: Any) -> Ints:
    """Numbers of segments, from marks at the first sample of each but the first."""
    return np.cumsum(np.asarray(changes, dtype=np.int64))


def single(X: Floats) -> Floats:
    return X.astype(np.float32).astype(np.float64)


def table(path: Path, separator: str = ",") -> Any:
    """A pandas data frame."""
    return require("pandas", "datasets", "reading a public set").read_csv(path, sep=separator)
