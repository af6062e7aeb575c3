"""Segmentations whose segments keep a rule: the rule is all there is to write."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.sample import Sample
from structsvm.data.values import check_vector, label_values, refuse_missing
from structsvm.errors import DataError
from structsvm.partitions.comparison import Baseline, Candidate, Comparison
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.traits import Traits
from structsvm.support.contract import hook


class SegmentProblem(PartitionProblem):
    """Base of segmentation problems: a subclass declares the allowed segments.

    Labels as vectors or breakpoints, decoding with the number of segments known or not, forced and
    forbidden boundaries, and the exact program, compiled, come from here.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from structsvm.problems import SegmentProblem
    >>> @dataclass(frozen=True)
    ... class MinDwell(SegmentProblem):
    ...     min_length: int = 5
    ...
    ...     def allows(self, start, end, n_samples):
    ...         return end - start >= min(self.min_length, n_samples)
    >>> MinDwell().traits.contiguous
    True
    """

    @abstractmethod
    def allows(self, start: Any, end: Any, n_samples: int) -> Any:
        """Whether samples ``start, ..., end - 1`` of T may be a segment; ``start`` is an array."""

    @property
    @hook
    def traits(self) -> Traits:
        """The traits of segmentations whose price of a segment is learned."""
        return Traits(contiguous=True)

    @hook
    def decoder(self, sample: Sample) -> Oracle:
        """Return the exact dynamic program over the allowed segments."""
        from structsvm.oracles.allowed_segments import AllowedSegmentsOracle  # loads numba

        return AllowedSegmentsOracle(self.allows)

    @hook
    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        """Segmentation of T samples from a label for each, or from breakpoints.

        A vector of length T holds labels: every change of label is a change-point. Anything else is
        a list of segment ends as in ruptures: sorted, without 0, the last being T.

        Raises
        ------
        DataError
            When a segment is not allowed.
        """
        from structsvm.oracles.allowed_segments import rule_says

        M, T = segmentation(y, sample.n_samples), sample.n_samples
        for start, end in zip(M.boundaries[:-1].tolist(), M.boundaries[1:].tolist(), strict=True):
            if not rule_says(self.allows, np.array([start]), end, T)[0]:
                raise DataError(
                    f"the segment {start}..{end} is not one that {type(self).__name__} allows: "
                    "check the labels, or the settings of the problem"
                )
        return M

    @property
    @hook
    def comparison(self) -> Comparison:
        """Metrics without and with context, and the classifiers that apply to the labels."""
        return SegmentComparison(self)


class SegmentComparison(Comparison):
    """Comparisons of recordings."""

    def baselines(
        self, samples: Sequence[Sample], labels: Sequence[Any], features: Any = None
    ) -> Sequence[Baseline]:
        """A classifier of boundaries; with names of states, classifiers of samples with Viterbi."""
        from structsvm.baselines.recordings import baselines_of_recordings

        return baselines_of_recordings(samples, labels, features)

    @hook
    def candidates(
        self,
        samples: Sequence[Sample],
        labels: Sequence[Any],
        features: Any = None,
        parts: bool = False,
    ) -> Sequence[Candidate]:
        """Metrics and classifiers; of ``parts``, those that see most of what labels tell."""
        from structsvm.baselines.recordings import (
            candidates_for_new_states,
            candidates_of_recordings,
        )

        names = self.problem.traits.candidates
        found = candidates_of_recordings(samples, labels, features, names)
        return candidates_for_new_states(found) if parts else found


def segmentation(y: Any, n_samples: int) -> EquivalenceMatrix:
    """A segmentation from a label for each sample, or from breakpoints."""
    values = label_values(y)
    check_vector(values)
    if values.size == n_samples:
        refuse_missing(values, "sample")
        return _of_runs(values)
    whole = np.issubdtype(values.dtype, np.integer)
    if not whole or values.min() < 1 or values[-1] != n_samples or values.max() > n_samples:
        raise DataError(
            f"{values.size} labels for {n_samples} samples: give one label per sample, or "
            f"breakpoints, integers in 1..{n_samples} that end with {n_samples}"
        )
    return EquivalenceMatrix.from_breakpoints(values)


def _of_runs(labels: NDArray[Any]) -> EquivalenceMatrix:
    """A segment for each run of equal labels, (T,)."""
    changes = labels[1:] != labels[:-1]
    numbers = np.concatenate(([0], np.cumsum(changes))).astype(np.int64)
    ends = np.concatenate(([0], np.flatnonzero(changes) + 1, [labels.size])).astype(np.int64)
    return EquivalenceMatrix.from_search(numbers, ends)
