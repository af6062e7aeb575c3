"""The door of :class:`structsvm.StructuredSVM`: samples of any kind, and labellings of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.samples import check_weights
from structsvm.data.values import refuse_hidden, refuse_no_array
from structsvm.data.words import Words
from structsvm.errors import DataError
from structsvm.support.arrays import Floats
from structsvm.support.frames import refuse_other_columns

WORDS = Words("sample", "labelling", "item")


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples as the problem sees them, and what is known of a matrix whose rows they were."""

    xs: list[Any]
    n_features: int | None = None
    """The number of columns of the matrix; None for samples of any other kind."""
    names: list[str] | None = None
    """The names of its columns, if it was a data frame."""
    ys: list[Any] = field(default_factory=list)
    """The labelling of each, if they are known."""
    weights: Floats = field(default_factory=lambda: np.empty(0))
    """(N,), of sum 1, of labelled samples."""

    def at(self, which: Sequence[int]) -> Samples:
        """Return some of the labelled samples."""
        weights = self.weights[list(which)]
        return replace(
            self,
            xs=[self.xs[i] for i in which],
            ys=[self.ys[i] for i in which],
            weights=weights / weights.sum(),
        )


def read_samples(X: Any) -> Samples:
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
    for i, x in enumerate(xs):
        if not isinstance(x, np.ndarray | np.floating) or x.dtype.kind != "f":
            continue  # what other samples hold is the problem's affair
        wrong = np.argwhere(~np.isfinite(x))
        if len(wrong):
            place = tuple(wrong[0].tolist())
            at = f" at {place if len(place) > 1 else place[0]}" if place else ""
            raise DataError(
                f"sample {i} has {np.asarray(x)[place]}{at}: fill missing values first, so that "
                "there is no NaN or inf"
            )
    return Samples(xs, n_features, names)


def read_labelled(X: Any, y: Any, sample_weight: Any = None) -> Samples:
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
    return replace(samples, ys=ys, weights=weights).at(np.flatnonzero(weights).tolist())


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


def check_columns(found: Samples, names: list[str] | None, n: int | None) -> None:
    """Check samples to predict against the columns that were learned from."""
    if found.names is not None and names is not None:
        refuse_other_columns("X", found.names, names)
    if n is None:
        return
    if isinstance(found.xs[0], np.number):
        raise DataError(
            f"X is a vector, and a sample has {n} features. Reshape your data: X.reshape(1, -1) is "
            "one sample"
        )
    if found.n_features not in (None, n):
        raise DataError(f"X has {found.n_features} features, the model has {n}")
