"""Moments of windows that move along a recording, compiled."""

import numpy as np

from structsvm.support import Floats, Ints, compiled


@compiled()
def window_moments(x: Floats, start: Ints, end: Ints, width: int) -> tuple[Floats, Floats, Floats]:
    """The mean, ``sum (x - mean)^2`` and ``sum k (x - mean)`` of each window, (T,) each.

    The window of t holds the samples ``start[t], ..., end[t] - 1``; from t to t + 1 at most one
    enters and one leaves. Sums are of ``x - x_0`` and started anew every ``width`` samples, with
    x_0 in the window, so that rounding errors stay small beside them.
    """
    T = len(x)
    mean = np.empty(T)
    scatter = np.empty(T)
    rise = np.empty(T)
    a, b = 0, 0
    total, squares, products, first = 0.0, 0.0, 0.0, 0.0
    for t in range(T):
        if t % width == 0:
            a = b = start[t]
            total = 0.0
            squares = 0.0
            products = 0.0
            first = x[a]
        while a < start[t]:
            value = x[a] - first
            total -= value
            squares -= value * value
            products -= total  # the numbers k of the remaining samples fall by one
            a += 1
        while b < end[t]:
            value = x[b] - first
            total += value
            squares += value * value
            products += (b - a) * value
            b += 1
        n = b - a
        mean[t] = first + total / n
        scatter[t] = max(squares - total * total / n, 0.0)
        rise[t] = products - (n - 1) / 2 * total
    return mean, scatter, rise
