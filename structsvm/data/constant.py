"""Extreme values of columns, and features that are constant up to rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structsvm.data.checks import Names
from structsvm.data.deferred import (
    Data,
    batches_of,
    constant_as_read,
    map_arrays,
    now_or_later,
)
from structsvm.data.missing import magnitudes, scales
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError, warn
from structsvm.support.values import (
    Floats,
    some_of,
)

CONSTANT_UP_TO = 1e-12
"""Part of its largest magnitude up to which the deviation of a feature is rounding."""


def warn_about_constant_features(
    Xs: Sequence[Data], names: Names, words: Words = RECORDINGS
) -> None:
    """Warn when a feature is constant within every recording."""
    constant = np.all(constant_features(Xs), axis=0)
    if constant.all():
        raise DataError(
            f"every feature is constant in every {words.whole}: nothing distinguishes {words.part}s"
        )
    if constant.any():
        which = [names[j] if names else str(j) for j in np.flatnonzero(constant).tolist()]
        warn(f"constant in every {words.whole}, so without influence: feature {some_of(which)}")


def column_values(X: Floats) -> Floats:
    """The least and the largest value of each column, and two others, (4, P); 0 where is none."""
    seen = np.array([np.fmin.reduce(X), np.fmax.reduce(X), X[0], X[len(X) // 2]])
    if math.isnan(seen.sum()):
        seen = np.nan_to_num(np.where(np.isnan(seen), seen[0], seen), copy=False)
    return seen


def values_of_columns(task: str, Xs: Sequence[Data]) -> Floats:
    """The :func:`column_values` of each, (N, 4, P)."""
    return now_or_later(Xs, _values_together, lambda: np.array(map_arrays(task, column_values, Xs)))


def _values_together(arrays: Sequence[Floats]) -> Floats:
    from structsvm.support.compiled import values  # numba takes long to import

    seen = np.concatenate([values(arrays[a:b]) for a, b in batches_of([len(X) for X in arrays])])
    if math.isnan(seen.sum()):
        seen = np.nan_to_num(np.where(np.isnan(seen), seen[:, :1], seen), copy=False)
    return seen


def constant_features(Xs: Sequence[Data], seen: Floats | None = None) -> NDArray[np.bool_]:
    """Which features of each are constant, (N, P); nothing is read that was looked at before.

    ``seen`` are the :func:`values_of_columns`, if these are known.
    """
    seen_on_reading = [constant_as_read(X) for X in Xs]
    if all(features is not None for features in seen_on_reading):
        return np.array(seen_on_reading, dtype=np.bool_)
    if seen is None:
        seen = values_of_columns("looking for constant features", Xs)
    reach = CONSTANT_UP_TO * np.abs(seen).max(axis=1)
    # Two samples that are d apart have a deviation of d / sqrt(2 T) at least.
    varied = np.sqrt([[2 * X.shape[0]] for X in Xs]) * reach
    constant = np.asarray(seen[:, 1] - seen[:, 0] <= varied)
    near = np.flatnonzero(constant.any(axis=1)).tolist()
    exact = map_arrays("looking closer", is_constant, [Xs[i] for i in near])
    for i, features in zip(near, exact, strict=True):
        constant[i] = features
    return constant


def is_constant(X: Floats) -> NDArray[np.bool_]:
    """Which features of an instance are constant up to rounding, (P,)."""
    return scales(X) <= CONSTANT_UP_TO * magnitudes(X)
