"""Features that a problem makes of a recording before it is standardised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["FeatureMap"]

Floats = NDArray[np.float64]


class FeatureMap(ABC):
    """A partition problem that is also this sees features of the recordings, not the recordings.

    The map looks at one recording at a time, so it is the same when learning and predicting.
    """

    @abstractmethod
    def expand(self, X: Floats) -> Floats:
        """The features of a recording (T, P) as it was measured, (T, P')."""

    @abstractmethod
    def channel_scales(self, X: Floats) -> tuple[Floats, Floats]:
        """Location and scale of each channel of a recording (T, P) that the map uses, (P,) each."""

    @abstractmethod
    def expanded_names(self, names: Sequence[str]) -> list[str]:
        """The names of the P' features, made of those of the P channels."""
