"""Metrics that need no structured learning: what a learned one has to beat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import DecodingMetric, calibrate
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.start import within_whitening

__all__ = ["pca", "rca", "untrained"]

Floats = NDArray[np.float64]


def untrained(
    oracle: Oracle, Xs: Sequence[Floats], truths: Sequence[EquivalenceMatrix]
) -> DecodingMetric:
    """The identity with its best penalty on the training samples: hand-tuned segmentation."""
    return DecodingMetric(np.eye(Xs[0].shape[1]), calibrate(oracle, Xs, truths).penalty)


def pca(
    oracle: Oracle, Xs: Sequence[Floats], truths: Sequence[EquivalenceMatrix]
) -> DecodingMetric:
    """The leading principal components, as many (1, 2, 4, ...) as give the least training loss.

    The components are those of all samples stacked; the penalty is calibrated for each number.
    """
    scatter = sum(X.T @ X for X in (X - X.mean(axis=0) for X in Xs))
    _, vectors = np.linalg.eigh(scatter)
    P = vectors.shape[0]
    best, best_loss = None, np.inf
    for rank in (2**k for k in range(max(1, int(np.log2(P)) + 1)) if 2**k < P or P == 1):
        factor = vectors[:, ::-1][:, :rank]
        calibration = calibrate(oracle, [X @ factor for X in Xs], truths)
        if calibration.loss < best_loss:
            best, best_loss = DecodingMetric(factor, calibration.penalty), calibration.loss
    assert best is not None
    return best


def rca(
    oracle: Oracle,
    Xs: Sequence[Floats],
    truths: Sequence[EquivalenceMatrix],
    shrinkage: float = 0.5,
) -> DecodingMetric:
    """Relevant component analysis: the inverse of the covariance within the true clusters.

    Bar-Hillel et al. (2006), the clusters of all samples stacked; shrunk towards a multiple of the
    identity, without which a few labelled samples do more harm than good.

    Parameters
    ----------
    shrinkage : float in [0, 1]
        0 is plain RCA, 1 the identity.
    """
    factor = within_whitening(Xs, truths, shrinkage)
    return DecodingMetric(factor, calibrate(oracle, [X @ factor for X in Xs], truths).penalty)
