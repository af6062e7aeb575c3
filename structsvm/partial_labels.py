"""Partial labels: the forms in which users write them, and the constraint that they stand for."""

import itertools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsvm.data import (
    UNKNOWN,
    check_vector,
    connected,
    label_values,
    numbered,
    refuse_missing,
    refuse_other_shape,
    unknown_labels,
    unlabelled,
)
from structsvm.errors import DataError, join, parameter
from structsvm.partitions import Constraint, Region
from structsvm.support import Ints, counted, is_whole

Pairs = tuple[tuple[int, int], ...]

Link = tuple[int, int, str]
"""Two rows that have to be in two clusters, and the label that says so."""

Count = tuple[int, int, int, int, str]
"""``(start, end, low, high, name)``: ``low <= c(end) - c(start) <= high``, where ``c(t)``
boundaries lie in ``1..t``; the name of the label that says so, or "" for what always holds."""

Edge = tuple[int, int, int, str]
"""``(tail, head, weight, name)``: ``c(head) <= c(tail) + weight``."""


@dataclass(frozen=True, eq=False)
class PartialLabels:
    """Partial labels of a recording, a table or a graph.

    Everything that is given is true at the same time; everything else is unknown.

    Parameters
    ----------
    labels : array of shape (T,), optional
        Numbers, with -1 for unknown labels, or names, with None, NaN, NaT, NA or "" for unknown
        ones. For segmentations, a change of label is a change point: labelled stretches are known
        sample by sample, and two stretches with different labels have at least one change between
        them; equal labels on both sides of unknown samples imply nothing. For clusterings, rows
        with equal labels are in the same cluster, and rows with different labels are not.
    regions : sequence of Region or of (start, end, changes)
        For segmentations: the number of changes at ``start, ..., end - 1``, where a change is at
        the first sample of the segment that it begins. A number is exact, and "1+" means at least
        one.
    must_link, cannot_link : sequence of pairs of int
        For clusterings: pairs of rows in the same cluster, or in different clusters.
    chunks : array of shape (T,), optional
        For clusterings: rows with the same number are in the same cluster, and -1 marks rows in no
        chunk (chunklets; Bar-Hillel et al., 2006). Two chunks may belong to one cluster.
    n_clusters : int, optional
        The exact number of segments or clusters.

    Raises
    ------
    DataError
        For labels that do not have these forms. :meth:`constraint` checks whether they fit a
        recording and do not contradict each other.

    Examples
    --------
    >>> from structsvm import PartialLabels
    >>> labels = PartialLabels(labels=[0, 0, -1, -1, 1, 1])
    >>> labels.is_complete
    False
    >>> PartialLabels(regions=[(100, 200, "1+")]).regions
    (Region(start=100, end=200, changes=1, or_more=True),)
    """

    labels: ArrayLike | None = None
    regions: Sequence[Any] = ()
    must_link: Sequence[tuple[int, int]] = ()
    cannot_link: Sequence[tuple[int, int]] = ()
    chunks: ArrayLike | None = None
    n_clusters: int | None = None
    codes: Ints | None = field(init=False, repr=False)
    """The labels as numbers, (T,)."""

    def __post_init__(self) -> None:
        for name, value in (
            ("codes", None if self.labels is None else _codes(self.labels, "labels")),
            ("chunks", None if self.chunks is None else _codes(self.chunks, "chunks")),
            ("regions", tuple(map(region_from, self.regions))),
            ("must_link", _pairs(self.must_link, "must_link")),
            ("cannot_link", _pairs(self.cannot_link, "cannot_link")),
        ):
            object.__setattr__(self, name, value)
        K = self.n_clusters
        if K is not None and (not is_whole(K) or K < 1):
            raise DataError(f"n_clusters of partial labels must be an integer >= 1, got {K!r}")

    @property
    def is_complete(self) -> bool:
        """Whether every sample has a label, so that the rest follows."""
        return self.codes is not None and bool((self.codes != UNKNOWN).all())

    def constraint(self, n_samples: int, contiguous: bool) -> Constraint:
        """Return the constraint that partitions of ``n_samples`` samples agree with these labels.

        Parameters
        ----------
        contiguous : bool
            Whether partitions are segmentations.

        Raises
        ------
        DataError
            If two labels contradict each other, or one does not fit the samples.
        """
        for name, vector in (("labels", self.codes), ("chunks", self.chunks)):
            if vector is not None:
                refuse_other_shape(np.asarray(vector), n_samples, "sample", name)
        are_links = self.must_link or self.cannot_link or self.chunks is not None
        links = "links and chunks are labels of clusterings; give labels with -1, or regions"
        regions = "regions are labels of segmentations; give links, chunks or labels"
        if contiguous and are_links:
            raise DataError(links)
        if not contiguous and self.regions:
            raise DataError(regions)
        return self._segments(n_samples) if contiguous else self._clusters(n_samples)

    def _segments(self, T: int) -> Constraint:
        for region in self.regions:
            if not 0 <= region.start < region.end <= T:
                raise DataError(f"{region} is not part of a recording of {T} samples")
        codes = np.full(T, UNKNOWN) if self.codes is None else self.codes
        pairs = (codes[:-1] != UNKNOWN) & (codes[1:] != UNKNOWN)
        changes = codes[:-1] != codes[1:]
        forced = np.flatnonzero(pairs & changes) + 1
        forbidden = np.flatnonzero(pairs & ~changes) + 1
        labelled_pairs = itertools.pairwise(np.flatnonzero(codes != UNKNOWN).tolist())
        gaps = [(i, j) for i, j in labelled_pairs if j > i + 1 and codes[i] != codes[j]]
        self._refuse_clashing_counts(T, forced, forbidden, gaps)
        _refuse_overlap(self.regions)
        return Constraint(
            n_clusters=self.n_clusters,
            forced=tuple(forced.tolist()),
            forbidden=tuple(forbidden.tolist()),
            regions=(*self.regions, *(Region(i + 1, j + 1, 1, or_more=True) for i, j in gaps)),
        )

    def _refuse_clashing_counts(
        self, T: int, forced: Ints, forbidden: Ints, gaps: Sequence[tuple[int, int]]
    ) -> None:
        """Refuse labels that no segmentation keeps, naming those that clash."""
        most = T - 1
        K = self.n_clusters
        counts: list[Count] = [
            (r.first - 1, r.end - 1, r.changes, most if r.or_more else r.changes, str(r))
            for r in self.regions
        ]
        for i, j in gaps:
            counts.append((i, j, 1, most, f"samples {i} and {j}, which have different labels"))
        if K is not None:
            counts.append((0, most, K - 1, K - 1, parameter("n_clusters", K)))
        if not counts:
            return
        points = np.unique([0, most, *chain.from_iterable(count[:2] for count in counts)])
        first = np.searchsorted(forced, points, "right").tolist()
        n_forbidden = np.searchsorted(forbidden, points, "right").tolist()
        for k, (p, q) in enumerate(itertools.pairwise(points.tolist())):
            must = forced[first[k] : first[k + 1]]
            may = q - p - (n_forbidden[k + 1] - n_forbidden[k])
            many = f"the labels of samples {p}..{q}, which change {must.size} times"
            if must.size == 1:
                many = f"the labels of samples {must[0] - 1} and {must[0]}, which differ"
            few = f"the labels of samples {p}..{q}, which leave room for {may} changes"
            counts.append((p, q, must.size, q - p, many if must.size else ""))
            counts.append((p, q, 0, may, few if may < q - p else ""))
        cycle = sorted(_clashing(counts), key=lambda edge: min(edge[:2]))
        names = list(dict.fromkeys(name for *_, name in cycle if name))
        if len(names) == 1:
            raise DataError(names[0] + ": there is no room for it")
        if names:
            raise DataError("labels that contradict each other: " + join(names, " and "))

    def _clusters(self, T: int) -> Constraint:
        for row in chain(*self.must_link, *self.cannot_link):
            if not 0 <= row < T:
                raise DataError(f"row {row} of a link is not one of {T} rows")
        together = list(self.must_link)
        apart = [(i, j, f"cannot-link ({i}, {j})") for i, j in self.cannot_link]
        named = []
        codes: Any
        for codes in (self.chunks, self.codes):
            for code in [] if codes is None else np.unique(codes[codes != UNKNOWN]):
                rows = np.flatnonzero(codes == code).tolist()
                named += rows[:1] if codes is self.codes else []
                together += itertools.pairwise(rows)
        apart += [
            (i, j, f"rows {i} and {j}, which have different labels")
            for i, j in itertools.combinations(named, 2)
        ]
        groups = _groups(T, together, apart)
        K = self.n_clusters
        if K is not None and not len(named) <= K <= len(groups):
            raise DataError(
                "labels that contradict each other: "
                + parameter("n_clusters", K)
                + f", but labels name {len(named)} clusters, and rows that are to be together "
                "leave "
                f"{counted(len(groups), 'group')}"
            )
        return Constraint(
            n_clusters=K,
            together=tuple(tuple(group) for group in groups if len(group) > 1),
            apart=tuple((i, j) for i, j, _ in apart),
        )


