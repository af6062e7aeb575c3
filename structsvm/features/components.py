"""Principal components of recordings, for full metrics of features that say nearly the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structsvm.data.samples import Standardizer
from structsvm.errors import DataError, SettingsError
from structsvm.features.base import RecordingTransformer, Stage, read_recordings
from structsvm.support.arrays import Floats
from structsvm.support.checks import is_number, is_whole


class Components(Stage):
    """The principal components of the standardised features, in their own scale.

    Lags of a signal say nearly the same, and a full metric of ``P`` features has ``P (P + 1) / 2``
    weights. There are far fewer components: of 32 columns at 5 lags, recordings of activities have
    about 93 (docs/results.md). They keep their variances, which say how much each of them matters:
    a learner does not standardise them again by default.

    Parameters
    ----------
    n_components : float or int
        Below 1 the share of the variance that they have together, at least; else their number, at
        most that of the features.
    standardize : {"recording", "training", None}
        How the features are centred and scaled first.

    Attributes
    ----------
    components_ : array of shape (n_components, P)
        Orthonormal, that of the largest variance first.
    share_ : float
        The share of the variance that they have.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import Chain, Components, Lags
    >>> X = np.cumsum(np.random.default_rng(0).normal(size=(200, 2)), axis=0)
    >>> lagged = Chain(Lags(lags=(-1, 0, 1)), Components(n_components=0.9))
    >>> lagged.fit_transform([X])[0].shape
    (200, 2)
    """

    scaled = True

    def __init__(self, n_components: float = 0.98, standardize: str | None = "recording") -> None:
        self.n_components = n_components
        self.standardize = standardize

    def fit_transform(
        self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None
    ) -> list[Floats]:
        """Find the components of all recordings, and return them, (T_i, n_components) each."""
        arrays = read_recordings(Xs)
        Zs = self._fit(arrays)
        self.n_features_in_ = int(arrays[0].shape[1])
        return [np.asarray(Z @ self.components_.T) for Z in Zs]

    def fit_held_out(
        self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None
    ) -> list[RecordingTransformer]:
        """What makes the components of each recording: itself, as no labels are learned from."""
        return [self.fit(Xs)] * len(Xs)

    def _fit(self, arrays: list[Floats]) -> list[Floats]:
        """Find the components, and return the features as they are scaled for it."""
        n = self.n_components
        if not (is_whole(n) and n >= 1) and not (is_number(n) and 0 < n < 1):
            raise SettingsError(
                f"n_components must be a number of them, or a share between 0 and 1, got {n!r}"
            )
        self.standardizer_ = Standardizer.fit(self.standardize, arrays)
        Zs = [self.standardizer_(X) for X in arrays]
        T = sum(len(Z) for Z in Zs)
        mean = np.sum([Z.sum(axis=0) for Z in Zs], axis=0) / T
        scatter = np.zeros((mean.size, mean.size))
        for Z in Zs:
            scatter += (Z - mean).T @ (Z - mean)
        variances, vectors = np.linalg.eigh(scatter)
        variances, vectors = np.maximum(variances[::-1], 0.0), vectors[:, ::-1]
        if not variances[0] > 0:
            raise DataError("no feature varies in any recording: there are no components")
        shares = np.cumsum(variances) / variances.sum()
        count = int(np.searchsorted(shares, n - 1e-12)) + 1 if n < 1 else int(n)
        kept = vectors[:, :count]
        kept = kept * np.sign(kept[np.abs(kept).argmax(axis=0), np.arange(kept.shape[1])])
        self.components_, self.share_ = kept.T.copy(), float(shares[kept.shape[1] - 1])
        return Zs

    def _features(self, X: Floats) -> Floats:
        return np.asarray(self.standardizer_(X) @ self.components_.T)

    def _names(self, columns: list[str]) -> list[str]:
        return [f"component {k}" for k in range(len(self.components_))]
