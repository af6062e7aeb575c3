"""Standardisation of features: by their mean and deviation in each recording or in all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from structsvm.data.columns import CONSTANT_UP_TO
from structsvm.data.deferred import Data, map_arrays
from structsvm.data.missing import magnitudes, means, scales
from structsvm.support import Floats, Stack, refuse_unlisted

STANDARDIZE = ("recording", "training", "wider", None)


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Centres and scales features, of each recording by itself, as on the training set, or both.

    "both", for classifiers, returns each feature twice: standardised within its recording, and as
    on the training set. A metric, which compares samples of one recording, gains nothing by that.
    "wider" is for instances of other clusters than those learned from: each is divided by the
    larger of its own deviation and that over the training set, so that no feature counts for much
    because it hardly varies in one of them.
    """

    kind: str | None  # "recording", "training", "both", "wider" or None
    mean: Any = None
    scale: Any = None

    @classmethod
    def fit(
        cls, kind: str | None, Xs: Sequence[Data], weights: Floats | None = None
    ) -> "Standardizer":
        """Learn mean and scale of training recordings with weights (N,), if the kind has them."""
        refuse_unlisted("standardize", kind, ("both", *STANDARDIZE))
        if kind not in ("training", "both", "wider"):
            return cls(kind)
        # Each recording is summed by itself, so that only one has to be in memory at a time, and
        # that a weight of 2 is, to the last bit, the same as a recording that is there twice.
        spreads = map_arrays("measuring the features", _spread_of, Xs)
        counts, means_, squares, sizes = (np.array(column) for column in zip(*spreads, strict=True))
        shares = counts if weights is None else counts * weights[:, None]
        total = np.maximum(shares.sum(axis=0), np.finfo(np.float64).tiny)
        mean = (shares * means_).sum(axis=0) / total
        variance = (shares * (squares + (means_ - mean) ** 2)).sum(axis=0) / total
        return cls(kind, mean, _inverse(np.sqrt(variance), sizes.max(axis=0)))

    @property
    def reach(self) -> tuple[float, float]:
        """How many samples before and after a sample its standardised values depend on."""
        return (0, 0) if self.kind in ("training", None) else (inf, inf)

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
            inverses = np.stack([_inverse(scales(X), magnitudes(X)), self.scale])
            constant_in_one = (inverses == 0).any(axis=0)
            scale = np.where(constant_in_one, inverses.max(axis=0), inverses.min(axis=0))
            return np.asarray((X - means(X)) * scale)
        as_in_training: Floats = (X - self.mean) * self.scale
        if self.kind == "training":
            return as_in_training
        return np.hstack([replace(self, kind="recording")(X), as_in_training])

    def of_stack(self, Xs: Stack) -> Stack:
        """Standardise each recording of a stack, which may be written to."""
        if self.kind in ("both", "wider"):
            return Stack.of([self(X) for X in Xs.arrays()])
        if self.kind != "recording":
            return Stack(self(Xs.rows), Xs.first)
        from structsvm.support import moments, standardise  # numba takes long to import

        means_, deviations = moments(Xs)
        # No sample is further from the mean than sqrt(T) deviations: most features clearly vary.
        vary = deviations > 2.0 * CONSTANT_UP_TO * np.abs(means_)
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
        return X  # which is quick to compute, and true of most recordings
    mean = means(X)
    far = np.abs(mean) > scales(X)
    if not far.any():
        return X
    return np.asarray(X - np.where(far, mean, 0.0))


def centre(Xs: Stack) -> None:
    """Apply :func:`centred` to each array in place."""
    from structsvm.support import sums  # numba takes long to import

    total, squares = sums(Xs)
    near = 4.0 * total**2 < Xs.sizes[:, None] * squares
    for i in np.flatnonzero(~near.all(axis=1)).tolist():
        Xs.array(i)[:] = centred(Xs.array(i))


def _spread_of(X: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The number, mean, variance and largest magnitude of the values of each feature, (P,) each."""
    n = np.full(X.shape[1], float(len(X))) - np.isnan(X).sum(axis=0)
    return n, means(X), scales(X) ** 2, magnitudes(X)


def _inverse(deviation: Floats, largest: Floats) -> Floats:
    """One over the standard deviation, 0 for a feature that is constant up to rounding, (P,)."""
    varies = deviation > CONSTANT_UP_TO * largest
    inverse: Floats = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
    return inverse
