"""Stages that wrap transformers of other libraries."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from structsvm.errors import LearningError, SettingsError
from structsvm.features.base import RecordingTransformer, Stage
from structsvm.support import Floats, hook, refuse_below, refuse_unless


class _Wrapper(Stage):
    """Features by a transformer of another library."""

    transformer: Any
    n_features_out_: int

    def _check(self) -> None:
        """Refuse what is no transformer of another library."""
        inner = self.transformer
        owner = type(self).__name__
        is_one = hasattr(inner, "fit") and hasattr(inner, "transform")
        if not is_one or isinstance(inner, type | RecordingTransformer):
            raise SettingsError(
                f"{owner} needs a transformer of another library with fit and transform, such as "
                f"StandardScaler(), got {inner!r}: one of recordings is used without {owner}"
            )

    def _call(self, transformer: Any, X: Floats, *methods: str) -> Any:
        """Call the methods with X in turn, and return the answer of the last."""
        try:
            return [getattr(transformer, method)(X) for method in methods][-1]
        except Exception as error:  # whatever a foreign transformer raises
            raise LearningError(
                f"{type(self).__name__}: {self.transformer!r} failed: {error}"
            ) from error

    def _fit_and_call(self, transformer: Any, X: Floats) -> Any:
        both = hasattr(transformer, "fit_transform")
        return self._call(transformer, X, *(["fit_transform"] if both else ["fit", "transform"]))

    @hook
    def _names(self, columns: list[str]) -> list[str]:
        """Names of the columns if there are as many features, else numbered names."""
        kind = type(self.transformer).__name__.lower()
        n = self.n_features_out_
        if n == len(columns):
            return [f"{name} {kind}" for name in columns]
        return [f"{kind}{j}" for j in range(n)]


@dataclass(eq=False, repr=False)
class Rows(_Wrapper):
    """A transformer of rows from scikit-learn, fitted to the rows of all training recordings.

    Parameters
    ----------
    transformer : estimator with fit and transform
        Such as ``StandardScaler()``, ``PCA(5)`` or ``Nystroem()``; one that needs labels is
        refused.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from structsvm.features import Rows
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> Rows(PCA(n_components=2)).fit_transform([X, X[:5]])[1].shape
    (5, 2)
    """

    transformer: Any

    reach = (0, 0)

    def _fit(self, arrays: list[Floats]) -> None:
        self._check()
        wrapped = self.transformer
        if isinstance(wrapped, BaseEstimator) and get_tags(wrapped).target_tags.required:
            raise SettingsError(
                f"{wrapped!r} needs labels, and its features of the recordings it has learned from "
                "would be too good: use StateScores with a classifier, which cross-fits"
            )
        self.transformer_ = clone(wrapped)
        self._call(self.transformer_, np.vstack(arrays), "fit")
        self.n_features_out_ = int(self._features(arrays[0][:1]).shape[1])

    def _features(self, X: Floats) -> Floats:
        transformed = self.transformer_.transform(X)
        return np.asarray(transformed.toarray() if hasattr(transformed, "toarray") else transformed)

    def _names(self, columns: list[str]) -> list[str]:
        try:
            return list(self.transformer_.get_feature_names_out(columns))
        except (AttributeError, ValueError):
            return super()._names(columns)


@dataclass(eq=False, repr=False)
class Series(_Wrapper):
    """A transformer of single series, which is fitted to each recording separately.

    For those of sktime, which take and give a series with a row for each sample, and those of
    aeon, which have a column for each sample (``axis=1``).

    Parameters
    ----------
    transformer : estimator with fit_transform, or fit and transform
        One that returns as many samples as it was given.
    axis : {0, 1}
        Along which the samples of its series lie.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from structsvm.features import Series
    >>> X = np.array([[0.0], [2.0]])
    >>> [F.ravel().tolist() for F in Series(StandardScaler()).fit_transform([X, 10 + X])]
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    transformer: Any
    axis: int = 0

    learns = False

    def _fit(self, arrays: list[Floats]) -> None:
        self._check()
        refuse_unless(self.axis in (0, 1), "axis of Series", "0 or 1", self.axis)
        self.n_features_out_ = int(self._features(arrays[0]).shape[1])

    def _features(self, X: Floats) -> Floats:
        series = X if self.axis == 0 else np.ascontiguousarray(X.T)
        values = np.asarray(self._fit_and_call(clone(self.transformer), series))
        values = values[:, None] if values.ndim == 1 else values
        return np.asarray(values if self.axis == 0 else values.T, dtype=np.float64)


@dataclass(eq=False, repr=False)
class OfWindows(_Wrapper):
    """A transformer of collections of series, given a window about each sample.

    For those that describe a series by a row of features, such as tsfresh and Catch22 in sktime and
    aeon, of collections (windows, columns, samples). It is fitted to all training windows.

    Parameters
    ----------
    transformer : estimator with fit and transform
        It returns one row for each window.
    width : int
        Samples of a window.
    hop : int
        From one window to the next. Samples between have the features of the nearest window.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from structsvm.features import OfWindows
    >>> stage = OfWindows(FunctionTransformer(np.ptp, kw_args={"axis": 2}), width=3)
    >>> stage.fit_transform([np.array([[0.0], [1.0], [5.0], [5.0]])])[0].ravel().tolist()
    [5.0, 5.0, 4.0, 4.0]
    """

    transformer: Any
    width: int = 50
    hop: int = 1

    def _fit(self, arrays: list[Floats]) -> None:
        self._check()
        refuse_below(1, "width of OfWindows", self.width)
        refuse_below(1, "hop of OfWindows", self.hop)
        self.transformer_ = clone(self.transformer)
        stack = np.concatenate([self._stack(X) for X in arrays])
        values = np.asarray(self._fit_and_call(self.transformer_, stack))
        self.n_features_out_ = int(values.reshape(len(values), -1).shape[1])

    def _features(self, X: Floats) -> Floats:
        values = np.asarray(self._call(self.transformer_, self._stack(X), "transform"))
        rows = values.reshape(len(values), -1).astype(np.float64)
        nearest = np.minimum((np.arange(len(X)) + self.hop // 2) // self.hop, len(rows) - 1)
        return np.asarray(rows[nearest])

    def _stack(self, X: Floats) -> Floats:
        """The windows of a recording, (n, P, width), shifted inside at its ends if it is longer."""
        T = len(X)
        w = self.width
        middles = np.arange(0, T, self.hop)
        starts = np.clip(middles - (w - 1) // 2, 0, max(T - w, 0))
        rows = np.minimum(starts[:, None] + np.arange(w), T - 1)
        return np.ascontiguousarray(np.swapaxes(X[rows], 1, 2))
