"""The door: values and labels as users hold them, checked once; and their standardisation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from structsvm.data.sample import (
    LARGEST,
    RECORDINGS,
    Data,
    Deferred,
    Words,
    batches_of,
    blocks,
    filled,
    magnitudes,
    means,
    of_each,
    scales,
)
from structsvm.errors import DataError, SettingsError, about, refuse, warn
from structsvm.messages import parameter
from structsvm.support.arrays import Bools, Floats, Ints, Stack, all_within
from structsvm.support.checks import (
    counted,
    is_number,
    is_whole,
    read_only,
    refuse_unlisted,
    some_of,
)
from structsvm.support.tables import column_names, refuse_other_columns, refuse_repeated

# ---- values as users hold them: what numpy would change without a word is refused, or found


Names = Sequence[str] | None
"""What columns are called, if they have names."""
UNKNOWN = -1
"""Marks a sample without a label, as in scikit-learn."""


def refuse_no_array(X: Any, which: str) -> None:
    """Refuse what is no array or data frame."""
    kind = type(X)
    is_lazy = hasattr(kind, "collect") and hasattr(kind, "columns")  # asking one for them warns
    if sp.issparse(X):
        found = "a sparse matrix: give X.toarray()"
    elif isinstance(X, str | bytes | PathLike):
        found = f"{X!r}, a text: give arrays; structsvm.io.read_recordings(path) reads files"
    elif is_lazy or hasattr(kind, "column_names") or isinstance(X, Mapping | Set):
        found = (
            f"a {kind.__name__}: give arrays, or frames of pandas or polars, such as X.collect() "
            "or X.to_pandas()"
        )
    else:
        return
    raise DataError(which + f" is {found}")


def refuse_hidden(X: Any, which: str, names: Any = None) -> None:
    """Refuse what converting to floats would change: masks, imaginary parts, times."""
    mask = np.ma.getmaskarray(X) if np.ma.isMaskedArray(X) else np.zeros(1, dtype=np.bool_)
    if isinstance(X, list | tuple):
        mask = np.array([np.ma.is_masked(row) for row in X], dtype=np.bool_)
    if mask.any():
        raise DataError(
            which + f" is masked in {_place(mask, names)}: fill masked values first "
            "(X.filled(...), or interpolate)"
        )
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):
        return
    if array.dtype.kind in "cmM":
        raise DataError(
            which + f" holds {array.dtype} values, not real numbers: leave out times; of complex "
            "numbers give X.real, X.imag or np.abs(X)"
        )


def _place(there: Bools, names: Any) -> str:
    """The first true entry in words."""
    first = np.argwhere(np.atleast_1d(there))[0].tolist()
    return cell(first[0], first[1], names) if len(first) == 2 else f"row {first[0]}"


def cell(row: int, column: int, names: Names) -> str:
    """An entry of a matrix in words, with the name of its column."""
    named = names is not None and column < len(names)
    return f"row {row}, column {column}" + (f" ({names[column]})" if names and named else "")


def one_each(given: Any, n: int, words: Words, noun: str = "labelling", way_out: str = "") -> Any:
    """What is given for each of n samples, as a list; refuse any other number of them."""
    found = [] if given is None else list(given)
    if len(found) != n:
        raise DataError(f"{words.wholes(n)} but {counted(len(found), noun)}{way_out}")
    return found


def refuse_other_shape(
    values: NDArray[Any], n: int, noun: str, name: str, way_out: str = "one for each"
) -> None:
    """Refuse anything but a vector with one value for each of n things."""
    if values.shape != (n,):
        raise DataError(f"{counted(n, noun)} but {name} of shape {values.shape}: give {way_out}")


# ---- labels


def label_values(y: Any) -> NDArray[Any]:
    """Labels as an array; a list that mixes kinds, or has missing ones, keeps its values."""
    if not isinstance(y, Mapping | Set):
        refuse_no_array(y, "labels: this")
    try:
        values = np.asanyarray(y)
        changed = isinstance(y, list | tuple) and values.dtype.kind in "USO" and values.ndim == 1
        if changed and len({type(value) for value in y}) > 1:
            values = np.empty(len(y), dtype=object)
            values[:] = y
    except (TypeError, ValueError) as error:
        raise DataError(f"labels must be a vector, one label per sample: {error}") from None
    wrong = ""
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        place = _place(np.ma.getmaskarray(values), None).replace("row", "sample")
        wrong = f"the label of {place} is masked: give -1, or PartialLabels, where it is not known"
    elif values.dtype.kind == "c":
        wrong = "labels are complex numbers: give integers or names"
    if wrong:
        raise DataError(wrong)
    return np.asarray(values)


def labels_of_items(y: Any, n: int) -> NDArray[Any] | None:
    """A label for each item, also of partial labels; None where there are breakpoints or none."""
    labels = getattr(y, "labels", y)  # of PartialLabels
    values = label_values(() if labels is None else labels)
    return values if values.shape == (n,) else None


def check_vector(values: NDArray[Any], name: str = "labels") -> None:
    """Refuse labels that are no vector, or an empty one, and say how some of them become one."""
    if values.ndim != 1 or not values.size:
        way_out = "; of one column give y.ravel(), of one for each state y.argmax(axis=1)"
        raise DataError(
            f"{name} must be a non-empty vector, got shape {values.shape}"
            f"{way_out if values.ndim > 1 else ''}"
        )


def full_labels(y: Any) -> NDArray[Any]:
    """A label for each sample, (T,), any values that can be compared."""
    whole = type(y) is np.ndarray and y.dtype.kind in "iu"
    values: NDArray[Any] = y if whole else label_values(y)
    check_vector(values)
    refuse_missing(values, "sample")
    return values


def missing_labels(values: NDArray[Any]) -> Bools:
    """Which labels are missing: None, NaN, NaT, pandas' NA, and text of nothing but spaces."""
    kind = values.dtype.kind
    if kind in "fmM":
        return np.asarray(np.isnan(values) if kind == "f" else np.isnat(values))
    if kind == "U":
        return np.asarray(np.char.str_len(np.char.strip(values)) == 0)
    return _each(values, _is_missing) if kind in "OS" else np.zeros(values.shape, dtype=np.bool_)


