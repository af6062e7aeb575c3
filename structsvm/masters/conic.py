"""Conic programs in units of their own data, and the lower bound that a dual point proves.

A program is ``min x'Px/2 + q'x`` subject to ``Ax + s = b`` with ``s`` in a product of cones, as a
conic solver takes it. For every ``z`` in the dual cone and every ``y``

    f(x) >= -y'Py/2 - b'z + <r, x> + (x - y)'P(x - y)/2    with    r = Py + q + A'z

at every feasible ``x``. A solver leaves a small ``r``, and ``x`` may be anywhere: a bound needs
``<r, x>`` from below by what the program says of ``x``. ``docs/theory.md`` has the proof.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from structsvm.support.arrays import Bools, Floats, Ints
from structsvm.weights import PSD, smat_operator

EPS = 2.0**-53

EXACT = 2.0**-43
"""A residual below so much of the terms of its column is that of rounding."""

ASSUMED = 2.0**20
"""Units of the data within which a minimiser is looked for in columns of which the program says
nothing, if their residual is that of rounding."""

PROVED = "to the accuracy of the conic solver"
CONDITIONAL = f"{PROVED}, for points within 2^20 of the units of the data"

LARGEST = 1e50
"""Entries of a dual point, in units, beyond which it proves nothing."""

CLOSE = 1e-10
"""Of the size of the terms, how near to the value of the point a bound is good enough."""

STEPS = 4
"""Corrections of a dual point at most; each takes away most of what is left."""

TIES = 3
"""Passes in which columns that nothing measures are made no larger than what they are tied to."""

RIDGE = 1e-13
"""Of its diagonal, added to the matrix of a least-squares problem that may be singular."""

FEW_COLUMNS, MOST_COLUMNS = 300, 1500
"""Columns whose least-squares problem is solved by orthogonal factors, and by a dense matrix."""

LARGEST_ORDER = 40
"""Order of a matrix beyond which its multiplier stays as it is: the cost is its order to the 6."""


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
        given = {"c": self.q, "A": sp.csc_array(self.A), "b": self.b, "dims": self.dims}
        return given | ({"P": sp.csc_array(self.P)} if self.P.nnz else {})

    @property
    def n_plain(self) -> int:
        """Rows of equalities and inequalities, before those of other cones."""
        return int(self.dims.zero + self.dims.nonneg)

    @cached_property
    def blocks(self) -> list[tuple[str, int, int]]:
        """Kind, first row and number of rows of every cone but the first two."""
        found = []
        at = self.n_plain
        sizes = [("soc", int(n)) for n in self.dims.soc]
        sizes += [("psd", int(n) * (int(n) + 1) // 2) for n in self.dims.psd]
        sizes += [("exp", 3) for _ in range(int(self.dims.exp))]
        sizes += [("power", 3) for _ in self.dims.p3d]
        sizes += [("power", len(powers) + 1) for powers in getattr(self.dims, "pnd", ())]
        for kind, size in sizes:
            found.append((kind, at, size))
            at += size
        return found

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
        found = np.arange(self.b.size)
        for _, first, size in self.blocks:
            found[first : first + size] = first
        return found

    @cached_property
    def curvature(self) -> Floats:
        """``k`` with ``d'Pd >= sum_j k_j d_j^2`` for every ``d``, (n,); 0 where none is known."""
        found = np.maximum(self.P.diagonal(), 0.0)
        for members in self.bends:
            part = self.P[members][:, members].toarray()
            least = 1e-8 * float(np.trace(part)) / members.size
            try:
                np.linalg.cholesky(part - 2.0 * least * np.eye(members.size))
            except np.linalg.LinAlgError:
                least = 0.0
            found[members] = least
        return np.asarray(found)

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
                part[_diagonal(size)] = 1.0
            elif kind == "exp":
                part[:] = -1.0, 1.0, 1.0
            else:
                part[:-1] = 1.0
        return replace(self, b=self.b - room * middle)

    def scaled(self, units: Units) -> ConicProgram:
        """The program for ``x / columns``, with rows and objective in units, all powers of two."""
        d = units.columns
        c = units.objective
        return replace(
            self,
            P=_multiplied(self.P, d / c, d),
            q=self.q * d / c,
            A=_multiplied(self.A, 1.0 / units.rows, d),
            b=self.b / units.rows,
            offset=self.offset / c,
        )


