"""Decorators that compile functions by numba, cached on disk, and kernels on stacks of arrays.

Compiled functions release the lock of the interpreter. SIGINT does not interrupt them: its handler
is called right after. Wrappers by which C and Python call a function take up to a third of its
compilation, and are made only where they are needed. If nothing can be cached, as in a container
without a home or on a full disk, each process compiles for itself.

The first compilation of a process is logged to ``structsvm.compiled``, because it takes seconds.
"""

import logging
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from structsvm.support.interrupts import Interrupts, uninterrupted
from structsvm.support.values import Floats, Ints, Stack

Function = TypeVar("Function", bound=Callable[..., Any])
logger = logging.getLogger("structsvm.compiled")
VALUES_TOGETHER = 64  # values that one step of a vectorised loop compares
NOT_KEPT = (
    "what numba has compiled cannot be kept (%s): each process takes some ten seconds to compile "
    "it again; set NUMBA_CACHE_DIR to a folder with space for some MB"
)


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Compile a function that Python calls; the options are those of :func:`numba.njit`."""

    def decorate(function: Function) -> Function:
        return cast(Function, uninterrupted(inner(no_cpython_wrapper=False, **options)(function)))

    return decorate


def inner(**options: Any) -> Callable[[Function], Function]:
    """Compile a function that only compiled functions call."""
    always = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}

    def decorate(function: Function) -> Function:
        jitted: Any = njit(**(always | options))(function)
        if hasattr(jitted, "enable_caching"):  # not with NUMBA_DISABLE_JIT
            _keep(jitted)
        return cast(Function, jitted)

    return decorate


def _keep(function: Any) -> None:
    """Cache what is compiled on disk, with a logged warning if that fails."""
    try:
        function.enable_caching()
    except RuntimeError:  # no folder that can be written to
        _tell(logging.WARNING, NOT_KEPT, "there is no folder that can be written to")
        return
    save = function._cache.save_overload  # numba has no public hook
    file = function._cache._cache_file
    entries = file._load_index

    def entries_or_none() -> dict[Any, str]:
        try:
            return cast(dict[Any, str], entries())
        except (AttributeError, ImportError):  # of an earlier version, whose types were elsewhere
            return {}

    def saved(*compiled: Any) -> None:
        _tell(logging.INFO, "compiling what has not run on this machine before: it takes seconds")
        try:
            save(*compiled)
        except OSError as error:
            _tell(logging.WARNING, NOT_KEPT, str(error))

    file._load_index = entries_or_none
    function._cache.save_overload = saved


@cache
def _tell(level: int, words: str, *arguments: str) -> None:
    """Log a message once in a process."""
    logger.log(level, words, *arguments)


def _plain(X: Floats) -> Floats:
    """The array as read-only, contiguous float64, the one type that kernels are compiled for."""
    is_plain = type(X) is np.ndarray and X.dtype == np.float64
    if is_plain and X.flags.c_contiguous and not X.flags.writeable:
        return X
    rows = np.ascontiguousarray(X, dtype=np.float64).view(np.ndarray)
    rows.setflags(write=False)
    return rows


def moments(stack: Stack) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the columns of each array, (N, P); NaN if a value is NaN."""
    mean, deviation = np.zeros((2, len(stack), stack.rows.shape[1]))
    _fill_moments(_plain(stack.rows), stack.first, mean, deviation)
    return mean, deviation


def sums(stack: Stack) -> tuple[Floats, Floats]:
    """The sum of the columns of each array, and that of their squares, (N, P)."""
    total, squares = np.zeros((2, len(stack), stack.rows.shape[1]))
    _add_up(_plain(stack.rows), stack.first, total, squares)
    return total, squares


def values(Xs: Sequence[Floats]) -> Floats:
    """The least, largest, first (or NaN if any is) and middle value of each column, (N, 4, P)."""
    extremes = np.empty((len(Xs), 4, Xs[0].shape[1]))
    with Interrupts():
        for X, of_one in zip(Xs, extremes, strict=True):
            _fill_values(_plain(X), of_one)
    return extremes


def standardise(stack: Stack, means: Floats, scales: Floats) -> None:
    """Subtract a mean from each column of each array, and multiply by a scale, (N, P), in place."""
    if stack.rows.flags.c_contiguous and stack.rows.dtype == np.float64:
        _standardise(stack.rows, stack.first, means, scales)
        return
    for X, mean, scale in zip(stack.arrays(), means, scales, strict=True):
        X -= mean
        X *= scale


@compiled()
def _standardise(rows: Floats, first: Ints, means: Floats, scales: Floats) -> None:
    for i in range(first.size - 1):
        for t in range(first[i], first[i + 1]):
            for j in range(rows.shape[1]):
                rows[t, j] = (rows[t, j] - means[i, j]) * scales[i, j]


@compiled()
def _add_up(rows: Floats, first: Ints, total: Floats, squares: Floats) -> None:
    """Add rows to ``total`` and their squares to ``squares``, which hold zeros."""
    for i in range(first.size - 1):
        for t in range(first[i], first[i + 1]):
            for j in range(rows.shape[1]):
                value = rows[t, j]
                total[i, j] += value
                squares[i, j] += value * value


@inner(no_cpython_wrapper=False)
def _fill_values(X: Floats, extremes: Floats) -> None:
    T, P = X.shape
    extremes[0] = np.inf
    extremes[1] = -np.inf
    extremes[2] = X[0]
    extremes[3] = X[T // 2]
    # Several rows joined make loops long enough for the compiler to vectorise.
    together = max(1, VALUES_TOGETHER // P)
    whole = T // together
    if whole > 1:
        _take_in(X[: whole * together].reshape(whole, together * P), extremes)
    _take_in(X[whole * together if whole > 1 else 0 :], extremes)
    for j in range(P):
        if extremes[0, j] > extremes[1, j]:
            extremes[:2, j] = np.nan


@inner()
def _take_in(rows: Floats, extremes: Floats) -> None:
    """Update least and largest values and NaN marks of columns by rows of one or more samples."""
    n, width = rows.shape
    P = extremes.shape[1]
    low = np.full(width, np.inf)
    high = np.full(width, -np.inf)
    missing = np.zeros(width)
    for t in range(n):
        row = rows[t]
        for j in range(width):
            value = row[j]
            low[j] = value if value < low[j] else low[j]
            high[j] = value if value > high[j] else high[j]
            missing[j] += value - value
    for j in range(width):
        extremes[0, j % P] = min(extremes[0, j % P], low[j])
        extremes[1, j % P] = max(extremes[1, j % P], high[j])
        extremes[2, j % P] += missing[j]


@compiled(error_model="numpy")
def _fill_moments(rows: Floats, first: Ints, means: Floats, deviations: Floats) -> None:
    """Fill ``means`` and ``deviations``, which hold zeros."""
    for i in range(first.size - 1):
        X = rows[first[i] : first[i + 1]]
        mean = means[i]
        deviation = deviations[i]
        T, P = X.shape
        for t in range(T):
            for j in range(P):
                mean[j] += X[t, j]
        for j in range(P):
            mean[j] /= T
        for t in range(T):
            for j in range(P):
                away = X[t, j] - mean[j]
                deviation[j] += away * away
        for j in range(P):
            deviation[j] = np.sqrt(deviation[j] / T)
