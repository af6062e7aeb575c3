"""Robust Hermite moments: their means change where the distribution of a channel changes."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from structsvm.features.base import Stage
from structsvm.support import Floats, is_whole, refuse_unless

NORMAL = 1.4826  # standard deviation of a normal variable whose median absolute deviation is 1


def hermite_functions(x: Floats, n: int) -> Floats:
    """The Hermite functions ``psi_1, ..., psi_n`` at ``x``, (..., n), bounded and orthonormal.

    Of the physicists' polynomials, ``psi_i(x) = (2^i i! sqrt(pi))^{-1/2} H_i(x) exp(-x^2/2)``, by
    the stable ``psi_{i+1} = sqrt(2/(i+1)) x psi_i - sqrt(i/(i+1)) psi_{i-1}``. (Lajugie et al.,
    "Detecting changes in distribution", where the normalisation is misprinted.)
    """
    with np.errstate(under="ignore"):
        bounded = np.clip(x, -1e2, 1e2)  # where all functions are zero already
        before = np.zeros_like(bounded)
        now = np.pi**-0.25 * np.exp(-0.5 * bounded**2)
        functions = np.empty((*x.shape, n))
        for i in range(n):
            after = np.sqrt(2 / (i + 1)) * bounded * now - np.sqrt(i / (i + 1)) * before
            before, now = now, after
            functions[..., i] = now
    return functions


def robust_scale(X: Floats) -> tuple[Floats, Floats]:
    """The median and a robust standard deviation of each channel of a recording, (P,) each."""
    location = np.median(X, axis=0)
    sigma = NORMAL * np.median(np.abs(X - location), axis=0)
    tiny = 1e-12 * np.abs(X).max(axis=0, initial=0.0)
    sigma = np.where(sigma > tiny, sigma, X.std(axis=0))
    return location, np.where(sigma > tiny, sigma, 1.0)


@dataclass(eq=False, repr=False)
class HermiteMoments(Stage):
    """The first robust Hermite moments of every channel of a recording.

    A change of the distribution of a channel, of its mean, scale or shape, is a change of the mean
    of its moments (Lajugie et al., section "Detecting changes in distribution"). Location and scale
    of a channel are estimated for each recording by itself, by medians. For a channel with few
    different values, such as a switch, the moments that would only repeat the others are 0.

    Parameters
    ----------
    n_moments : int
        Moments of each channel; the first is about its mean, the second about its scale.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import HermiteMoments
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> [F.shape for F in HermiteMoments(n_moments=3).fit_transform([X])]
    [(30, 6)]
    """

    n_moments: int = 5

    learns = False

    def _fit(self, arrays: list[Floats]) -> None:
        fits = is_whole(self.n_moments) and 1 <= self.n_moments <= 50
        refuse_unless(fits, "n_moments", "from 1 to 50", self.n_moments)

    def _names(self, columns: list[str]) -> list[str]:
        return [f"{name} psi{i + 1}" for name, i in product(columns, range(self.n_moments))]

    def _features(self, X: Floats) -> Floats:
        """``psi_1, ..., psi_r`` of every channel, channel by channel."""
        location, sigma = robust_scale(X)
        moments = hermite_functions((X - location) / sigma, self.n_moments)
        for j, column in enumerate(X.T):
            if len(X) <= self.n_moments + 1 or np.unique(column[:100]).size > self.n_moments:
                continue
            # With v values, all moments are combinations of the first v - 1 and a constant.
            moments[:, j, max(1, np.unique(column).size - 1) :] = 0.0
        return moments.reshape(X.shape[0], -1)
