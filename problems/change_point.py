"""Change-point detection: segments of consecutive samples, all of them or those of a rule."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from structsvm.data import (
    MISSING,
    Instance,
    check_vector,
    label_values,
    read_arrays,
    refuse_missing,
)
from structsvm.errors import DataError, SettingsError, parameter
from structsvm.partitions import EquivalenceMatrix, Oracle, PartitionProblem, Traits
from structsvm.partitions.equivalence import runs_of
from structsvm.partitions.traits import refuse_kappa
from structsvm.support import hook, is_whole, overrides, refuse_below, refuse_unlisted

SEGMENTS = Traits(
    contiguous=True,
    candidates=("untrained", "rca", "olda", "diagonal", "full"),
    baselines=("pca", "rca", "olda"),
    menu="structsvm.model_selection.recordings:Recordings",
)


class SegmentProblem(PartitionProblem):
    """Base of segmentation problems: a subclass declares the allowed segments.

    Labels as vectors or breakpoints, decoding with the number of segments known or not, forced and
    forbidden boundaries, and the exact program, compiled, come from here.

    Examples
    --------
    >>> from structsvm.problems import SegmentProblem
    >>> class EvenLengths(SegmentProblem):
    ...     def allows(self, start, end, n_samples):
    ...         return (end - start) % 2 == 0
    >>> EvenLengths().traits.contiguous
    True
    """

    @abstractmethod
    def allows(self, start: Any, end: Any, n_samples: int) -> Any:
        """Whether samples ``start, ..., end - 1`` of T may be a segment; ``start`` is an array."""

    @property
    @hook
    def traits(self) -> Traits:
        return SEGMENTS

    @hook
    def decoder(self, instance: Instance) -> Oracle:
        from structsvm.oracles import AllowedSegmentsOracle  # loads numba

        return AllowedSegmentsOracle(self.allows)

    @hook
    def encode(self, y: Any, instance: Instance) -> EquivalenceMatrix:
        """Segmentation of T samples from a label for each, or from breakpoints.

        A vector of length T holds labels: every change of label is a change-point. Anything else is
        a list of segment ends as in ruptures: sorted, without 0, the last being T.
        """
        from structsvm.oracles.allowed_segments import rule_says

        M = segmentation(y, instance.n_samples)
        T = instance.n_samples
        for start, end in zip(M.boundaries[:-1].tolist(), M.boundaries[1:].tolist(), strict=True):
            if not rule_says(self.allows, np.array([start]), end, T)[0]:
                raise DataError(
                    f"the segment {start}..{end} is not one that {type(self).__name__} allows: "
                    "check the labels, or the settings of the problem"
                )
        return M


def segmentation(y: Any, n_samples: int) -> EquivalenceMatrix:
    """A segmentation from a label for each sample, or from breakpoints."""
    values = label_values(y)
    check_vector(values)
    if values.size == n_samples:
        refuse_missing(values, "sample")
        return runs_of(values)
    whole = np.issubdtype(values.dtype, np.integer)
    if not whole or values.min() < 1 or values[-1] != n_samples or values.max() > n_samples:
        raise DataError(
            f"{values.size} labels for {n_samples} samples: give one label per sample, or "
            f"breakpoints, integers in 1..{n_samples} that end with {n_samples}"
        )
    return EquivalenceMatrix.from_breakpoints(values)


@dataclass(frozen=True)
class ChangePoint(SegmentProblem):
    """Segment recordings where the mean of their features changes.

    Lajugie et al., section "Change-point detection by dynamic programming": segmentations ``M`` in
    M^seq (number of segments unknown) or M^seq_K (known). The joint feature map is
    ``phi(X, M) = X^T M X / T``, the loss ``|M - M_i|_F^2``.

    Parameters
    ----------
    segment_count : {"unknown", "known"}
        Whether the number of segments is given to learning; prediction works with and without.
    penalty : {"learned", "fixed"}
        For an unknown number of segments: learn the price of a segment together with the metric, or
        fix it as in the paper. Afterwards it is calibrated on the training labels.
    kappa : float from 1e-12 to 1
        The weight of the loss. Above 1 the loss would reward a segment by more than a fixed penalty
        costs, and the best metric would be zero.
    min_length, max_length : int, int or None
        Least and greatest number of samples of a segment; a recording shorter than ``min_length``
        is one. With these, the time of a segmentation grows with the square of T.
    missing : {"error", "interpolate", "mask"}
        Treatment of missing values: NaN, NA of a data frame, and masked values of an array.
        "error" says where they are, "interpolate" replaces them linearly in time. "mask" leaves
        them out: the mean of a feature in a segment is that of the values it has there. The answer
        is exact, and its time grows with the square of T. "mask" needs ``metric="diagonal"`` and
        allows the features :class:`~structsvm.features.Lags` and
        :class:`~structsvm.features.Columns` only.

    Examples
    --------
    >>> from structsvm.problems import ChangePoint
    >>> ChangePoint(segment_count="known").traits.given_k
    True
    """

    segment_count: str = "unknown"
    penalty: str = "learned"
    kappa: float = 1.0
    min_length: int = 1
    max_length: int | None = None
    missing: str = "error"

    def __post_init__(self) -> None:
        refuse_unlisted("segment_count", self.segment_count, ("unknown", "known"))
        refuse_unlisted("penalty", self.penalty, ("learned", "fixed"))
        refuse_kappa(self.kappa)
        refuse_unlisted("missing", self.missing, MISSING)
        shortest = self.min_length
        longest = self.max_length
        refuse_below(1, "min_length", shortest)
        if longest is not None and not (is_whole(longest) and longest >= shortest):
            raise SettingsError(
                "max_length must be None or an integer >= "
                + parameter("min_length", shortest)
                + f", got {longest!r}"
            )

    @cached_property
    def traits(self) -> Traits:
        traits = replace(
            SEGMENTS,
            given_k=self.segment_count == "known",
            learns_price=self.penalty == "learned",
            kappa=self.kappa,
        )
        if self.missing != "mask":
            return traits
        return replace(traits, candidates=("untrained", "diagonal"), baselines=())

    def allows(self, start: Any, end: Any, n_samples: int) -> Any:
        length = end - start
        longest = np.inf if self.max_length is None else self.max_length
        return (length >= min(self.min_length, n_samples)) & (length <= longest)

    @property
    def _allows_all(self) -> bool:
        """Whether every segment is allowed."""
        has_own_rule = overrides(type(self), "allows", ChangePoint)
        return self.min_length == 1 and self.max_length is None and not has_own_rule

    def decoder(self, instance: Instance) -> Oracle:
        """Exact dynamic programming; near-linear where all is allowed and nothing missing."""
        if self._allows_all and not (self.missing == "mask" and instance.has_gaps):
            return _free_search()
        if overrides(type(self), "allows", ChangePoint):
            return super().decoder(instance)
        from structsvm.oracles import AllowedSegmentsOracle  # loads numba
        from structsvm.oracles.allowed_segments import Lengths

        return AllowedSegmentsOracle(Lengths(self.min_length, self.max_length))

    def encode(self, y: Any, instance: Instance) -> EquivalenceMatrix:
        """As every :class:`SegmentProblem`; segments are checked only if some are forbidden."""
        return (
            segmentation(y, instance.n_samples) if self._allows_all else super().encode(y, instance)
        )

    def read(
        self, Xs: Any, feature_names: Sequence[str] | None = None, n_features: int | None = None
    ) -> tuple[list[Instance], list[str] | None]:
        words = self.traits.words
        return read_arrays(Xs, feature_names, n_features, words, self.missing)


@cache
def _free_search() -> Oracle:
    """The oracle of all segmentations, the same for every recording."""
    from structsvm.oracles import SequentialOracle  # loads numba

    return SequentialOracle()
