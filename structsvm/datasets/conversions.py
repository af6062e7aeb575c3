"""Conversions of files, as their authors publish them, to recordings: one function for each set.

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
BEE_FEATURES = ("x", "y", "sin", "cos", "dtheta", "|dtheta|", "speed")
TEP_START = 160
"""Sample at which the fault is switched on: after 8 hours, a sample every 3 minutes."""
TEP_FEATURES = tuple(f"XMEAS{j}" for j in range(1, 42)) + tuple(f"XMV{j}" for j in range(1, 12))


def activity(name: str, fetch: Fetch) -> Recording:
    """One execution of :func:`fetch_har_spsw`."""
    logs = [_table(fetch(f"DATA/{name[:3]}/{name}_{device}.csv")) for device in ("sp", "sw")]
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
    mean, std = _around(np.column_stack([channels, *sizes]), _centres(len(channels)), 12)
    features = [f"{name}:{kind}" for kind in ("mean", "logstd") for name in names]
    return _single(np.hstack([mean, np.log(std + 0.01)])), tuple(features)


def water_loop(name: str, fetch: Fetch) -> Recording:
    """One experiment of :func:`fetch_skab`."""
    folder, number = name.split("_")
    frame = _table(fetch(f"data/{folder}/{int(number)}.csv"), separator=";")
    features = tuple(frame.columns[1:9])
    X = frame[list(features)].to_numpy(np.float64)
    return Recording(name, _single(X), _segments(frame["changepoint"] == 1), features)


def exercise(name: str, fetch: Fetch) -> Recording:
    """One sequence of :func:`fetch_mocap6`."""
    content = _matlab(fetch("mocap6.mat"))
    (sequence,) = (
        one for one in content["DataBySeq"] if f"s{one['filename']}".removesuffix(".amc") == name
    )
    mean, std = _around(sequence["X"], np.arange(len(sequence["X"])), 7)
    features = [f"{c}:{kind}" for kind in ("mean15", "logstd15") for c in content["ChannelNames"]]
    y = np.asarray(sequence["TrueZ"], dtype=np.int64).ravel() - 1
    return Recording(name, _single(np.hstack([mean, np.log1p(std)])), y, tuple(features))


def bee(name: str, fetch: Fetch) -> Recording:
    """One dance of :func:`fetch_beedance`."""
    content = _matlab(fetch(f"data/beedance/beedance-{name.removeprefix('bee')}.mat"))
    x, y, turn = np.asarray(content["Y"], dtype=np.float64).T
    dturn = np.diff(turn, prepend=turn[0])
    dturn -= np.round(dturn)  # the short way round
    speed = np.hypot(np.diff(x, prepend=x[0]), np.diff(y, prepend=y[0]))
    angle = 2 * np.pi * turn
    motion = np.column_stack([dturn, np.abs(dturn), speed])
    mean, std = _around(motion, np.arange(len(x)), 4)
    X = np.column_stack([x, y, np.sin(angle), np.cos(angle), motion, mean, np.log(std + 1e-3)])
    smooth = [f"{feature}:{kind}" for kind in ("m9", "ls9") for feature in BEE_FEATURES[4:]]
    changes = np.asarray(content["L"]).ravel() != 0
    return Recording(name, _single(X), _segments(changes), (*BEE_FEATURES, *smooth))


def hasc(name: str, fetch: Fetch) -> Recording:
    """The recording of :func:`fetch_hasc1`."""
    content = _matlab(fetch("data/hasc/hasc-1.mat"))
    n = len(content["Y"]) // 20
    blocks = np.asarray(content["Y"], dtype=np.float64)[: n * 20].reshape(n, 20, 3)
    X = np.hstack([blocks.mean(1), np.log(blocks.std(1) + 0.01)])
    changes = np.zeros(n, dtype=bool)
    changes[np.round(np.flatnonzero(np.asarray(content["L"]).ravel()) / 20).astype(int)] = True
    features = [f"{axis}:{kind}" for kind in ("mean", "logstd") for axis in ("ax", "ay", "az")]
    return Recording(name, _single(X), _segments(changes), tuple(features))


def fault(name: str, fetch: Fetch) -> Recording:
    """One fault of :func:`fetch_tep`."""
    X = np.loadtxt(fetch(f"TEP_data/d{name.removeprefix('fault')}_te.dat"))
    return Recording(name, _single(X), (np.arange(len(X)) >= TEP_START).astype(int), TEP_FEATURES)


def series(name: str, fetch: Fetch) -> Recording:
    """One series of :func:`fetch_tssb`."""
    described = fetch("tssb/datasets/desc.txt").read_text("utf-8").split()
    (line,) = (line for line in described if line.startswith(f"{name},"))
    values = np.loadtxt(fetch(f"tssb/datasets/{name}.txt"), ndmin=2).reshape(-1, 1)
    changes = np.zeros(len(values), dtype=bool)
    changes[[int(end) for end in line.split(",")[2:]]] = True
    return Recording(name, _single(values), _segments(changes), ("x",))


def _centres(n: int) -> Ints:
    """The middle of every five samples."""
    return np.arange(n // 5) * 5 + 2


def _around(Z: Floats, centres: Ints, half: int) -> tuple[Floats, Floats]:
    """Mean and standard deviation of up to ``2 * half + 1`` rows around each centre."""
    windows = [Z[max(0, i - half) : i + half + 1] for i in centres]
    means, stds = (
        [getattr(np, kind)(window, axis=0) for window in windows] for kind in ("mean", "std")
    )
    return np.array(means), np.array(stds)


def session(name: str, fetch: Fetch) -> Recording:
    """One session of :func:`fetch_mocap86`."""
    frame = _table(fetch(f"dataset/MoCap/{name}.csv"))
    features = tuple(f"channel {column}" for column in frame.columns[:-1])
    y = frame["state"].to_numpy(np.int64)
    return Recording(name, frame.iloc[:, :-1].to_numpy(np.float64), y, features)


def _most_frequent(y: Ints) -> Ints:
    """The most frequent of every five labels; of two, the smaller number."""
    blocks = y[: len(y) // 5 * 5].reshape(-1, 5)
    return np.array([np.bincount(block).argmax() for block in blocks])


def _segments(changes: Any) -> Ints:
    """Numbers of segments, from marks at the first sample of each but the first."""
    return np.cumsum(np.asarray(changes, dtype=np.int64))


def _single(X: Floats) -> Floats:
    return X.astype(np.float32).astype(np.float64)


def _table(path: Path, separator: str = ",") -> Any:
    """A pandas data frame."""
    return require("pandas", "datasets", "reading a public set").read_csv(path, sep=separator)


def _matlab(path: Path) -> Any:
    from scipy.io import loadmat

    return loadmat(path, simplify_cells=True)
