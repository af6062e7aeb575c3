"""The best partitions of a sample at many prices of a cluster."""

from __future__ import annotations

from collections.abc import Callable

from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats


def decode_between(
    decode: Callable[[float], EquivalenceMatrix], prices: Floats
) -> list[EquivalenceMatrix]:
    """The best partition at every price, of which most need no decoding.

    Two prices with the same optimal partition share it with all prices between them: the optimal
    value is a maximum of functions affine in the price.

    Parameters
    ----------
    decode : callable
        The best partition at a price.
    prices : array of shape (n,)
        Increasing.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import SequentialOracle
    >>> from structsvm.partitions import TraceObjective
    >>> from structsvm.partitions.price_path import decode_between
    >>> Z = np.array([[0.0], [1.0], [9.0]])
    >>> oracle = SequentialOracle()
    >>> found = decode_between(lambda p: oracle.ask(TraceObjective(Z, shift=-p)).y, np.arange(1, 9))
    >>> [M.n_clusters for M in found]
    [2, 2, 2, 2, 2, 2, 2, 2]
    """
    found: dict[int, EquivalenceMatrix] = {}

    def at(index: int) -> EquivalenceMatrix:
        if index not in found:
            found[index] = decode(float(prices[index]))
        return found[index]

    pending = [(0, prices.size - 1)]
    while pending:
        low, high = pending.pop()
        if at(low) == at(high):
            found.update(dict.fromkeys(range(low, high), found[high]))
        elif high - low > 1:
            middle = (low + high) // 2
            pending += [(low, middle), (middle, high)]
    return [found[index] for index in range(prices.size)]
