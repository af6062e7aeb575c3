"""What a metric is worth beside the classifiers that one would try first, on activities.

The split of har_spsw.py, and the draws of five recordings of har_few_recordings.py. Every method
gets the same labels and tunes its penalty or threshold on them; whatever learns from labels before
that is cross-fitted by person.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _report import SHARED, Row, publish
from har_spsw import scores, split

from structsvm import EquivalenceMatrix, MetricLearner
from structsvm.datasets import Recording, arrays_and_labels
from structsvm.errors import DataWarning
from structsvm.features import Lags, StateScores, Union
from structsvm.partitions.losses import partition_loss
from structsvm.rivals import BoundaryClassifier, FrameClassifier

DRAWS, FEW = 5, 5
CHANGES, STATES = "change points", "names of states"

METHODS: dict[str, tuple[str, Callable[[], Any]]] = {
    "metric, diagonal": (CHANGES, lambda: MetricLearner(metric="diagonal")),
    "metric, full": (CHANGES, MetricLearner),
    "metric on lags, diagonal": (
        CHANGES,
        lambda: MetricLearner(metric="diagonal", features=Lags()),
    ),
    "metric on lags, full": (CHANGES, lambda: MetricLearner(features=Lags())),
    "boundary classifier, boosting": (CHANGES, BoundaryClassifier),
    "metric on lags and state scores, diagonal": (
        STATES,
        lambda: MetricLearner(metric="diagonal", features=Union(Lags(), StateScores())),
    ),
    "frame classifier, logistic": (STATES, lambda: FrameClassifier("logistic")),
    "frame classifier, boosting": (STATES, FrameClassifier),
}
LAST = list(METHODS)[-1]


def learned(model: Any, learn: Sequence[Recording], test: Sequence[Recording]) -> list[Any]:
    """The segmentations of the test recordings, K unknown, after learning from the others."""
    Xs, ys = arrays_and_labels(learn)
    model.fit(Xs, ys, groups=[recording.name[:3] for recording in learn])
    found = model.predict_breakpoints([recording.X for recording in test])
    return [EquivalenceMatrix.from_breakpoints(ends) for ends in found]


def truth(y: Any) -> EquivalenceMatrix:
    """The segmentation that names of states stand for."""
    changes = np.flatnonzero(np.asarray(y)[1:] != np.asarray(y)[:-1]) + 1
    return EquivalenceMatrix.from_breakpoints([*changes.tolist(), len(y)])


def mean_and_error(values: Sequence[float]) -> str:
    """The mean and its standard error."""
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.2f}"


def main(folder: Path) -> None:
    warnings.simplefilter("ignore", DataWarning)
    learn, test = split(folder)
    truths = [truth(recording.y) for recording in test]
    draws = [np.random.default_rng(seed).permutation(len(learn))[:FEW] for seed in range(DRAWS)]
    found = {name: learned(make(), learn, test) for name, (_, make) in METHODS.items()}
    losses = {
        name: np.array([partition_loss(t, g) for t, g in zip(truths, guesses, strict=True)])
        for name, guesses in found.items()
    }
    rows: list[Row] = []
    for name, (needs, make) in METHODS.items():
        few = [scores(truths, learned(make(), [learn[i] for i in d], test))["loss"] for d in draws]
        rows.append(
            {
                "method": name,
                "learns from": needs,
                **scores(truths, found[name]),
                "loss less that of the last": None
                if name == LAST
                else mean_and_error(losses[name] - losses[LAST]),
                f"loss, {FEW} recordings": mean_and_error(few),
            }
        )
    publish("har_rivals", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    main(parser.parse_args().data)
