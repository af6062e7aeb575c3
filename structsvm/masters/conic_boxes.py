"""What the rows of a conic program say of its variables."""

from __future__ import annotations

import numpy as np

from structsvm.masters.conic import EPS, ConicProgram, diagonal_of
from structsvm.support.values import Floats, Ints


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
    """Narrow bounds of slacks by those of others of their cone."""
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
            reach[columns * (columns + 1) // 2 + rows] = (
                np.sqrt(2.0) * (1.0 + 8 * EPS) * root[rows] * root[columns]
            )
            places = slice(first, first + size)
        else:
            continue
        s_low[places] = np.maximum(s_low[places], -reach)
        s_high[places] = np.minimum(s_high[places], reach)
