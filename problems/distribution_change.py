"""Changes of the whole distribution, not only of the mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import SettingsError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.features import FeatureMap
from structsvm.partitions.labelled import LabelledSample
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.samples import check_samples
from structsvm.problems.change_point import ChangePoint
from structsvm.support.checks import is_whole

__all__ = ["DistributionChange", "Moments", "hermite_functions", "robust_scale"]

Floats = NDArray[np.float64]

NORMAL = 1.4826
"""Standard deviation of a normal variable whose median absolute deviation is 1."""


def hermite_functions(x: Floats, n: int) -> Floats:
    r"""The Hermite functions ``psi_1, ..., psi_n``, (..., n).

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
    """The median and a robust standard deviation of each channel of a recording, (P,) each.

    1.4826 times the median absolute deviation, which half of the samples being outliers does not
    spoil; the ordinary one for a channel that is constant more than half of the time, and 1 for one
    that is constant.
    """
    location = np.median(X, axis=0)
    sigma = NORMAL * np.median(np.abs(X - location), axis=0)
    tiny = 1e-12 * np.abs(X).max(axis=0, initial=0.0)
    sigma = np.where(sigma > tiny, sigma, X.std(axis=0))
    return location, np.where(sigma > tiny, sigma, 1.0)


@dataclass(frozen=True, eq=False)
class Moments:
    """Robust Hermite moments of recordings, and what they were made with."""

    features: list[Floats]
    """``psi_1, ..., psi_r`` of every channel, channel by channel, (T_i, P r) each."""
    location: Floats
    """Median of each channel of each recording, (N, P)."""
    sigma: Floats
    """Its robust standard deviation, (N, P)."""


@dataclass(frozen=True)
class DistributionChange(PartitionProblem, FeatureMap):
    """Segment recordings where the distribution of their channels changes: mean, scale or shape.

    Every channel becomes its first robust Hermite moments, in which a change of distribution is a
    change of mean (Lajugie et al., section "Detecting changes in distribution"); what is learned is
    how much each of them matters. Location and scale of a channel are estimated for each recording
    by itself, robustly (:func:`robust_scale`), and those of the recordings that were learned from
    are kept in the learner's ``training_data_`` and its model file.

    Parameters
    ----------
    n_moments : int
        Moments of each channel; the first is about its mean, the second about its scale.
    base : PartitionProblem
        Any problem of segments: what is done with the moments.
    """

    n_moments: int = 5
    base: PartitionProblem = field(default_factory=ChangePoint)

    def __post_init__(self) -> None:
        """Check the settings."""
        if not (is_whole(self.n_moments) and 1 <= self.n_moments <= 50):
            raise SettingsError(f"n_moments must be from 1 to 50, got {self.n_moments!r}")
        if not isinstance(self.base, PartitionProblem) or not self.base.contiguous:
            raise SettingsError(f"base must be a problem of segments, got {self.base!r}")
        if isinstance(self.base, FeatureMap):
            raise SettingsError(f"base makes features of its own, got {self.base!r}")

    def expand(self, X: Floats) -> Floats:
        """The moments, channel by channel, (T, P n_moments)."""
        location, sigma = self.channel_scales(X)
        return hermite_functions((X - location) / sigma, self.n_moments).reshape(X.shape[0], -1)

    def channel_scales(self, X: Floats) -> tuple[Floats, Floats]:
        """Median and robust standard deviation, :func:`robust_scale`."""
        return robust_scale(X)

    def moments(self, Xs: Any) -> Moments:
        """The features that learning starts from, for a look at them or for other methods.

        Parameters
        ----------
        Xs : list of arrays or data frames of shape (T_i, P)

        Raises
        ------
        DataError
            Naming the recording and the offending number.
        """
        arrays, _ = check_samples(Xs)
        scales = [self.channel_scales(X) for X in arrays]
        return Moments(
            features=[self.expand(X) for X in arrays],
            location=np.stack([location for location, _ in scales]),
            sigma=np.stack([sigma for _, sigma in scales]),
        )

    def expanded_names(self, names: Sequence[str]) -> list[str]:
        """``channel psi1``, ``channel psi2``, ..."""
        return [f"{name} psi{i + 1}" for name in names for i in range(self.n_moments)]

    @property
    def decoder(self) -> Oracle:
        """That of the base."""
        return self.base.decoder

    def sample(self, X: Floats, truth: EquivalenceMatrix) -> LabelledSample:
        """That of the base."""
        return self.base.sample(X, truth)

    def unit(
        self,
        Xs: Sequence[Floats],
        truths: Sequence[EquivalenceMatrix],
        weights: Floats | None = None,
    ) -> float | None:
        """That of the base."""
        return self.base.unit(Xs, truths, weights)

    @property
    def shrinkage(self) -> float | None:
        """That of the base."""
        return self.base.shrinkage

    def seeded(self, random_state: int) -> Self:
        """The same with a seeded base."""
        return replace(self, base=self.base.seeded(random_state))

    @property
    def known_clusters(self) -> bool:
        """That of the base."""
        return self.base.known_clusters

    @property
    def learns_penalty(self) -> bool:
        """That of the base."""
        return self.base.learns_penalty

    @property
    def margin(self) -> float:
        """That of the base."""
        return self.base.margin

    @property
    def contiguous(self) -> bool:
        """Segments."""
        return True

    def encode(self, y: Any, n_samples: int) -> EquivalenceMatrix:
        """That of the base."""
        return self.base.encode(y, n_samples)

    def check_training(self, truths: Sequence[EquivalenceMatrix]) -> None:
        """That of the base."""
        self.base.check_training(truths)

    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """That of the base."""
        return self.base.agreement(truth, guess)

    def decode(self, M: EquivalenceMatrix) -> NDArray[np.int64]:
        """That of the base."""
        return self.base.decode(M)