def unlabelled(values: NDArray[Any]) -> Bools:
    """Which labels are the number -1."""
    if values.dtype.kind == "O":
        return _each(values, lambda value: is_number(value) and value == UNKNOWN)
    is_known = values.dtype.kind not in "iufb"
    return np.zeros(values.shape, dtype=np.bool_) if is_known else np.asarray(values == UNKNOWN)


def _each(values: NDArray[Any], test: Callable[[Any], bool]) -> Bools:
    found = [test(value) for value in values.ravel().tolist()]
    return np.array(found, dtype=np.bool_).reshape(values.shape)


def unknown_labels(values: NDArray[Any]) -> Bools:
    """Which labels are missing, or the number -1."""
    return missing_labels(values) | unlabelled(values)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str | bytes):
        return not value.strip()
    numbers = float | np.floating | np.datetime64 | np.timedelta64
    return isinstance(value, numbers) and bool(value != value)


def refuse_missing(values: NDArray[Any], item: str) -> None:
    """Refuse labels of which some are missing."""
    missing = np.flatnonzero(missing_labels(values))
    if missing.size:
        raise DataError(
            f"the label of {item} {missing[0]} is missing ({missing.size} in all): where a label "
            "is not known, give -1 among numbers, or PartialLabels(labels=...), which takes None "
            "among names"
        )


def of_one_kind(values: NDArray[Any]) -> NDArray[Any]:
    """Objects as text or numbers, which compare, are sorted faster and can be stored."""
    found = np.asarray(values.tolist()) if values.dtype == object else values
    return found if found.shape == values.shape else values


def numbered(
    values: NDArray[Any], called: str, way_out: str = "text or numbers"
) -> tuple[NDArray[Any], Ints]:
    """The different values, sorted, and the number of each, of the shape of these values."""
    try:
        if values.dtype == object:
            kinds = {isinstance(value, str): value for value in values.ravel().tolist()}
            if len(kinds) == 2:  # which numpy would take for text
                raise TypeError(f"{kinds[True]!r} and {kinds[False]!r}")
        names, numbers = np.unique(of_one_kind(values), return_inverse=True)
    except TypeError as error:
        raise DataError(f"{called} do not compare ({error}): give {way_out}") from None
    return names, numbers.astype(np.int64).reshape(values.shape)


# ---- recordings and tables


Counts = int | Sequence[int | None] | None
"""A number of clusters for every sample, one for each, or none given."""

