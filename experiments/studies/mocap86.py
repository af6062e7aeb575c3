"""MoCap 86: nine sessions of motion capture, each segmented by what the eight others teach.

Sessions are cut into windows of half a second, every eighth of a second, described by the means and
spreads of the four channels and of their differences. The number of segments is not given.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments._report import SHARED, publish
from experiments.sets import fetch_mocap86
from experiments.studies.has2023 import METHODS, scored
from structsvm import EquivalenceMatrix, MetricLearner
from structsvm.features import Windows, windows
from structsvm.interop import labels_to_breakpoints
from structsvm.io import Recording
from structsvm.learner.steps import decode_with
from structsvm.partitions.losses import partition_loss

RATE, WINDOW, HOP = 120.0, 0.5, 0.125


def cut(session: Recording) -> Windows:
    """Windows of the channels and of their differences."""
    moves = np.diff(session.X, axis=0, prepend=session.X[:1])
    names = [*session.features, *(f"difference of {name}" for name in session.features)]
    return windows(np.column_stack([session.X, moves]), RATE, WINDOW, HOP, names=names)


def main(folder: Path) -> None:
    sessions = fetch_mocap86(data_home=folder)
    cuts = [cut(session) for session in sessions]
    ys = [found.labels(session.y) for found, session in zip(cuts, sessions, strict=True)]
    found: dict[str, list[list[int]]] = {}
    for i in range(len(sessions)):
        others = [j for j in range(len(sessions)) if j != i]
        for name, (metric, use) in METHODS.items():
            learner = MetricLearner(metric=metric, standardize="recording")
            learner.fit([cuts[j].X for j in others], [ys[j] for j in others])
            chosen = learner.metric_ if use == "learned" else learner.baselines_[use].metric_
            (guess,) = decode_with(learner, chosen, [cuts[i].X])
            found.setdefault(name, []).append(cuts[i].breakpoints(guess.breakpoints))
    found["no change anywhere"] = [[len(session.X)] for session in sessions]
    found["the true changes"] = [labels_to_breakpoints(session.y) for session in sessions]
    untrained = losses(sessions, found[next(iter(METHODS))])
    publish(
        "mocap86",
        [
            {**scored(name, sessions, ends), GAIN: gained(untrained - losses(sessions, ends))}
            for name, ends in found.items()
        ],
    )


GAIN = "loss gained over untrained"


def losses(sessions: Sequence[Recording], ends: Sequence[list[int]]) -> NDArray[np.float64]:
    """Of each session."""
    make = EquivalenceMatrix.from_breakpoints
    pairs = zip(sessions, ends, strict=True)
    return np.array(
        [partition_loss(make(labels_to_breakpoints(one.y)), make(found)) for one, found in pairs]
    )


def gained(gains: NDArray[np.float64]) -> str | None:
    """Mean over sessions and its standard error, None of what gains nothing on itself."""
    if not gains.any():
        return None
    return f"{gains.mean():+.2f} ± {gains.std(ddof=1) / np.sqrt(gains.size):.2f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    main(parser.parse_args().data)
