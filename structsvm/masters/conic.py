"""Conic programs in the form of conic solvers, and their units and forms that are solved well.

``min x'Px/2 + q'x`` subject to ``Ax + s = b`` with ``s`` in a product of cones.
"""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from structsvm.support import Floats, Ints

TIES = 3
"""Passes in which columns that the data do not measure are limited by the other terms of a row."""


def _multiplied(M: Any, rows: Floats, columns: Floats) -> Any:
    """A matrix in CSR form with its rows and columns multiplied by these factors."""
    M = sp.csr_array(M)
    entries = M.data * np.repeat(rows, np.diff(M.indptr)) * columns[M.indices]
    return sp.csr_array((entries, M.indices, M.indptr), M.shape)


class Units(NamedTuple):
    """Units, powers of two, of the columns, the rows and the objective of a program."""

    columns: Floats
    rows: Floats
    objective: float

    def box(self, ends: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Bounds of the columns, converted to these units."""
        return ends[0] / self.columns, ends[1] / self.columns

    def scaled(self, program: "ConicProgram") -> "ConicProgram":
        """The program for ``x / columns``, its rows and its objective in their units."""
        d = self.columns
        c = self.objective
        return replace(
            program,
            P=_multiplied(program.P, d / c, d),
            q=program.q * d / c,
            A=_multiplied(program.A, 1.0 / self.rows, d),
            b=program.b / self.rows,
            offset=program.offset / c,
        )


def units_in(program: "ConicProgram") -> Units:
    """The units of a program by its data."""
    return units_for(program, column_sizes(program, program.groups, program.b))


def column_sizes(program: "ConicProgram", groups: Ints, b: Floats) -> Floats:
    """The size of each column by the data: the least ``|b_i| / |A_ij|`` of its rows.

    Rows of a group, such as the rows of a cone, share the largest of their right sides ``b``. A
    column without such a row gets the size at which its term is as large as the others of a row,
    and a column that no row measures that at which linear and quadratic terms are equally large.
    """
    row, column, value = program.entries
    row = groups[row]
    size = np.abs(value)
    levels = np.zeros(int(groups.max(initial=-1)) + 1)
    np.maximum.at(levels, groups, np.abs(b))
    u = np.full(program.q.size, np.inf)

    def spread() -> None:
        """Measure columns by others in the same row, as long as that measures any."""
        while True:
            is_sized = np.isfinite(u)[column]
            largest = levels.copy()
            np.maximum.at(largest, row[is_sized], size[is_sized] * u[column[is_sized]])
            new = ~is_sized & (largest[row] > 0)
            if not new.any():
                return
            np.minimum.at(u, column[new], largest[row[new]] / size[new])

    has_level = levels[row] > 0
    np.minimum.at(u, column[has_level], levels[row[has_level]] / size[has_level])
    spread()
    lost = ~np.isfinite(u)
    if lost.any():
        seeds = lost & (program.q != 0)
        u[seeds] = 1.0 / np.abs(program.q[seeds])
        spread()
        u[~np.isfinite(u)] = 1.0
        for _ in range(TIES):  # a cost near 0 through cancellation would make them far too large
            terms = size * u[column]
            cap = np.maximum(_most_of_others(row, terms, levels.size), levels[row]) / size
            capped = lost[column] & (cap > 0)
            np.minimum.at(u, column[capped], cap[capped])
        bent = float((np.maximum(program.P.diagonal(), 0.0) * u**2)[lost].max(initial=0.0))
        if bent > 0 and seeds.any():
            u[lost] /= bent
    return power_of_two(u)


def _most_of_others(rows: Ints, terms: Floats, n: int) -> Floats:
    """For each term the largest other one of its row; 0 where it is alone."""
    order = np.lexsort((terms, rows))
    ends = np.cumsum(np.bincount(rows, minlength=n))[rows] - 1
    last = order[ends]
    second = order[np.maximum(ends - 1, 0)]
    is_last = np.arange(rows.size) == last
    largest = np.where(is_last, terms[second], terms[last])
    return np.where(is_last & (rows[second] != rows), 0.0, largest)


def units_for(program: "ConicProgram", columns: Floats) -> Units:
    """Units of rows and of the objective for those of the columns."""
    A = program.A
    groups = np.repeat(program.groups, np.diff(A.indptr))
    whole = np.zeros(program.b.size)
    np.maximum.at(whole, groups, np.abs(A.data) * columns[A.indices])
    np.maximum.at(whole, program.groups, np.abs(program.b))
    rows = whole[program.groups]
    bent = float((program.P.diagonal() * columns**2).max(initial=0.0))
    objective = max(float((np.abs(program.q) * columns).max(initial=0.0)), bent)
    return Units(columns, power_of_two(rows), float(power_of_two(np.array(objective))))


def power_of_two(size: Floats) -> Floats:
    """The nearest powers of two; 1 where a size is 0 or not finite."""
    size = np.where((size > 0) & np.isfinite(size), size, 1.0)
    return np.asarray(2.0 ** np.clip(np.round(np.log2(size)), -500, 500))


EPS = 2.0**-53


@dataclass(frozen=True, eq=False)
class ConicProgram:
    """``min x'Px/2 + q'x + offset`` subject to ``Ax + s = b``, ``s`` in cones of these sizes."""

    P: Any  # sparse, (n, n), symmetric
    q: Floats
    A: Any  # sparse by rows, (m, n)
    b: Floats
    dims: Any  # sizes of cones in the order of their rows: zero, nonneg, soc, psd, exp, p3d, pnd
    offset: float = 0.0

    @classmethod
    def of(cls, data: Mapping[str, Any], offset: float) -> "ConicProgram":
        """From the data that cvxpy prepares for Clarabel."""
        n = data["c"].size
        P = data["P"] if data.get("P") is not None else sp.csr_array((n, n))
        A = sp.csr_array(data["A"])
        return cls(
            sp.csr_array(P), np.asarray(data["c"]), A, np.asarray(data["b"]), data["dims"], offset
        )

    @property
    def data(self) -> dict[str, Any]:
        """The data that cvxpy passes to Clarabel."""
        data = {"c": self.q, "A": sp.csc_array(self.A), "b": self.b, "dims": self.dims}
        return data | ({"P": sp.csc_array(self.P)} if self.P.nnz else {})

    @property
    def n_plain(self) -> int:
        """The number of rows of equalities and inequalities, which precede those of other cones."""
        return int(self.dims.zero + self.dims.nonneg)

    @cached_property
    def blocks(self) -> list[tuple[str, int, int]]:
        """Kind, first row and number of rows of every cone after equalities and inequalities."""
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
        is_nonzero = self.A.data != 0
        return rows[is_nonzero], self.A.indices[is_nonzero], self.A.data[is_nonzero]

    @cached_property
    def magnitudes(self) -> tuple[Any, Any]:
        """The magnitudes of the entries of A and of P."""
        return abs(self.A), abs(self.P)

    @cached_property
    def groups(self) -> Ints:
        """A number for each row, the same for all rows of a cone, (m,)."""
        numbers = np.arange(self.b.size)
        for _, first, size in self.blocks:
            numbers[first : first + size] = first
        return numbers

    @cached_property
    def curvature(self) -> Floats:
        """``k >= 0`` with ``d'Pd >= sum_j k_j d_j^2`` for every ``d``, (n,)."""
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
        """The columns of each block of P, up to permutation, that is not diagonal."""
        off = sp.coo_array(self.P)
        crossed = (off.row != off.col) & (off.data != 0)
        if not crossed.any():
            return []
        pairs = (off.data[crossed], (off.row[crossed], off.col[crossed]))
        _, labels = connected_components(sp.csr_array(pairs, shape=self.P.shape), directed=False)
        order = np.argsort(labels, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        return [part for part in parts if part.size > 1]

    def with_rows(self, rows: Any, right: Floats) -> "ConicProgram":
        """The program with the inequalities ``rows @ x <= right`` after its own."""
        at = self.n_plain
        dims = _with_more(self.dims, right.size)
        rows = sp.csr_array(rows)
        rows.sort_indices()  # now, because scaled matrices will share these indices
        A = _with_inserted(self.A, at, rows)
        return replace(self, A=A, b=np.concatenate([self.b[:at], right, self.b[at:]]), dims=dims)

    def with_room(self, room: float) -> "ConicProgram":
        """The program whose points keep inequalities and cones with so much room."""
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
    """A with ``rows`` before its row ``at``; ``vstack`` of slices takes three times as long."""
    end = A.indptr[at]
    entries = np.concatenate([A.data[:end], rows.data, A.data[end:]])
    columns = np.concatenate([A.indices[:end], rows.indices, A.indices[end:]])
    starts = np.concatenate([A.indptr[:at], end + rows.indptr, A.indptr[at + 1 :] + rows.nnz])
    return sp.csr_array((entries, columns, starts), (A.shape[0] + rows.shape[0], A.shape[1]))


def _with_more(dims: Any, n: int) -> Any:
    """The sizes of cones with n more inequalities."""
    more = copy.copy(dims)
    more.nonneg = int(more.nonneg) + n
    return more


def column_places(order: int) -> Ints:
    """The place in a triangle that is stored column by column of each entry, row by row."""
    rows, columns = np.triu_indices(order)
    return np.asarray(columns * (columns + 1) // 2 + rows)


def diagonal_of(size: int) -> Ints:
    """The places of the diagonal in a triangle of a matrix that is stored column by column."""
    order = (math.isqrt(8 * size + 1) - 1) // 2
    return np.asarray(np.cumsum(np.arange(1, order + 1)) - 1)


@np.errstate(invalid="ignore", over="ignore")
def box_of(program: ConicProgram) -> tuple[Floats, Floats]:
    """Lower and upper bounds of the columns, (n,) each, that single rows and cones imply.

    Each row bounds its slack and each of its columns by the bounds of the others, a second-order
    cone bounds its tail by its head, and a semi-definite cone its entries by its diagonal.
    """
    m, n = program.A.shape
    i, j, a = program.entries
    low = np.full(n, -np.inf)
    high = np.full(n, np.inf)
    s_low = np.full(m, -np.inf)
    s_high = np.full(m, np.inf)
    s_low[: program.n_plain] = 0.0
    s_high[: int(program.dims.zero)] = 0.0
    n_finite = -1
    while n_finite < (n_finite := int(np.isfinite([*low, *high]).sum())):
        ends = np.stack([a * low[j], a * high[j]])
        least = _Sums(i, ends.min(axis=0), m)
        most = _Sums(i, ends.max(axis=0), m)
        s_high = np.minimum(s_high, program.b - least.whole + least.rounding)
        s_low = np.maximum(s_low, program.b - most.whole - most.rounding)
        _spread_in_cones(program, s_low, s_high)
        room = least.rounding[i] + most.rounding[i] + 8 * EPS * np.abs(program.b[i])
        top = (program.b[i] - s_low[i] - least.others + room) / a
        bottom = (program.b[i] - s_high[i] - most.others - room) / a
        np.minimum.at(high, j, np.where(a > 0, top, bottom))
        np.maximum.at(low, j, np.where(a > 0, bottom, top))
    return low, high


class _Sums:
    """The sum of the terms of each row (``whole``), and of the ``others`` in the row of each term.

    Infinite terms must have the same sign.
    """

    def __init__(self, rows: Ints, terms: Floats, m: int) -> None:
        infinite = ~np.isfinite(terms)
        finite = np.where(infinite, 0.0, terms)
        lost = np.bincount(rows, infinite, minlength=m)
        sums = np.bincount(rows, finite, minlength=m)
        sizes = np.bincount(rows, np.abs(finite), minlength=m)
        endless = -np.inf if (terms[infinite] < 0).any() else np.inf
        self.whole = np.where(lost > 0, endless, sums)
        self.others = np.where(lost[rows] - infinite > 0, endless, sums[rows] - finite)
        self.rounding = sizes * (np.bincount(rows, minlength=m) + 8) * EPS


def _spread_in_cones(program: ConicProgram, s_low: Floats, s_high: Floats) -> None:
    """Narrow the bounds of slacks by those of other slacks of the same cone."""
    for kind, first, size in program.blocks:
        if kind == "soc":
            s_low[first] = max(s_low[first], 0.0)
            reach = np.full(size - 1, s_high[first])
            places = slice(first + 1, first + size)
        elif kind == "psd":
            diagonal = first + diagonal_of(size)
            s_low[diagonal] = np.maximum(s_low[diagonal], 0.0)
            root = np.sqrt(s_high[diagonal])
            rows, columns = np.triu_indices(root.size)
            reach = np.empty(size)
            reach[column_places(root.size)] = (
                np.sqrt(2.0) * (1.0 + 8 * EPS) * root[rows] * root[columns]
            )
            places = slice(first, first + size)
        else:
            continue
        s_low[places] = np.maximum(s_low[places], -reach)
        s_high[places] = np.minimum(s_high[places], reach)


Turns = list[tuple[int, float]]
"""First rows of second-order cones, and the k by which the sum of their first two rows was
multiplied and the difference divided."""


def turned(program: ConicProgram) -> tuple[ConicProgram, Turns]:
    """The program with products ``t u`` in cones rewritten so that t and u have the same size.

    ``|x|^2 <= t u`` is the cone of ``(u + t, u - t, 2x)``, and as well that of
    ``(k u + t / k, k u - t / k, 2x)``: of ``u = 1`` and a small ``t`` the first leaves no digits.
    """
    low, high = box_of(program)
    A = program.A.copy()
    b = program.b.copy()
    turns = []
    for kind, head, size in program.blocks:
        if kind != "soc" or size < 2:
            continue
        first, tail = (slice(A.indptr[k], A.indptr[k + 1]) for k in (head, head + 1))
        columns = A.indices[first]
        if not np.array_equal(columns, A.indices[tail]) or abs(b[head]) != abs(b[head + 1]):
            continue
        is_sum = A.data[first] == A.data[tail]
        if not (is_sum | (A.data[first] == -A.data[tail])).all():
            continue
        # Both factors are at least 0: their size is taken to be their upper bound.
        most = np.append(
            np.maximum(-A.data[first] * low[columns], -A.data[first] * high[columns]), b[head]
        )
        is_sum = np.append(is_sum, b[head] == b[head + 1])
        sums = most[is_sum].sum()
        differences = most[~is_sum].sum()
        if not (0 < sums < np.inf and 0 < differences < np.inf):
            continue
        k = float(power_of_two(np.sqrt(differences / sums)))
        if k != 1.0:
            factors = np.where(is_sum, k, 1.0 / k)
            for row in (first, tail):
                A.data[row] *= factors[:-1]
            b[head : head + 2] *= factors[-1]
            turns.append((head, k))
    return replace(program, A=A, b=b), turns


def turned_back(z: Floats, turns: Turns) -> Floats:
    """The multipliers of the original program from those of the turned one."""
    z = z.copy()
    for head, k in turns:
        total = k * (z[head] + z[head + 1])
        difference = (z[head] - z[head + 1]) / k
        z[head : head + 2] = 0.5 * (total + difference), 0.5 * (total - difference)
    return z
