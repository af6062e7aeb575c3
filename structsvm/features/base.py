"""The base classes of stages, which compute features of recordings, and the checks of both."""

from abc import abstractmethod
from collections.abc import Sequence
from math import inf
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structsvm.data import RECORDINGS, Words, check_instances, has_gaps
from structsvm.errors import DataError
from structsvm.support import Contract, Floats, counted, hook, is_whole, refuse_unless

Recordings = Sequence[Floats]  # arrays (T_i, P)
Reach = tuple[float, float]
"""How many samples before a sample, and after it, its features depend on."""
EVERYTHING: Reach = (inf, inf)


class RecordingTransformer(Contract, BaseEstimator):  # type: ignore[misc]
    """Base of transformers of recordings: from (T, P) to (T, P') features.

    The conventions are those of scikit-learn, with lists of recordings in place of one table.
    :class:`structsvm.MetricLearner` makes the features of the training recordings by
    :meth:`fit_transform` and those of others by :meth:`transform`. They are finite, and do not
    depend on which recordings are transformed together.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import RecordingTransformer
    >>> class Squares(RecordingTransformer):
    ...     def transform(self, Xs):
    ...         return [X**2 for X in Xs]
    ...
    ...     def get_feature_names_out(self, input_features=None):
    ...         return np.array([f"{name} squared" for name in input_features], dtype=object)
    >>> Squares().fit_transform([np.array([[2.0], [3.0]])])[0].tolist()
    [[4.0], [9.0]]
    """

    takes_gaps: ClassVar[bool] = False
    """Whether a value may be missing, NaN, of which the features are then missing too."""

    @property
    @hook
    def learns(self) -> bool:
        """Whether :meth:`fit` needs more of recordings than their number of features."""
        return True

    @property
    @hook
    def scaled(self) -> bool:
        """Whether ``standardize="auto"`` leaves the scales of the features as they are."""
        return False

    @property
    @hook
    def reach(self) -> Reach:
        """How many samples before a sample, and after it, its features depend on, once fitted.

        By default infinite, for features that depend on the whole recording, such as its mean.
        """
        return EVERYTHING

    @property
    def lookahead(self) -> float:
        """How many samples after a sample must have arrived before its features are known."""
        return self.reach[1]

    @hook
    def fit(self, Xs: Recordings, ys: Any = None, groups: Any = None) -> Self:
        """Learn from recordings, labels of their samples and groups; nothing by default."""
        return self

    @abstractmethod
    def transform(self, Xs: Recordings) -> list[Floats]:
        """Return the features of recordings, (T_i, P') each."""

    @hook
    def transform_with_states(self, Xs: Recordings) -> tuple[list[Floats], list[Floats] | None]:
        """The features of recordings, and probabilities of named states, (T_i, C) each, or None."""
        return self.transform(Xs), None

    @hook
    def fit_transform(self, Xs: Recordings, ys: Any = None, groups: Any = None) -> list[Floats]:
        """Learn from the training recordings and return their features, (T_i, P') each.

        A transformer that learns from labels cross-fits: the features of a recording are computed
        by what was learned without it and without its group.
        """
        return self.fit(Xs, ys, groups).transform(Xs)

    @hook
    def fit_held_out(
        self, Xs: Recordings, ys: Any = None, groups: Any = None
    ) -> "list[RecordingTransformer]":
        """Learn from the training recordings and return a fitted transformer for each of them.

        It returns the same features of that recording as :meth:`fit_transform`, when it is read.

        Raises
        ------
        DataError
            When :meth:`fit_transform` is defined, and this is not.
        """
        if type(self).fit_transform is not RecordingTransformer.fit_transform:
            name = type(self).__name__
            raise DataError(
                f"{name} computes the features of training recordings in its own way, and these "
                f"are read one at a time: define {name}.fit_held_out, which returns a fitted "
                "transformer for each, or give arrays in memory"
            )
        return [self.fit(Xs, ys, groups)] * len(Xs)

    @abstractmethod
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features, made of those of the columns."""


class Stage(RecordingTransformer):
    """A transformer that learns from recordings alone, and looks at each of them by itself."""

    def fit(self, Xs: Recordings, ys: Any = None, groups: Any = None) -> Self:
        """Check the settings and learn from recordings."""
        arrays = read_recordings(Xs, gaps=self.takes_gaps)
        self._fit(arrays)
        self.n_features_in_ = int(arrays[0].shape[1])
        return self

    @hook
    def transform(self, Xs: Recordings) -> list[Floats]:
        """The features of recordings, (T_i, P') each."""
        check_is_fitted(self)
        arrays = read_recordings(Xs, self.n_features_in_, gaps=self.takes_gaps)
        return [self._features(X) for X in arrays]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features, made of those of the columns, (P',)."""
        check_is_fitted(self)
        names = column_names(input_features, self.n_features_in_)
        return np.asarray(self._names(names), dtype=object)

    @hook
    def _fit(self, arrays: list[Floats]) -> Any:
        """Check the settings and learn."""

    @abstractmethod
    def _features(self, X: Floats) -> Floats: ...

    @abstractmethod
    def _names(self, columns: list[str]) -> Sequence[str]: ...


def read_recordings(Xs: Any, n_features: int | None = None, *, gaps: bool = False) -> list[Floats]:
    """Recordings as finite (T_i, P) arrays; those that are such arrays already are not copied."""

    def is_ready(X: Any) -> bool:
        if not (type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size > 0):
            return False
        return not (np.isinf(X) if gaps else ~np.isfinite(X)).any()

    ready = isinstance(Xs, list | tuple) and len(Xs) > 0 and all(map(is_ready, Xs))
    if ready and {X.shape[1] for X in Xs} == {n_features or Xs[0].shape[1]}:
        return list(Xs)
    return check_instances(Xs, n_features=n_features, missing="mask" if gaps else None)[0]


def check_features(
    features: Sequence[Any],
    Xs: Recordings,
    maker: str,
    words: Words = RECORDINGS,
    gaps: bool = False,
) -> list[Floats]:
    """The features that ``maker`` returned, as finite arrays (T_i, P); a DataError otherwise."""
    if len(features) != len(Xs):
        raise DataError(f"{maker} returned features of {len(features)} of {words.wholes(len(Xs))}")
    P = np.shape(features[0])[-1] if np.ndim(features[0]) == 2 else 1
    for i, (F, X) in enumerate(zip(features, Xs, strict=True)):
        if np.shape(F) != (len(X), P) or not P:
            raise DataError(
                words.numbered(i) + f" has {words.items(len(X))}, and {maker} returned features of "
                f"shape {np.shape(F)}, not {(len(X), P)}: it must return one row for each, and as "
                f"many features of each {words.whole}"
            )
        wrong = np.isinf(F) if gaps and has_gaps(X) else ~np.isfinite(F)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise DataError(
                words.numbered(i) + f": {maker} returned {np.asarray(F)[row, column]} as feature "
                f"{column} of {words.item} {row}: a transformer must return finite numbers"
            )
    return [np.asarray(F, dtype=np.float64) for F in features]


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


def integers(name: str, values: Any, least: int | None = None) -> tuple[int, ...]:
    """A parameter that is a non-empty sequence of different whole numbers."""
    numbers = [values] if np.ndim(values) == 0 else list(values)
    right = all(is_whole(v) and (least is None or v >= least) for v in numbers)
    wanted = "different whole numbers" + ("" if least is None else f" of {least} or more")
    refuse_unless(
        bool(numbers) and right and len(set(numbers)) == len(numbers), name, wanted, values
    )
    return tuple(int(v) for v in numbers)
