"""The labelled tables of the paper's Table 2, the two protocols, and how a metric is scored."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedShuffleSplit

from structsvm import Clustering, EquivalenceMatrix
from structsvm.data.standardize import Standardizer
from structsvm.partitions import Instance, Metric
from structsvm.partitions.losses import adjusted_rand_index, partition_loss

Floats = NDArray[np.float64]

BUNDLED: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "wine": load_wine,
    "digits": load_digits,
}
NAMES = ("iris", "wine", "balance_scale", "ionosphere", "movement_libras", "digits", "letter")
LARGE = 5_000
"""Rows beyond which the weak regularizer would take minutes."""
REPEATS = 10
"""Splits, or seeds of K-means."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows and their true clusters."""

    X: Floats
    truth: EquivalenceMatrix

    @property
    def standardized(self) -> Floats:
        """z-scores."""
        return Standardizer("recording")(self.X)


@dataclass(frozen=True, eq=False)
class Task:
    """Learn from some rows, cluster others, or the same ones."""

    train: Labelled
    test: Labelled
    seed: int

    def scores(self, metric: Metric, standardize: bool = True) -> tuple[float, float]:
        """Loss and adjusted Rand index on the test rows, the number of clusters being given."""
        X = self.test.standardized if standardize else self.test.X
        truth = self.test.truth
        guess = Clustering(random_state=self.seed).partition(Instance(X), metric, truth.n_clusters)
        return partition_loss(truth, guess), adjusted_rand_index(truth, guess)


@dataclass(frozen=True, eq=False)
class Table:
    """A table with its labels."""

    name: str
    X: Floats
    y: NDArray[Any]

    @property
    def description(self) -> str:
        """Name and size."""
        T, P = self.X.shape
        return f"{self.name} ({T} x {P}, K = {len(np.unique(self.y))})"

    def at(self, rows: NDArray[np.int64] | slice) -> Labelled:
        """Some of the rows."""
        return Labelled(self.X[rows], EquivalenceMatrix.from_labels(self.y[rows]))

    def same_rows(self) -> Iterator[Task]:
        """Learn and cluster all rows; what varies is the seed of K-means."""
        rows = self.at(slice(None))
        for seed in range(REPEATS):
            yield Task(rows, rows, seed)

    def held_out(self) -> Iterator[Task]:
        """Learn on half of the rows of each cluster, cluster the other half."""
        for seed in range(REPEATS):
            halves = StratifiedShuffleSplit(1, train_size=0.5, random_state=seed)
            learn, test = next(halves.split(self.X, self.y))
            yield Task(self.at(learn), self.at(test), seed)


def read(name: str, folder: Path) -> Table:
    """One of :data:`NAMES`; all but scikit-learn's own from ``folder``."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        return Table(name, np.asarray(X, dtype=np.float64), y)
    with (folder / f"{name}.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    X = np.array([row[:-1] for row in rows], dtype=np.float64)
    return Table(name, X, np.array([row[-1] for row in rows]))