def as_partial(y: Any, n_samples: int, item: str = "sample") -> PartialLabels | None:
    """Partial labels, written as :class:`PartialLabels` or with -1; None if labels are full."""
    if isinstance(y, PartialLabels):
        return y
    values = label_values(y)
    if values.shape != (n_samples,):
        return None
    refuse_missing(values, item)
    return PartialLabels(labels=values) if unlabelled(values).any() else None


def known_where(values: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
    """Labels (T,) with -1 wherever they are not ``known``; whole numbers become integers."""
    if values.dtype.kind in "iuf":
        numbers = np.where(known, values, UNKNOWN)
        whole = bool((numbers == np.round(numbers)).all())
        return numbers.astype(np.int64) if whole else numbers
    values_known = np.full(values.shape, UNKNOWN, dtype=object)
    values_known[known] = values[known].tolist()
    return values_known


def _clashing(counts: Sequence[Count]) -> list[Edge]:
    """The edges of counts that contradict each other; none if one segmentation satisfies them all.

    Each count is two edges ``c(head) <= c(tail) + weight``. Counts contradict each other if their
    edges have a cycle of negative weight, which the algorithm of Bellman and Ford finds: it is
    among the edges that last shortened the path to a point.
    """
    edges = [(a, b, high, name) for a, b, _, high, name in sorted(counts, key=lambda c: c[0])]
    by_end = sorted(counts, key=lambda count: count[1], reverse=True)
    edges += [(b, a, -low, name) for a, b, low, _, name in by_end]
    distance = dict.fromkeys(chain.from_iterable(count[:2] for count in counts), 0)
    last: dict[int, Edge] = {}
    while True:
        point = None
        for edge in edges:
            tail, head, weight, _ = edge
            if distance[tail] + weight < distance[head]:
                distance[head] = distance[tail] + weight
                last[head] = edge
                point = head
        if point is None:
            return []
        passed: set[int] = set()
        while point in last and point not in passed:
            passed.add(point)
            point = last[point][0]
        if point in last:
            cycle = [last[point]]
            while cycle[-1][0] != point:
                cycle.append(last[cycle[-1][0]])
            return cycle


def _refuse_overlap(regions: Sequence[Region]) -> None:
    """Refuse exact regions that overlap, unless one holds the other and both count the same."""
    counted = sorted({r for r in regions if r.changes and not r.or_more}, key=lambda r: r.first)
    for k, a in enumerate(counted):
        for b in itertools.islice(counted, k + 1, None):
            if b.first >= a.end:
                break  # regions that start later do not overlap either
            nested = b.end <= a.end or b.first == a.first
            if not (nested and a.changes == b.changes):
                raise DataError(
                    f"{a} and {b} overlap and count exactly, which can be true but is not "
                    "supported: cut them so that they do not overlap"
                )


def _codes(labels: ArrayLike, name: str) -> Ints:
    values = label_values(labels)
    check_vector(values, name)
    is_labelled = ~unknown_labels(values)
    codes = np.full(values.size, UNKNOWN, dtype=np.int64)
    codes[is_labelled] = numbered(values[is_labelled], name)[1]
    return codes


def region_from(written: Any) -> Region:
    region = written if isinstance(written, Region) else None
    with suppress(TypeError, ValueError):
        if region is None:
            start, end, changes = written
            text = str(changes).strip()
            numbers = [float(value) for value in (start, end, text.removesuffix("+"))]
            if all(number.is_integer() for number in numbers):  # fractions are not truncated
                first, last, count = map(int, numbers)
                region = Region(first, last, count, text.endswith("+"))
    if region is None or region.changes < 0 or (region.or_more and region.changes != 1):
        raise DataError(
            f"a region is (start, end, changes), changes 0, 1, 2, ... or '1+', got {written!r}"
        )
    return region


def _pairs(links: Sequence[tuple[int, int]], name: str) -> Pairs:
    array = np.asarray(list(links))
    if array.size == 0:
        return ()
    are_pairs = array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iu"
    if not are_pairs or (array[:, 0] == array[:, 1]).any():
        raise DataError(f"{name} must be pairs of different row numbers, got {links!r}")
    return tuple((int(i), int(j)) for i, j in array)


def _groups(
    n_samples: int, together: Sequence[tuple[int, int]], apart: Sequence[Link]
) -> list[list[int]]:
    """The rows of each group that has to be in one cluster; refuse labels that contradict it."""
    group = connected(together, n_samples)
    for first, second, name in apart:
        if group[first] == group[second]:
            rows = np.flatnonzero(group == group[first]).tolist()
            raise DataError(
                f"labels that contradict each other: {name}, and those by which rows "
                f"{', '.join(map(str, rows[:10]))}{' ...' if len(rows) > 10 else ''} are together"
            )
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    return [rows.tolist() for rows in members]
