"""Spectral relaxation of clustering: the best orthogonal projector, by an eigendecomposition.

Over all orthogonal projectors of rank K (``M^spec_K`` of Lajugie et al.) ``Tr(A M)`` is largest at
the K leading eigenvectors of ``A``; over those of any rank, at the eigenvectors with a positive
eigenvalue. The centred variant keeps ``M 1 = 1``: ``1^T A 1 / T`` plus the eigenvalues of ``A``
restricted to the complement of 1.

Outside the compressed directions (:mod:`structsvm.oracles._clusters.compression`) ``A`` is ``d I``.
Strictly larger eigenvalues are taken first, then directions outside the data (which contribute
nothing to ``X^T M X``), then the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from structsvm.errors import OracleError
from structsvm.oracles._clusters.compression import (
    Basis,
    CompressedData,
    CompressedProjector,
    compress,
)
from structsvm.oracles._spectra.cut_operator import fix_signs
from structsvm.parallel import single_threaded
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, TraceObjective
from structsvm.status import Quality
from structsvm.support.arrays import Floats

LARGEST_FACTOR = 2**27
"""Numbers in the largest relaxed factor (T, K) that is ever formed: 1 GB."""


@dataclass(frozen=True)
class SpectralOracle(Oracle):
    """Maximises ``Tr(A M)`` over orthogonal projectors, an upper bound over partitions.

    Parameters
    ----------
    centered : bool
        Keep ``M 1 = 1``, which every partition satisfies: tighter.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import SpectralOracle
    >>> from structsvm.partitions import Constraint, TraceObjective
    >>> Z = np.array([[0.0], [9.0], [0.0], [9.0]])
    >>> answer = SpectralOracle().ask(TraceObjective(Z), Constraint(n_clusters=2))
    >>> answer.quality.name, round(float(answer.upper_bound), 6)
    ('RELAXATION', 162.0)
    """

    takes = frozenset({"n_clusters"})

    centered: bool = True

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise over the projectors whose rank ``constraint`` allows."""
        M, bound, basis = self.relaxed(objective, constraint.n_clusters)
        if M.n_clusters * M.n_samples > LARGEST_FACTOR:
            raise OracleError(
                f"the relaxed solution has rank {M.n_clusters} on {M.n_samples} samples, too large "
                "to be written down: price the clusters (shift <= 0), or give K"
            )
        with single_threaded():
            factor = basis.lift(M.V)
            if M.n_null:
                factor = np.hstack((factor, basis.complement(M.n_null)))
            y = EquivalenceMatrix.from_factor(factor)
            value = objective.value(y)
        return Argmax(y, value, max(value, bound), Quality.RELAXATION)

    def relaxed(
        self, objective: TraceObjective, K: int | None
    ) -> tuple[CompressedProjector, float, Basis]:
        """The best projector, its value, and the basis that leads back to the samples."""
        truth = objective.truth if objective.has_truth else None
        data, basis = compress(objective.Z, truth)
        signs = np.ones(objective.Z.shape[1]) if objective.signs is None else objective.signs
        weight = 0.0 if truth is None else objective.truth_weight
        return *self.maximize_compressed(data, signs, weight, objective.shift, K), basis

    def maximize_compressed(
        self,
        data: CompressedData,
        metric: Floats,
        truth_weight: float,
        shift: float,
        K: int | None,
    ) -> tuple[CompressedProjector, float]:
        """Maximise ``Tr((X B X^T - c M_i + d I) M)`` on data that were compressed once.

        Each call is one m x m eigendecomposition, ``m <= P + K + 1``, whatever T.
        """
        with single_threaded():
            S = data.matrix(metric, truth_weight)
            fixed = int(self.centered)
            rank = None if K is None else K - fixed
            values, vectors = _eigenpairs(S[fixed:, fixed:], rank)
            kept, n_null = _select(values, shift, data.n_null, rank, least=1 - fixed)
            V = np.zeros((len(S), fixed + kept))
            V[:fixed, :fixed] = 1.0
            V[fixed:, fixed:] = vectors[:, :kept]
            value = float(np.trace(S[:fixed, :fixed]) + values[:kept].sum())
            value += shift * (fixed + kept + n_null)
        return CompressedProjector(data, V, n_null), value


def _eigenpairs(S: Floats, count: int | None) -> tuple[Floats, Floats]:
    """Eigenpairs of ``S`` by decreasing eigenvalue; at least ``count`` of them."""
    m = S.shape[0]
    if count is not None and 0 < 4 * count < m:
        values, vectors = scipy.linalg.eigh(
            S, subset_by_index=[m - count, m - 1], check_finite=False
        )
    else:
        values, vectors = np.linalg.eigh(S)
    return values[::-1], fix_signs(vectors[:, ::-1])


def _select(
    values: Floats, shift: float, n_null: int, rank: int | None, least: int
) -> tuple[int, int]:
    scale = float(np.abs(values).max(initial=0.0))
    rounding = max(values.size, 1) * np.finfo(float).eps * scale
    if rank is None:
        kept = int(np.sum(values + shift > rounding))
        null = n_null if shift > 0 else 0
        if kept + null >= least:
            return kept, null
        rank = least
    kept = min(rank, int(np.sum(values > rounding)))
    null = min(rank - kept, n_null)
    return rank - null, null
