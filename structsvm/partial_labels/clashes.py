"""Labels that contradict each other, found and named."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from structsvm.errors import DataError


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
    """Raise DataError, naming those that clash, if no segmentation has all these counts."""
    by_start = sorted(counts, key=lambda c: c.start)
    by_end = sorted(counts, key=lambda c: c.end, reverse=True)
    edges = [_Edge(c.start, c.end, c.high, c.name) for c in by_start]
    edges += [_Edge(c.end, c.start, -c.low, c.name) for c in by_end]
    distance = {point: 0 for c in counts for point in (c.start, c.end)}
    last: dict[int, _Edge] = {}
    cycle: list[_Edge] = []
    while not cycle:
        touched = False
        for edge in edges:
            reached = distance[edge.tail] + edge.weight
            if reached < distance[edge.head]:
                distance[edge.head], last[edge.head] = reached, edge
                touched = True
        if not touched:
            return
        cycle = _cycle(last)
    cycle.sort(key=lambda edge: min(edge.tail, edge.head))
    names = list(dict.fromkeys(edge.name for edge in cycle if edge.name))
    if len(names) == 1:
        raise DataError(f"{names[0]}: there is no room for it")
    raise DataError(f"labels that contradict each other: {' and '.join(names)}")


def _cycle(last: dict[int, _Edge]) -> list[_Edge]:
    """A cycle among the last edges of shortest paths, which is of negative weight, if any."""
    seen: dict[int, int] = {}
    for number, begin in enumerate(last):
        point = begin
        while point in last and point not in seen:
            seen[point] = number
            point = last[point].tail
        if seen.get(point) == number:
            cycle = [last[point]]
            while cycle[-1].tail != point:
                cycle.append(last[cycle[-1].tail])
            return cycle
    return []


def refuse_clashing_links(
    n_samples: int, together: Sequence[Link], apart: Sequence[Link]
) -> list[list[int]]:
    """The groups of rows that have to be in one cluster, in order."""
    neighbours: list[list[Link]] = [[] for _ in range(n_samples)]
    for link in together:
        neighbours[link.i].append(link)
        neighbours[link.j].append(Link(link.j, link.i, link.name))
    group = [-1] * n_samples
    groups: list[list[int]] = []
    for row in range(n_samples):
        if group[row] < 0:
            reached = sorted(_path_tree(neighbours, row))
            for member in reached:
                group[member] = len(groups)
            groups.append(reached)
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
