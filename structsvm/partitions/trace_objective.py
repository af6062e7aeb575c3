"""The objective ``Tr(A M)`` of loss-augmented inference, in factored form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from structsvm.data.gaps import has_gaps, magnitudes, means
from structsvm.data.words import LARGEST
from structsvm.errors import OracleError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats, all_within, largest_of_all
from structsvm.support.plain import read_only

NOT_FINITE = "the objective is not finite: look for NaN or inf in the data or B"


@dataclass(frozen=True, eq=False)
class TraceObjective:
    """``A = Z S Z^T - c M_i + d I``: the only place where a loss-augmented matrix is represented.

    With ``Z = X L`` and ``B = L L^T`` this is ``T A_i = X B X^T - 2 kappa M_i + (kappa - beta) I``
    of Lajugie et al., section "Loss-augmented inference problem" (``c = 2 kappa``,
    ``d = kappa - beta``); without a truth it is the objective of plain decoding. ``S`` is a
    diagonal of signs. The arrays are held as read-only views.

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
    signs: Floats | None = None
    """+1 or -1 for each column of ``Z``, (r,); all +1 by default."""
    gaps: bool = False
    """Whether NaN in ``Z`` are values that are missing: of a cluster and a column the squared sum
    of the values there are counts, over their number. There is no matrix ``A`` of that."""

    def __post_init__(self) -> None:
        within = all_within(self.Z, LARGEST)
        if self.gaps:
            object.__setattr__(self, "gaps", not within and has_gaps(self.Z))
        if not within:
            self._refuse_beyond()
        if not (math.isfinite(self.truth_weight) and math.isfinite(self.shift)):
            raise OracleError(NOT_FINITE)
        if self.truth is not None and self.truth.n_samples != self.n_samples:
            raise OracleError(
                f"the truth labels {self.truth.n_samples} samples, Z has {self.n_samples}"
            )
        object.__setattr__(self, "Z", read_only(self.Z))
        if self.signs is not None:
            object.__setattr__(self, "signs", read_only(self.signs))

    def _refuse_beyond(self) -> None:
        """Refuse what is infinite or has no finite square, and what is missing without ``gaps``."""
        size = float(magnitudes(self.Z).max(initial=0.0)) if self.gaps else largest_of_all(self.Z)
        if not math.isfinite(size):
            raise OracleError(NOT_FINITE)
        if size > LARGEST:
            raise OracleError(
                f"the samples reach {size:g} in the metric, and beyond {LARGEST:g} squares "
                "overflow: scale the data as those that were learned from"
            )

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
            diagonal = M.gram_diagonal(self.Z)
            total += float(diagonal.sum() if self.signs is None else diagonal @ self.signs)
        if self.truth is not None and self.truth_weight:
            total -= self.truth_weight * M.inner(self.truth)
        return total

    def segment_scores(self) -> Floats:
        """What each segment adds to ``Tr(A M)``, (T + 1, T + 1), in O(T^2 (r + K)).

        Entry ``[s, t]`` is that of the samples ``s, ..., t - 1``, minus infinity for none.

        Examples
        --------
        >>> import numpy as np
        >>> from structsvm.partitions import TraceObjective
        >>> scores = TraceObjective(np.array([[0.0], [2.0], [2.0]]), shift=-1.0).segment_scores()
        >>> float(scores[0, 1] + scores[1, 3])
        6.0
        """
        T, mean = self.n_samples, means(self.Z)
        signs = np.ones(mean.size) if self.signs is None else self.signs
        there = ~np.isnan(self.Z)
        counts = np.concatenate([np.zeros((1, mean.size)), np.cumsum(there, axis=0)])
        away_from_mean = np.where(there, self.Z - mean, 0.0)
        sums = np.concatenate([np.zeros((1, mean.size)), np.cumsum(away_from_mean, axis=0)])
        overlaps = np.zeros((T + 1, 0))
        if self.truth is not None and self.has_truth:
            U = self.truth.factor()
            overlaps = np.concatenate([np.zeros((1, U.shape[1])), np.cumsum(U, axis=0)])
        scores = np.full((T + 1, T + 1), -np.inf)
        for t in range(1, T + 1):
            n, away = t - np.arange(t), sums[t] - sums[:t]
            values = counts[t] - counts[:t]
            squares = np.divide(away**2, values, out=np.zeros_like(away), where=values > 0)
            gram = squares @ signs + 2.0 * away @ (signs * mean) + values @ (mean**2 * signs)
            shared = ((overlaps[t] - overlaps[:t]) ** 2).sum(axis=1) / n
            scores[:t, t] = gram - self.truth_weight * shared + self.shift
        return scores

    def dense(self) -> Floats:
        """Return ``A`` as an array, (T, T), for tests and teaching.

        Raises
        ------
        OracleError
            If values are missing: there is no matrix then.
        """
        if self.gaps:
            raise OracleError("an objective with missing values has no matrix: use value()")
        signed = self.Z if self.signs is None else self.Z * self.signs
        A = signed @ self.Z.T + self.shift * np.eye(self.n_samples)
        if self.truth is not None:
            A -= self.truth_weight * self.truth.dense()
        return np.asarray(A)
