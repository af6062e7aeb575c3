"""Segmentations whose numbers of changes are given in places: the graph, and paths through it.

A region ``(a, b)`` with exactly k changes is k *layers* of nodes: the c-th holds its knots, each
standing for "the c-th change of this region is here". The knots between regions are nodes once.
Written down in the order of the recording, layer after layer, every node follows on a window of
nodes that lie side by side:

    a knot outside     the last layer of the region before it, and the knots since;
    the first layer    the same, up to the beginning of the region;
    the c-th layer     layer c - 1 (as far as it lies to the left).

No segment jumps over a region, so the work is quadratic in the gaps between regions rather than in
T. "At least one change" needs no layer: it forbids the segments that hold the region, as a forced
boundary does, by a lower end of the window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.support.arrays import Ints


class Windows(NamedTuple):
    """Which node may follow on which."""

    position: Ints
    """Where the boundary of each node lies; the first is 0 and the last T, (n,)."""
    first: Ints
    """Nodes ``first, ..., stop - 1`` come before it ..."""
    stop: Ints
    low: Ints
    """... as far as they lie at ``low`` or later, and to the left of it."""


def windows(boundaries: Boundaries) -> Windows:
    """The graph of the segmentations with so many boundaries in each of the counted regions."""
    knots = boundaries.knots
    chosen: list[Ints] = []
    first: list[Ints] = []
    stop: list[Ints] = []
    n, begin, at = 0, 0, 0

    def add(part: Ints, lowest: int, highest: Ints) -> None:
        nonlocal n
        chosen.append(part)
        first.append(np.full(part.size, lowest))
        stop.append(highest)
        n += part.size

    for region in boundaries.counted:
        inside = np.flatnonzero((knots >= region.first) & (knots < region.end))
        outside = np.arange(at, np.searchsorted(knots, region.first))
        add(outside, begin, n + np.arange(outside.size))
        before, top = begin, n
        for _ in range(region.changes):
            begin = n
            add(inside, before, np.full(inside.size, top))
            before, top = begin, n
        at = int(np.searchsorted(knots, region.end))
    rest = np.arange(at, knots.size)
    add(rest, begin, n + np.arange(rest.size))
    nodes = np.concatenate(chosen)
    low = knots[boundaries.earliest[nodes]]
    return Windows(knots[nodes], np.concatenate(first), np.concatenate(stop), low)
