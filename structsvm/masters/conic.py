"""Conic programs as a conic solver takes them.

``min x'Px/2 + q'x`` subject to ``Ax + s = b`` with ``s`` in a product of cones.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from structsvm.support.values import Floats, Ints

EPS = 2.0**-53


@dataclass(frozen=True, eq=False)
class ConicProgram:
    """``min x'Px/2 + q'x + offset`` subject to ``Ax + s = b``, ``s`` in cones of these sizes."""

    P: Any
    """Sparse, (n, n), symmetric."""
    q: Floats
    A: Any
    """Sparse by rows, (m, n)."""
    b: Floats
    dims: Any
    """Sizes of cones in the order of their rows: zero, nonneg, soc, psd, exp, p3d, pnd."""
    offset: float = 0.0

    @classmethod
    def of(cls, data: Mapping[str, Any], offset: float) -> ConicProgram:
        """The program that cvxpy hands to Clarabel."""
        n = data["c"].size
        P = data["P"] if data.get("P") is not None else sp.csr_array((n, n))
        A = sp.csr_array(data["A"])
        return cls(
            sp.csr_array(P), np.asarray(data["c"]), A, np.asarray(data["b"]), data["dims"], offset
        )

    @property
    def data(self) -> dict[str, Any]:
        """As Clarabel takes it."""
        data = {"c": self.q, "A": sp.csc_array(self.A), "b": self.b, "dims": self.dims}
        return data | ({"P": sp.csc_array(self.P)} if self.P.nnz else {})

    @property
    def n_plain(self) -> int:
        """Rows of equalities and inequalities, before those of other cones."""
        return int(self.dims.zero + self.dims.nonneg)

    @cached_property
    def blocks(self) -> list[tuple[str, int, int]]:
        """Kind, first row and number of rows of every cone but the first two."""
        blocks = []
        at = self.n_plain
        sizes = [("soc", int(n)) for n in self.dims.soc]
        sizes += [("psd", int(n) * (int(n) + 1) // 2) for n in self.dims.psd]
        sizes += [("exp", 3) for _ in range(int(self.dims.exp))]
        sizes += [("power", 3) for _ in self.dims.p3d]
        sizes += [("power", len(powers) + 1) for powers in getattr(self.dims, "pnd", ())]
        for kind, size in sizes:
            blocks.append((kind, at, size))
            at += size
        return blocks

    @cached_property
    def entries(self) -> tuple[Ints, Ints, Floats]:
        """Row, column and value of the entries of A that are not 0."""
        rows = np.repeat(np.arange(self.b.size), np.diff(self.A.indptr))
        is_there = self.A.data != 0
        return rows[is_there], self.A.indices[is_there], self.A.data[is_there]

    @cached_property
    def magnitudes(self) -> tuple[Any, Any]:
        """Of the entries of A and of P."""
        return abs(self.A), abs(self.P)

    @cached_property
    def groups(self) -> Ints:
        """A number for each row, the same within a cone, (m,)."""
        numbers = np.arange(self.b.size)
        for _, first, size in self.blocks:
            numbers[first : first + size] = first
        return numbers

    @cached_property
    def curvature(self) -> Floats:
        """``k`` with ``d'Pd >= sum_j k_j d_j^2`` for every ``d``, (n,); 0 where none is known."""
        curvature = np.maximum(self.P.diagonal(), 0.0)
        for members in self.bends:
            part = self.P[members][:, members].toarray()
            least = 1e-8 * float(np.trace(part)) / members.size
            try:
                np.linalg.cholesky(part - 2.0 * least * np.eye(members.size))
            except np.linalg.LinAlgError:
                least = 0.0
            curvature[members] = least
        return np.asarray(curvature)

    @cached_property
    def bends(self) -> list[Ints]:
        """The columns of each part of P that is not diagonal."""
        off = sp.coo_array(self.P)
        crossed = (off.row != off.col) & (off.data != 0)
        if not crossed.any():
            return []
        pairs = (off.data[crossed], (off.row[crossed], off.col[crossed]))
        _, labels = connected_components(sp.csr_array(pairs, shape=self.P.shape), directed=False)
        order = np.argsort(labels, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        return [part for part in parts if part.size > 1]

    def with_rows(self, rows: Any, right: Floats) -> ConicProgram:
        """The program with ``rows @ x <= right`` behind the other inequalities."""
        at = self.n_plain
        dims = _with_more(self.dims, right.size)
        rows = sp.csr_array(rows)
        rows.sort_indices()  # scaled matrices share their indices, which nothing may sort later
        A = _with_inserted(self.A, at, rows)
        return replace(self, A=A, b=np.concatenate([self.b[:at], right, self.b[at:]]), dims=dims)

    def with_room(self, room: float) -> ConicProgram:
        """The program of the points that keep inequalities and cones with so much room."""
        middle = np.zeros(self.b.size)
        middle[int(self.dims.zero) : self.n_plain] = 1.0
        for kind, first, size in self.blocks:
            part = middle[first : first + size]
            if kind == "soc":
                part[0] = 1.0
            elif kind == "psd":
                part[diagonal_of(size)] = 1.0
            elif kind == "exp":
                part[:] = -1.0, 1.0, 1.0
            else:
                part[:-1] = 1.0
        return replace(self, b=self.b - room * middle)


def _with_inserted(A: Any, at: int, rows: Any) -> Any:
    """Rows put before row ``at`` of a matrix; ``vstack`` of slices takes three times as long."""
    end = A.indptr[at]
    entries = np.concatenate([A.data[:end], rows.data, A.data[end:]])
    columns = np.concatenate([A.indices[:end], rows.indices, A.indices[end:]])
    starts = np.concatenate([A.indptr[:at], end + rows.indptr, A.indptr[at + 1 :] + rows.nnz])
    return sp.csr_array((entries, columns, starts), (A.shape[0] + rows.shape[0], A.shape[1]))


def _with_more(dims: Any, n: int) -> Any:
    more = copy.copy(dims)
    more.nonneg = int(more.nonneg) + n
    return more


def diagonal_of(size: int) -> Ints:
    """Where in a triangle of a matrix, column by column, its diagonal is."""
    order = (math.isqrt(8 * size + 1) - 1) // 2
    return np.asarray(np.cumsum(np.arange(1, order + 1)) - 1)
