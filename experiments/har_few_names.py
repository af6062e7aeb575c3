"""How strongly to regularize a metric on state scores that learns from few recordings.

The split of har_spsw.py and the draws of har_closed_set.py: the diagonal metric on lags and state
scores, with several ``lam``, learns from 2 to 20 recordings of the ten people. That five recordings
want more than the default was seen on other draws, of which it segmented other people of the ten.

    python experiments/har_few_names.py --seconds 30      # as often as it asks for
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from _cache import Pieces, seconds_option
from _har import losses, mean_and_error, scored, segmentations
from _report import SHARED, Row, publish
from har_closed_set import draws
from har_spsw import split

from structsvm import MetricLearner
from structsvm.errors import DataWarning
from structsvm.features.frames import learning_once
from structsvm.io import Recording, arrays_and_labels

SIZES = (2, 5, 10, 20)
LAMS = (0.1, 1.0, 5.0)
"""The first is the default."""


def run(learn: Sequence[Recording], test: Sequence[Recording]) -> dict[str, float]:
    """The mean loss on the test recordings for each ``lam``, K unknown."""
    Xs, ys = arrays_and_labels(learn)
    found = {}
    with learning_once():
        for lam in LAMS:
            learner = MetricLearner(metric="diagonal", features=scored("recording"), lam=lam)
            names = [r.name for r in learn]
            guesses = segmentations(learner, Xs, ys, names, [r.X for r in test])
            found[f"{lam:g}"] = float(np.mean(losses(test, guesses)))
    return found


def main(folder: Path, seconds: float) -> None:
    warnings.simplefilter("ignore", DataWarning)
    learn, test = split(folder)
    pieces = Pieces("har_few_names", seconds)
    found = {
        size: [
            pieces.get(f"{size} {k}", partial(run, [learn[i] for i in chosen], test))
            for k, chosen in enumerate(draws(len(learn), size))
        ]
        for size in SIZES
    }
    pieces.finish()
    publish("har_few_names", [row_of(lam, found) for lam in map("{:g}".format, LAMS)])


def row_of(lam: str, found: dict[int, list[dict[str, float]]]) -> Row:
    """The losses by number of recordings, and less those of the default."""
    row: Row = {"lam": lam}
    for size, runs in found.items():
        values = np.array([run[lam] for run in runs])
        row[f"{size} recordings"] = mean_and_error(values)
        if lam != f"{LAMS[0]:g}":
            default = np.array([run[f"{LAMS[0]:g}"] for run in runs])
            row[f"{size} recordings"] += f" ({mean_and_error(values - default)})"
    return row


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    seconds_option(parser)
    options = parser.parse_args()
    main(options.data, options.seconds)
