"""Labels that are known in part: what they say of a partition, and the parts that are known."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsvm.data.checks import one_each, refuse_other_shape
from structsvm.data.copies import connected
from structsvm.data.labels import (
    UNKNOWN,
    check_vector,
    label_values,
    numbered,
    refuse_missing,
    unknown_labels,
    unlabelled,
)
from structsvm.data.reading import labels_that_came
from structsvm.data.sample import Sample
from structsvm.data.words import GRAPHS, IMAGES, RECORDINGS, Words
from structsvm.errors import DataError, about, refuse
from structsvm.graphs.label_maps import is_picture, label_map_of, levelled
from structsvm.graphs.labelled_nodes import NodeLabels
from structsvm.messages import join, parameter
from structsvm.partitions.equivalence import (
    EquivalenceMatrix,
    partition_loss,
    runs_of,
    stretches_of,
)
from structsvm.partitions.oracle import UNCONSTRAINED, Constraint, Region
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.arrays import Ints
from structsvm.support.checks import counted, is_whole, read_only
from structsvm.support.contract import asked, raise_wrong

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

    All that is given holds together; everything else is unknown.

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
        refuse(
            DataError, (contiguous and are_links, links), (not contiguous and self.regions, regions)
        )
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
        known = itertools.pairwise(np.flatnonzero(codes != UNKNOWN).tolist())
        gaps = [(i, j) for i, j in known if j > i + 1 and codes[i] != codes[j]]
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
        points = np.unique([0, most, *(point for count in counts for point in count[:2])])
        first = np.searchsorted(forced, points, "right").tolist()
        held = np.searchsorted(forbidden, points, "right").tolist()
        for k, (p, q) in enumerate(itertools.pairwise(points.tolist())):
            must = forced[first[k] : first[k + 1]]
            may = q - p - (held[k + 1] - held[k])
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
        for row in itertools.chain(*self.must_link, *self.cannot_link):
            refuse(DataError, (not 0 <= row < T, f"row {row} of a link is not one of {T} rows"))
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
    """Labels as users write them, if they are partial: :class:`PartialLabels`, or with -1."""
    if isinstance(y, PartialLabels):
        return y
    values = label_values(y)
    if values.shape != (n_samples,):
        return None
    refuse_missing(values, item)
    return PartialLabels(labels=values) if unlabelled(values).any() else None


def known_where(values: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
    """Labels as they are, (T,), whole numbers as integers, and -1 for those that are not known."""
    if values.dtype.kind in "iuf":
        numbers = np.where(known, values, UNKNOWN)
        whole = bool((numbers == np.round(numbers)).all())
        return numbers.astype(np.int64) if whole else numbers
    found = np.full(values.shape, UNKNOWN, dtype=object)
    found[known] = values[known].tolist()
    return found


def _clashing(counts: Sequence[Count]) -> list[Edge]:
    """Counts that no segmentation has all of; none if there is one that has all.

    Each is two edges ``c(head) <= c(tail) + weight``, and they clash where these have a cycle of
    negative weight, which the last edges of shortest paths then have (Bellman and Ford).
    """
    edges = [(a, b, high, name) for a, b, _, high, name in sorted(counts, key=lambda c: c[0])]
    by_end = sorted(counts, key=lambda count: count[1], reverse=True)
    edges += [(b, a, -low, name) for a, b, low, _, name in by_end]
    distance = {point: 0 for count in counts for point in count[:2]}
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
    """Regions that count exactly may lie inside one of the same count, and not overlap else."""
    counted = sorted({r for r in regions if r.changes and not r.or_more}, key=lambda r: r.first)
    for k, a in enumerate(counted):
        for b in itertools.islice(counted, k + 1, None):
            if b.first >= a.end:
                break  # nor do those overlap that start later
            nested = b.end <= a.end or b.first == a.first
            if not (nested and a.changes == b.changes):
                raise DataError(
                    f"{a} and {b} overlap and count exactly, which can be true but is not "
                    "supported: cut them so that they do not overlap"
                )


def _codes(labels: ArrayLike, name: str) -> Ints:
    values = label_values(labels)
    check_vector(values, name)
    known = ~unknown_labels(values)
    codes = np.full(values.size, UNKNOWN, dtype=np.int64)
    codes[known] = numbered(values[known], name)[1]
    return codes


def region_from(given: Any) -> Region:
    region = given if isinstance(given, Region) else None
    with suppress(TypeError, ValueError):
        if region is None:
            start, end, changes = given
            text = str(changes).strip()
            numbers = [float(value) for value in (start, end, text.removesuffix("+"))]
            if all(number.is_integer() for number in numbers):  # nothing is cut off
                first, last, count = map(int, numbers)
                region = Region(first, last, count, text.endswith("+"))
    if region is None or region.changes < 0 or (region.or_more and region.changes != 1):
        raise DataError(
            f"a region is (start, end, changes), changes 0, 1, 2, ... or '1+', got {given!r}"
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
    """The groups of rows that have to be in one cluster, in order."""
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


# ---- what is known of the samples of a training set


@dataclass(frozen=True, eq=False)
class Known:
    n_samples: int
    constraint: Constraint
    truth: EquivalenceMatrix | None
    """The partition itself, if that is known."""
    contiguous: bool = False
    """Where the partition is not known: whether it is a segmentation."""
    codes: Ints | None = None
    """Numbers of the labels of a recording that is labelled in part, -1 for none, (T,)."""

    @classmethod
    def of(cls, truth: EquivalenceMatrix) -> Known:
        return cls(truth.n_samples, Constraint(n_clusters=truth.n_clusters), truth)

    @property
    def part(self) -> tuple[list[Ints], list[EquivalenceMatrix]]:
        """The rows of each stretch, or of the table, of which the partition is known, and it."""
        if self.truth is not None:
            return [np.arange(self.n_samples)], [self.truth]
        if self.contiguous:  # where it is known of each sample whether a segment begins there
            allowed, forced = self.constraint.boundary_masks(self.n_samples)
            found = stretches_of(forced | ~allowed, forced)
            return [np.arange(a, b) for a, b, _ in found], [truth for *_, truth in found]
        groups = self.constraint.together
        if not groups:
            return [], []
        numbers = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        return [np.concatenate(groups)], [EquivalenceMatrix.from_labels(numbers)]

    @cached_property
    def rows(self) -> Ints:
        """The items that are labelled, by which partitions are scored."""
        if self.truth is not None:
            return np.arange(self.n_samples)
        return np.flatnonzero(np.empty(0) if self.codes is None else self.codes != UNKNOWN)

    @cached_property
    def scored(self) -> EquivalenceMatrix | None:
        """The partition of the labelled items; None where single items have no labels.

        Two that follow each other with equal labels are in one segment, whatever is between them.
        """
        if self.truth is not None or not self.rows.size:
            return self.truth
        assert self.codes is not None
        return runs_of(self.codes[self.rows])

    def of_scored(self, M: EquivalenceMatrix) -> EquivalenceMatrix:
        """A segmentation of all items as one of those that are labelled.

        Between equal labels there may be other segments: several changes among items without a
        label are neither right nor wrong there, and a single one is wrong.
        """
        if self.truth is not None:
            return M
        assert self.codes is not None
        n_changes = np.diff(np.asarray(M.labels)[self.rows])
        is_same = np.diff(self.codes[self.rows]) == 0
        begins = np.where(is_same, n_changes == 1, n_changes > 0)
        return runs_of(np.concatenate([[0], np.cumsum(begins)]))

    @property
    def drawn(self) -> EquivalenceMatrix:
        """The partition in which items without a label are parts of their own."""
        return self.truth if self.codes is None else runs_of(self.codes)  # type: ignore[return-value]

    @property
    def names_clusters(self) -> bool:
        if self.truth is not None or self.contiguous:
            return True
        home = {row: k for k, group in enumerate(self.constraint.together) for row in group}
        apart = {frozenset((home.get(i, -1), home.get(j, -2))) for i, j in self.constraint.apart}
        n = len(self.constraint.together)
        return all(frozenset((a, b)) in apart for a in range(n) for b in range(a + 1, n))

    @property
    def n_changes(self) -> int:
        if self.truth is not None:
            return self.truth.n_clusters - 1
        counted = sum(r.changes for r in self.constraint.regions)
        K = self.constraint.n_clusters or 1
        return max(len(self.constraint.forced) + counted, K - 1)

    def loss(self, M: EquivalenceMatrix) -> float:
        """Distance of a partition from what is known; 0 if it agrees.

        The loss ``|M - M_i|_F^2`` within every stretch whose partition is known, 1 for each region
        with another number of changes, and the clusters too many or too few. Where no partition is
        known, 1 for each pair of rows in one cluster that are to be in two.
        """
        if self.truth is not None:
            return partition_loss(self.truth, M)
        K = self.constraint.n_clusters
        wrong = 0 if K is None else abs(K - M.n_clusters)
        wrong += sum(not r.holds(M.boundaries) for r in self.constraint.regions if r.changes)
        if self._union is None:
            return float(sum(M.labels[i] == M.labels[j] for i, j in self.constraint.apart) + wrong)
        rows, apart, truth = self._union
        return partition_loss(truth, EquivalenceMatrix.from_labels(apart + M.labels[rows])) + wrong

    @cached_property
    def _union(self) -> tuple[Ints, Ints, EquivalenceMatrix] | None:
        """The rows of all parts, what keeps their labels apart, and their partitions as one.

        Clusters of different parts have no row in common, so that the losses within parts add up to
        that of their union.
        """
        parts, truths = self.part
        if not parts:
            return None
        apart = np.repeat(np.arange(len(parts)), [rows.size for rows in parts]) * self.n_samples
        labels = np.concatenate([np.asarray(M.labels) for M in truths])
        return np.concatenate(parts), apart, EquivalenceMatrix.from_labels(apart + labels)


def read_labels(
    problem: PartitionProblem, samples: Sequence[Sample], ys: Sequence[Any]
) -> list[Known]:
    """Labels of each sample (:func:`labels_of_each`) as users write them, full or partial."""
    words = problem.traits.words
    found = []
    for i, (sample, y) in enumerate(zip(samples, ys, strict=True)):
        where = words.numbered(i)
        with about(where), asked(problem, "encode", where):
            given = read_only(y) if type(y) is np.ndarray else y
            found.append(_read(problem, sample, problem.learning.known_labels(given, sample)))
    return found


def _read(problem: PartitionProblem, sample: Sample, y: Any) -> Known:
    """What the labels of a sample say; in part, how many clusters where K has to be known."""
    traits = problem.traits
    T = sample.n_samples
    labels = as_partial(y, T, traits.words.item)
    constraint = UNCONSTRAINED
    if labels is not None:
        constraint = labels.constraint(T, traits.contiguous)
    if labels is None or labels.is_complete:
        M: Any = problem.encode(y if labels is None else labels.codes, sample)
        if not isinstance(M, EquivalenceMatrix | NodeLabels) or M.n_samples != T:
            right = f"an EquivalenceMatrix of {traits.words.items(T)}"
            right += ", such as EquivalenceMatrix.from_labels(labels)"
            raise_wrong(problem, "encode", M, right)
        return Known.of(M)  # type: ignore[arg-type]
    if traits.given_k and constraint.n_clusters is None and not constraint.says_nothing:
        named = 0 if traits.contiguous or labels.codes is None else int(labels.codes.max()) + 1
        if named < 2:
            raise DataError(
                f"the problem says that the number of {traits.words.part}s is known, and labels in "
                "part do not give it: let the problem say that it is unknown, "
                + parameter("cluster_count", "unknown")
                + ", or give n_clusters with the partial labels"
            )
        constraint = constraint.with_clusters(named)
    return Known(
        T, constraint, None, traits.contiguous, labels.codes if traits.contiguous else None
    )


def labels_of_each(ys: Any, samples: Sequence[Sample], words: Words) -> list[Any]:
    """The labelling of each sample; a single sample may come with its labels alone."""
    ys = labels_that_came(samples, words) if ys is None else ys
    if ys is None:
        raise DataError(
            "there are no labels: this requires y to be passed, but the target y is None"
        )
    ys = ys.to_numpy() if hasattr(ys, "to_numpy") else ys  # a column of a data frame
    single = isinstance(ys, PartialLabels) or (len(samples) == 1 and is_single(ys, words))
    labels: list[Any] = one_each([ys] if single else ys, len(samples), words)
    if words in (GRAPHS, IMAGES):
        return [
            label_map_of(y) if is_picture(y) else levelled(y, "labels of " + words.numbered(i))
            for i, y in enumerate(labels)
        ]
    return labels


def is_single(ys: Any, words: Words = RECORDINGS) -> bool:
    """Whether labels are those of one sample, and not a list of such labels."""
    pictured = words in (GRAPHS, IMAGES)
    if isinstance(ys, PartialLabels | Mapping) or (pictured and is_picture(ys)):
        return True
    alone = ys[0] if isinstance(ys, list | tuple) and len(ys) == 1 else ys
    if alone is None or (pictured and is_picture(alone)):
        return False
    ys = ys.to_numpy() if hasattr(ys, "to_numpy") else ys
    if isinstance(ys, np.ndarray) and ys.dtype != object:
        return pictured or ys.ndim != 2 or len(ys) != 1  # (1, T) is a list of one
    try:
        return np.ndim(ys[0]) == 0 and not isinstance(ys[0], PartialLabels | Mapping)
    except (IndexError, KeyError, TypeError, ValueError):  # none, or rows of several lengths
        return False
