"""Units that the data of a conic program say: powers of two, so that changing them is exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from structsvm.masters.conic import ConicProgram
from structsvm.support.values import Floats, Ints

TIES = 3
"""Passes in which columns that nothing measures are made no larger than what they are tied to."""


def _multiplied(M: Any, rows: Floats, columns: Floats) -> Any:
    """A matrix by rows, with its rows and columns multiplied."""
    M = sp.csr_array(M)
    entries = M.data * np.repeat(rows, np.diff(M.indptr)) * columns[M.indices]
    return sp.csr_array((entries, M.indices, M.indptr), M.shape)


class Units(NamedTuple):
    """What columns, rows and the objective of a program are of the size of, powers of two."""

    columns: Floats
    rows: Floats
    objective: float

    def box(self, ends: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Bounds of the columns in these units."""
        return ends[0] / self.columns, ends[1] / self.columns

    def scaled(self, program: ConicProgram) -> ConicProgram:
        """The program for ``x / columns``, with rows and objective in units, all powers of two."""
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
            is_sized = is_known[column]
            np.maximum.at(at, row[is_sized], size[is_sized] * u[column[is_sized]])
            said = ~is_sized & (at[row] > 0)
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
    largest = np.where(is_last, terms[second], terms[last])
    return np.where(is_last & (rows[second] != rows), 0.0, largest)


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
