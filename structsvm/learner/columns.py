"""Columns that decide the result: those with codes of missing values, labels or changes."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from structsvm.data import (
    Data,
    Instance,
    Words,
    filled,
    is_constant,
    map_arrays,
    take_rows,
    values_of_columns,
)
from structsvm.errors import parameter, warn
from structsvm.learner.fitted import partition_of
from structsvm.partitions import EquivalenceMatrix
from structsvm.support import Floats, Ints, some_of
from structsvm.training_labels import Known

FAR = 10.0  # a code is farther from all other values than so many times their range
VARIED = 5  # the other values are so many different ones at least: a class of few has no code
EXPLAINED = 1 - 1e-9
"""The share of its scatter between labelled parts from which on a feature is constant in each."""
ROWS_THAT_TELL = 1000  # rows, about, whose median is the usual value of a column
MET = 0.5
"""The least share of changes that a column has to mark, and the largest of samples beside them."""
Flaw = tuple[str, str, dict[str, Any]]
"""What is wrong with columns, what to do about it, and the names and numbers in the sentence."""


def codes_in(
    instances: Sequence[Instance],
    names: Sequence[str],
    item: str,
    called: Callable[[int], str],
) -> Iterator[Flaw]:
    """Numbers that seem to stand for missing values: frequent, and far from all other values."""
    values = values_of_columns("looking for codes", instances)  # (N, 4, P)
    low = values.min(axis=(0, 1))
    high = values.max(axis=(0, 1))
    suspects: list[tuple[int, float]] = []
    for end in (low, high):
        distance = np.abs(values - end)
        # Other values are far from a code and near each other: one in between rules a code out.
        between = (distance > 0) & (distance <= FAR / (FAR + 1) * (high - low))
        columns = np.flatnonzero((low < high) & ~between.any(axis=(0, 1))).tolist()
        suspects += [(j, float(end[j])) for j in columns]
    if not suspects:
        return
    Xs = [instance.data for instance in instances]
    parts = map_arrays("looking at codes", _beside, Xs, [suspects] * len(Xs))
    codes = []
    by_name = defaultdict(list)
    for (j, value), beside in sorted(zip(suspects, zip(*parts, strict=True), strict=True)):
        items, ends, few = zip(*beside, strict=True)
        others = np.concatenate(ends)
        times = [len(each) for each in items]
        is_far = others.size and np.abs(others - value).min() > FAR * np.ptp(others)
        if sum(times) > 1 and is_far and len(set().union(*few)) >= VARIED:
            i = int(np.flatnonzero(times)[0])
            where = f"the first is {item} {items[i][0]} of " + called(i)
            codes.append(f"{names[j]} is {value:.6g} in {sum(times)} {item}s (" + where + ")")
            by_name[names[j]].append(value)
    if codes:
        yield (
            some_of(codes, 3) + ", far from all other values, which it outweighs",
            "if it stands for a missing value, leave these cells blank (NaN), and use "
            + parameter("missing", "interpolate")
            + " or 'mask'",
            {"codes": dict(by_name)},
        )


def _beside(X: Floats, codes: Sequence[tuple[int, float]]) -> list[tuple[Ints, Floats, set[float]]]:
    """For each code its rows, the least and the greatest of the other values, and some of them."""
    X = filled(X)
    places = []
    for j, value in codes:
        is_code = X[:, j] == value
        others = X[~is_code, j]
        ends = np.array([others.min(), others.max()]) if others.size else others
        places.append((np.flatnonzero(is_code), ends, set(others[:1000].tolist())))
    return places


def divided(truths: Sequence[Any]) -> list[tuple[int, EquivalenceMatrix]]:
    """The numbers and partitions of instances that are neither one part nor all single items."""
    numbered = [(i, partition_of(truth)) for i, truth in enumerate(truths) if truth is not None]
    return [(i, M) for i, M in numbered if 1 < M.n_clusters < M.n_samples]


Part = tuple[Data, EquivalenceMatrix]  # items of an instance, and their known partition


def labelled_parts(instances: Sequence[Instance], labels: Sequence[Any]) -> list[Part]:
    """The instances, or known parts of them, that are neither one part nor all single items."""
    parts = [(instances[i].data, M) for i, M in divided([_truth_of(known) for known in labels])]
    for instance, known in zip(instances, labels, strict=True):
        if _truth_of(known) is None:
            pieces = [(r, M) for r, M in zip(*known.part, strict=True) if 1 < M.n_clusters < r.size]
            parts += [(take_rows(instance.data, rows), M) for rows, M in pieces]
    return parts


def _truth_of(labels: Any) -> Any:
    return labels.truth if isinstance(labels, Known) else labels


def labels_in(parts: Sequence[Part], names: Sequence[str], words: Words) -> Iterator[Flaw]:
    """Columns that hold the labels: constant within each labelled part, and not between them."""
    if not parts:
        return
    arrays = [X for X, _ in parts]
    labels = [M.labels for _, M in parts]
    shares = np.array(map_arrays("looking for labels", _explained, arrays, labels))
    is_explained = (shares[:, 0] >= EXPLAINED * shares[:, 1]) & (shares[:, 1] > 0)
    columns = [names[j] for j in np.flatnonzero(is_explained.all(axis=0)).tolist()]
    if columns:
        yield (
            f"{some_of(columns)}: constant within every labelled {words.part} and not between "
            "them, which decides the result",
            f"leave out what was made of the labels, which new {words.whole}s do not have",
            {"features": columns},
        )


def _explained(X: Floats, labels: Any) -> Floats:
    """The scatter of each feature between the parts, and its whole scatter, (2, P)."""
    Z, scatter = centred_with_scatter(X)
    return np.stack([scatter_between(Z, labels), scatter])


def centred_with_scatter(X: Floats) -> tuple[Floats, Floats]:
    """The features about their means, and the scatter of each, (P,): 0 if it is constant."""
    X = filled(X)
    Z = X - X.mean(axis=0)
    return Z, np.where(is_constant(X), 0.0, (Z**2).sum(axis=0))


def scatter_between(Z: Floats, labels: Any) -> Floats:
    """The scatter of centred features between the parts, (P,)."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sums = np.add.reduceat(Z[order], starts, axis=0)
    sizes = np.diff(starts, append=len(Z))[:, None]
    return np.asarray((sums**2 / sizes).sum(axis=0))


