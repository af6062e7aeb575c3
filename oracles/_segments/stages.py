"""The best segmentation with numbers of changes given in places, by the tree of starts, in stages.

A region with exactly k changes, knots ``[a, b)`` inside it, cuts the search in stages. Up to ``a``
it is the usual one. The knots inside end segments there, which gives the value of the first change
of the region at each of them, and begin none. The c-th change follows on the (c-1)-th: a stage on
``[a, b)`` in which the knots begin segments at these given values. The values of the k-th change
are given to the stage that goes on from ``b``. Every stage has the bounds of the tree, so the work
is near-linear in the recording and the number of changes that regions ask for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles._segments.search import splitting_price
from structsvm.oracles._segments.table import build_table
from structsvm.oracles._segments.tree import FREE, NO_START, blank_tree, stage_scan
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class _Stage:
    """A stage that is over."""

    begin: int
    given: int
    """So many of its knots, from the first, had their values from the stage before."""
    previous: Ints


def path_in_stages(objective: TraceObjective, boundaries: Boundaries) -> Ints | None:
    """The boundaries of the best segmentation, from 0 to T, all signs positive; None without
    any.
    """
    knots = boundaries.knots
    table, kappa = build_table(objective, knots), splitting_price(objective, objective.shift)
    tree, stages = blank_tree(table), []

    def stage(begin: int, start: Floats, first: int) -> Floats:
        """The best values of the knots from ``begin``, for those from ``first`` after it."""
        F, previous = stage_scan(
            table, boundaries.earliest, boundaries.latest, kappa,
            start, begin, begin + first, begin + start.size, tree,
        )  # fmt: skip
        stages.append(_Stage(begin, n_given, previous))
        return F

    begin, values = 0, np.zeros(1)
    for region in boundaries.counted:
        a = int(np.searchsorted(knots, region.first))
        b = int(np.searchsorted(knots, region.end))
        n_given = values.size
        free, ends = np.full(a - begin - n_given, FREE), np.full(b - a, NO_START)
        values = stage(begin, np.concatenate((values, free, ends)), n_given)[a - begin :]
        begin, n_given = a, b - a
        for _ in range(region.changes - 1):
            values = stage(begin, values, 1)
    n_given = values.size
    free = np.full(knots.size - begin - n_given, FREE)
    F = stage(begin, np.concatenate((values, free)), n_given)
    return knots[_path(stages, knots.size - 1)] if np.isfinite(F[-1]) else None


def _path(stages: list[_Stage], t: int) -> Ints:
    """The knots from 0 to the last one."""
    path = [t]
    for stage in reversed(stages):
        while True:
            t = int(stage.previous[t - stage.begin])
            path.append(t)
            if t < stage.begin + stage.given:
                break
    return np.array(path[::-1], dtype=np.int64)
