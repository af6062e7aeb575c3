"""Partition problems with one exact oracle and nothing special: four definitions make one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import LabelledSample, SearchedSample
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.problem import PartitionProblem

__all__ = ["SimpleProblem"]

Floats = NDArray[np.float64]


class SimpleProblem(PartitionProblem):
    """A partition problem of which a subclass says only which partitions it has.

    Define :attr:`decoder`, an oracle that draws nothing at random, :attr:`contiguous`, whether
    clusters are segments, and :meth:`encode` and :meth:`decode`, how labels are written. The oracle
    serves learning as well as prediction, the number of clusters is unknown and its price is
    learned, the loss is ``|M - M_i|_F^2``. Whoever needs anything else derives from
    :class:`PartitionProblem` instead.
    """

    def sample(self, X: Floats, truth: EquivalenceMatrix) -> LabelledSample:
        """The samples themselves, separated by the decoder."""
        return SearchedSample(X, truth, self.decoder)

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
        """No whitening."""
        return None

    def seeded(self, random_state: int) -> Self:
        """Itself: nothing is drawn at random."""
        return self

    @property
    def known_clusters(self) -> bool:
        """Unknown when learning; prediction takes a number of clusters or none."""
        return False

    @property
    def learns_penalty(self) -> bool:
        """The price of a cluster is learned."""
        return True

    @property
    def margin(self) -> float:
        """The loss as it is."""
        return 1.0

    def check_training(self, truths: Sequence[EquivalenceMatrix]) -> None:
        """At least two clusters somewhere."""
        if all(truth.n_clusters == 1 for truth in truths):
            raise DataError(
                f"each of the {len(truths)} recordings is one single cluster: label at least one "
                "that has two"
            )

    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """Minus the loss."""
        return -partition_loss(truth, guess)