def _multiplied(M: Any, rows: Floats, columns: Floats) -> Any:
    """A matrix by rows, with its rows and columns multiplied."""
    M = sp.csr_array(M)
    entries = M.data * np.repeat(rows, np.diff(M.indptr)) * columns[M.indices]
    return sp.csr_array((entries, M.indices, M.indptr), M.shape)


def _with_inserted(A: Any, at: int, rows: Any) -> Any:
    """Rows put before row ``at`` of a matrix; ``vstack`` of slices takes three times as long."""
    end = A.indptr[at]
    entries = np.concatenate([A.data[:end], rows.data, A.data[end:]])
    columns = np.concatenate([A.indices[:end], rows.indices, A.indices[end:]])
    starts = np.concatenate([A.indptr[:at], end + rows.indptr, A.indptr[at + 1 :] + rows.nnz])
    return sp.csr_array((entries, columns, starts), (A.shape[0] + rows.shape[0], A.shape[1]))


def _with_more(dims: Any, n: int) -> Any:
    found = copy.copy(dims)
    found.nonneg = int(found.nonneg) + n
    return found


# ---- units


class Units(NamedTuple):
    """What columns, rows and the objective of a program are of the size of, powers of two."""

    columns: Floats
    rows: Floats
    objective: float

    def box(self, ends: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Bounds of the columns in these units."""
        return ends[0] / self.columns, ends[1] / self.columns

    def proof(self, found: Proof) -> Proof:
        """What is proved of the scaled program, of the program."""
        bound = self.objective * found.bound
        weight = self.objective * found.weight
        return Proof(bound, found.is_conditional, weight)


def units_of(program: ConicProgram) -> Units:
    """The units that the data of a program say."""
    return units_for(program, columns_of(program, program.groups, program.b))


def columns_of(program: ConicProgram, groups: Ints, b: Floats) -> Floats:
    """The size of each column by the data: ``|b_i| / |A_ij|`` of the rows that say most of it.

    Rows of a group, the planes of a height or those of a cone, have the largest of their right
    sides. Columns without such a row have the size at which they are as large as the others in a
    row, and columns that nothing measures that at which linear and quadratic terms are alike.
    """
    row, column, value = program.entries
    row = groups[row]
    size = np.abs(value)
    levels = np.zeros(int(groups.max(initial=-1)) + 1)
    np.maximum.at(levels, groups, np.abs(b))
    u = np.full(program.q.size, np.inf)

    def spread() -> None:
        while True:
            is_known = np.isfinite(u)
            at = levels.copy()
            known = is_known[column]
            np.maximum.at(at, row[known], size[known] * u[column[known]])
            said = ~known & (at[row] > 0)
            if not said.any():
                return
            np.minimum.at(u, column[said], at[row[said]] / size[said])

    said = levels[row] > 0
    np.minimum.at(u, column[said], levels[row[said]] / size[said])
    spread()
    lost = ~np.isfinite(u)
    if lost.any():
        seeds = lost & (program.q != 0)
        u[seeds] = 1.0 / np.abs(program.q[seeds])
        spread()
        u[~np.isfinite(u)] = 1.0
        for _ in range(TIES):  # a cost that has cancelled says nothing
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
    found = np.where(is_last, terms[second], terms[last])
    return np.where(is_last & (rows[second] != rows), 0.0, found)


def units_for(program: ConicProgram, columns: Floats) -> Units:
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
    """The nearest ones; 1 for what is nothing."""
    size = np.where((size > 0) & np.isfinite(size), size, 1.0)
    return np.asarray(2.0 ** np.clip(np.round(np.log2(size)), -500, 500))


# ---- squares

Turns = list[tuple[int, float]]
"""First rows of second-order cones, and by what the sum of head and first tail was multiplied and
their difference divided."""


def turned(program: ConicProgram) -> tuple[ConicProgram, Turns]:
    """The program with squares written so that both of their factors are of the same size.

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
        # Both factors are at least 0, and so of the size of what they are at most.
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
    """Multipliers of the program as it was given."""
    z = z.copy()
    for head, k in turns:
        total = k * (z[head] + z[head + 1])
        difference = (z[head] - z[head + 1]) / k
        z[head : head + 2] = 0.5 * (total + difference), 0.5 * (total - difference)
    return z


# ---- what the rows of a program say of its variables


@np.errstate(invalid="ignore", over="ignore")
def box_of(program: ConicProgram) -> tuple[Floats, Floats]:
    """Bounds of every column that follow row by row from the constraints, (n,) and (n,).

    Each row bounds its slack and each of its columns by the bounds of the others, a second-order
    cone its tail by its head, and a semi-definite one its entries by its diagonal.
    """
    m, n = program.A.shape
    i, j, a = program.entries
    low = np.full(n, -np.inf)
    high = np.full(n, np.inf)
    s_low = np.full(m, -np.inf)
    s_high = np.full(m, np.inf)
    s_low[: program.n_plain] = 0.0
    s_high[: int(program.dims.zero)] = 0.0
    known = -1
    while known < (known := int(np.isfinite([*low, *high]).sum())):
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
    """Sums of terms by row, in which one sign may be infinite, and those of the other terms."""

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
    """Bounds of slacks that follow from others of their cone."""
    for kind, first, size in program.blocks:
        if kind == "soc":
            s_low[first] = max(s_low[first], 0.0)
            reach = np.full(size - 1, s_high[first])
            places = slice(first + 1, first + size)
        elif kind == "psd":
            diagonal = first + _diagonal(size)
            s_low[diagonal] = np.maximum(s_low[diagonal], 0.0)
            root = np.sqrt(s_high[diagonal])
            rows, columns = np.triu_indices(root.size)
            reach = np.empty(size)
            reach[columns * (columns + 1) // 2 + rows] = (
                np.sqrt(2.0) * (1.0 + 8 * EPS) * root[rows] * root[columns]
            )
            places = slice(first, first + size)
        else:
            continue
        s_low[places] = np.maximum(s_low[places], -reach)
        s_high[places] = np.minimum(s_high[places], reach)


def _diagonal(size: int) -> Ints:
    """Where in a triangle of a matrix, column by column, its diagonal is."""
    order = (math.isqrt(8 * size + 1) - 1) // 2
    return np.asarray(np.cumsum(np.arange(1, order + 1)) - 1)


# ---- what a dual point proves


class Proof(NamedTuple):
    """A lower bound, and whether it holds for minimisers within ``ASSUMED`` units only."""

    bound: float
    is_conditional: bool = False
    weight: float = 0.0
    """``sum |b_i z_i|``: what the right sides of constraints are worth."""

    @property
    def basis(self) -> str:
        """What the bound rests on, in words."""
        return CONDITIONAL if self.is_conditional else PROVED


NOTHING = Proof(-np.inf)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def proof(
    program: ConicProgram,
    y: Floats,
    z: Floats,
    box: tuple[Floats, Floats],
    close: float = CLOSE,
) -> Proof:
    """The best lower bound that a proposed dual point proves of a program in units of its data.

    Tried as it is, then corrected without the multipliers of rows that have room at ``y``, and with
    them: what is proved holds whatever they are. The first is taken that is ``close`` to the value
    at ``y``, relative to the size of its terms.
    """
    if not max(np.abs(y).max(initial=0.0), np.abs(z).max(initial=0.0)) < LARGEST:
        return NOTHING
    slacks = program.b - program.A @ y
    held = z.copy()
    unequal = slice(int(program.dims.zero), program.n_plain)
    held[unequal] = np.where(slacks[unequal] > z[unequal], 0.0, z[unequal])
    terms = np.concatenate([[program.offset], program.q * y, 0.5 * y * (program.P @ y)])
    enough = float(terms.sum()) - close * float(np.abs(terms).sum())
    found = _Dual(program, box, y, z).proof()
    for start in (held, z):
        if not found.bound >= enough:
            found = max(found, _Dual(program, box, y, start).best(enough), key=_bound_of)
    return found


def _bound_of(found: Proof) -> float:
    return found.bound


class _Dual:
    """A dual point, corrected until its residual is that of rounding."""

    def __init__(
        self, program: ConicProgram, box: tuple[Floats, Floats], y: Floats, z: Floats
    ) -> None:
        self.program, self.box, self.y = program, box, y
        self.z = into_dual_cone(z, program.dims)
        counts = np.bincount(program.A.indices, minlength=y.size) + np.diff(program.P.indptr)
        self._slips = (counts + 8) * EPS
        self._look()

    def _look(self) -> None:
        program = self.program
        Py = program.P @ self.y
        Az = program.A.T @ self.z
        self.r = Py + program.q + Az
        A, P = program.magnitudes
        self.terms = P @ np.abs(self.y) + np.abs(program.q) + A.T @ np.abs(self.z)
        self.slips = self._slips * self.terms

    def best(self, enough: float) -> Proof:
        """The best bound of all corrections, or the first that is enough."""
        found = NOTHING
        for _ in range(STEPS):
            found = max(found, self.proof(), key=_bound_of)
            if found.bound >= enough:
                break
            wanted = (self.program.curvature == 0) & (np.abs(self.r) > self.slips)
            if not (wanted.any() and np.isfinite(self.terms).all()):
                break
            if not self._correct():
                break
            self._look()
        else:
            found = max(found, self.proof(), key=_bound_of)
        return found

    # ---- the bound

    def proof(self) -> Proof:
        """What ``<r, x>`` costs at most, column by column, and the bound that is left."""
        low, high = self.box
        bends = self.program.curvature > 0
        boxed = np.isfinite(low) & np.isfinite(high) & ~bends
        r = self.r
        slips = self.slips
        held = ((r >= slips) & np.isfinite(low)) | ((r <= -slips) & np.isfinite(high))
        held &= ~(bends | boxed)
        while True:
            loose = ~(bends | boxed | held)
            error, extra, left = self._moved(np.where(loose, np.abs(r), 0.0) + slips, loose)
            unsure = held & (np.abs(r) < error)
            if not unsure.any():
                break
            held &= ~unsure
        rounding = np.maximum(EXACT * self.terms, 2.0 * slips)
        rounding = np.maximum(rounding, 8 * EPS * float(self.terms.max(initial=0.0)))
        if (left & (np.abs(r) > rounding)).any():
            return NOTHING
        extra += ASSUMED * float(error[left].sum())
        k = self.program.curvature[bends]
        at = self.y[bends]
        extra += float(((np.abs(r[bends]) + error[bends]) ** 2 / (2.0 * k)).sum())
        extra += float((error[bends] * np.abs(at)).sum())
        extra += float((error[boxed] * np.maximum(np.abs(low), np.abs(high))[boxed]).sum())
        end = np.where(r > 0, low, high)[held]
        extra += float((error[held] * np.abs(end)).sum())
        ends = np.minimum(r[boxed] * low[boxed], r[boxed] * high[boxed])
        linear = np.concatenate([r[bends] * at, ends, r[held] * end])
        return self._bound(linear, extra, bool(left.any()))

    def _bound(self, linear: Floats, cost: float, is_conditional: bool) -> Proof:
        program = self.program
        bent = -0.5 * self.y * (program.P @ self.y)
        bent_size = 0.5 * float(np.abs(self.y) @ (program.magnitudes[1] @ np.abs(self.y)))
        terms = np.concatenate([[program.offset], bent, -program.b * self.z, linear])
        if not np.isfinite(terms).all() or not math.isfinite(cost):
            return NOTHING
        widest = int(np.diff(program.P.indptr).max(initial=0)) + 4
        size = math.fsum(np.abs(terms).tolist())
        rounding = 4 * EPS * size + widest * EPS * bent_size
        bound = math.fsum(terms.tolist()) - cost * (1.0 + 2.0**-30) - rounding
        weight = float(np.abs(program.b) @ np.abs(self.z))
        return Proof(bound, is_conditional, weight) if math.isfinite(bound) else NOTHING

    def _moved(self, error: Floats, loose: Bools) -> tuple[Floats, float, Bools]:
        """Errors of loose columns moved into others, what that costs, and the columns that stay.

        An equality, or an inequality whose multiplier is larger, takes the error of a column by a
        change of its multiplier, at the price of its right side and of the other columns.
        """
        program = self.program
        z = self.z
        n = program.n_plain
        rows = np.arange(n)
        able = (rows < int(program.dims.zero)) | (z[:n] > 0)
        row, column, value = program.entries
        kept = (row < n) & loose[column]
        kept[kept] = able[row[kept]]
        row = row[kept]
        column = column[kept]
        size = np.abs(value[kept])
        room = np.where(rows < int(program.dims.zero), np.inf, z[:n])
        weight = np.minimum(room[row], 1.0) * size
        is_open = loose.copy()
        layers = []
        while True:
            single = np.bincount(row, is_open[column], minlength=n) == 1
            usable = np.flatnonzero(
                single[row] & is_open[column] & (weight >= 1e-6 * self.terms[column])
            )
            if not usable.size:
                break
            usable = usable[np.argsort(weight[usable], kind="stable")]
            chosen = np.full(is_open.size, -1)
            chosen[column[usable]] = usable
            chosen = chosen[chosen >= 0]
            layers.append(chosen)
            is_open[column[chosen]] = False
        error = error.copy()
        cost = 0.0
        magnitude = program.magnitudes[0]
        for chosen in reversed(layers):
            i = row[chosen]
            j = column[chosen]
            change = error[j] / size[chosen]
            tight = change > 0.5 * room[i]
            is_open[j[tight]] = True
            i = i[~tight]
            j = j[~tight]
            change = change[~tight]
            error += magnitude[i].T @ change
            error[j] = 0.0
            cost += float(change @ np.abs(program.b[i]))
        return error * (1.0 + 2.0**-30), cost, is_open

    # ---- the correction

    def _correct(self) -> bool:
        """Undo the residual by the least change, relative to what may change; whether it can."""
        program = self.program
        y = self.y.copy()
        r = self.r.copy()
        for members in program.bends:
            part = program.P[members][:, members].toarray()
            part += RIDGE * np.trace(part) * np.eye(members.size)
            step = -np.linalg.solve(part, r[members])
            y[members] += step
        r += program.P @ (y - self.y)
        wanted = np.flatnonzero((np.maximum(program.P.diagonal(), 0.0) == 0) | self._crossed)
        W = self._freedom()
        B = sp.csr_array(W.T @ program.A)[:, wanted]
        if not np.isfinite(B.data).all():
            return False
        change = W @ _least_change(B, r[wanted])
        self.z = into_dual_cone(self.z - change, program.dims)
        self.y = y
        return True

    @property
    def _crossed(self) -> Bools:
        found = np.zeros(self.r.size, dtype=bool)
        for members in self.program.bends:
            found[members] = True
        return found

    def _freedom(self) -> Any:
        """``W`` such that ``z + W d`` stays in the dual cone for ``|d| < 1``: Dikin's ellipsoid."""
        program = self.program
        z = self.z
        plain = np.append(
            1.0 + np.abs(z[: program.dims.zero]), z[program.dims.zero : program.n_plain]
        )
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


def _least_change(B: Any, r: Floats) -> Floats:
    """The least ``d`` with ``B'd = r``, as far as there is one."""
    gram = sp.csc_array(B.T @ B)
    scale = np.sqrt(gram.diagonal())
    scale[scale == 0] = 1.0
    n = scale.size
    right = r / scale
    if n > MOST_COLUMNS:
        d = sp.diags_array(1.0 / scale)
        regular = sp.csc_array(d @ gram @ d + RIDGE * sp.eye_array(n))
        return np.asarray(B @ (splu(regular).solve(right) / scale))
    if n > FEW_COLUMNS:
        dense = gram.toarray() / np.outer(scale, scale) + RIDGE * np.eye(n)
        return np.asarray(B @ (np.linalg.solve(dense, right) / scale))
    # Normal equations would lose half of the digits of multipliers that are small beside others.
    Q, R = np.linalg.qr(np.vstack([B.toarray() / scale, RIDGE * np.eye(n)]))
    return np.asarray(Q[: B.shape[0]] @ np.linalg.solve(R.T, right))


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
    order = _diagonal(z.size).size
    rows, columns = np.triu_indices(order)
    places = np.empty(z.size, dtype=np.int64)
    places[np.arange(z.size)] = columns * (columns + 1) // 2 + rows
    to_matrix = smat_operator(order)
    values, vectors = np.linalg.eigh((to_matrix @ z[places]).reshape(order, order))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    whole = to_matrix.T @ (np.kron(root, root) @ to_matrix.toarray())
    found = np.empty_like(whole)
    found[np.ix_(places, places)] = whole
    return found


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
        diagonal = at + _diagonal(rows.size)
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
