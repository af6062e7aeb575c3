"""The door of learning: recordings and what is known of their partitions, checked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.partial_labels.complete import Known, known_parts, part_weights, read_labels
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.problem import PartitionProblem, encode_all
from structsvm.partitions.samples import Standardizer, centred, check_samples, check_weights

__all__ = ["TrainingSet"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Recordings to learn from; N of them, :func:`len`."""

    partition: PartitionProblem
    arrays: Sequence[Floats]
    labels: Sequence[Known]
    weights: Floats
    """(N,); a weight of 2 stands for a recording that is there twice, 0 for one that is not."""
    names: list[str] | None = None
    """Of the features, if they have any."""

    @classmethod
    def read(
        cls,
        partition: PartitionProblem,
        Xs: Any,
        ys: Any,
        feature_names: Sequence[str] | None = None,
        sample_weight: Any = None,
        *,
        complete: bool = False,
        n_features: int | None = None,
    ) -> TrainingSet:
        """From what users write.

        Parameters
        ----------
        Xs, ys, feature_names, sample_weight
            As for :meth:`structsvm.MetricLearner.fit`.
        complete : bool
            Whether to refuse labels that leave anything open.
        n_features : int, optional
            The number of features that the recordings must have.

        Raises
        ------
        DataError
            Naming the recording and what is wrong with it.
        """
        words = partition.words
        arrays, names = check_samples(Xs, feature_names, n_features, words)
        weights = check_weights(sample_weight, len(arrays), words)
        if complete:
            truths = encode_all(partition, arrays, ys)
            labels = [Known.of(truth, partition.contiguous) for truth in truths]
        else:
            labels = read_labels(partition, arrays, ys)
        return cls(partition, arrays, labels, weights, names)

    def __len__(self) -> int:
        """N."""
        return len(self.arrays)

    def at(self, which: Sequence[int] | Ints) -> TrainingSet:
        """Some of them."""
        return replace(
            self,
            arrays=[self.arrays[i] for i in which],
            labels=[self.labels[i] for i in which],
            weights=self.weights[np.asarray(which, dtype=np.intp)],
        )

    def counted(self) -> TrainingSet:
        """Those whose weight is not zero."""
        return self.at(np.flatnonzero(self.weights))

    def mapped(self, change: Callable[[Floats], Floats]) -> TrainingSet:
        """The same with other features, such as standardised ones."""
        return replace(self, arrays=[change(X) for X in self.arrays])

    def standardized(self, standardizer: Standardizer) -> TrainingSet:
        """The same as learning and calibration see it: standardised and centred."""
        return self.mapped(lambda X: centred(standardizer(X)))

    def standardizer(self, kind: str | None) -> Standardizer:
        """What standardises them."""
        return Standardizer.fit(kind, self.arrays, self.partition, self.weights)

    @property
    def truths(self) -> list[EquivalenceMatrix]:
        """The partitions, where they are all known."""
        truths = [known.truth for known in self.labels if known.truth is not None]
        assert len(truths) == len(self)
        return truths

    @property
    def parts(self) -> TrainingSet:
        """Everything whose partition is known, as recordings of their own."""
        arrays, truths = known_parts(self.arrays, self.labels)
        labels = [Known.of(truth, self.partition.contiguous) for truth in truths]
        weights = part_weights(self.labels, self.weights)
        return replace(self, arrays=arrays, labels=labels, weights=weights)
