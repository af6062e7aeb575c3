"""The doors of the stages: recordings that come in, features that go out, names of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structsvm.data.gaps import has_gaps
from structsvm.data.samples import check_samples
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError, SettingsError
from structsvm.support.arrays import Floats
from structsvm.support.plain import counted


def read_recordings(Xs: Any, n_features: int | None = None, *, gaps: bool = False) -> list[Floats]:
    """Recordings as finite (T_i, P) arrays; those that are such arrays already are not copied."""
    if isinstance(Xs, list | tuple) and Xs and all(_is_ready(X, gaps) for X in Xs):
        widths = {X.shape[1] for X in Xs} | ({n_features} if n_features is not None else set())
        if len(widths) == 1:
            return list(Xs)
    return check_samples(Xs, n_features=n_features, missing="mask" if gaps else None)[0]


def check_features(
    found: Sequence[Any],
    Xs: Sequence[Floats],
    maker: str,
    words: Words = RECORDINGS,
    gaps: bool = False,
) -> list[Floats]:
    """Features of recordings, if a metric can be learned from them."""
    if len(found) != len(Xs):
        raise DataError(f"{maker} returned features of {len(found)} of {words.wholes(len(Xs))}")
    for i, (F, X) in enumerate(zip(found, Xs, strict=True)):
        shape = np.shape(F)
        if len(shape) != 2 or shape[0] != len(X) or shape[1] == 0:
            raise DataError(
                f"{words.whole} {i} has {words.items(len(X))}, and {maker} returned features of "
                f"shape {shape}: a transformer must return one row for each"
            )
        if shape[1] != np.shape(found[0])[1]:
            raise DataError(
                f"{maker} returned {counted(shape[1], 'feature')} of {words.whole} {i} and "
                f"{np.shape(found[0])[1]} of {words.whole} 0: it must return as many of each"
            )
        wrong = np.isinf(F) if gaps and has_gaps(X) else ~np.isfinite(F)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise DataError(
                f"{words.whole} {i}: {maker} returned {np.asarray(F)[row, column]} as feature "
                f"{column} of {words.item} {row}: a transformer must return finite numbers"
            )
    return [np.asarray(F, dtype=np.float64) for F in found]


def column_names(input_features: Any, n_features: int) -> list[str]:
    """Names of the columns that a stage sees; ``x0, x1, ...`` where none are given."""
    if input_features is None:
        return [f"x{j}" for j in range(n_features)]
    names = [str(name) for name in input_features]
    if len(names) != n_features:
        raise DataError(
            f"{counted(len(names), 'name')} for {counted(n_features, 'column')}: give one for each"
        )
    return names


def integers(name: str, values: Any, example: str, least: int | None = None) -> tuple[int, ...]:
    """A parameter that is a non-empty sequence of different whole numbers."""
    found = [values] if np.ndim(values) == 0 else list(values)
    whole = [isinstance(v, int | np.integer) and not isinstance(v, bool | np.bool_) for v in found]
    if not found or not all(whole) or len(set(found)) < len(found):
        raise SettingsError(
            f"{name} must be different whole numbers such as {example}, got {values!r}"
        )
    if least is not None and min(found) < least:
        raise SettingsError(f"{name} must be at least {least}, got {min(found)}")
    return tuple(int(v) for v in found)


def _is_ready(X: Any, gaps: bool) -> bool:
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and X.size > 0
        and not bool((np.isinf(X) if gaps else ~np.isfinite(X)).any())
    )
