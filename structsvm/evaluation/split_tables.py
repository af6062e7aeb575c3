"""Groups of rows, or of clusters, of tables held out in folds."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from structsvm.data import Words, near_rows
from structsvm.errors import DataError, parameter, without_warnings
from structsvm.evaluation.split_wholes import MOST_PARTS, Split
from structsvm.learner import TrainingSet
from structsvm.learner.training_set import CLUSTERS, ROWS, names_of_labels
from structsvm.support import Ints

ROWS_OF_A_CLUSTER = 2  # in each group of rows, on average
FEWEST_CLUSTERS = 4  # two to learn from and two to find
ATTEMPTS = 100  # draws of folds, of which those that repeat an earlier one are dropped


def question_in_words(kind: str, n: int, learned_again: bool = True) -> str:
    """Sentences on which gain ``n`` held-out groups of rows or clusters measure."""
    groups = f"each of {n} groups of {kind}"
    if kind == CLUSTERS:
        return (
            "This is the gain on clusters that the metric was not learned from: the rows of "
            f"{groups} were clustered by a metric learned from the rows of the other clusters."
        )
    how = "by a metric learned from the others" if learned_again else "separately"
    return (
        "This is the gain on further rows of the same clusters: "
        f"{groups} was clustered {how}. "
        "It does not estimate the gain on other tables or clusters."
    )


def fewest_rows(y: Any) -> int:
    """The least number of rows of a table with these labels that can be split."""
    return 2 * ROWS_OF_A_CLUSTER * np.unique(np.asarray(y)).size


def split_rows(data: TrainingSet, n_folds: Any, random_state: int | None) -> Split:
    """Hold groups of rows out, each with rows of every cluster; equal rows are in one group."""
    truths = data.truths
    words = data.problem.traits.words
    each = [M.n_samples // (ROWS_OF_A_CLUSTER * M.n_clusters) for M in truths]
    # A fold may hold out several groups.
    n = min(max(int(n_folds), MOST_PARTS), *each)
    first = int(np.argmin(each))
    same = near_rows(np.vstack(data.arrays))
    n_different = int(same.max()) + 1
    if n < 2 or n_different < n:
        M = truths[first]
        raise DataError(
            words.numbered(first)
            + f" has {words.items(M.n_samples)} in {words.parts(M.n_clusters)}, "
            f"of which none can be held out: {fewest_rows(M.labels)} different {words.item}s are "
            "the fewest"
        )
    starts = np.cumsum([0, *(M.n_clusters for M in truths[:-1])])
    strata = np.concatenate([np.asarray(M.labels) + k for M, k in zip(truths, starts, strict=True)])
    is_plain = n_different == same.size
    kind = StratifiedKFold if is_plain else StratifiedGroupKFold
    splitter = kind(n, shuffle=True, random_state=random_state)
    # A rare cluster is not in every group.
    with without_warnings(UserWarning, beginning="The least populated class"):
        tests = [test for _, test in splitter.split(strata, strata, None if is_plain else same)]
    tables = np.repeat(np.arange(len(data)), [M.n_samples for M in truths])
    firsts = np.searchsorted(tables, np.arange(len(data))).tolist()
    groups = [
        [(i, test[tables[test] == i] - first) for i, first in enumerate(firsts)]
        for test in tests
        if len(test)
    ]
    F = min(int(n_folds), len(groups))
    out = [list(chain.from_iterable(groups[k::F])) for k in range(F)]
    return _parts(data, out, ROWS)


def split_clusters(data: TrainingSet, n_folds: Any, random_state: int | None) -> Split:
    """Hold whole clusters out, equally many at a time, in several draws of folds."""
    words = data.problem.traits.words
    names = list(map(names_of_labels, data.given))
    number = {name: k for k, name in enumerate(dict.fromkeys(chain(*names)))}
    labels = [np.array([number[name] for name in own]) for own in names]
    K = len(number)
    if K < FEWEST_CLUSTERS:
        raise DataError(
            f"{words.parts(K)}: "
            + parameter("split", "clusters")
            + f" needs at least {FEWEST_CLUSTERS}, two to learn from and two to find; label more "
            f"{words.part}s, or use "
            + parameter("split", "rows")
            + f", which asks about further {words.item}s of these"
        )
    F = min(int(n_folds), K // 2)
    clusters = [set(y.tolist()) for y in labels]

    def is_judged(part: frozenset[int]) -> bool:
        """Whether there are two clusters to find in some table, and two to learn from."""
        return any(len(table & part) > 1 for table in clusters) and any(
            len(table - part) > 1 for table in clusters
        )

    rng = np.random.default_rng(random_state)
    drawn: list[frozenset[frozenset[int]]] = []
    for _ in range(ATTEMPTS):
        if len(drawn) * F >= MOST_PARTS:
            break
        parts = rng.permutation(K)[: K // F * F].reshape(F, -1)
        draw = frozenset(frozenset(part.tolist()) for part in parts)
        if draw not in drawn and all(map(is_judged, draw)):
            drawn.append(draw)
    if not drawn:
        raise DataError(
            f"the {words.wholes(len(data))} have too few {words.part}s in common: of those held "
            f"out together, as of the others, some {words.whole} must have two; label more in each"
        )
    clusters_out = [
        sorted(part) for part in chain.from_iterable(sorted(draw, key=sorted) for draw in drawn)
    ]
    out = [
        [(i, np.flatnonzero(np.isin(y, part))) for i, y in enumerate(labels)]
        for part in clusters_out
    ]
    shares = np.array([[bool(set(a) & set(b)) for b in clusters_out] for a in clusters_out])
    return _parts(data, out, CLUSTERS, len(drawn), shares)


def _parts(
    data: TrainingSet,
    held_out_rows: Sequence[Sequence[tuple[int, Ints]]],
    kind: str,
    draws: int = 1,
    shares: NDArray[np.bool_] | None = None,
) -> Split:
    """The split of tables, given the tables and rows that each fold holds out."""
    labels = [np.asarray(M.labels) for M in data.truths]
    fewest = 2 if kind == CLUSTERS else 1
    pieces: list[tuple[int, Ints]] = []
    held_out: list[int] = []
    training = []
    for k, parts in enumerate(held_out_rows):
        away = {i: np.concatenate([rows for j, rows in parts if j == i]) for i, _ in parts}
        kept = [(i, np.setdiff1d(np.arange(labels[i].size), rows)) for i, rows in away.items()]
        training.append(data.cut([(i, rows) for i, rows in kept if rows.size]))
        judged = [(i, rows) for i, rows in parts if np.unique(labels[i][rows]).size >= fewest]
        pieces += judged
        held_out += [k] * len(judged)
    fold = np.array(held_out)
    return Split(
        data.cut(pieces),
        fold,
        np.arange(len(pieces)) if kind == ROWS else fold,
        training,
        Words("row group" if kind == ROWS else "cluster group", "cluster", "row"),
        draws=draws,
        shares=shares,
        question=question_in_words(kind, len(pieces)),
        pieces=pieces,
    )
