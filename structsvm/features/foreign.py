"""Transformers of series and of collections of series, as sktime, aeon and their kind have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import LearningError, SettingsError
from structsvm.features.base import RecordingTransformer
from structsvm.features.checks import check_features, column_names, read_recordings
from structsvm.support.arrays import Floats
from structsvm.support.checks import is_whole, refuse_below


class Series(RecordingTransformer):
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

    def __init__(self, transformer: Any, axis: int = 0) -> None:
        self.transformer = transformer
        self.axis = axis

    learns = False

    def fit(self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None) -> Self:
        """Check the settings, and how many features come out; nothing else is kept.

        Raises
        ------
        SettingsError
            When it is no transformer, or ``axis`` is neither 0 nor 1.
        LearningError
            When it fails.
        """
        _check(self.transformer, "Series")
        if not is_whole(self.axis) or self.axis not in (0, 1):
            raise SettingsError(f"axis of Series must be 0 or 1, got {self.axis!r}")
        first = read_recordings(Xs)[0]
        self.n_features_in_ = int(first.shape[1])
        made = self._of(first)
        self.n_features_out_ = int(made.shape[1]) if made.ndim == 2 else 1
        return self

    def transform(self, Xs: Sequence[Floats]) -> list[Floats]:
        """What it makes of each recording, (T_i, P') each."""
        check_is_fitted(self)
        arrays = read_recordings(Xs, self.n_features_in_)
        return check_features([self._of(X) for X in arrays], arrays, f"Series({self.transformer})")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Those of the columns if there are as many, or numbered ones, after the transformer."""
        check_is_fitted(self)
        names = column_names(input_features, self.n_features_in_)
        return _names(self.transformer, names, self.n_features_out_)

    def _of(self, X: Floats) -> Floats:
        fitted = clone(self.transformer)
        series = X if self.axis == 0 else np.ascontiguousarray(X.T)
        made = np.asarray(_run(fitted, series, fit=True, owner="Series"))
        made = made[:, None] if made.ndim == 1 else made
        return np.asarray(made if self.axis == 0 else made.T, dtype=np.float64)


class OfWindows(RecordingTransformer):
    """A transformer of collections of series, given a window about each sample.

    For those that describe a series by a row of features, as those of tsfresh and Catch22 in sktime
    and aeon do. They take collections of shape (windows, columns, samples). It is fitted to the
    windows of all training recordings.

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
    >>> from structsvm.features import OfWindows
    >>> from sklearn.base import BaseEstimator
    >>> class Ranges(BaseEstimator):
    ...     def fit(self, X, y=None):
    ...         return self
    ...
    ...     def transform(self, X):
    ...         return np.ptp(X, axis=2)
    >>> stage = OfWindows(Ranges(), width=3)
    >>> stage.fit_transform([np.array([[0.0], [1.0], [5.0], [5.0]])])[0].ravel().tolist()
    [5.0, 5.0, 4.0, 4.0]
    """

    def __init__(self, transformer: Any, width: int = 50, hop: int = 1) -> None:
        self.transformer = transformer
        self.width = width
        self.hop = hop

    def fit(self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None) -> Self:
        """Fit a clone of the transformer to the windows of all recordings.

        Raises
        ------
        SettingsError
            When it is no transformer, or ``width`` or ``hop`` is no whole number above 0.
        LearningError
            When it fails.
        """
        _check(self.transformer, "OfWindows")
        for name in ("width", "hop"):
            refuse_below(1, f"{name} of OfWindows", getattr(self, name))
        arrays = read_recordings(Xs)
        fitted = clone(self.transformer)
        made = _run(fitted, np.concatenate([self._stack(X) for X in arrays]), True, "OfWindows")
        self.transformer_, self.n_features_in_ = fitted, int(arrays[0].shape[1])
        self.n_features_out_ = int(np.asarray(made).reshape(len(made), -1).shape[1])
        return self

    def transform(self, Xs: Sequence[Floats]) -> list[Floats]:
        """The features of the window about each sample, (T_i, P') each."""
        check_is_fitted(self)
        arrays = read_recordings(Xs, self.n_features_in_)
        found = []
        for X in arrays:
            made = np.asarray(_run(self.transformer_, self._stack(X), False, "OfWindows"))
            rows = made.reshape(len(made), -1).astype(np.float64)
            nearest = np.minimum((np.arange(len(X)) + self.hop // 2) // self.hop, len(rows) - 1)
            found.append(rows[nearest])
        return check_features(found, arrays, f"OfWindows({self.transformer})")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Those of the columns if there are as many, or numbered ones, after the transformer."""
        check_is_fitted(self)
        names = column_names(input_features, self.n_features_in_)
        return _names(self.transformer, names, self.n_features_out_)

    def _stack(self, X: Floats) -> Floats:
        """The windows of a recording, inside of it as far as it is long enough, (n, P, width)."""
        T, w = len(X), self.width
        middles = np.arange(0, T, self.hop)
        starts = np.clip(middles - (w - 1) // 2, 0, max(T - w, 0))
        rows = np.minimum(starts[:, None] + np.arange(w), T - 1)
        return np.ascontiguousarray(np.swapaxes(X[rows], 1, 2))


def _check(given: Any, owner: str) -> None:
    if isinstance(given, type) or not (hasattr(given, "fit") and hasattr(given, "transform")):
        way_out = f": make an instance, {given.__name__}()" if isinstance(given, type) else ""
        raise SettingsError(
            f"{owner} needs a transformer with fit and transform, got {given!r}{way_out}"
        )
    if isinstance(given, RecordingTransformer):
        raise SettingsError(f"{given!r} is a transformer of recordings: use it without {owner}")


def _run(transformer: Any, X: Floats, fit: bool, owner: str) -> Any:
    try:
        if not fit:
            return transformer.transform(X)
        if hasattr(transformer, "fit_transform"):
            return transformer.fit_transform(X)
        return transformer.fit(X).transform(X)
    except Exception as error:  # whatever a foreign transformer raises
        raise LearningError(f"{owner}: {transformer!r} failed: {error}") from error


def _names(transformer: Any, columns: Sequence[str], n: int) -> NDArray[Any]:
    kind = type(transformer).__name__.lower()
    found = [f"{name} {kind}" for name in columns]
    if n != len(columns):
        found = [f"{kind}{j}" for j in range(n)]
    return np.asarray(found, dtype=object)
