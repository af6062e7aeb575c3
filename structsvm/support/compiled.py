"""How functions are compiled: kept on disk, without the lock, and as little as will do.

SIGINT does not interrupt a compiled function that Python calls: it is answered right after.

The wrappers through which C and Python call a function take up to a third of its compilation. Where
nothing can be kept on disk, as in a container without a home or on a full disk, each process
compiles for itself.

The first compilation of a process is told to the logger ``structsvm.compiled``, since it takes
seconds in which nothing else happens.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from structsvm.support.arrays import Bools, Floats, Ints
from structsvm.support.interrupts import uninterrupted
from structsvm.support.stack import Stack

Function = TypeVar("Function", bound=Callable[..., Any])

logger = logging.getLogger("structsvm.compiled")

NOT_KEPT = (
    "what numba has compiled cannot be kept (%s): each process takes some ten seconds to compile "
    "it again; set NUMBA_CACHE_DIR to a folder with space for some MB"
)


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Decorate a function that Python calls; the options are those of :func:`numba.njit`."""

    def decorate(function: Function) -> Function:
        return cast(Function, uninterrupted(inner(no_cpython_wrapper=False, **options)(function)))

    return decorate


def inner(**options: Any) -> Callable[[Function], Function]:
    """Decorate a function that compiled ones alone call."""
    always = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}

    def decorate(function: Function) -> Function:
        found: Any = njit(**(always | options))(function)
        if hasattr(found, "enable_caching"):  # not where numba is told to compile nothing
            _keep(found)
        return cast(Function, found)

    return decorate


def _keep(function: Any) -> None:
    """Let what is compiled be kept on disk, and go on where that fails."""
    try:
        function.enable_caching()
    except RuntimeError:  # no folder that can be written to
        _tell(logging.WARNING, NOT_KEPT, "there is no folder that can be written to")
        return
    save = function._cache.save_overload  # numba has no other way in

    def saved(*compiled: Any) -> None:
        _tell(logging.INFO, "compiling what has not run on this machine before: it takes seconds")
        try:
            save(*compiled)
        except OSError as error:
            _tell(logging.WARNING, NOT_KEPT, str(error))

    function._cache.save_overload = saved


@cache
def _tell(level: int, words: str, *arguments: str) -> None:
    """Once."""
    logger.log(level, words, *arguments)


# ---- what every recording in memory is asked: whether it is centred, and constant; compiled


def standardize(stack: Stack, spread: float) -> Bools:
    """Subtract the mean of each column of each array, and divide it by its standard deviation.

    False for an array that stays as it is, (N,): a value is missing, or the deviation of a column
    is ``spread`` times its mean or less, so that the column may be constant.
    """
    done, (mean, scale) = np.empty(len(stack), dtype=np.bool_), np.empty((2, stack.rows.shape[1]))
    given = _rows(stack.rows), stack.first, spread, mean, scale, stack.rows, done
    _standardize(*given)
    return done


def all_vary(X: Floats, share: float) -> bool:
    return bool(_means_within(Stack.around(X), 1.0 - share)[0])


def near_zero(stack: Stack) -> Bools:
    # mean^2 > variance = moment - mean^2; what is far from that needs no second look.
    return _means_within(stack, 0.25)


def _means_within(stack: Stack, share: float) -> Bools:
    within = np.empty(len(stack), dtype=np.bool_)
    mean, moment = np.empty((2, stack.rows.shape[1]))
    _are_within(_rows(stack.rows), stack.first, share, mean, moment, within)
    return within


def _rows(X: Floats) -> Floats:
    """The array in the one form that the functions are compiled for: read-only, row after row."""
    rows = np.ascontiguousarray(X, dtype=np.float64).view(np.ndarray)
    rows.setflags(write=False)
    return rows


@compiled(error_model="numpy")
def _standardize(
    rows: Floats,
    first: Ints,
    spread: float,
    mean: Floats,
    scale: Floats,
    made: Floats,
    done: Bools,
) -> None:
    """``made`` is where ``rows`` are, which the functions below are compiled to read alone."""
    for i in range(done.size):
        done[i] = _measured(rows[first[i] : first[i + 1]], spread, mean, scale)
        if done[i]:
            for t in range(first[i], first[i + 1]):
                for j in range(mean.size):
                    made[t, j] = (made[t, j] - mean[j]) * scale[j]


@inner(error_model="numpy")
def _measured(X: Floats, spread: float, mean: Floats, scale: Floats) -> bool:
    """Fill in means and one over the deviations; whether all columns clearly vary."""
    T, P = X.shape
    for j in range(P):
        mean[j], scale[j] = 0.0, 0.0
    _add_each(X, mean)
    for j in range(P):
        mean[j] /= T
    _add_scatter(X, mean, scale)
    return _scales(T, spread, mean, scale)


@inner(error_model="numpy")
def _add_each(X: Floats, total: Floats) -> None:
    for t in range(X.shape[0]):
        for j in range(total.size):
            total[j] += X[t, j]


@inner(error_model="numpy")
def _add_scatter(X: Floats, mean: Floats, total: Floats) -> None:
    for t in range(X.shape[0]):
        for j in range(total.size):
            away = X[t, j] - mean[j]
            total[j] += away * away


@inner(error_model="numpy")
def _scales(T: int, spread: float, mean: Floats, scale: Floats) -> bool:
    """Turn sums of squares into one over the deviations; whether all columns clearly vary."""
    for j in range(mean.size):
        deviation = np.sqrt(scale[j] / T)
        if not deviation > spread * abs(mean[j]):  # nor if it is not a number
            return False
        scale[j] = 1.0 / deviation
    return True


@compiled(error_model="numpy")
def _are_within(
    rows: Floats, first: Ints, share: float, mean: Floats, moment: Floats, within: Bools
) -> None:
    zero = np.zeros(mean.size)
    for i in range(within.size):
        X = rows[first[i] : first[i + 1]]
        T, P = X.shape
        for j in range(P):
            mean[j], moment[j] = 0.0, 0.0
        add_rows(X, mean)
        add_squares(X, zero, moment)
        within[i] = True
        for j in range(P):
            within[i] &= mean[j] / T * (mean[j] / T) < share * (moment[j] / T)


@inner()
def add_rows(X: Floats, total: Floats) -> None:
    """Add the rows of ``X`` to ``total``, four at a time: one would be over before it is begun."""
    T = X.shape[0]
    fours = T - T % 4
    for t in range(0, fours, 4):
        for j in range(total.size):
            total[j] += (X[t, j] + X[t + 1, j]) + (X[t + 2, j] + X[t + 3, j])
    for t in range(fours, T):
        for j in range(total.size):
            total[j] += X[t, j]


@inner()
def add_squares(X: Floats, level: Floats, total: Floats) -> None:
    """Add the squares of the distances of the rows from ``level`` to ``total``, four at a time."""
    T = X.shape[0]
    fours = T - T % 4
    for t in range(0, fours, 4):
        for j in range(total.size):
            a, b = X[t, j] - level[j], X[t + 1, j] - level[j]
            c, d = X[t + 2, j] - level[j], X[t + 3, j] - level[j]
            total[j] += (a * a + b * b) + (c * c + d * d)
    for t in range(fours, T):
        for j in range(total.size):
            total[j] += (X[t, j] - level[j]) ** 2
