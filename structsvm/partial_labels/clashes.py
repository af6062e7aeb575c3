"""Labels that contradict each other, found and named."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from structsvm.errors import DataError

__all__ = ["Count", "Link", "refuse_clashing_counts", "refuse_clashing_links"]


@dataclass(frozen=True)
class Count:
    """``low <= c(end) - c(start) <= high``, where ``c(t)`` boundaries lie in ``1..t``."""

    start: int
    end: int
    low: int
    high: int
    name: str = ""
    """What to call the label that says so; empty for what holds of every recording."""


@dataclass(frozen=True)
class Link:
    """Two rows that have to be in one cluster, or in two."""

    i: int
    j: int
    name: str


@dataclass(frozen=True)
class _Edge:
    """``c(head) <= c(tail) + weight``."""

    tail: int
    head: int
    weight: int
    name: str


def refuse_clashing_counts(counts: Sequence[Count]) -> None:
    """Raise DataError, naming those that clash, if no segmentation has all these counts.

    A system of difference constraints: it has a solution, and then one in whole numbers, unless its
    graph has a cycle of negative weight, and the labels on that cycle contradict each other.
    """
    edges = [_Edge(c.start, c.end, c.high, c.name) for c in counts]
    edges += [_Edge(c.end, c.start, -c.low, c.name) for c in counts]
    distance = {point: 0 for c in counts for point in (c.start, c.end)}
    last: dict[int, _Edge] = {}
    touched = -1
    for _ in range(len(distance) + 1):
        touched = -1
        for edge in edges:
            reached = distance[edge.tail] + edge.weight
            if reached < distance[edge.head]:
                distance[edge.head], last[edge.head] = reached, edge
                touched = edge.head
        if touched < 0:
            return
    for _ in distance:  # from anywhere behind the cycle onto it
        touched = last[touched].tail
    cycle = [last[touched]]
    while cycle[-1].tail != touched:
        cycle.append(last[cycle[-1].tail])
    names = list(dict.fromkeys(edge.name for edge in cycle if edge.name))
    if len(names) == 1:
        raise DataError(f"{names[0]}: there is no room for it")
    raise DataError(f"labels that contradict each other: {' and '.join(names)}")


def refuse_clashing_links(
    n_samples: int, together: Sequence[Link], apart: Sequence[Link]
) -> list[list[int]]:
    """The groups of rows that have to be in one cluster, in order; DataError if two have not to."""
    neighbours: list[list[Link]] = [[] for _ in range(n_samples)]
    for link in together:
        neighbours[link.i].append(link)
        neighbours[link.j].append(Link(link.j, link.i, link.name))
    group = [-1] * n_samples
    groups: list[list[int]] = []
    for row in range(n_samples):
        if group[row] < 0:
            reached = list(_path_tree(neighbours, row))
            for member in reached:
                group[member] = len(groups)
            groups.append(sorted(reached))
    for link in apart:
        if group[link.i] == group[link.j]:
            names = [link.name, *_path(neighbours, link.i, link.j)]
            raise DataError(f"labels that contradict each other: {' and '.join(names)}")
    return groups


def _path_tree(neighbours: Sequence[Sequence[Link]], root: int) -> dict[int, Link | None]:
    """Every row that is linked to ``root``, and the link by which it was reached."""
    reached: dict[int, Link | None] = {root: None}
    waiting = deque([root])
    while waiting:
        for link in neighbours[waiting.popleft()]:
            if link.j not in reached:
                reached[link.j] = link
                waiting.append(link.j)
    return reached


def _path(neighbours: Sequence[Sequence[Link]], i: int, j: int) -> Iterable[str]:
    """The names of the links that lead from i to j, as few as can be."""
    reached = _path_tree(neighbours, i)
    names = []
    while (link := reached[j]) is not None:
        names.append(link.name)
        j = link.i
    return [name for name, _ in itertools.groupby(reversed(names))]