MISSING = ("error", "interpolate", "mask")
"""Treatments of values that are missing."""

ROUNDING = 1e-12
"""Part of its largest magnitude up to which the deviation of a feature is rounding."""

TRANSPOSED = (
    "rows are samples here, and columns are features (of aeon's (n, channels, time), "
    "np.swapaxes(X, 1, 2))"
)
STANDARDIZE = ("recording", "training", "wider", None)


def check_samples(
    Xs: Any,
    feature_names: Names = None,
    n_features: int | None = None,
    words: Words = RECORDINGS,
    missing: str | None = None,
) -> tuple[list[Floats], list[str] | None]:
    """``Xs`` as a list of finite (T_i, P) float arrays, and the names of the features if known."""
    samples = as_list(Xs, words)
    if not samples:
        raise DataError(f"no {words.whole}s were given: expected a list of arrays of shape (T, P)")
    names = None if feature_names is None else checked_names(feature_names)
    arrays: list[Floats] = []
    for i, X in enumerate(samples):
        if (plain := _plain(X)) is not None:
            arrays.append(plain)
            continue
        which = words.numbered(i)
        refuse_no_array(X, which)
        columns = column_names(X)
        if columns is not None:
            names = columns if names is None else names
            refuse_other_columns(which, columns, names)
        arrays.append(as_floats(X, which, names, missing))
    check_widths([X.shape for X in arrays], names, n_features, words)
    return arrays, names


