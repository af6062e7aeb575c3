"""Change-point detection: partitions into segments of consecutive samples."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.feature_maps import SECOND_MOMENT, SQUARED_DISTANCE, FeatureMap, Loss
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.sample import Sample
from structsvm.partitions.traits import Traits

__all__ = ["ChangePoint"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ChangePoint(PartitionProblem):
    """Segment recordings where the mean of their features changes.

    Lajugie et al., section "Change-point detection by dynamic programming": segmentations ``M`` in
    M^seq (number of segments unknown) or M^seq_K (known). The joint feature map is
    ``phi(X, M) = X^T M X / T``, the loss ``|M - M_i|_F^2``.

    Parameters
    ----------
    segment_count : {"unknown", "known"}
        Whether learning is given the number of segments. A metric learned either way decodes both
        ways; "unknown" measured no worse even where the number is given when predicting.
    penalty : {"learned", "fixed"}
        For an unknown number of segments: learn the price of a segment next to the metric, or fix
        it as in the paper. Fixed prices collapse the metric on noisy data. Either way the penalty
        is calibrated on the training labels afterwards.
    kappa : float in (0, 1]
        The weight of the loss. Beyond 1 a fixed penalty no longer outweighs the reward the loss
        puts on each segment, and the metric collapses.

    Examples
    --------
    >>> from structsvm.problems import ChangePoint
    >>> ChangePoint(segment_count="known").traits.given_k
    True
    """

    segment_count: str = "unknown"
    penalty: str = "learned"
    kappa: float = 1.0

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.segment_count not in ("unknown", "known"):
            raise SettingsError(
                f"segment_count must be 'unknown' or 'known', got {self.segment_count!r}; "
                "a number of segments is given to predict"
            )
        if self.penalty not in ("learned", "fixed"):
            raise SettingsError(f"penalty must be 'learned' or 'fixed', got {self.penalty!r}")
        if not 0 < self.kappa <= 1:
            raise SettingsError(
                f"kappa must be in (0, 1], got {self.kappa}: a larger one rewards every segment "
                "by more than it costs, and the metric collapses"
            )

    @property
    def traits(self) -> Traits:
        """Segments, whose number is given or priced."""
        return Traits(
            contiguous=True,
            given_k=self.segment_count == "known",
            learns_price=self.penalty == "learned",
            kappa=self.kappa,
        )

    @property
    def feature_map(self) -> FeatureMap:
        """``X^T M X / T``."""
        return SECOND_MOMENT

    @property
    def loss(self) -> Loss:
        """``|M - M_i|_F^2``."""
        return SQUARED_DISTANCE

    def decoder(self, sample: Sample) -> Oracle:
        """Exact dynamic programming."""
        return SequentialOracle()

    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        """Segmentation of T samples from a label for each, or from breakpoints.

        A vector of length T holds labels: every change of label is a change-point, whatever the
        labels are. Anything else is a list of segment ends as in ruptures: sorted, without 0, the
        last being T. (A recording whose T segments all have one sample reads the same both ways.)

        Raises
        ------
        DataError
            When it is neither.
        """
        T, values = sample.n_samples, np.asarray(y)
        if values.ndim != 1 or values.size == 0:
            raise DataError(f"labels must be a non-empty vector, got shape {values.shape}")
        if values.size == T:
            return EquivalenceMatrix.from_labels(_runs(values))
        if not np.issubdtype(values.dtype, np.integer):
            raise DataError(
                f"{values.size} labels for {T} samples: give one label per sample, "
                "or breakpoints as integers"
            )
        outside = values[(values < 1) | (values > T)]
        if outside.size or values[-1] != T:
            raise DataError(
                f"{values.size} labels for {T} samples; read as breakpoints they must lie "
                f"in 1..{T} and end with {T}, got "
                f"{int(outside[0]) if outside.size else f'{int(values[-1])} at the end'}"
            )
        return EquivalenceMatrix.from_breakpoints(values)

    def check_training(self, truths: Sequence[EquivalenceMatrix]) -> None:
        """At least one change, and better more than one recording.

        Raises
        ------
        DataError
            When nothing changes anywhere.
        """
        if all(truth.n_clusters == 1 for truth in truths):
            lengths = [truth.n_samples for truth in truths]
            raise DataError(
                f"none of the {len(truths)} recordings has a change (T from {min(lengths)} to "
                f"{max(lengths)}): label at least one change"
            )
        if len(truths) == 1:
            warnings.warn(
                "one labelled recording: nothing tells whether the metric suits another one; "
                "label a second one, or cut this one in two",
                DataWarning,
                stacklevel=3,
            )


def _runs(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Number of changes of label up to each sample."""
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        where = int(np.flatnonzero(np.isnan(labels))[0])
        raise DataError(f"label of sample {where} is missing (NaN)")
    changes = labels[1:] != labels[:-1]
    return np.concatenate(([0], np.cumsum(changes))).astype(np.int64)
