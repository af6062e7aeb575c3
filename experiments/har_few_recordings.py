"""How many labelled recordings a metric needs, on the activities of experiments/har_spsw.py.

Five draws of 5, 10, 20 and 40 recordings of the ten people to learn from; the 50 recordings of the
five others are segmented, the number of segments unknown. All metrics of a draw see the same
recordings and calibrate on them. Takes a minute.
"""

from __future__ import annotations

import warnings

import numpy as np
from _report import SHARED, publish
from har_spsw import split

from structsvm import MetricLearner
from structsvm.errors import DataWarning
from structsvm.io import Recording, arrays_and_labels
from structsvm.learner import closed_forms as tuned_metrics
from structsvm.learner.steps import decode_with, encode, prepare
from structsvm.partitions.equivalence import partition_loss

SIZES = (5, 10, 20, 40)
DRAWS = 5
METHODS = ("untrained", "RCA, half shrunk", "OLDA", "learned, diagonal", "learned, full")


def losses(learn: list[Recording], test: list[Recording]) -> dict[str, float]:
    """Mean test loss of every method, learned from the same recordings."""
    Xs, ys = arrays_and_labels(learn)
    X_test, y_test = arrays_and_labels(test)
    full = MetricLearner().fit(Xs, ys)
    diagonal = MetricLearner(metric="diagonal").fit(Xs, ys)
    metrics = {
        "untrained": full.baselines_["untrained"].metric_,
        **{
            name: tuned_metrics.fit(
                name.partition(",")[0].lower(),
                full.problem_,
                prepare(full, Xs),
                encode(full, Xs, ys),
            )
            for name in ("RCA, half shrunk", "OLDA")
        },
        "learned, diagonal": diagonal.metric_,
        "learned, full": full.metric_,
    }
    samples = prepare(full, X_test)
    truths = encode(full, X_test, y_test)
    found = {}
    for name, metric in metrics.items():
        guesses = decode_with(full, metric, samples)
        pairs = zip(truths, guesses, strict=True)
        found[name] = float(np.mean([partition_loss(t, g) for t, g in pairs]))
    return found


def main() -> None:
    warnings.simplefilter("ignore", DataWarning)
    learn, test = split(SHARED / "har_spsw")
    columns: dict[int, list[dict[str, float]]] = {}
    for size in SIZES:
        draws = [
            np.random.default_rng(seed).permutation(len(learn))[:size] for seed in range(DRAWS)
        ]
        columns[size] = [losses([learn[i] for i in draw], test) for draw in draws]
    rows = []
    for method in METHODS:
        row = {"metric": method}
        for size, runs in columns.items():
            values = np.array([run[method] for run in runs])
            error = values.std(ddof=1) / np.sqrt(DRAWS)
            row[f"{size} recordings"] = f"{values.mean():.2f} ± {error:.2f}"
        rows.append(row)
    publish("har_few_recordings", rows)


if __name__ == "__main__":
    main()
