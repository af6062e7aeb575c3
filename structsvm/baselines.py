"""Metrics that need no structured learning: what a learned one has to beat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import DecodingMetric, calibrate
from structsvm.partitions.oracle import Oracle

__all__ = ["pca", "untrained"]

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
