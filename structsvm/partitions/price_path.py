"""The best partitions of a sample at many prices of a cluster."""

from __future__ import annotations

from collections.abc import Callable

from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats


def decode_between(
    decode: Callable[[float], EquivalenceMatrix], prices: Floats
) -> list[EquivalenceMatrix]:
    """The best partition at every price, of which most need no decoding."""
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