def check_widths(
    shapes: Sequence[tuple[int, ...]],
    names: Names,
    n_features: int | None,
    words: Words,
) -> int:
    """The number of features: all have as many as the model or the first, and there are names."""
    P = shapes[0][1] if n_features is None else n_features
    first = words.numbered(0) if n_features is None else "the model"
    for i, (n_rows, found) in enumerate(shapes):
        if found != P:
            hint = f"; if it is transposed, give X.T: {TRANSPOSED}" if n_rows == P else ""
            raise DataError(
                words.numbered(i)
                + f" has {counted(found, 'feature')}, "
                + first
                + f" has {P}{hint}"
            )
    if names is not None and len(names) != P:
        raise DataError(
            f"feature_names has {counted(len(names), 'name')}, "
            + words.numbered(0)
            + f" has {counted(P, 'feature')}: give one name for each"
        )
    return P


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Centres and scales features, of each recording by itself, as on the training set, or both.

    With "both", which is for classifiers, the features are there twice: what is high for its
    recording, and what is high. Within a recording, which a metric segments, these are the same.
    "wider" is for samples of other clusters than the training set: each is divided by the larger of
    its own deviation and that over the training set, so that no feature counts for much because it
    hardly varies in one of them.
    """

    kind: str | None
    """"recording", "training", "both", "wider" or None."""
    mean: Any = None
    scale: Any = None

    @classmethod
    def fit(
        cls, kind: str | None, Xs: Sequence[Data], weights: Floats | None = None
    ) -> Standardizer:
        """Learn what has to be learned from the training recordings, of these weights (N,)."""
        refuse_unlisted("standardize", kind, ("both", *STANDARDIZE))
        if kind not in ("training", "both", "wider"):
            return cls(kind)
        # Each recording is summed by itself: one of weight 2 then is the same, to the last bit, as
        # one that is there twice, and none has to be in memory with another.
        found = of_each("measuring the features", _spread_of, Xs)
        counts, means_, squares, sizes = (np.array(column) for column in zip(*found, strict=True))
        shares = counts if weights is None else counts * weights[:, None]
        total = np.maximum(shares.sum(axis=0), np.finfo(np.float64).tiny)
        mean = (shares * means_).sum(axis=0) / total
        variance = (shares * (squares + (means_ - mean) ** 2)).sum(axis=0) / total
        return cls(kind, mean, _inverse(np.sqrt(variance), sizes.max(axis=0)))

    @property
    def centres_each(self) -> bool:
        """Whether each recording is centred by itself, so that one of a single row is 0."""
        return self.kind in ("recording", "wider")

    def __call__(self, X: Floats) -> Floats:
        """Standardise one recording, (T, P)."""
        if self.kind is None:
            return X
        if self.kind == "recording":
            return self.of_stack(Stack.of([X])).rows
        if self.kind == "wider":
            found = np.stack([_inverse(scales(X), magnitudes(X)), self.scale])
            constant_in_one = (found == 0).any(axis=0)
            scale = np.where(constant_in_one, found.max(axis=0), found.min(axis=0))
            return np.asarray((X - means(X)) * scale)
        as_in_training: Floats = (X - self.mean) * self.scale
        if self.kind == "training":
            return as_in_training
        return np.hstack([replace(self, kind="recording")(X), as_in_training])

    def of_stack(self, Xs: Stack) -> Stack:
        """Standardise recordings that are side by side, as each by itself; they may change."""
        if self.kind in ("both", "wider"):
            return Stack.of([self(X) for X in Xs.arrays()])
        if self.kind != "recording":
            return Stack(self(Xs.rows), Xs.first)
        from structsvm.support.compiled import moments, standardise  # numba takes long to import

        means_, deviations = moments(Xs)
        # No sample is further from the mean than sqrt(T) deviations: most features clearly vary.
        vary = deviations > 2.0 * ROUNDING * np.abs(means_)
        scales_ = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=vary)
        for i in np.flatnonzero(~vary.all(axis=1)).tolist():
            X = Xs.array(i)
            means_[i] = means(X)
            scales_[i] = _inverse(scales(X), magnitudes(X))
        standardise(Xs, means_, scales_)
        return Xs


def centred(X: Floats) -> Floats:
    """``X`` (T, P) with the mean of each feature subtracted that is far from 0 for its spread.

    Partitions are scored by ``<B, X^T M X>`` with ``M 1 = 1``, and a constant added to a feature
    adds the same to every score. In floating point it takes away the digits that tell partitions
    apart: the scores hold ``mean^2`` next to the variance. A mean within one standard deviation at
    most doubles them, and stays, so that features that are centred already keep their last bit.
    """
    squares = np.einsum("tp,tp->p", X, X)
    if (4.0 * X.sum(axis=0) ** 2 < len(X) * squares).all():
        return X  # of most recordings the mean is far below a deviation, which is quick to see
    mean = means(X)
    far = np.abs(mean) > scales(X)
    if not far.any():
        return X
    return np.asarray(X - np.where(far, mean, 0.0))


def centre(Xs: Stack) -> None:
    """The same of each array, in place."""
    from structsvm.support.compiled import sums  # numba takes long to import

    total, squares = sums(Xs)
    near = 4.0 * total**2 < np.diff(Xs.first)[:, None] * squares
    for i in np.flatnonzero(~near.all(axis=1)).tolist():
        Xs.array(i)[:] = centred(Xs.array(i))


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


def check_weights(sample_weight: Any, n: int, words: Words = RECORDINGS) -> Floats:
    """A weight for each of n recordings, the largest being 1; all alike if none are given."""
    if sample_weight is None:
        return np.ones(n)
    refuse_hidden(sample_weight, "sample_weight")
    weights = np.asarray(sample_weight, dtype=np.float64)
    refuse_other_shape(weights, n, words.whole, "sample_weight")
    wrong = ~((weights >= 0) & (weights < np.inf))
    refuse(
        DataError,
        (
            wrong.any(),
            "sample_weight of "
            + words.numbered(wrong.argmax())
            + f" is {weights[wrong.argmax()]}: give a finite number, 0 to leave it out",
        ),
        (
            not weights.any(),
            f"every sample_weight is 0: no {words.whole} is left to learn from",
        ),
    )
    return np.asarray(weights / weights.max())


def units_of(groups: Any, N: int, words: Words = RECORDINGS) -> tuple[list[Any], Ints]:
    """Names of the groups of samples, and the number of that of each, (N,)."""
    if groups is None:
        return list(range(N)), np.arange(N)
    refuse_no_array(groups, "groups")
    with about("groups"):
        values = label_values(groups if hasattr(groups, "__array__") else list(groups))
    refuse_other_shape(values, N, words.whole, "groups")
    missing = np.flatnonzero(missing_labels(values))
    if missing.size:
        raise DataError(
            "the group of "
            + words.numbered(missing[0])
            + f" is missing ({missing.size} in all): give one for each, and a separate one to a "
            f"{words.whole} without a group"
        )
    names, units = numbered(values, "groups")
    return names.tolist(), units


def asked_counts(asked: Counts | str, truths: Sequence[Any] | None) -> Counts:
    """A number of clusters for all, or for each that of its truth if "true" was asked for."""
    if not isinstance(asked, str):
        return asked
    if asked != "true" or truths is None:
        raise SettingsError(
            f"n_clusters must be an integer, None or 'true', which needs the true labels, got "
            f"{asked!r}"
        )
    return [truth.n_clusters for truth in truths]


def cluster_counts(
    n_clusters: Counts, sizes: Sequence[int], words: Words = RECORDINGS
) -> list[int | None]:
    """The number of clusters of each sample, checked against its size; None if it is not given."""
    if n_clusters is None:
        return [None] * len(sizes)
    held: Any = n_clusters
    given = [held] * len(sizes) if np.ndim(held) == 0 else held
    counts = one_each(given, len(sizes), words, "number", f" of {words.part}s")
    for i, (T, K) in enumerate(zip(sizes, counts, strict=True)):
        if K is not None and not (is_whole(K) and 1 <= K <= T):
            finer = f" ({words.finer})" if words.finer else ""
            raise DataError(
                words.numbered(i)
                + f" has {words.items(T)}: it cannot have {K!r} {words.part}s{finer}"
            )
    return [None if K is None else int(K) for K in counts]


def column_values(X: Floats) -> Floats:
    """The least and the largest value of each column, and two others, (4, P); 0 where is none."""
    seen = np.array([np.fmin.reduce(X), np.fmax.reduce(X), X[0], X[len(X) // 2]])
    if math.isnan(seen.sum()):
        seen = np.nan_to_num(np.where(np.isnan(seen), seen[0], seen), copy=False)
    return seen


def values_of_columns(task: str, Xs: Sequence[Data]) -> Floats:
    """The :func:`column_values` of each, (N, 4, P)."""
    arrays = [X for X in Xs if isinstance(X, np.ndarray)]
    if len(arrays) < len(Xs):
        return np.array(of_each(task, column_values, Xs))
    parts = batches_of([len(X) for X in arrays])
    seen = np.concatenate([_values_of(Stack.of(arrays[a:b])) for a, b in parts])
    if math.isnan(seen.sum()):
        seen = np.nan_to_num(np.where(np.isnan(seen), seen[:, :1], seen), copy=False)
    return seen


def _values_of(Xs: Stack) -> Floats:
    """The :func:`column_values` of each array, (N, 4, P), NaN where one is missing."""
    from structsvm.support.compiled import extremes  # numba takes long to import

    starts = Xs.first[:-1]
    middles = starts + np.diff(Xs.first) // 2
    return np.stack([*extremes(Xs), Xs.rows[starts], Xs.rows[middles]], axis=1)


def constant_features(Xs: Sequence[Data], seen: Floats | None = None) -> NDArray[np.bool_]:
    """Which features of each are constant, (N, P); nothing is read that was looked at before.

    ``seen`` are the :func:`values_of_columns`, if these are known.
    """
    known = [X.origin.constant for X in Xs if isinstance(X, Deferred) and not X.steps]
    found = [constant for constant in known if constant is not None]
    if len(found) == len(Xs):
        return np.array(found)
    if seen is None:
        seen = values_of_columns("looking for constant features", Xs)
    reach = ROUNDING * np.abs(seen).max(axis=1)
    # Two samples that are d apart have a deviation of d / sqrt(2 T) at least.
    varied = np.sqrt([[2 * X.shape[0]] for X in Xs]) * reach
    constant = np.asarray(seen[:, 1] - seen[:, 0] <= varied)
    near = np.flatnonzero(constant.any(axis=1)).tolist()
    exact = of_each("looking closer", is_constant, [Xs[i] for i in near])
    for i, features in zip(near, exact, strict=True):
        constant[i] = features
    return constant


def is_constant(X: Floats) -> NDArray[np.bool_]:
    """Which features of a sample are constant up to rounding, (P,)."""
    return scales(X) <= ROUNDING * magnitudes(X)


def _spread_of(X: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    n = np.full(X.shape[1], float(len(X))) - np.isnan(X).sum(axis=0)
    return n, means(X), scales(X) ** 2, magnitudes(X)


def _inverse(deviation: Floats, largest_of_each: Floats) -> Floats:
    """One over the standard deviation, 0 for a feature that is constant up to rounding, (P,)."""
    varies = deviation > ROUNDING * largest_of_each
    inverse: Floats = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
    return inverse


def as_list(Xs: Any, words: Words = RECORDINGS) -> list[Any]:
    """Arrays or data frames as users hold them, as a list; one of them is a list of one."""
    refuse_no_array(Xs, f"expected a list of {words.whole}s, arrays of shape (T, P); this")
    if column_names(Xs) is not None:
        return [Xs]
    if hasattr(Xs, "__array__"):  # tensors and the like, which numpy can read
        Xs = np.asanyarray(Xs)  # what a mask hides stays hidden
        if Xs.ndim == 2:
            return [Xs]
        if Xs.ndim != 3 and Xs.dtype != object:
            raise DataError(
                f"expected a list of arrays of shape (T, P), got one array of shape {Xs.shape}. "
                "Reshape your data: one recording of a single feature is X[:, None], a single row "
                "X[None, :]"
            )
    return list(Xs)


def checked_names(feature_names: Any) -> list[str]:
    """Names of features as a list of str, whatever their number."""
    names = [] if isinstance(feature_names, str | bytes) else list(feature_names)
    if not names or not all(isinstance(name, str | int | np.integer) for name in names):
        raise DataError(f"feature_names must be a list of names, got {feature_names!r}")
    found = [str(name) for name in names]
    refuse_repeated(found)
    return found


def _plain(X: Any) -> Floats | None:
    """An array that is as it has to be, read-only; None for anything else."""
    if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not X.size:
        return None
    array = read_only(np.asarray(X, dtype=np.float64, order="C"))
    return array if all_within(array, LARGEST) else None  # there is no NaN either


def as_floats(X: Any, which: str, names: Names, missing: str | None) -> Floats:
    """A recording or a table as a read-only array (T, P), finite but for masked values."""
    if type(X) is not np.ndarray or X.dtype.kind not in "fiub":
        X = X if missing not in ("interpolate", "mask") else _with_gaps(X)
        refuse_hidden(X, which, names)
    try:
        array = read_only(np.asarray(X, dtype=np.float64, order="C"))
    except (TypeError, ValueError, OverflowError):
        raise DataError(which + f" {_not_a_number(X, names)}") from None
    if array.ndim == 2 and array.size and all_within(array, LARGEST):  # there is no NaN either
        return array
    wrong = np.abs(array) > LARGEST
    if missing not in ("interpolate", "mask"):
        wrong |= np.isnan(array)
    if array.ndim != 2:
        found = f"has shape {array.shape}, expected (T, P): give a single feature as X[:, None]"
    elif not array.size:
        axis = "feature" if array.shape[0] else "sample"
        found = f"is empty: 0 {axis}(s) (shape={array.shape}) while a minimum of 1 is required."
    elif wrong.any():
        found = _no_measurement(array, wrong, names, missing)
    else:
        return filled(array) if missing == "interpolate" else np.array(array)
    raise DataError(which + " " + found)


def _with_gaps(X: Any) -> Any:
    if np.ma.isMaskedArray(X) and X.dtype.kind in "iuf":
        return np.ma.filled(X.astype(np.float64), np.nan)
    if hasattr(X, "isna") and hasattr(X, "to_numpy"):  # pandas, whose NA numpy cannot read
        try:
            return X.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError):
            return X
    return X


def _no_measurement(array: Floats, wrong: Bools, names: Names, missing: str | None) -> str:
    row, column = np.argwhere(wrong)[0].tolist()
    found = f"has {array[row, column]} in {cell(row, column, names)}"
    if not np.isnan(array[row, column]):
        return (
            f"{found}: give a number there, or NaN where nothing was measured, and scale data that "
            f"reach {LARGEST:g}, beyond which squares overflow"
        )
    n = int(np.isnan(array).sum())
    n_blocks = counted(len(blocks(array)), "block")
    advice = f"{found}: interpolate or drop missing values (NaN, {n} in {n_blocks}) first"
    if missing != "error":
        return advice
    return advice + ", or give " + parameter("missing", "mask") + " (or 'interpolate')"


def _not_a_number(X: Any, names: Names) -> str:
    try:
        rows = np.atleast_1d(np.asarray(X, dtype=object))
    except ValueError:  # rows of several lengths
        rows = np.empty(0)
    for row, values in enumerate(rows):
        for column, value in enumerate(np.atleast_1d(values)):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                return f"has {value!r} in {cell(row, column, names)}: not a number"
    return "is not a numeric array of shape (T, P)"
