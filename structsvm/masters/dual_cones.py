"""Dual cones: points of them, and how far multipliers may move without leaving them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from structsvm.masters.conic import EPS, ConicProgram, diagonal_of
from structsvm.support.values import Floats
from structsvm.weights import PSD, smat_operator

LARGEST_ORDER = 40
"""Order of a matrix beyond which its multiplier stays as it is: the cost is its order to the 6."""


def freedom(z: Floats, program: ConicProgram) -> Any:
    """``W`` such that ``z + W d`` stays in the dual cone for ``|d| < 1``: Dikin's ellipsoid."""
    plain = np.append(1.0 + np.abs(z[: program.dims.zero]), z[program.dims.zero : program.n_plain])
    places = np.arange(plain.size)
    rows = [places]
    columns = [places]
    entries = [plain]
    for kind, first, size in program.blocks:
        part = z[first : first + size]
        if kind == "soc":
            root = _root_of_second_order(part)
        elif kind == "psd" and size <= LARGEST_ORDER * (LARGEST_ORDER + 1) // 2:
            root = _root_of_semidefinite(part)
        elif kind == "exp":
            root = _along_exponential(part)
        elif kind == "power":
            root = np.diag(np.abs(part))
        else:
            continue
        i, j = np.nonzero(root)
        rows.append(first + i)
        columns.append(first + j)
        entries.append(root[i, j])
    where = np.concatenate(rows), np.concatenate(columns)
    return sp.csr_array((np.concatenate(entries), where), shape=(z.size, z.size))


def _root_of_second_order(z: Floats) -> Any:
    """``P(sqrt z) = 2 h h' - det(h) J`` with ``h`` the root of ``z`` in the cone."""
    length = float(np.linalg.norm(z[1:]))
    top = np.sqrt(max(z[0] + length, 0.0))
    bottom = np.sqrt(max(z[0] - length, 0.0))
    h = np.empty(z.size)
    h[0] = 0.5 * (top + bottom)
    h[1:] = 0.5 * (top - bottom) * z[1:] / (length or 1.0)
    J = np.ones(z.size)
    J[1:] = -1.0
    return 2.0 * np.outer(h, h) - top * bottom * np.diag(J)


def _root_of_semidefinite(z: Floats) -> Any:
    """``D -> R D R`` with ``R`` the root of the matrix, by its triangle column by column."""
    order = diagonal_of(z.size).size
    rows, columns = np.triu_indices(order)
    places = np.empty(z.size, dtype=np.int64)
    places[np.arange(z.size)] = columns * (columns + 1) // 2 + rows
    to_matrix = smat_operator(order)
    values, vectors = np.linalg.eigh((to_matrix @ z[places]).reshape(order, order))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    whole = to_matrix.T @ (np.kron(root, root) @ to_matrix.toarray())
    scaled = np.empty_like(whole)
    scaled[np.ix_(places, places)] = whole
    return scaled


def _along_exponential(z: Floats) -> Any:
    """Directions along the boundary ``w = -u exp(v / u - 1)`` of the dual cone."""
    u = float(z[0])
    v = float(z[1])
    if not u < 0:
        return np.zeros((3, 3))
    grows = math.exp(min(v / u - 1.0, 700.0))
    return -u * np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [grows * (v / u - 1.0), -grows, 0.0]])


def into_dual_cone(z: Floats, dims: Any) -> Floats:
    """A point of the dual cone near ``z``; the cones in Clarabel's order."""
    z = z.copy()
    at = int(dims.zero)
    z[at : at + dims.nonneg] = np.maximum(z[at : at + dims.nonneg], 0.0)
    at += int(dims.nonneg)
    for size in dims.soc:
        z[at] = max(z[at], float(np.linalg.norm(z[at + 1 : at + size])) * (1.0 + (size + 4) * EPS))
        at += size
    for order in dims.psd:
        rows, cols = np.triu_indices(order)
        places = at + cols * (cols + 1) // 2 + rows  # of the triangle, column by column
        z[places] = PSD(order).project(z[places])
        diagonal = at + diagonal_of(rows.size)
        z[diagonal] += 4 * order * EPS * float(np.abs(z[places]).max(initial=0.0))
        at += rows.size
    for _ in range(dims.exp):  # the closure of u < 0, -u exp(v / u - 1) <= w
        u, v, w = z[at : at + 3].tolist()
        with np.errstate(over="ignore"):
            low = (0.0, max(v, 0.0), 0.0) if u >= 0 else (u, v, float(-u * np.exp(v / u - 1.0)))
        z[at : at + 3] = low[0], low[1], max(w, low[2])
        at += 3
    # cvxpy has had products of more than two powers since 1.8.
    for alphas in [*((alpha, 1.0 - alpha) for alpha in dims.p3d), *getattr(dims, "pnd", ())]:
        n = len(alphas)
        powers = np.asarray(alphas)
        z[at : at + n] = np.maximum(z[at : at + n], 0.0)
        most = float(np.prod((z[at : at + n] / powers) ** powers))
        z[at + n] = np.clip(z[at + n], -most, most)
        at += n + 1
    return z
