"""Spectral relaxation of clustering: the best orthogonal projector, by an eigendecomposition.

Over all orthogonal projectors ``M`` of rank K (``M^spec_K`` of Lajugie et al., section
"Loss-augmented inference problem"), ``Tr(A M)`` is largest at the K leading eigenvectors of ``A``;
over projectors of any rank (``M^spec``), at the eigenvectors with a positive eigenvalue, or at the
leading one if there is none, since a partition has at least one cluster. Every partition is such a
projector, so the maximum bounds theirs from above.

Every partition also satisfies ``M 1 = 1``, which ``M^spec`` forgets. The centred variant keeps it:
``M = 11^T / T + M'`` with ``M'`` a projector on directions orthogonal to 1, hence the value
``1^T A 1 / T`` plus that of the K - 1 leading (or all positive) eigenvalues of ``A`` restricted to
the complement of 1. It is tighter, blind to the mean of the data, and wastes no eigenvector on it.

On samples in factored form the problem is compressed first
(:mod:`structsvm.oracles._clusters.compression`); outside the compressed directions ``A`` is ``d
I``, an eigenvalue of multiplicity T - m. Which of its eigenvectors to take is a matter of choice:
strictly larger eigenvalues are taken first, then directions outside the data (which contribute
nothing to ``X^T M X``), then the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from structsvm.errors import OracleError
from structsvm.oracles._checks import number_of_clusters
from structsvm.oracles._clusters.compression import (
    Basis,
    CompressedObjective,
    CompressedProjector,
    compress_objective,
)
from structsvm.oracles._spectra.lanczos import (
    fix_signs,
    leading_eigenpairs,
    positive_eigenpairs,
    residual_norm,
)
from structsvm.parallel import single_threaded
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, Quality
from structsvm.partitions.trace_objective import TraceObjective

__all__ = ["CompressedArgmax", "SpectralOracle"]

Floats = NDArray[np.float64]

LARGEST_FACTOR = 2**27
"""Numbers in the largest relaxed factor (T, K) that is ever formed: 1 GB."""


@dataclass(frozen=True)
class CompressedArgmax:
    """The answer to ``max_M Tr(A M)`` on compressed data; the fields are those of Argmax."""

    y: CompressedProjector
    """The maximiser."""
    value: float
    """``Tr(A M)`` at ``y``."""
    upper_bound: float
    """No partition has a larger value."""
    quality: Quality
    """Always ``Quality.RELAXATION``."""


@dataclass(frozen=True)
class SpectralOracle(Oracle):
    """Maximises ``Tr(A M)`` over orthogonal projectors, an upper bound over partitions.

    Three doors: :meth:`maximize` for an objective on T samples, :meth:`maximize_compressed` for
    data compressed once (each call then costs ``O(m^3)``, ``m <= P + K + 1``, whatever T), and
    :meth:`maximize_operator` for a similarity that is only known by its products with vectors.

    Parameters
    ----------
    centered : bool
        Keep ``M 1 = 1``, which every partition satisfies: tighter.
    random_state : int
        Start of the Lanczos iteration of :meth:`maximize_operator`.
    lanczos_tol : float
        Relative accuracy of its eigenvalues; 0 is machine precision.
    """

    takes = frozenset({"n_clusters"})

    centered: bool = True
    random_state: int = 0
    lanczos_tol: float = 0.0

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise ``Tr(A M)`` over the projectors whose rank ``constraint`` allows.

        Compresses the samples on every call, ``O(T (r + K)^2)``; data that come back many times
        belong in :meth:`maximize_compressed`.

        Raises
        ------
        OracleError
            When the constraint cannot be satisfied, or when the maximiser has so many null
            directions that its factor would not fit into memory (a positive shift with unknown K).
        """
        number_of_clusters(constraint, objective.n_samples)
        compressed, basis = compress_objective(objective)
        answer = self.maximize_compressed(compressed, constraint)
        with single_threaded():
            y = _lift(answer.y, basis)
            value = objective.value(y)
        return Argmax(y, value, max(value, answer.value), Quality.RELAXATION)

    def maximize_compressed(
        self, objective: CompressedObjective, constraint: Constraint = UNCONSTRAINED
    ) -> CompressedArgmax:
        """Maximise ``Tr(A M)`` by one m x m eigendecomposition, independent of T."""
        data, shift = objective.data, objective.shift
        K = number_of_clusters(constraint, data.n_samples)
        with single_threaded():
            S = objective.matrix()
            fixed = int(self.centered)
            rank = None if K is None else K - fixed
            values, vectors = _eigenpairs(S[fixed:, fixed:], rank)
            kept, n_null = _select(values, shift, data.n_null, rank, least=1 - fixed)
            V = np.zeros((data.n_rows, fixed + kept))
            V[:fixed, :fixed] = 1.0
            V[fixed:, fixed:] = vectors[:, :kept]
            value = float(np.trace(S[:fixed, :fixed]) + values[:kept].sum())
            value += shift * (fixed + kept + n_null)
        y = CompressedProjector(data, V, n_null)
        return CompressedArgmax(y, value, value, Quality.RELAXATION)

    def maximize_operator(
        self, A: Any, constraint: Constraint = UNCONSTRAINED, start: Floats | None = None
    ) -> Argmax:
        """Maximise ``Tr(A M)`` for any symmetric ``A`` by Lanczos.

        Parameters
        ----------
        A : array, sparse array or LinearOperator of shape (T, T)
            Symmetric.
        constraint : Constraint
        start : array of shape (T,), optional
            Where Lanczos starts; the sum of the columns of the previous answer's factor makes a
            call on a slightly changed ``A`` two to nine times faster.

        Returns
        -------
        Argmax
            ``upper_bound`` adds to ``value`` what the eigenvalues may be off by their residuals.

        Raises
        ------
        OracleError
            When ``A`` is not square or not finite, or Lanczos does not converge.
        """
        operator = _as_operator(A)
        T = operator.shape[0]
        K = number_of_clusters(constraint, T)
        if start is None:
            start = np.random.default_rng(self.random_state).standard_normal(T)
        with single_threaded():
            if self.centered:
                return self._centered_answer(operator, K, start)
            values, vectors = _operator_eigenpairs(operator, K, start, self.lanczos_tol)
            if not values.size:
                values, vectors = leading_eigenpairs(operator, 1, start, self.lanczos_tol)
            value = float(values.sum())
            bound = value + residual_norm(operator, values, vectors)
            return Argmax(EquivalenceMatrix.from_factor(vectors), value, bound, Quality.RELAXATION)

    def _centered_answer(self, A: sla.LinearOperator, K: int | None, start: Floats) -> Argmax:
        """``11^T / T`` and the leading eigenvectors of ``A`` on the complement of 1."""
        T = A.shape[0]
        constant = np.full((T, 1), 1.0 / np.sqrt(T))
        offset = float((constant.T @ (A @ constant))[0, 0])
        if T == 1 or K == 1:
            return Argmax(
                EquivalenceMatrix.from_factor(constant), offset, offset, Quality.RELAXATION
            )
        inner = _on_complement_of_one(A)
        rank = None if K is None else K - 1
        values, short = _operator_eigenpairs(inner, rank, _reflect(start)[1:], self.lanczos_tol)
        value = offset + float(values.sum())
        bound = value + residual_norm(inner, values, short)
        vectors = fix_signs(_reflect(np.vstack((np.zeros((1, values.size)), short))))
        y = EquivalenceMatrix.from_factor(np.hstack((constant, vectors)))
        return Argmax(y, value, bound, Quality.RELAXATION)


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
    """How many leading eigenvectors, and how many null directions, make the best projector.

    Parameters
    ----------
    values : array
        Leading eigenvalues without the shift, decreasing. That of a null direction is 0.
    shift : float
        ``d``, added to every eigenvalue.
    n_null : int
        Number of null directions there are.
    rank : int or None
        Rank asked for; None takes every positive eigenvalue, and at least ``least`` directions.
    least : int

    Returns
    -------
    kept, taken_null : int
    """
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


