"""Files as their authors publish them to recordings: one function for each set."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from structsvm.datasets.public import Fetch, around
from structsvm.io.recording import Recording
from structsvm.support.lazy import require
from structsvm.support.values import Floats, Ints

BEE_FEATURES = ("x", "y", "sin", "cos", "dtheta", "|dtheta|", "speed")
TEP_START = 160
"""Sample at which the fault is switched on: after 8 hours, a sample every 3 minutes."""
TEP_FEATURES = tuple(f"XMEAS{j}" for j in range(1, 42)) + tuple(f"XMV{j}" for j in range(1, 12))


def segments(changes: Any) -> Ints:
    """Numbers of segments, from marks at the first sample of each but the first."""
    return np.cumsum(np.asarray(changes, dtype=np.int64))


def single(X: Floats) -> Floats:
    return X.astype(np.float32).astype(np.float64)


def exercise(name: str, fetch: Fetch) -> Recording:
    """One sequence of :func:`fetch_mocap6`."""
    content = _matlab(fetch("mocap6.mat"))
    (sequence,) = (
        one for one in content["DataBySeq"] if f"s{one['filename']}".removesuffix(".amc") == name
    )
    mean, std = around(sequence["X"], np.arange(len(sequence["X"])), 7)
    features = [
        f"{c}:{kind}" for kind, c in product(("mean15", "logstd15"), content["ChannelNames"])
    ]
    y = np.asarray(sequence["TrueZ"], dtype=np.int64).ravel() - 1
    return Recording(name, single(np.hstack([mean, np.log1p(std)])), y, tuple(features))


def bee(name: str, fetch: Fetch) -> Recording:
    """One dance of :func:`fetch_beedance`."""
    content = _matlab(fetch(f"data/beedance/beedance-{name.removeprefix('bee')}.mat"))
    x, y, turn = np.asarray(content["Y"], dtype=np.float64).T
    dturn = np.diff(turn, prepend=turn[0])
    dturn -= np.round(dturn)  # the short way round
    speed = np.hypot(np.diff(x, prepend=x[0]), np.diff(y, prepend=y[0]))
    angle = 2 * np.pi * turn
    motion = np.column_stack([dturn, np.abs(dturn), speed])
    mean, std = around(motion, np.arange(len(x)), 4)
    X = np.column_stack([x, y, np.sin(angle), np.cos(angle), motion, mean, np.log(std + 1e-3)])
    smooth = [f"{feature}:{kind}" for kind, feature in product(("m9", "ls9"), BEE_FEATURES[4:])]
    changes = np.asarray(content["L"]).ravel() != 0
    return Recording(name, single(X), segments(changes), (*BEE_FEATURES, *smooth))


def hasc(name: str, fetch: Fetch) -> Recording:
    """The recording of :func:`fetch_hasc1`."""
    content = _matlab(fetch("data/hasc/hasc-1.mat"))
    n = len(content["Y"]) // 20
    blocks = np.asarray(content["Y"], dtype=np.float64)[: n * 20].reshape(n, 20, 3)
    X = np.hstack([blocks.mean(1), np.log(blocks.std(1) + 0.01)])
    changes = np.zeros(n, dtype=bool)
    changes[np.round(np.flatnonzero(np.asarray(content["L"]).ravel()) / 20).astype(int)] = True
    features = [f"{axis}:{kind}" for kind, axis in product(("mean", "logstd"), ("ax", "ay", "az"))]
    return Recording(name, single(X), segments(changes), tuple(features))


def fault(name: str, fetch: Fetch) -> Recording:
    """One fault of :func:`fetch_tep`."""
    X = np.loadtxt(fetch(f"TEP_data/d{name.removeprefix('fault')}_te.dat"))
    return Recording(name, single(X), (np.arange(len(X)) >= TEP_START).astype(int), TEP_FEATURES)


def series(name: str, fetch: Fetch) -> Recording:
    """One series of :func:`fetch_tssb`."""
    described = fetch("tssb/datasets/desc.txt").read_text("utf-8").split()
    (line,) = (line for line in described if line.startswith(f"{name},"))
    values = np.loadtxt(fetch(f"tssb/datasets/{name}.txt"), ndmin=2).reshape(-1, 1)
    changes = np.zeros(len(values), dtype=bool)
    changes[[int(end) for end in line.split(",")[2:]]] = True
    return Recording(name, single(values), segments(changes), ("x",))


def session(name: str, fetch: Fetch) -> Recording:
    """One session of :func:`fetch_mocap86`."""
    pandas = require("pandas", "datasets", "reading a public set")
    frame = pandas.read_csv(fetch(f"dataset/MoCap/{name}.csv"))
    features = tuple(f"channel {column}" for column in frame.columns[:-1])
    y = frame["state"].to_numpy(np.int64)
    return Recording(name, frame.iloc[:, :-1].to_numpy(np.float64), y, features)


def _matlab(path: Path) -> Any:
    return loadmat(path, simplify_cells=True)
