"""Robust Hermite moments: features in which a change of distribution is a change of mean."""

from __future__ import annotations

import numpy as np

from structsvm.errors import SettingsError
from structsvm.features.base import Stage
from structsvm.support.arrays import Floats
from structsvm.support.checks import is_whole

NORMAL = 1.4826
"""Standard deviation of a normal variable whose median absolute deviation is 1."""


def hermite_functions(x: Floats, n: int) -> Floats:
    r"""The Hermite functions ``psi_1, ..., psi_n`` at ``x``, (..., n).

    ``psi_i(x) = (2^i i! sqrt(pi))^{-1/2} H_i(x) exp(-x^2/2)`` with the physicists' polynomials
    ``H_i``: orthonormal in L2 of the real line, bounded, zero far away, however heavy the tails.
    (Lajugie et al., section "Detecting changes in distribution", where the normalisation is
    misprinted.) By the recurrence
    ``psi_{i+1} = sqrt(2/(i+1)) x psi_i - sqrt(i/(i+1)) psi_{i-1}``, which is stable.
    """
    with np.errstate(under="ignore"):
        bounded = np.clip(x, -1e2, 1e2)  # beyond, all of them are zero
        before, now = np.zeros_like(bounded), np.pi**-0.25 * np.exp(-0.5 * bounded**2)
        found = np.empty((*x.shape, n))
        for i in range(n):
            after = np.sqrt(2 / (i + 1)) * bounded * now - np.sqrt(i / (i + 1)) * before
            before, now = now, after
            found[..., i] = now
    return found


def robust_scale(X: Floats) -> tuple[Floats, Floats]:
    """The median and a robust standard deviation of each channel of a recording, (P,) each."""
    location = np.median(X, axis=0)
    sigma = NORMAL * np.median(np.abs(X - location), axis=0)
    tiny = 1e-12 * np.abs(X).max(axis=0, initial=0.0)
    sigma = np.where(sigma > tiny, sigma, X.std(axis=0))
    return location, np.where(sigma > tiny, sigma, 1.0)


class HermiteMoments(Stage):
    """The first robust Hermite moments of every channel of a recording.

    A change of the distribution of a channel, of its mean, scale or shape, is a change of the mean
    of its moments (Lajugie et al., section "Detecting changes in distribution"). Location and scale
    of a channel are estimated for each recording by itself, by medians. Of a channel of few values,
    such as a switch, the moments that would only repeat the others are 0.

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

    learns = False

    def __init__(self, n_moments: int = 5) -> None:
        self.n_moments = n_moments

    def _fit(self, arrays: list[Floats]) -> None:
        n = self.n_moments
        if not (is_whole(n) and 1 <= n <= 50):
            raise SettingsError(f"n_moments must be from 1 to 50, got {n!r}")

    def _names(self, columns: list[str]) -> list[str]:
        return [f"{name} psi{i + 1}" for name in columns for i in range(self.n_moments)]

    def _features(self, X: Floats) -> Floats:
        """``psi_1, ..., psi_r`` of every channel, channel by channel."""
        location, sigma = robust_scale(X)
        found = hermite_functions((X - location) / sigma, self.n_moments)
        for j, column in enumerate(X.T):
            # Of v values, all but v - 1 moments are combinations of these and a constant.
            found[:, j, max(1, _count_values(column, self.n_moments + 1) - 1) :] = 0.0
        return found.reshape(X.shape[0], -1)


def _count_values(column: Floats, most: int) -> int:
    """How many different values a column has, up to ``most``."""
    if column.size <= most:
        return most
    some = np.unique(column[:100]).size
    return most if some >= most else min(most, np.unique(column).size)
