"""Principal components of features."""

from dataclasses import dataclass

import numpy as np

from structsvm.data import Standardizer
from structsvm.errors import DataError
from structsvm.features.base import Reach, Stage
from structsvm.support import Floats, is_number, is_whole, refuse_unless


@dataclass(eq=False, repr=False)
class Components(Stage):
    """The principal components of the standardised features, in their own scale.

    Lags of a signal are nearly equal, and a full metric of ``P`` features has ``P (P + 1) / 2``
    weights; there are far fewer components. They keep their variances, which say how much each of
    them matters: a learner does not standardise them again by default.

    Parameters
    ----------
    n_components : float or int
        Below 1, the least share of the variance that the components have together; otherwise their
        number, at most that of the features.
    standardize : {"recording", "training", None}
        How the features are centred and scaled first.

    Attributes
    ----------
    components_ : array of shape (n_components, P)
        Orthonormal rows, the component of the largest variance first.
    share_ : float
        The share of the variance that they have together.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import Chain, Components, Lags
    >>> X = np.cumsum(np.random.default_rng(0).normal(size=(200, 2)), axis=0)
    >>> lagged = Chain(Lags(lags=(-1, 0, 1)), Components(n_components=0.9))
    >>> lagged.fit_transform([X])[0].shape
    (200, 2)
    """

    n_components: float = 0.98
    standardize: str | None = "recording"

    scaled = True

    @property
    def reach(self) -> Reach:
        return self.standardizer_.reach

    def _fit(self, arrays: list[Floats]) -> None:
        n = self.n_components
        fits = (is_whole(n) and n >= 1) or (is_number(n) and 0 < n < 1)
        refuse_unless(fits, "n_components", "a number of them, or a share between 0 and 1", n)
        from sklearn.decomposition import PCA  # takes long to import

        self.standardizer_ = Standardizer.fit(self.standardize, arrays)
        Z = np.vstack([self.standardizer_(X) for X in arrays])
        varies = bool(np.ptp(Z, axis=0).any())
        if not varies:
            raise DataError("no feature varies in any recording: there are no components")
        pca = PCA(n if n < 1 else min(int(n), *Z.shape), svd_solver="covariance_eigh").fit(Z)
        self.components_ = pca.components_
        self.share_ = float(pca.explained_variance_ratio_.sum())

    def _features(self, X: Floats) -> Floats:
        return np.asarray(self.standardizer_(X) @ self.components_.T)

    def _names(self, columns: list[str]) -> list[str]:
        return [f"component {k}" for k in range(len(self.components_))]