def _lift(M: CompressedProjector, basis: Basis) -> EquivalenceMatrix:
    """The same projector on T samples."""
    if M.n_clusters * basis.n_samples > LARGEST_FACTOR:
        raise OracleError(
            f"the relaxed solution has rank {M.n_clusters} on {basis.n_samples} samples, too large "
            "to be written down: price the clusters (shift <= 0), give K, or use "
            "maximize_compressed"
        )
    factor = basis.lift(M.V)
    if M.n_null:
        factor = np.hstack((factor, basis.complement(M.n_null)))
    return EquivalenceMatrix.from_factor(factor)


def _as_operator(A: Any) -> sla.LinearOperator:
    """Whatever multiplies vectors, as a LinearOperator; entries are checked where there are any."""
    if len(A.shape) != 2 or A.shape[0] != A.shape[1] or A.shape[0] == 0:
        raise OracleError(f"the operator must be square, got shape {A.shape}")
    entries = A.data if sp.issparse(A) else A
    if not isinstance(A, sla.LinearOperator) and not np.isfinite(entries).all():
        raise OracleError("the operator is not finite: look for NaN or inf in its entries")
    return sla.aslinearoperator(A)


def _reflect(v: Floats) -> Floats:
    """Exchange ``1 / sqrt(T)`` and the first axis by a Householder reflection; ``v`` (T, n)."""
    T = v.shape[0]
    axis = np.full(T, 1.0)
    axis[0] -= np.sqrt(T)
    return np.asarray(v - np.multiply.outer(axis, (axis @ v) * (2.0 / (axis @ axis))))


def _on_complement_of_one(A: sla.LinearOperator) -> sla.LinearOperator:
    """``A`` on the vectors orthogonal to 1: rows and columns 1.. of ``H A H``, H the reflection."""
    T = A.shape[0]

    def product(v: Floats) -> Floats:
        v = v.reshape(T - 1, -1)
        return _reflect(A @ _reflect(np.vstack((np.zeros((1, v.shape[1])), v))))[1:]

    return sla.LinearOperator((T - 1, T - 1), matvec=product, matmat=product, dtype=np.float64)


def _operator_eigenpairs(
    A: sla.LinearOperator, count: int | None, start: Floats, tol: float
) -> tuple[Floats, Floats]:
    if count is None:
        return positive_eigenpairs(A, start, tol)
    return leading_eigenpairs(A, count, start, tol)
