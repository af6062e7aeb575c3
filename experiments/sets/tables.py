"""Tables whose rows form clusters."""

from itertools import product
from os import PathLike
from typing import Any

import numpy as np
import rdata

from experiments.sets.fetch import REGISTRY
from structsvm.datasets.public import PublicSet
from structsvm.io.recording import Recording

MOVEMENT_LIBRAS = PublicSet(
    "movement_libras",
    "anton-patrushev/statistical-hypotheses",
    "532afb778a12634feaa4c5989b9cff3838576072",
    licence="none stated there; the set is of the UCI Machine Learning Repository",
    citation="Dias, Madeo, Rocha, Biscaro and Peres (2009), Hand movement recognition for "
    "Brazilian sign language, IJCNN",
    registry=REGISTRY,
)
LETTER = PublicSet(
    "letter",
    "cran/mlbench",
    "a6ad5ce6cccb46dcaa5df2a6e184aaae97077817",
    licence="GPL-2 (of the R package mlbench); the set is of the UCI Machine Learning Repository",
    citation="Frey and Slate (1991), Letter recognition using Holland-style adaptive classifiers, "
    "Machine Learning 6, 161-182; in R: Leisch and Dimitriadou, mlbench",
    registry=REGISTRY,
)
IONOSPHERE = PublicSet(
    "ionosphere",
    LETTER.repository,
    LETTER.commit,
    licence=LETTER.licence,
    citation="Sigillito, Wing, Hutton and Baker (1989), Classification of radar returns from the "
    "ionosphere using neural networks, Johns Hopkins APL Technical Digest 10, 262-266; in R: "
    "Leisch and Dimitriadou, mlbench",
    registry=REGISTRY,
)
N_POINTS = 45


def balance_scale() -> Recording:
    """All scales with one to five weights at one to five distances on either side."""
    X = np.array(list(product(range(1, 6), repeat=4)), dtype=np.float64)
    torque = X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]
    y = np.array(["B", "L", "R"])[np.sign(torque).astype(int)]
    features = ("left_weight", "left_distance", "right_weight", "right_distance")
    return Recording("balance_scale", X, y, features)


def fetch_movement_libras(*, data_home: str | PathLike[str] | None = None) -> Recording:
    """Hand movements of Brazilian sign language: 360 rows, 45 points of a curve, 15 kinds."""
    path = MOVEMENT_LIBRAS.fetch("data/movement_libras.data", data_home)
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    features = tuple(f"{axis}{i}" for i, axis in product(range(1, N_POINTS + 1), "xy"))
    return Recording("movement_libras", table[:, :-1], table[:, -1].astype(np.int64), features)


def fetch_letter(*, data_home: str | PathLike[str] | None = None) -> Recording:
    """Printed capital letters in 20 distorted fonts: 20,000 rows, 16 features, 26 kinds."""
    path = LETTER.fetch("data/LetterRecognition.rda", data_home)
    return _table("letter", rdata.read_rda(path)["LetterRecognition"], "lettr")


def fetch_ionosphere(*, data_home: str | PathLike[str] | None = None) -> Recording:
    """Radar returns from the ionosphere: 351 rows, 34 features, good or bad."""
    path = IONOSPHERE.fetch("data/Ionosphere.rda", data_home)
    return _table("ionosphere", rdata.read_rda(path)["Ionosphere"], "Class")


def _table(name: str, frame: Any, label: str) -> Recording:
    """A data frame of R whose factors of numbers are numbers."""
    features = frame.drop(columns=label)
    X = features.astype(str).astype(np.float64).to_numpy()
    return Recording(name, X, np.array(frame[label], dtype=str), tuple(map(str, features)))
