"""Squares in a conic program, written so that both of their factors are of the same size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from structsvm.masters.conic import ConicProgram
from structsvm.masters.conic_boxes import box_of
from structsvm.masters.conic_units import power_of_two
from structsvm.support.values import Floats

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
