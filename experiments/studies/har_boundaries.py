"""Boundaries that a classifier finds as features of a metric, beside the classifiers themselves.

The split of har_spsw.py, default settings, no choice: diagonal metrics with ``lam=1``, on lags and
boundary scores, which learn from change points, and on lags, state scores and boundary scores,
which learn from names. Both classifiers use gradient boosting. What learns from labels is
cross-fitted by person, and what several need is learned once.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import SHARED, Row, publish
from experiments.studies._har import CHANGES, STATES, Floats, difference, person, truth
from experiments.studies.har_spsw import split
from structsvm import EquivalenceMatrix, MetricLearner
from structsvm.errors import DataWarning
from structsvm.evaluation.sentences import baseline_in_words
from structsvm.features import BoundaryScores, Lags, StateScores, Union
from structsvm.features.frames import learning_once
from structsvm.io import Recording, arrays_and_labels
from structsvm.partitions.losses import partition_loss

FRAMES, BOUNDARIES = "frame-boosting", "boundary-boosting"
METRICS = {
    "metric on lags and boundary scores": (CHANGES, Union(Lags(), BoundaryScores())),
    "metric on lags, state and boundary scores": (
        STATES,
        Union(Lags(), StateScores(), BoundaryScores()),
    ),
}


def fitted(learn: Sequence[Recording]) -> dict[str, MetricLearner]:
    """The metrics; the last has both classifiers beside it."""
    Xs, ys = arrays_and_labels(learn)
    people = [person(recording.name) for recording in learn]
    found = {}
    with learning_once():
        for name, (_, features) in METRICS.items():
            learner = MetricLearner(metric="diagonal", lam=1.0, features=features)
            rivals = [FRAMES, BOUNDARIES] if name == list(METRICS)[-1] else None
            found[name] = learner.fit(Xs, ys, groups=people, baselines=rivals)
    return found


def losses(truths: Sequence[EquivalenceMatrix], guesses: Sequence[EquivalenceMatrix]) -> Floats:
    """The loss of each recording."""
    return np.array([partition_loss(t, g) for t, g in zip(truths, guesses, strict=True)])


def main(folder: Path) -> None:
    warnings.simplefilter("ignore", DataWarning)
    learn, test = split(folder)
    learners = fitted(learn)
    new = [recording.X for recording in test]
    truths = [truth(recording.y) for recording in test]
    last = learners[list(METRICS)[-1]]
    labels = {name: of for name, (of, _) in METRICS.items()}
    labels |= {BOUNDARIES: CHANGES, FRAMES: STATES}
    rows: list[dict[str, Any]] = [
        {"method": baseline_in_words(name), "learns from": of} for name, of in labels.items()
    ]
    for given, counts in (("unknown", None), ("known", [M.n_clusters for M in truths])):
        guesses = {name: m.predict_partitions(new, counts) for name, m in learners.items()}
        guesses |= {
            r: last.baselines_[r].predict_partitions(new, counts) for r in (BOUNDARIES, FRAMES)
        }
        found = {name: losses(truths, Ms) for name, Ms in guesses.items()}
        for row, name in zip(rows, labels, strict=True):
            row[f"loss, K {given}"] = float(found[name].mean())
            same = name == FRAMES
            row[f"less that of the last, K {given}"] = (
                "-" if same else difference(found, name, FRAMES, test)
            )
    published: list[Row] = list(rows)
    publish("har_boundaries", published)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    args = parser.parse_args()
    main(args.data)
