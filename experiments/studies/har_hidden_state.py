"""A state that nobody labelled: each state in turn is absent from learning and present in the test.

The split of har_spsw.py. Every recording is standardised as a whole. The training recordings are
then cut into the stretches without the state; stretches of ten samples and more are learned from.
The test recordings are segmented whole, and each of them has the state. Whatever learns from labels
is cross-fitted by person.

    python -m experiments.studies.har_hidden_state --seconds 400      # as often as it asks for
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments._cache import Pieces, run_on
from experiments._report import SHARED, Row, publish
from experiments.studies._har import (
    BOOSTING,
    BOUNDARIES,
    LOGISTIC,
    METHODS,
    METRIC,
    METRIC_ON_LAGS,
    METRIC_ON_SCORES,
    Floats,
    losses,
    paired_rows,
    scored,
    segmentations,
)
from experiments.studies.har_spsw import split
from structsvm import MetricLearner
from structsvm.data.standardize import Standardizer
from structsvm.errors import DataWarning
from structsvm.io import Recording

STATES = ("seated", "standing up", "walking", "turning", "sitting down")
"""The states 0, 1, ... of the labels."""
SHORTEST = 10
ON_LOGISTIC_SCORES = "metric on lags and logistic scores, full"
FULL_ON_SCORES = "metric on lags and state scores, full"

MADE = {name: make for name, (_, make) in METHODS.items()} | {
    FULL_ON_SCORES: lambda s: MetricLearner(features=scored(s), standardize=s),
    ON_LOGISTIC_SCORES: lambda s: MetricLearner(features=scored(s, "logistic"), standardize=s),
}
SHOWN = (
    "metric, diagonal",
    METRIC,
    "metric on lags, diagonal",
    METRIC_ON_LAGS,
    METRIC_ON_SCORES,
    FULL_ON_SCORES,
    ON_LOGISTIC_SCORES,
    BOUNDARIES,
    LOGISTIC,
    BOOSTING,
)
PAIRS = (
    (METRIC_ON_SCORES, BOOSTING),
    (METRIC_ON_SCORES, LOGISTIC),
    (METRIC_ON_SCORES, BOUNDARIES),
    (METRIC_ON_LAGS, BOUNDARIES),
    (METRIC_ON_LAGS, BOOSTING),
)


def standardized(recording: Recording) -> Floats:
    """z-scores of a whole recording."""
    return Standardizer("recording")(recording.X)


def stretches(recordings: Sequence[Recording], hidden: int) -> list[tuple[Floats, Any, str]]:
    """Features, labels and name of each stretch without a state."""
    found = []
    for recording in recordings:
        X = standardized(recording)
        y = np.asarray(recording.y)
        edges = np.flatnonzero(np.diff(y != hidden, prepend=False, append=False))
        for start, end in edges.reshape(-1, 2).tolist():
            if end - start >= SHORTEST:
                found.append((X[start:end], y[start:end], recording.name))
    return found


def run(
    method: str, hidden: int, learn: Sequence[Recording], test: Sequence[Recording]
) -> list[float]:
    """The loss of each test recording after learning without the state."""
    Xs, ys, names = map(list, zip(*stretches(learn, hidden), strict=True))
    new = [standardized(recording) for recording in test]
    return losses(test, segmentations(MADE[method](None), Xs, ys, names, new))


def main(folder: Path, seconds: float) -> None:
    warnings.simplefilter("ignore", DataWarning)
    learn, test = split(folder)
    pieces = Pieces("har_hidden_state", seconds)
    found: dict[str, dict[str, Any]] = {
        title: {m: pieces.get(f"{m} {state}", partial(run, m, state, learn, test)) for m in SHOWN}
        for state, title in enumerate(STATES)
    }
    pieces.finish()
    arrays = {s: {m: np.array(values) for m, values in of.items()} for s, of in found.items()}
    rows: list[Row] = [
        {"method": m, **{state: float(of[m].mean()) for state, of in arrays.items()}} for m in SHOWN
    ]
    publish("har_hidden_state", rows)
    publish("har_hidden_state_paired", paired_rows(PAIRS, arrays, test))


if __name__ == "__main__":
    run_on(main, SHARED / "har_spsw", __doc__)
