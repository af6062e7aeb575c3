"""What a model was learned on, in a few numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataWarning, warn
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.features import FeatureMap
from structsvm.partitions.words import Words

__all__ = ["TrainingSummary"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TrainingSummary:
    """Sizes of the labelled samples, and enough to know them again."""

    n_samples: tuple[int, ...]
    """T of each."""
    n_clusters: tuple[int, ...]
    """K of each."""
    fingerprints: tuple[str, ...]
    """The first digits of the SHA-256 of each one's values."""
    location: tuple[tuple[float, ...], ...] = ()
    """Of every channel of each one, for a problem that makes features of the channels."""
    scale: tuple[tuple[float, ...], ...] = ()
    """The same, in the units of the channel: sigma of
    :class:`~structsvm.problems.distribution_change.DistributionChange`."""

    @classmethod
    def of(
        cls,
        Xs: Sequence[Floats],
        truths: Sequence[EquivalenceMatrix],
        features: FeatureMap | None = None,
    ) -> Self:
        """Describe the samples as they were given, before they are standardised."""
        scales = [] if features is None else [features.channel_scales(X) for X in Xs]
        return cls(
            tuple(X.shape[0] for X in Xs),
            tuple(truth.n_clusters for truth in truths),
            tuple(_fingerprint(X) for X in Xs),
            tuple(tuple(location.tolist()) for location, _ in scales),
            tuple(tuple(scale.tolist()) for _, scale in scales),
        )

    @classmethod
    def from_plain(cls, fields: dict[str, Any]) -> Self:
        """The inverse of ``dataclasses.asdict``, lists for tuples as JSON has them."""
        return cls(**{name: _tuples(value) for name, value in fields.items()})

    def __len__(self) -> int:
        """N."""
        return len(self.n_samples)

    def __contains__(self, X: Floats) -> bool:
        """Whether these very values were learned from: then nothing is held out."""
        return _fingerprint(X) in self.fingerprints

    def warn_if_among(self, Xs: Sequence[Floats], words: Words) -> None:
        """Warn if any of these was learned from, when they are to tell what learning is worth."""
        seen = sum(X in self for X in Xs)
        if seen:
            these = f"{seen} of these {words.wholes(len(Xs))}"
            warn(
                f"the model was learned from {these if len(Xs) > 1 else f'this {words.whole}'}: "
                "the figures are better than on new ones",
                DataWarning,
            )


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def _fingerprint(X: Floats) -> str:
    values = np.ascontiguousarray(X, dtype=np.float64)
    return hashlib.sha256(repr(values.shape).encode() + values.tobytes()).hexdigest()[:16]
