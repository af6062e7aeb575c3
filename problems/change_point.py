"""Change-point detection: partitions into segments of consecutive samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, DataWarning, SettingsError, warn
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import LabelledSample, SearchedSample
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.values import label_values, refuse_missing
from structsvm.support.checks import among, is_number

__all__ = ["ChangePoint"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ChangePoint(PartitionProblem):
    """Segment recordings where the mean of their features changes.

    Lajugie et al., section "Change-point detection by dynamic programming": segmentations ``M`` in
    M^seq (number of segments unknown) or M^seq_K (known).

    Parameters
    ----------
    n_segments : {"unknown", "known"}
        Whether learning is told the number of segments. A metric learned either way decodes both
        ways; "unknown" measured no worse even where the number is given when predicting.
    penalty : {"learned", "fixed"}
        For an unknown number of segments: learn the price of a segment next to the metric, or fix
        it as in the paper. Fixed prices collapse the metric on noisy data. Either way the penalty
        is calibrated on the training labels afterwards.
    margin : float in (0, 1]
        ``kappa``, the weight of the loss. Beyond 1 a fixed penalty no longer outweighs the reward
        the loss puts on each segment, and the metric collapses.
    """

    n_segments: str = "unknown"
    penalty: str = "learned"
    margin: float = 1.0

    def __post_init__(self) -> None:
        """Check the settings."""
        if not among(self.n_segments, ("unknown", "known")):
            raise SettingsError(
                f"n_segments of the problem must be 'unknown' or 'known', got {self.n_segments!r}; "
                "a number of segments is given to predict"
            )
        if not among(self.penalty, ("learned", "fixed")):
            raise SettingsError(f"penalty must be 'learned' or 'fixed', got {self.penalty!r}")
        if not (is_number(self.margin) and 0 < self.margin <= 1):
            raise SettingsError(
                f"margin must be in (0, 1], got {self.margin!r}: a larger one rewards every "
                "segment by more than it costs, and the metric collapses"
            )

    @property
    def decoder(self) -> Oracle:
        """Exact dynamic programming."""
        return SequentialOracle()

    def sample(self, X: Floats, truth: EquivalenceMatrix) -> LabelledSample:
        """The recording itself: the same program, loss-augmented."""
        return SearchedSample(X, truth, SequentialOracle())

    def unit(
        self,
        Xs: Sequence[Floats],
        truths: Sequence[EquivalenceMatrix],
        weights: Floats | None = None,
    ) -> float | None:
        """The calibrated penalty."""
        return None

    @property
    def shrinkage(self) -> float | None:
        """No whitening: with it, ``lam`` matters less, but nothing is gained on average."""
        return None

    def seeded(self, random_state: int) -> ChangePoint:
        """Itself: nothing is drawn at random."""
        return self

    @property
    def known_clusters(self) -> bool:
        """Whether the number of segments is given."""
        return self.n_segments == "known"

    @property
    def contiguous(self) -> bool:
        """Segments."""
        return True

    @property
    def learns_penalty(self) -> bool:
        """Whether the price of a segment is a weight."""
        return self.penalty == "learned"

    def encode(self, y: Any, n_samples: int) -> EquivalenceMatrix:
        """Segmentation of ``n_samples`` samples from a label for each, or from breakpoints.

        A vector of length T holds labels: every change of label is a change-point, whatever the
        labels are. Anything else is a list of segment ends as in ruptures: sorted, without 0, the
        last being T. (A recording whose T segments all have one sample reads the same both ways.)
        """
        values = label_values(y)
        if values.ndim != 1 or values.size == 0:
            raise DataError(f"labels must be a non-empty vector, got shape {values.shape}")
        if values.size == n_samples:
            refuse_missing(values, "sample")
            return EquivalenceMatrix.from_labels(_runs(values))
        if not np.issubdtype(values.dtype, np.integer):
            raise DataError(
                f"{values.size} labels for {n_samples} samples: give one label per sample, "
                "or breakpoints as integers"
            )
        outside = values[(values < 1) | (values > n_samples)]
        if outside.size or values[-1] != n_samples:
            raise DataError(
                f"{values.size} labels for {n_samples} samples; read as breakpoints they must lie "
                f"in 1..{n_samples} and end with {n_samples}, got "
                f"{int(outside[0]) if outside.size else f'{int(values[-1])} at the end'}"
            )
        return EquivalenceMatrix.from_breakpoints(values)

    def check_training(self, truths: Sequence[EquivalenceMatrix]) -> None:
        """At least one change, and better more than one recording."""
        if all(truth.n_clusters == 1 for truth in truths):
            lengths = [truth.n_samples for truth in truths]
            raise DataError(
                f"none of the {len(truths)} recordings has a change (T from {min(lengths)} to "
                f"{max(lengths)}): label at least one change"
            )
        if len(truths) == 1:
            warn(
                "one labelled recording: nothing tells whether the metric suits another one; "
                "label a second one, or cut this one in two",
                DataWarning,
            )

    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """Minus the loss."""
        return -partition_loss(truth, guess)

    def decode(self, M: EquivalenceMatrix) -> NDArray[np.int64]:
        """Segment number of each sample, 0, 1, ..., (T,)."""
        return np.repeat(np.arange(M.n_clusters, dtype=np.int64), np.diff(M.boundaries))


def _runs(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Number of changes of label up to each sample."""
    changes = labels[1:] != labels[:-1]
    return np.concatenate(([0], np.cumsum(changes))).astype(np.int64)
