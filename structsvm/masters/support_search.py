"""Compiled: the multipliers of a small quadratic program, by an active-set method.

The dual of ``min |v|^2 / 2 + sum_g max_{i in g} o_i + <r_i, v>`` is

    max  <o, x> - |R^T x|^2 / 2    over  x >= 0,  sum_{i in g} x_i = 1 .

The first rows are the null cuts of all groups, ``o_i = 0`` and ``r_i = 0``. The primal active-set
method for quadratic programs (Nocedal and Wright, Numerical Optimization, 2006, algorithm 16.3)
steps towards the maximum over the ``x`` of a support. A row whose ``x`` becomes 0 on the way leaves
the support; after a whole step, violated rows enter it.
"""

import numpy as np
from numpy.typing import NDArray

from structsvm.support import Floats, Ints, compiled, inner

Mask = NDArray[np.bool_]
STEPS_PER_ROW = 10  # most steps, divided by the number of rows
DEPENDENT = 1e-13
"""A row whose square, orthogonal to the others, is below this part of it counts as dependent."""
ENDLESS_STEP = 1e12  # a step along a direction without curvature, which is always cut short
ROUNDING_OF_GAPS = 1e-14
"""Rounding error of a duality gap, per unit of the objective and of its terms."""


@compiled(error_model="numpy")
def ascend(
    R: Floats, o: Floats, group: Ints, n_groups: int, x: Floats, worth: float, v: Floats
) -> tuple[float, float]:
    """Make feasible multipliers x optimal and write ``v = -R^T x``; returns gap and objective."""
    inside = x > 0.0
    is_whole = True
    for _ in range(STEPS_PER_ROW * x.size):
        if is_whole:
            gap, value = _look(R, o, group, n_groups, x, v, inside)
            if gap <= ROUNDING_OF_GAPS * (worth + abs(value)):
                break
        _weigh(R, x, v)
        is_whole = _move(x, _step(R, o, group, n_groups, x, v, inside), inside)
    return _look(R, o, group, n_groups, x, v, inside)


@inner(error_model="numpy")
def _weigh(R: Floats, x: Floats, v: Floats) -> None:
    """Write ``v = -R^T x``."""
    v[:] = 0.0
    for i in range(x.size):
        if x[i] != 0.0:
            for j in range(v.size):
                v[j] -= x[i] * R[i, j]


@inner(error_model="numpy")
def _step(
    R: Floats, o: Floats, group: Ints, n_groups: int, x: Floats, v: Floats, inside: Mask
) -> Floats:
    """Newton's step on the support; the largest row of each group compensates for the others."""
    leads = np.arange(n_groups)
    others = np.empty(x.size, np.int64)
    for i in range(x.size):
        if x[i] > x[leads[group[i]]]:
            leads[group[i]] = i
    m = 0
    for i in range(x.size):
        if inside[i] and leads[group[i]] != i:
            others[m] = i
            m += 1
    D = np.empty((m, v.size))
    H = np.zeros((m, m))
    y = np.empty(m)
    for k in range(m):
        i = others[k]
        lead = leads[group[i]]
        y[k] = o[i] - o[lead]
        for j in range(v.size):
            D[k, j] = R[i, j] - R[lead, j]
            y[k] += D[k, j] * v[j]
        for q in range(k + 1):
            for j in range(v.size):
                H[k, q] += D[k, j] * D[q, j]
    _solve(H, y)
    step = np.zeros(x.size)
    for k in range(m):
        step[others[k]] = y[k]
        step[leads[group[others[k]]]] -= y[k]
    return step


@inner(error_model="numpy")
def _solve(H: Floats, y: Floats) -> None:
    """``y`` becomes ``H^-1 y``, by Cholesky's method in the lower half of ``H``."""
    for k in range(y.size):
        left = H[k, k]
        for i in range(k):
            for q in range(i):
                H[k, i] -= H[k, q] * H[i, q]
            H[k, i] = H[k, i] / H[i, i] if H[i, i] > 0.0 else 0.0
            left -= H[k, i] ** 2
            y[k] -= H[k, i] * y[i]
        if left > DEPENDENT * H[k, k]:
            H[k, k] = np.sqrt(left)
            y[k] /= H[k, k]
        else:
            y[k] = ENDLESS_STEP * np.sign(y[k])
            H[k, k] = 0.0
    for k in range(y.size - 1, -1, -1):
        if H[k, k] > 0.0:
            for q in range(k + 1, y.size):
                y[k] -= H[q, k] * y[q]
            y[k] /= H[k, k]


@inner(error_model="numpy")
def _move(x: Floats, step: Floats, inside: Mask) -> bool:
    """Step until an entry of ``x`` is 0, whose row leaves the support; whether no row had to."""
    share = 1.0
    leaves = -1
    for i in range(x.size):
        if x[i] + share * step[i] < 0.0:
            share = -x[i] / step[i]
            leaves = i
    for i in range(x.size):
        x[i] = max(x[i] + share * step[i], 0.0)
    if leaves >= 0:
        x[leaves], inside[leaves] = 0.0, False
    return leaves < 0


@inner(error_model="numpy")
def _look(
    R: Floats, o: Floats, group: Ints, n_groups: int, x: Floats, v: Floats, inside: Mask
) -> tuple[float, float]:
    """The duality gap and the objective; lets the largest row of each group enter the support."""
    _weigh(R, x, v)
    gap = value = 0.0
    heights = np.full(n_groups, -np.inf)
    largest = np.zeros(n_groups, np.int64)
    for i in range(x.size):
        g = group[i]
        height = o[i]
        for j in range(v.size):
            height += R[i, j] * v[j]
        gap -= x[i] * height
        if height > heights[g]:
            heights[g], largest[g] = height, i
    for g in range(n_groups):
        inside[largest[g]] = True
        gap += heights[g]
        value += heights[g]
    for j in range(v.size):
        value += 0.5 * v[j] ** 2
    return gap, value
