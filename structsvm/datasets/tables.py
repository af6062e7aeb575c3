"""Tables whose rows form clusters."""

from __future__ import annotations

from itertools import product
from os import PathLike

import numpy as np

from structsvm.datasets.public import PublicSet
from structsvm.datasets.recording import Recording

__all__ = ["balance_scale", "fetch_movement_libras"]

MOVEMENT_LIBRAS = PublicSet(
    "movement_libras",
    "anton-patrushev/statistical-hypotheses",
    "532afb778a12634feaa4c5989b9cff3838576072",
    licence="none stated there; the set is of the UCI Machine Learning Repository",
    citation="Dias, Madeo, Rocha, Biscaro and Peres (2009), Hand movement recognition for "
    "Brazilian sign language, IJCNN",
)
N_POINTS = 45


def balance_scale() -> Recording:
    """All scales with one to five weights at one to five distances on either side.

    Returns
    -------
    Recording
        625 rows of left weight, left distance, right weight, right distance; ``y`` is "L", "R" or
        "B", the side that goes down or balance.

    Notes
    -----
    Made from its rule, nothing is downloaded: no licence.

    References
    ----------
    Siegler (1976), Three aspects of cognitive development, Cognitive Psychology 8, 481-520.
    """
    X = np.array(list(product(range(1, 6), repeat=4)), dtype=np.float64)
    torque = X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]
    y = np.array(["B", "L", "R"])[np.sign(torque).astype(int)]
    features = ("left_weight", "left_distance", "right_weight", "right_distance")
    return Recording("balance_scale", X, y, features)


def fetch_movement_libras(*, data_home: str | PathLike[str] | None = None) -> Recording:
    """Hand movements of Brazilian sign language: 360 rows, 45 points of a curve, 15 kinds.

    Parameters
    ----------
    data_home : path, optional
        As in :func:`fetch_har_spsw`.

    Returns
    -------
    Recording
        Features ``x1, y1, ..., x45, y45``; ``y`` is the kind, 1 to 15. 30 rows come twice.

    Notes
    -----
    Licence: none is stated in the repository that it is fetched from; the set is of the UCI
    Machine Learning Repository.

    References
    ----------
    Dias, Madeo, Rocha, Biscaro and Peres (2009), Hand movement recognition for Brazilian sign
    language, IJCNN.
    """
    path = MOVEMENT_LIBRAS.fetch("data/movement_libras.data", data_home)
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    features = tuple(f"{axis}{i}" for i in range(1, N_POINTS + 1) for axis in "xy")
    return Recording("movement_libras", table[:, :-1], table[:, -1].astype(np.int64), features)
