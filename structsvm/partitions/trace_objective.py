"""The objective ``Tr(A M)`` of loss-augmented inference, in factored form."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.data import LARGEST_VALUE, has_gaps, magnitudes, means
from structsvm.errors import OracleError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support import Floats, all_within, largest_of_all, read_only, shown


@dataclass(frozen=True, eq=False)
class TraceObjective:
    """``A = Z Z^T - c M_i + d I``: the only place where a loss-augmented matrix is represented.

    With ``Z = X L`` and ``B = L L^T`` this is ``T A_i = X B X^T - 2 kappa M_i + (kappa - beta) I``
    of Lajugie et al., section "Loss-augmented inference problem" (``c = 2 kappa``,
    ``d = kappa - beta``); without a truth it is the objective of plain decoding. ``Z`` is held
    as a read-only view.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import EquivalenceMatrix, TraceObjective
    >>> objective = TraceObjective(np.array([[0.0], [2.0], [2.0]]), shift=-1.0)
    >>> round(objective.value(EquivalenceMatrix.from_breakpoints([1, 3])), 3)
    6.0
    >>> round(objective.value(EquivalenceMatrix.from_breakpoints([3])), 3)
    4.333
    """

    Z: Floats
    """The samples in the metric, (T, r); ``r = 0`` is the null metric."""
    truth: EquivalenceMatrix | None = None
    """``M_i``, the labelling the loss is measured against."""
    truth_weight: float = 0.0
    """``c >= 0``."""
    shift: float = 0.0
    """``d``: reward (or, negative, price) of one more cluster."""
    gaps: bool = False
    """Whether NaN in ``Z`` are missing values: each column of a cluster contributes the squared sum
    of its present values over their number. No matrix ``A`` gives that."""

    def __post_init__(self) -> None:
        """Check what compiled code relies on, once."""
        refuse_no_samples(self.Z)
        within = all_within(self.Z, LARGEST_VALUE)
        if self.gaps:
            object.__setattr__(self, "gaps", not within and has_gaps(self.Z))
        size = 0.0 if within else largest_of_all(self.Z)
        if self.gaps:
            size = float(magnitudes(self.Z).max(initial=0.0))
        fault = next(self._faults(size), None)
        if fault is not None:
            raise OracleError(fault)
        object.__setattr__(self, "Z", read_only(self.Z))

    def _faults(self, size: float) -> Iterator[str]:
        """Faults of the objective in words; ``size`` is the largest magnitude in ``Z``."""
        if not math.isfinite(size + self.truth_weight + self.shift):
            yield "the objective is not finite: look for NaN or inf in the data or B"
        if max(abs(self.truth_weight), abs(self.shift)) > LARGEST_VALUE:
            yield f"truth_weight and shift must be within {LARGEST_VALUE:g}"
        if size > LARGEST_VALUE:
            yield (
                f"the samples reach {size:g} in the metric, and beyond {LARGEST_VALUE:g} squares "
                "overflow: scale the data as those that were learned from"
            )
        if self.truth is not None:
            yield from faults_of_truth(self.truth, self.n_samples)
        if self.truth_weight < 0:
            yield f"truth_weight must be >= 0, got {self.truth_weight}"

    @property
    def n_samples(self) -> int:
        """The number of samples, T."""
        return int(self.Z.shape[0])

    @property
    def has_truth(self) -> bool:
        """Whether the loss takes part in the objective."""
        return self.truth is not None and self.truth_weight != 0.0

    def value(self, M: EquivalenceMatrix) -> float:
        """Return ``Tr(A M)``, in O(T r)."""
        total = self.shift * M.n_clusters
        if self.Z.shape[1]:
            total += float(M.gram_diagonal(self.Z).sum())
        if self.truth is not None and self.truth_weight:
            total -= self.truth_weight * M.inner(self.truth)
        return total

    def segment_scores(self) -> Floats:
        """Contribution of each segment to ``Tr(A M)``, (T + 1, T + 1), in O(T^2 (r + K)).

        Entry ``[s, t]`` is that of the samples ``s, ..., t - 1``; minus infinity if t <= s.
        """
        T = self.n_samples
        mean = means(self.Z)
        is_present = ~np.isnan(self.Z)
        counts = np.concatenate([np.zeros((1, mean.size)), np.cumsum(is_present, axis=0)])
        away_from_mean = np.where(is_present, self.Z - mean, 0.0)
        sums = np.concatenate([np.zeros((1, mean.size)), np.cumsum(away_from_mean, axis=0)])
        overlaps = np.zeros((T + 1, 0))
        if self.truth is not None and self.has_truth:
            U = self.truth.factor()
            overlaps = np.concatenate([np.zeros((1, U.shape[1])), np.cumsum(U, axis=0)])
        scores = np.full((T + 1, T + 1), -np.inf)
        for t in range(1, T + 1):
            n = t - np.arange(t)
            away = sums[t] - sums[:t]
            values = counts[t] - counts[:t]
            squares = np.divide(away**2, values, out=np.zeros_like(away), where=values > 0)
            gram = squares.sum(axis=1) + 2.0 * away @ mean + values @ mean**2
            shared = ((overlaps[t] - overlaps[:t]) ** 2).sum(axis=1) / n
            scores[:t, t] = gram - self.truth_weight * shared + self.shift
        return scores

    def dense(self) -> Floats:
        """Return ``A`` as an array, (T, T); an OracleError if values are missing."""
        if self.gaps:
            raise OracleError("an objective with missing values has no matrix: use value()")
        A = self.Z @ self.Z.T + self.shift * np.eye(self.n_samples)
        if self.truth is not None:
            A -= self.truth_weight * self.truth.dense()
        return np.asarray(A)


def refuse_no_samples(Z: Any) -> None:
    """Refuse anything but an array of numbers (T, r) with at least one row."""
    if not (isinstance(Z, np.ndarray) and Z.dtype.kind in "biuf"):
        raise OracleError(f"Z must be an array of numbers, got {shown(Z)}")
    if Z.ndim != 2 or Z.shape[0] == 0:
        raise OracleError(f"Z must have shape (T, r) with T >= 1, got {Z.shape}")


def faults_of_truth(truth: Any, n_samples: int) -> Iterator[str]:
    """Faults of a truth of ``n_samples`` samples, in words."""
    if not isinstance(truth, EquivalenceMatrix):
        yield f"the truth is {shown(truth)}: give an EquivalenceMatrix"
    elif not truth.is_sound:
        yield "the truth is no EquivalenceMatrix that from_breakpoints or from_labels made"
    elif truth.n_samples != n_samples:
        yield f"the truth labels {truth.n_samples} samples, and there are {n_samples}"
