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


def guesses(model: Any, learn: Sequence[Recording], test: Sequence[Recording]) -> list[list[int]]:
    """The segment ends of the test recordings, after learning from the others."""
    Xs, ys = arrays_and_labels(learn)
    model.fit(Xs, ys, groups=[recording.name[:3] for recording in learn])
    return model.predict_breakpoints([recording.X for recording in test])


def measured(model: Any, learn: Sequence[Recording], test: Sequence[Recording]) -> Row:
    """Mean scores on the test recordings, K unknown."""
    truths = [_partition(recording.y) for recording in test]
    found = [EquivalenceMatrix.from_breakpoints(ends) for ends in guesses(model, learn, test)]
    return scores(truths, found)


def _partition(y: Any) -> EquivalenceMatrix:
    changes = np.flatnonzero(np.asarray(y)[1:] != np.asarray(y)[:-1]) + 1
    return EquivalenceMatrix.from_breakpoints([*changes.tolist(), len(y)])


def main(folder: Path) -> None:
    warnings.simplefilter("ignore", DataWarning)
    learn, test = split(folder)
    draws = [np.random.default_rng(seed).permutation(len(learn))[:FEW] for seed in range(DRAWS)]
    rows: list[Row] = []
    for name, (needs, make) in METHODS.items():
        few = [measured(make(), [learn[i] for i in draw], test)["loss"] for draw in draws]
        error = np.std(few, ddof=1) / np.sqrt(DRAWS)
        rows.append(
            {
                "method": name,
                "learns from": needs,
                **measured(make(), learn, test),
                f"loss, {FEW} recordings": f"{np.mean(few):.2f} ± {error:.2f}",
            }
        )
    publish("har_rivals", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    main(parser.parse_args().data)
