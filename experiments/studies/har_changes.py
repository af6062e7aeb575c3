"""Where learning adds to the closed form, on the same features, from change points alone.

OLDA, which is computed, and a diagonal metric that is learned with ``lam=1``, both on lags; on lags
and moving statistics; and on these with what boosting and logistic regression say of boundaries,
as the candidates boundaries-olda and boundaries-mean of model selection see them. Each third of
the fifteen people of har_spsw.py is segmented after learning from the ten others; and s11-s15 after
learning from draws of five recordings of s01-s10. Losses have K unknown / K known; the boundary
classifier chooses how peaks are picked. What learns from labels is cross-fitted by person.

    python -m experiments.studies.har_changes --seconds 400      # as often as it asks for
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments._cache import Pieces, run_on
from experiments._report import SHARED, Row, publish
from experiments.studies._har import mean_and_error, person, truth
from structsvm import MetricLearner
from structsvm.baselines import BoundaryClassifier
from structsvm.errors import DataWarning
from structsvm.features import BoundaryScores, Lags, MovingStatistics, Union
from structsvm.features.frames import learning_once
from structsvm.io import Recording, arrays_and_labels, read_recordings
from structsvm.partitions.losses import partition_loss

PEOPLE = tuple(f"s{number:02d}" for number in range(1, 16))
THIRDS = tuple(PEOPLE[start : start + 5] for start in (0, 5, 10))
DRAWS = tuple(range(4))
CLASSIFIER = "boundary classifier, boosting"


def methods() -> dict[str, Any]:
    """Metrics on the same features, and the classifier."""
    sees = {
        "lags": Lags(),
        "lags, moving statistics": Union(Lags(), MovingStatistics()),
        "lags, moving statistics, boundaries": Union(
            Lags(), BoundaryScores(), BoundaryScores("logistic"), MovingStatistics()
        ),
    }
    found: dict[str, Any] = {}
    for name, features in sees.items():
        found[f"OLDA; {name}"] = MetricLearner(metric="olda", features=features)
        found[f"learned; {name}"] = MetricLearner(metric="diagonal", lam=1.0, features=features)
    return found | {CLASSIFIER: BoundaryClassifier()}


def losses(learn: Sequence[Recording], test: Sequence[Recording]) -> dict[str, list[float]]:
    """The mean loss of each with K unknown, and with K known."""
    Xs, ys = arrays_and_labels(learn)
    people = [person(one.name) for one in learn]
    groups = people if len(set(people)) > 1 else None
    truths = [truth(one.y) for one in test]
    new = [one.X for one in test]
    counts = [M.n_clusters for M in truths]
    found = {}
    with learning_once():
        for name, method in methods().items():
            method.fit(Xs, [truth(y).breakpoints for y in ys], groups=groups)
            found[name] = []
            for asked in (None, counts):
                pairs = zip(truths, method.predict_partitions(new, asked), strict=True)
                found[name].append(float(np.mean([partition_loss(t, g) for t, g in pairs])))
    print(found, flush=True)
    return found


def parts(folder: Path) -> dict[str, tuple[list[Recording], list[Recording]]]:
    """What is learned from and what is segmented, by name."""
    recordings = read_recordings(folder)
    found = {}
    for third in THIRDS:
        away = [one for one in recordings if person(one.name) in third]
        rest = [one for one in recordings if person(one.name) not in third]
        found[f"{third[0]}-{third[-1]}"] = (rest, away)
    (rest, away) = found["s11-s15"]
    for draw in DRAWS:
        some = np.random.default_rng(draw).permutation(len(rest))[:5]
        found[f"5 recordings, {draw}"] = ([rest[i] for i in some], away)
    return found


def rows_of(found: Mapping[str, Mapping[str, Sequence[float]]]) -> list[Row]:
    """A row for each method: the thirds, their mean, and the draws of five recordings."""
    thirds = [name for name in found if "recordings" not in name]
    draws = [name for name in found if "recordings" in name]
    rows: list[Row] = []
    for method in found[thirds[0]]:
        row = {"method; features": method}
        for name in thirds:
            row[name] = " / ".join(f"{loss:.2f}" for loss in found[name][method])
        means = np.mean([found[name][method] for name in thirds], axis=0)
        row["all"] = " / ".join(f"{loss:.2f}" for loss in means)
        of_draws = np.array([found[name][method] for name in draws]).T
        row["5 recordings"] = " / ".join(mean_and_error(losses) for losses in of_draws)
        rows.append(row)
    return rows


def main(folder: Path, seconds: float) -> None:
    warnings.simplefilter("ignore", DataWarning)
    pieces = Pieces("har_changes", seconds)
    found = {name: pieces.get(name, partial(losses, *both)) for name, both in parts(folder).items()}
    pieces.finish()
    publish("har_changes", rows_of(found))


if __name__ == "__main__":
    run_on(main, SHARED / "har_spsw", __doc__)
