"""The door of :class:`structsvm.StructuredSVM`: samples of any kind, and labellings of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.samples import check_weights
from structsvm.data.values import refuse_hidden, refuse_no_array
from structsvm.data.words import Words
from structsvm.errors import DataError
from structsvm.support.arrays import Floats

WORDS = Words("sample", "labelling", "item")


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples as the problem sees them, and what is known of a matrix whose rows they were."""

    xs: list[Any]
    n_features: int | None = None
    """The number of columns of the matrix; None for samples of any other kind."""
    names: list[str] | None = None
    """The names of its columns, if it was a data frame."""


@dataclass(frozen=True, eq=False)
class LabelledData:
    """Samples of positive weight and their labellings."""

    samples: Samples
    ys: list[Any]
    weights: Floats
    """(N,), of sum 1."""

    @property
    def xs(self) -> list[Any]:
        """The samples."""
        return self.samples.xs


def read_samples(X: Any, fitted: Samples | None = None) -> Samples:
    """A sequence of samples of any kind; the rows of a matrix or of a data frame are samples."""
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if names is not None or isinstance(X, np.ndarray):
        refuse_hidden(X, "X", names)
    xs, matrix = _listed(X, "X")
    n_features = matrix.shape[1] if matrix is not None and matrix.ndim == 2 else None
    if matrix is not None and n_features == 0:
        raise DataError(
            f"X has 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required."
        )
    found = Samples(xs, n_features, names)
    for i, x in enumerate(xs):
        _refuse_what_is_not_finite(x, i)
    if fitted is not None:
        _require_same_columns(found, fitted)
    return found


def read_labelled(X: Any, y: Any, sample_weight: Any = None) -> LabelledData:
    """Samples with their labellings and weights; those of weight 0 are left out."""
    samples = read_samples(X)
    if y is None:
        raise DataError(
            "there are no labellings: this requires y to be passed, but the target y is None"
        )
    if np.ma.is_masked(y):
        masked = int(np.argwhere(np.ma.getmaskarray(y))[0][0])
        raise DataError(f"the labelling of sample {masked} is masked: leave the sample out")
    ys, values = _listed(y, "y")
    N = len(samples.xs)
    if len(ys) != N:
        raise DataError(f"{WORDS.wholes(N)} but {WORDS.parts(len(ys))} in y: give one for each")
    if values is not None and values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise DataError(f"the labelling of sample {row} is {ys[row]}: give a finite one")
    weights = check_weights(sample_weight, N, WORDS)
    kept = np.flatnonzero(weights).tolist()
    xs = [samples.xs[i] for i in kept]
    counted = Samples(xs, samples.n_features, samples.names)
    return LabelledData(counted, [ys[i] for i in kept], weights[kept] / weights.sum())


def _listed(values: Any, name: str) -> tuple[list[Any], NDArray[Any] | None]:
    """The items of a sequence, and the array they are the rows of, if it was one."""
    refuse_no_array(values, name)
    array = np.asarray(values) if hasattr(values, "__array__") else None
    try:
        found = list(values if array is None else array)
    except TypeError:
        raise DataError(f"{name} is {values!r}: give a sequence, an item for each sample") from None
    if not found:
        raise DataError(f"{name} is empty: give at least one sample")
    return found, array


def _refuse_what_is_not_finite(x: Any, number: int) -> None:
    """Arrays of numbers have to be finite; what other samples hold is the problem's affair."""
    if not isinstance(x, np.ndarray | np.floating) or x.dtype.kind != "f":
        return
    wrong = np.argwhere(~np.isfinite(x))
    if len(wrong):
        place = tuple(wrong[0].tolist())
        at = f" at {place if len(place) > 1 else place[0]}" if place else ""
        raise DataError(
            f"sample {number} has {np.asarray(x)[place]}{at}: fill missing values first, so that "
            "there is no NaN or inf"
        )


def _require_same_columns(found: Samples, fitted: Samples) -> None:
    if found.names is not None and fitted.names is not None and found.names != fitted.names:
        raise DataError(
            f"X has the columns {found.names}, the model {fitted.names}: give the same columns in "
            "the same order"
        )
    n = fitted.n_features
    if n is None:
        return
    if isinstance(found.xs[0], np.number):
        raise DataError(
            f"X is a vector, and a sample has {n} features. Reshape your data: X.reshape(1, -1) is "
            "one sample"
        )
    if found.n_features not in (None, n):
        raise DataError(f"X has {found.n_features} features, the model has {n}")
