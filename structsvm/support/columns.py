"""What every recording in memory is asked: whether it is centred, and constant; compiled.

A short recording is a few thousand numbers. A handful of numpy calls over them takes longer than
the search for its changes does.
"""

from __future__ import annotations

import numpy as np

from structsvm.support.arrays import Floats
from structsvm.support.compiled import compiled, inner
from structsvm.support.interrupts import uninterrupted


def standardized(X: Floats, spread: float) -> Floats | None:
    """The columns (T, P) with their means subtracted, divided by their standard deviations.

    None if a value is missing, or if the deviation of a column is ``spread`` times its mean or
    less, so that the column may be constant.
    """
    made = np.empty(X.shape)
    return made if _standardize(_rows(X), spread, made) else None


def all_vary(X: Floats, share: float) -> bool:
    """Whether the variance of each column is clearly more than this share of its mean square."""
    return bool(_vary(_rows(X), share))


def all_near_zero(X: Floats) -> bool:
    """Whether the mean of each column is clearly within one standard deviation of 0."""
    return bool(_near_zero(_rows(X)))


def _rows(X: Floats) -> Floats:
    """The array in the one form that the functions are compiled for: read-only, row after row."""
    rows = np.ascontiguousarray(X, dtype=np.float64).view(np.ndarray)
    rows.setflags(write=False)
    return rows


@uninterrupted
@compiled(error_model="numpy")
def _standardize(X: Floats, spread: float, made: Floats) -> bool:
    T, P = X.shape
    mean, scale = np.zeros(P), np.zeros(P)
    _add_rows(X, mean)
    for j in range(P):
        mean[j] /= T
        if np.isnan(mean[j]):
            return False
    for t in range(T):
        for j in range(P):
            made[t, j] = X[t, j] - mean[j]
    for t in range(T):
        for j in range(P):
            scale[j] += made[t, j] * made[t, j]
    for j in range(P):
        deviation = np.sqrt(scale[j] / T)
        if not deviation > spread * abs(mean[j]):
            return False
        scale[j] = 1.0 / deviation
    for t in range(T):
        for j in range(P):
            made[t, j] *= scale[j]
    return True


@uninterrupted
@compiled()
def _vary(X: Floats, share: float) -> np.bool_:
    mean, moment = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    _measure(X, mean, moment)
    return (moment - mean * mean > share * moment).all()


@uninterrupted
@compiled()
def _near_zero(X: Floats) -> np.bool_:
    mean, moment = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    _measure(X, mean, moment)
    # mean^2 > variance = moment - mean^2; what is far from that needs no second look.
    return (4.0 * mean * mean < moment).all()


@inner()
def _add_rows(X: Floats, total: Floats) -> None:
    for t in range(X.shape[0]):
        for j in range(X.shape[1]):
            total[j] += X[t, j]


@inner()
def _measure(X: Floats, mean: Floats, moment: Floats) -> None:
    """Mean and mean square of each column; NaN where a value is."""
    _add_rows(X, mean)
    for t in range(X.shape[0]):
        for j in range(X.shape[1]):
            moment[j] += X[t, j] * X[t, j]
    for j in range(X.shape[1]):
        mean[j] /= X.shape[0]
        moment[j] /= X.shape[0]
