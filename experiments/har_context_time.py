"""What context costs: seconds to make features, and to learn from them, each by itself.

The 95 recordings of the training people of har_spsw.py, CPU seconds; learning is the median of
three runs. Components keep their variances, and nothing standardises them again. A
classifier behind scores is learned six times, five of them for scores of recordings that it has not
seen; that time is the classifier's own and is listed apart.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _har import Floats, person
from _report import SHARED, Row, publish
from har_spsw import split

from structsvm import MetricLearner
from structsvm.errors import DataWarning
from structsvm.features import (
    BoundaryScores,
    Chain,
    Columns,
    Components,
    Lags,
    StateScores,
    Union,
)
from structsvm.io import arrays_and_labels

FEATURES = {
    "columns": Columns(),
    "lags": Lags(),
    "components of lags": Chain(Lags(), Components()),
    "lags and state scores": Union(Lags(), StateScores()),
    "lags and boundary scores": Union(Lags(), BoundaryScores()),
}


RUNS = 3


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds, and what came of it."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def learning(metric: str, made: Sequence[Floats], ys: Sequence[Any], components: bool) -> float:
    """To learn a metric of features that are there."""
    learner = MetricLearner(metric=metric, standardize=None if components else "auto")
    return float(np.median([seconds_of(lambda: learner.fit(made, ys))[0] for _ in range(RUNS)]))


def main(folder: Path) -> None:
    warnings.simplefilter("ignore", DataWarning)
    learn, _ = split(folder)
    Xs, ys = arrays_and_labels(learn)
    people = [person(recording.name) for recording in learn]
    for metric in ("diagonal", "full"):
        learning(metric, Xs[:5], ys[:5], components=False)  # compiles
    rows: list[Row] = []
    for name, features in FEATURES.items():
        making, made = seconds_of(lambda f=features: f.fit_transform(Xs, ys, people))
        components = "components" in name
        rows.append(
            {
                "features": name,
                "number": made[0].shape[1],
                "seconds to make them": making,
                "seconds to learn, diagonal": learning("diagonal", made, ys, components),
                "seconds to learn, full": learning("full", made, ys, components),
            }
        )
    publish("har_context_time", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    args = parser.parse_args()
    main(args.data)
