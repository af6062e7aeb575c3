"""Leading eigenvectors of a similarity matrix plus a few rank-one terms."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from scipy.linalg import blas

from structsvm.errors import OracleError
from structsvm.support.arrays import Floats

DENSE = 400
"""Nodes up to which the matrix is decomposed rather than iterated on."""

DENSE_AT_LAST = 3000
"""Nodes up to which it is where Lanczos does not converge, because a graph nearly falls apart."""

LAST_TOLERANCES = (1e-5, 1e-3)
"""With which Lanczos tries again on larger graphs."""


@dataclass(frozen=True, eq=False)
class CutOperator:
    """``A = matrix + vectors core vectors^T``, symmetric."""

    matrix: Any
    """(T, T), an array or in CSR form."""
    vectors: Floats
    """(T, m)."""
    core: Floats
    """Symmetric, (m, m)."""

    def apply(self, V: Floats) -> Floats:
        """``A V`` for a vector (T,) or several (T, k)."""
        return _times(self.matrix, V) + self.vectors @ (self.core @ (self.vectors.T @ V))

    def dense(self) -> Floats:
        """``A`` itself."""
        matrix = self.matrix.toarray() if sp.issparse(self.matrix) else self.matrix
        return np.asarray(matrix + (self.vectors @ self.core) @ self.vectors.T)

    def top(self, count: int, tol: float = 0.0) -> tuple[Floats, Floats]:
        """The ``count`` largest eigenvalues, decreasing, and their vectors (T, count)."""
        T = self.vectors.shape[0]
        count = min(count, T)
        if T <= DENSE or 2 * count >= T:
            return _dense_top(self.dense(), count)
        start = np.asarray(np.random.default_rng(0).normal(size=T))
        operator = sla.LinearOperator((T, T), matvec=self.apply, matmat=self.apply, dtype=float)
        for tolerance in (tol, *LAST_TOLERANCES[:-1]):
            with suppress(OracleError):
                return leading_eigenpairs(operator, count, start, tolerance)
            if T <= DENSE_AT_LAST:
                return _dense_top(self.dense(), count)
        return leading_eigenpairs(operator, count, start, LAST_TOLERANCES[-1])


def leading_eigenpairs(
    A: sla.LinearOperator, count: int, start: Floats, tol: float = 0.0
) -> tuple[Floats, Floats]:
    """The ``count`` largest eigenvalues of ``A``, decreasing, by Lanczos with a fixed start."""
    T = A.shape[0]
    if count == 0:
        return np.empty(0), np.empty((T, 0))
    try:
        values, vectors = sla.eigsh(A, k=count, which="LA", v0=start, tol=tol)
    except sla.ArpackError as error:
        raise OracleError(
            f"Lanczos failed on an operator of size {T} ({error}): ask for fewer clusters or "
            "a larger tolerance"
        ) from error
    order = np.argsort(-values, kind="stable")
    return values[order], fix_signs(vectors[:, order])


def fix_signs(vectors: Floats) -> Floats:
    """Eigenvectors with their entry of largest modulus positive."""
    if not vectors.size:
        return vectors
    top = np.abs(vectors).argmax(axis=0)
    return np.asarray(vectors * np.where(vectors[top, np.arange(top.size)] < 0, -1.0, 1.0))


def scaled(matrix: Any, r: Floats) -> Any:
    """``Diag(r) matrix Diag(r)``."""
    if sp.issparse(matrix):
        return sp.diags_array(r) @ matrix @ sp.diags_array(r)
    return matrix * r[:, None] * r


def _times(matrix: Any, V: Floats) -> Floats:
    """``matrix V``; of a dense symmetric matrix and a vector, by reading half of the matrix."""
    if sp.issparse(matrix) or V.ndim > 1:
        return np.asarray(matrix @ V)
    columns = matrix if matrix.flags.f_contiguous else matrix.T  # or BLAS would copy it
    return np.asarray(blas.dsymv(1.0, columns, V))


def _dense_top(A: Floats, count: int) -> tuple[Floats, Floats]:
    """LAPACK's partial solver, and the full one where that fails on nearly equal eigenvalues."""
    T = A.shape[0]
    if count == 0:
        return np.empty(0), np.empty((T, 0))
    values, vectors = sl.eigh(A, subset_by_index=[T - count, T - 1], check_finite=False)
    failed = vectors.shape[1] < count or not np.allclose(
        vectors.T @ vectors, np.eye(count), atol=1e-8
    )
    if failed:
        values, vectors = np.linalg.eigh(A)
    return values[::-1][:count], fix_signs(vectors[:, ::-1][:, :count])
