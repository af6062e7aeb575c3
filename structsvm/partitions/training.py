"""What a model was learned on, in a few numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structsvm.partitions.equivalence import EquivalenceMatrix

__all__ = ["TrainingData"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TrainingData:
    """Sizes of the labelled samples, and enough to know them again."""

    n_samples: tuple[int, ...]
    """T of each."""
    n_clusters: tuple[int, ...]
    """K of each."""
    fingerprints: tuple[str, ...]
    """The first digits of the SHA-256 of each one's values."""

    @classmethod
    def of(cls, Xs: Sequence[Floats], truths: Sequence[EquivalenceMatrix]) -> TrainingData:
        """Describe the samples as they were given, before they are standardised."""
        return cls(
            tuple(X.shape[0] for X in Xs),
            tuple(truth.n_clusters for truth in truths),
            tuple(_fingerprint(X) for X in Xs),
        )

    def __len__(self) -> int:
        """N."""
        return len(self.n_samples)

    def __contains__(self, X: Floats) -> bool:
        """Whether these very values were learned from: then nothing is held out."""
        return _fingerprint(X) in self.fingerprints


def _fingerprint(X: Floats) -> str:
    values = np.ascontiguousarray(X, dtype=np.float64)
    return hashlib.sha256(repr(values.shape).encode() + values.tobytes()).hexdigest()[:16]