def changes_in(parts: Sequence[Part], names: Sequence[str], words: Words) -> Iterator[Flaw]:
    """Columns that hold the changes: they have an unusual value beside changes, and only there."""
    segmented = [(X, M.boundaries[1:-1]) for X, M in parts if M.is_contiguous]
    if not segmented:
        return
    arrays = [X for X, _ in segmented]
    changes = [at for _, at in segmented]
    counts = np.sum(map_arrays("looking for changes", _beside_changes, arrays, changes), axis=0)
    unusual, hits, met, n_changes, nearby, n = counts
    # If few samples are beside changes, unusual values are not only there by chance.
    holds = (unusual == hits) & (unusual > 1) & (met >= MET * n_changes) & (nearby <= MET * n)
    columns = [names[j] for j in np.flatnonzero(holds).tolist()]
    if columns:
        yield (
            f"{some_of(columns)}: another value than elsewhere only where the labels change, which "
            "decides the result",
            f"leave out what was made of the labels, which new {words.whole}s do not have",
            {"features": columns},
        )


def _beside_changes(X: Floats, changes: Ints) -> Floats:
    """Counts for each column, (6, P).

    They are those of unusual samples and of those of them that are beside changes; of changes with
    an unusual sample and of all changes; of samples beside changes and of all samples.
    """
    X = filled(X)
    is_unusual = np.median(X[:: len(X) // ROWS_THAT_TELL + 1], axis=0) != X
    near = np.unique(np.concatenate([changes - 1, changes]))
    met = (is_unusual[changes - 1] | is_unusual[changes]).sum(axis=0)
    ones = np.ones(X.shape[1])
    sizes = (changes.size * ones, near.size * ones, len(X) * ones)
    return np.stack([is_unusual.sum(axis=0), is_unusual[near].sum(axis=0), met, *sizes])


def warn_of_columns(
    instances: Sequence[Instance],
    names: Sequence[str],
    words: Words,
    parts: Sequence[Part] = (),
) -> None:
    """Warn of columns with codes of missing values, and of those that hold labels or changes."""
    findings = list(codes_in(instances, names, words.item, words.numbered))
    holding = [*labels_in(parts, names, words), *changes_in(parts, names, words)]
    findings += [finding for finding in holding if len(finding[2]["features"]) < len(names)]
    for what, remedy, _ in findings:
        warn(what + ": " + remedy)
