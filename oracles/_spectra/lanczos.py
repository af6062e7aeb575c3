"""Leading eigenpairs of a symmetric operator, always the same ones: Lanczos with a fixed start."""

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg as sla

from structsvm.errors import OracleError
from structsvm.support.arrays import Floats

DENSE = 64
"""Operators up to this size are formed and decomposed whole."""


def leading_eigenpairs(
    A: sla.LinearOperator, count: int, start: Floats, tol: float = 0.0
) -> tuple[Floats, Floats]:
    """The ``count`` largest eigenvalues of ``A`` (T, T), decreasing, and their eigenvectors."""
    T = A.shape[0]
    if T <= DENSE or 2 * count >= T:
        dense = A @ np.eye(T)
        values, vectors = np.linalg.eigh((dense + dense.T) / 2)
        order = np.arange(T)[::-1][:count]
    elif count == 0:
        return np.empty(0), np.empty((T, 0))
    else:
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
