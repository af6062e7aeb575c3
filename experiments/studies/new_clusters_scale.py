"""In which scale new clusters are found: that of their own table, of training, or the wider.

Small tables, as people bring them: half of the classes, four at least, are labelled, and the others
are clustered, their number being given. `chosen` is what MetricLearnerCV(Clustering(),
split="clusters") takes of all its candidates. The wider scale was chosen with draws of digits,
letters and movements of seeds 100 to 109; the table has other draws. Losses are means over the
draws, which share rows, so that the standard errors are optimistic. *The better* is the untrained
metric in the scale of the new table or RCA in that of training, whichever is known in hindsight to
have the smaller mean on a table.

``--data`` is a folder of CSV files, the class in the last column; those of UCI that do not come
with the library were taken from github.com/renatopp/arff-datasets, where columns of two values are
0 and 1, and others that are no numbers are left out.

    python -m experiments.studies.new_clusters_scale --data FOLDER
    python -m experiments.studies.new_clusters_scale --tables digits letter movement_libras
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._cache import Pieces, seconds_option
from experiments._report import SHARED, Row, publish_some
from experiments._tables import read
from structsvm import Clustering, EquivalenceMatrix, MetricLearner, MetricLearnerCV
from structsvm.errors import DataWarning, VerdictWarning
from structsvm.partitions.losses import partition_loss

Rows = tuple[NDArray[np.float64], NDArray[np.int64]]

SIZES = {"digits": (8, 20), "letter": (7, 60), "movement_libras": (7, 24)}
"""Classes of a draw, and rows of each at most; of other tables all classes, and as many rows:"""
MOST_ROWS = 60
FEWEST_ROWS = 5
"""Of a class that takes part."""
FEWEST_LABELLED = 4
"""Classes that have to be known to choose for new ones."""
OTHERS = ("ecoli", "segment", "zoo", "glass", "vowel")
MORE = ("dermatology", "optdigits", "pendigits", "soybean")
TABLES = (*SIZES, *OTHERS, *MORE)
SEEDS = tuple(range(200, 210))
SCALES = {"own": "recording", "of training": "training", "wider": "wider"}
BEFORE = ("untrained, own", "rca, of training")
"""What the others must not be worse than."""
CHOSEN = "chosen"


def draw(name: str, folder: Path, seed: int) -> tuple[Rows, Rows]:
    """Rows to learn from, and rows of other classes."""
    table = read(name, folder)
    y = np.unique(table.y, return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    (n_classes, most) = SIZES.get(name, (None, MOST_ROWS))
    many = np.flatnonzero(np.bincount(y) >= FEWEST_ROWS)
    classes = rng.permutation(many)[:n_classes]
    rows = [rng.permutation(np.flatnonzero(y == c))[:most] for c in classes]
    half = max(FEWEST_LABELLED, (len(classes) + 1) // 2)
    known = np.concatenate(rows[:half])
    new = np.concatenate(rows[half:])
    return (table.X[known], y[known]), (table.X[new], y[new])


def losses(name: str, folder: Path, seed: int) -> dict[str, Any]:
    """The loss of each metric in each scale, and of what is chosen, with its name."""
    (learn, (X, y)) = draw(name, folder, seed)
    truth = EquivalenceMatrix.from_labels(y)
    problem = Clustering(random_state=seed)
    learners: dict[str, Any] = {
        f"{metric}, {scale}": MetricLearner(problem, metric=metric, standardize=kind)
        for metric, (scale, kind) in product(("untrained", "rca"), SCALES.items())
    }
    search = MetricLearnerCV(problem, split="clusters", random_state=seed)
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerdictWarning)
        warnings.simplefilter("ignore", DataWarning)  # pixels that are always white
        for called, learner in (learners | {CHOSEN: search}).items():
            (guess,) = learner.fit(*learn).predict_partitions([X], truth.n_clusters)
            found[called] = partition_loss(truth, guess)
    found["candidate"] = search.best_candidate_
    print(name, seed, found, flush=True)
    return found


def row_of(name: str, draws: Sequence[Mapping[str, Any]]) -> Row:
    """Means over the draws, and the paired difference of what is chosen from the better of two."""
    columns = [called for called in draws[0] if called != "candidate"]
    of = {called: np.array([one[called] for one in draws]) for called in columns}
    best = min(BEFORE, key=lambda called: float(of[called].mean()))
    gap = of[CHOSEN] - of[best]
    error = gap.std(ddof=1) / np.sqrt(gap.size)
    taken = Counter(one["candidate"] for one in draws)
    return {
        "table": name,
        **{called: float(values.mean()) for called, values in of.items()},
        "chosen less the better": f"{gap.mean():+.2f} ± {error:.2f}",
        "what is chosen": ", ".join(f"{one} ({n})" for one, n in taken.most_common()),
    }


def main(folder: Path, tables: Sequence[str], seconds: float) -> None:
    pieces = Pieces("new_clusters_scale", seconds)
    found = {
        name: [pieces.get(f"{name} {seed}", partial(losses, name, folder, seed)) for seed in SEEDS]
        for name in tables
    }
    pieces.finish()
    rows = [row_of(name, draws) for name, draws in found.items()]
    publish_some("new_clusters_scale", rows, "table")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "tables")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    seconds_option(parser)
    options = parser.parse_args()
    main(options.data, options.tables, options.seconds)
