"""In which scale new clusters are found: that of their own table, of training, or the wider.

Small tables, as people bring them, of eight digits, seven letters and seven movements of hands:
half of the classes are labelled, rounded up, and the others are clustered, their number being
given. `chosen` is what MetricLearnerCV(Clustering(), split="clusters") takes of all its candidates.
The wider scale was chosen with draws of digits, letters and movements of seeds 100 to 109; the
table has other draws. Losses are means over the draws, which share rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments._cache import Pieces, run_on
from experiments._report import SHARED, Row, publish
from experiments._tables import read
from structsvm import Clustering, EquivalenceMatrix, MetricLearner, MetricLearnerCV
from structsvm.errors import DataWarning, VerdictWarning
from structsvm.partitions.losses import partition_loss

Rows = tuple[NDArray[np.float64], NDArray[np.int64]]

SIZES = {"digits": (8, 20), "letter": (7, 60), "movement_libras": (7, 24)}
"""Classes of a draw, and rows of each."""
SEEDS = tuple(range(200, 210))
SCALES = {"own": "recording", "of training": "training", "wider": "wider"}
BEFORE = ("untrained, own", "rca, of training")
"""What the others must not be worse than."""


def draw(name: str, folder: Path, seed: int) -> tuple[Rows, Rows]:
    """Rows to learn from, and rows of other classes."""
    table = read(name, folder)
    y = np.unique(table.y, return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    (n_classes, most) = SIZES[name]
    classes = rng.permutation(int(y.max()) + 1)[:n_classes]
    rows = [rng.permutation(np.flatnonzero(y == c))[:most] for c in classes]
    known = np.concatenate(rows[: (n_classes + 1) // 2])
    new = np.concatenate(rows[(n_classes + 1) // 2 :])
    return (table.X[known], y[known]), (table.X[new], y[new])


def losses(name: str, folder: Path, seed: int) -> dict[str, float]:
    """The loss of each metric in each scale, and of what is chosen."""
    (learn, (X, y)) = draw(name, folder, seed)
    truth = EquivalenceMatrix.from_labels(y)
    learners = {
        f"{metric}, {scale}": MetricLearner(Clustering(), metric=metric, standardize=kind)
        for metric, (scale, kind) in product(("untrained", "rca"), SCALES.items())
    }
    learners["chosen"] = MetricLearnerCV(Clustering(), split="clusters", random_state=seed)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerdictWarning)
        warnings.simplefilter("ignore", DataWarning)  # pixels that are always white
        for called, learner in learners.items():
            (guess,) = learner.fit(*learn).predict_partitions([X], truth.n_clusters)
            found[called] = partition_loss(truth, guess)
    print(name, seed, found, flush=True)
    return found


def rows_of(found: Mapping[str, Sequence[Mapping[str, float]]]) -> list[Row]:
    """A row for each metric; the last column is paired with the better of two for each set."""
    best = {
        name: min(BEFORE, key=lambda one: float(np.mean([draw[one] for draw in draws])))
        for name, draws in found.items()
    }
    rows: list[Row] = []
    for called in found["digits"][0]:
        row: dict[str, object] = {"metric, scale": called}
        gaps: list[float] = []
        for name, draws in found.items():
            row[name] = float(np.mean([one[called] for one in draws]))
            gaps += [one[called] - one[best[name]] for one in draws]
        error = np.std(gaps, ddof=1) / np.sqrt(len(gaps))
        row["less the better of two"] = f"{np.mean(gaps):+.2f} ± {error:.2f}"
        rows.append(row)
    return rows


def main(folder: Path, seconds: float) -> None:
    pieces = Pieces("new_clusters_scale", seconds)
    found = {
        name: [pieces.get(f"{name} {seed}", partial(losses, name, folder, seed)) for seed in SEEDS]
        for name in SIZES
    }
    pieces.finish()
    publish("new_clusters_scale", rows_of(found))


if __name__ == "__main__":
    run_on(main, SHARED / "tables", __doc__)
