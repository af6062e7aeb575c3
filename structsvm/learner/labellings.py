"""Instances of any kind and labellings of them, checked where they enter."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import Words, check_weights, refuse_hidden, refuse_no_array
from structsvm.errors import DataError, nth
from structsvm.support import Floats, Ints

WORDS = Words("instance", "labelling", "item")


@dataclass(frozen=True, eq=False)
class Instances:
    """Instances of a structured problem, and their labellings and weights if they have labels."""

    xs: list[Any]
    n_features: int | None = None
    """The number of columns of the matrix; None for instances of any other kind."""
    names: list[str] | None = None  # the names of its columns, if it was a data frame
    ys: list[Any] = field(default_factory=list)  # the labelling of each, if they are known
    weights: Floats = field(default_factory=lambda: np.empty(0))
    """(N,), of sum 1, of labelled instances."""

    def at(self, which: Ints) -> "Instances":
        weights = self.weights[which]
        return replace(
            self,
            xs=[self.xs[i] for i in which],
            ys=[self.ys[i] for i in which],
            weights=weights / weights.sum(),
        )


def read_instances(X: Any) -> Instances:
    """A sequence of instances of any kind, such as the rows of a matrix or of a data frame."""
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if names is not None or isinstance(X, np.ndarray):
        refuse_hidden(X, "X", names)
    xs, matrix = _listed(X, "X")
    n_features = matrix.shape[1] if matrix is not None and matrix.ndim == 2 else None
    if matrix is not None and n_features == 0:
        raise DataError(
            f"X has 0 feature(s) (shape={np.shape(X)}) while a minimum of 1 is required."
        )
    for i, x in enumerate(xs):  # the problem checks instances that are no arrays
        is_real = isinstance(x, np.ndarray | np.floating) and x.dtype.kind == "f"
        if is_real and not np.isfinite(x).all():
            place = ", ".join(map(str, np.argwhere(~np.isfinite(x))[0]))
            raise DataError(
                nth("instance", i)
                + f" has {x[~np.isfinite(x)][0]} at {place or 0}: fill missing values "
                "first, so that there is no NaN or inf"
            )
    return Instances(xs, n_features, names)


def read_labelled(X: Any, y: Any, sample_weight: Any = None) -> Instances:
    """Instances with their labellings and weights; those of weight 0 are left out."""
    instances = read_instances(X)
    if y is None:
        raise DataError(
            "there are no labellings: this requires y to be passed, but the target y is None"
        )
    ys, values = _listed(y, "y")
    N = len(instances.xs)
    wrong: Any = np.ma.getmaskarray(y) if np.ma.isMaskedArray(y) else np.False_
    if values is not None and values.dtype.kind == "f":
        wrong = wrong | ~np.isfinite(values)
    row = np.argwhere(wrong)[0][0] if wrong.any() else 0
    if len(ys) != N:
        raise DataError(f"{WORDS.wholes(N)} but {WORDS.parts(len(ys))} in y: give one for each")
    if wrong.any():
        raise DataError(
            "the labelling of "
            + nth("instance", row)
            + f" is masked or not finite ({ys[row]}): give a finite "
            "one, or leave it out"
        )
    weights = check_weights(sample_weight, N, WORDS)
    return replace(instances, ys=ys, weights=weights).at(np.flatnonzero(weights))


def _listed(values: Any, name: str) -> tuple[list[Any], NDArray[Any] | None]:
    """The items of a sequence, and the array they are the rows of, if it was one."""
    refuse_no_array(values, name)
    array = np.asarray(values) if hasattr(values, "__array__") else None
    try:
        items = list(values if array is None else array)
    except TypeError:
        raise DataError(
            f"{name} is {values!r}: give a sequence, an item for each instance"
        ) from None
    if not items:
        raise DataError(f"{name} is empty: give at least one instance")
    return items, array
