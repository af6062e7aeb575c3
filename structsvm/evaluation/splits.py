"""What is held out of labelled samples: whole ones, groups of rows, some clusters, or states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

from structsvm.data.copies import contents, joined, near_rows
from structsvm.data.labels import label_values
from structsvm.data.per_sample import units_of
from structsvm.data.words import TABLES, Words
from structsvm.errors import (
    DataError,
    DataWarning,
    LearningError,
    SettingsError,
    among,
    without_warnings,
)
from structsvm.learner.fitted import words_of
from structsvm.learner.memory import even_part
from structsvm.learner.names import are_names
from structsvm.learner.training_set import (
    CLUSTERS,
    ROWS,
    STATES,
    TrainingSet,
    names_of_labels,
)
from structsvm.learner.truths import check_truths
from structsvm.messages import parameter
from structsvm.partial_labels import PartialLabels
from structsvm.support import archive
from structsvm.support.arrays import Ints
from structsvm.support.checks import counted, is_whole
from structsvm.training_labels import Known

SPLIT_TABLE = (
    ". Or let it be split: "
    + parameter("split", "rows")
    + " holds out rows of the clusters it has, "
    + parameter("split", "clusters")
    + " whole clusters"
)
SPLITS = (ROWS, CLUSTERS, STATES)
MOST_PARTS = 10
"""Groups of rows, or of clusters, or folds without a state, over all draws."""
ROWS_OF_A_CLUSTER = 2  # in each group of rows, on average
FEWEST_CLUSTERS = 4  # two to learn from and two to find
FEWEST_STATES = 3  # two to learn from and one to hide
ATTEMPTS = 100  # to draw folds of clusters that were not drawn before


@dataclass(frozen=True, eq=False)
class Split:
    """Held-out samples in folds, and the training set of each fold."""

    held_out: TrainingSet
    """M samples: those that were given, or parts of them."""
    fold: Ints
    """The fold of each, 0, 1, ..., (M,)."""
    units: Ints
    """The group of each, or its own number where there are no groups, (M,); copies are of one."""
    training: Sequence[TrainingSet]
    """What is learned from while a fold is held out, for each fold."""
    words: Words
    """What the samples that are held out are called."""
    numbers: Ints | None = None
    """A number for each of them, the same for copies, (M,); None if there are none."""
    draws: int = 1
    """How often everything is held out, each time in other folds."""
    shares: NDArray[np.bool_] | None = None
    """Whether two folds hold out some of the same, (n_folds, n_folds); None if none do."""
    question: str = ""
    """A sentence that says what is answered by holding these out, and what is not."""
    pieces: Sequence[tuple[int, Ints]] = ()
    """Of which sample each is a part, and of which of its rows; empty if samples are whole."""
    whole: tuple[TrainingSet, Sequence[Ints]] | None = None
    """All samples, and which of them each fold holds out, if all can be learned from at once."""

    def __len__(self) -> int:
        return len(self.training)

    def test(self, k: int) -> Ints:
        """Numbers of the samples that are held out in fold ``k``."""
        return np.flatnonzero(self.fold == k)

    def train(self, k: int) -> Ints:
        """Numbers of the samples to learn from while fold ``k`` is held out."""
        if self.shares is None:
            return np.flatnonzero(self.fold != k)
        return np.flatnonzero(~self.shares[k][self.fold])

    def draws_among(self, which: Ints) -> float:
        """How often these samples are held out in all, where each draw holds out other folds."""
        if self.draws == 1:
            return 1.0
        folds = np.unique(self.fold[which])
        n_folds = len(self) // self.draws  # in each draw, one after another
        return folds.size / int(np.bincount(folds // n_folds).max())

    def test_set(self, k: int) -> TrainingSet:
        return self.held_out.at(self.test(k))

    def learned_without(self, k: int, learner: Any, **given: Any) -> Any:
        """The learner, which is cloned, of what fold ``k`` does not hold out."""
        own = clone(learner)
        try:
            with without_warnings(DataWarning, ConvergenceWarning), among():
                own.fit(self.training[k], **given)
        except LearningError as error:
            error.add_note(f"so it is without the {self.words.whole}s of fold {k}")
            raise
        return own


def split_samples(asked: str | None, data: TrainingSet, cv: Any, random_state: int | None) -> Split:
    """Hold out whole samples, groups of rows, clusters, or samples and one of their states."""
    divides = asked in (ROWS, CLUSTERS)
    words = data.problem.traits.words
    if cv is None:
        # A metric that tells two clusters apart may not tell a dozen apart, and one that is learned
        # from half of the clusters is not like one that is learned from all.
        cv = 3 if asked == CLUSTERS else 5
    if isinstance(cv, bool) or (is_whole(cv) and cv < 2) or (divides and not is_whole(cv)):
        other = "" if divides else ", or a splitter"
        raise SettingsError(f"cv must be at least 2 folds{other}, got {cv!r}")
    if divides and data.asks is None:
        raise DataError(
            parameter("split", asked)
            + f" is for tables: the {words.item}s of a {words.whole} have an order or "
            f"neighbours, and are not split like the rows of a table; leave split out, and "
            f"{words.whole}s are held out as a whole"
        )
    if divides:
        check_truths(data.problem.traits, data.truths)
    if divides and data.groups is not None:
        raise SettingsError(
            f"groups are of whole {words.whole}s, which "
            + parameter("split", asked)
            + " divides: leave one out"
        )
    splits = {ROWS: split_rows, CLUSTERS: split_clusters, STATES: split_states, None: split_wholes}
    return splits[asked](data, cv, random_state)


# ---- whole samples


def split_wholes(data: TrainingSet, cv: Any, random_state: int | None) -> Split:
    """Hold whole samples out, groups and copies together, but none that cannot be scored."""
    N = len(data)
    words = data.problem.traits.words
    groups = data.groups
    full = data.scorable
    numbers = contents([sample.data for sample in data.samples])
    names, units = units_of(groups, N, words)
    if np.unique(units[full]).size < 2:
        what = f"one {words.whole}" if groups is None else f"one group of {words.wholes(N)}"
        what = what if full.any() else f"no {words.whole}"
        what += "" if full.all() else f" whose {words.item}s have labels"
        raise DataError(
            f"{what}: nothing can be held out "
            "to choose and evaluate by; label another one, or use MetricLearner, which needs only "
            "one" + (SPLIT_TABLE if words is TABLES and N == 1 else "")
        )
    apart = joined(units, numbers)
    fold = np.full(N, -1)
    judged = full if is_whole(cv) else np.ones(N, dtype=bool)  # a splitter counts all samples
    fold[judged] = _held_out(cv, units[judged], apart[judged], groups, random_state, words)
    fold[~full] = -1
    fold[full] = np.unique(fold[full], return_inverse=True)[1]
    training = []
    teaches = np.array([known.n_changes > 0 for known in data.labels]) & (data.weights > 0)
    for k in range(int(fold.max()) + 1):
        divided = np.intersect1d(units[full & (fold != k)], units[fold == k])
        if divided.size:
            raise SettingsError(
                f"cv divides the group {names[divided[0]]!r}: use GroupKFold, or a number"
            )
        learned = (fold != k) & (full | ~np.isin(apart, apart[fold == k]))
        if not teaches[learned].any() or not (learned & full).any():
            raise DataError(
                f"only {int(teaches.sum())} of {words.wholes(N)} have two {words.part}s or more, "
                f"all held out at once in fold {k}: label more, or use more folds"
            )
        training.append(data.at(np.flatnonzero(learned)).told_apart)
    called = words_of(data.problem, data.samples)
    which = np.flatnonzero(full)
    fold = fold[full]
    apart = apart[full]
    numbers = numbers[full]
    in_memory = even_part(data, archive.GATHERED).size == N
    whole = data.told_apart, [which[fold == k] for k in range(len(training))]
    at_once = whole if in_memory and data.weights.all() else None
    return Split(data.at(which), fold, apart, training, called, numbers, whole=at_once)


def _held_out(
    cv: Any, units: Ints, apart: Ints, groups: Any, random_state: int | None, words: Words
) -> Ints:
    """The fold of each recording, (N,), by a number of folds or a splitter."""
    N = units.size
    splitter = cv
    together = None if groups is None else units
    if isinstance(cv, int | np.integer):
        if 1 < np.unique(apart).size < np.unique(units).size:  # copies are held out together
            together = apart
        kind = KFold if together is None else GroupKFold
        n_splits = min(int(cv), np.unique(units if together is None else together).size)
        splitter = kind(n_splits, shuffle=True, random_state=random_state)
    held_out = np.zeros(N, dtype=np.int64)
    times = np.zeros(N, dtype=np.int64)
    # A splitter that ignores the groups is found out by who calls this.
    with without_warnings(Warning, beginning="The groups parameter is ignored"):
        splits = check_cv(splitter).split(np.zeros((N, 1)), groups=together)
        for k, (train, test) in enumerate(splits):
            held_out[test] = k
            times[test] += 1
            times[np.setdiff1d(np.arange(N), [*train, *test])] += 2  # neither
    if (times != 1).any():
        raise SettingsError(
            f"cv must hold every {words.whole} out exactly once, which it does not with "
            + words.numbered(int((times != 1).argmax()))
            + f", got {cv!r}"
        )
    return held_out


# ---- parts of tables


def question_in_words(asked: str, n: int, learned_again: bool = True) -> str:
    groups = f"each of {n} groups of {asked}"
    if asked == CLUSTERS:
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
    return 2 * ROWS_OF_A_CLUSTER * np.unique(np.asarray(y)).size


def split_rows(data: TrainingSet, n_folds: Any, random_state: int | None) -> Split:
    """Hold groups of rows out, which have rows of every cluster; like rows are in one group."""
    truths = data.truths
    words = data.problem.traits.words
    each = [M.n_samples // (ROWS_OF_A_CLUSTER * M.n_clusters) for M in truths]
    # As many groups as there are rows for, though several are held out at once.
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
    out = [[part for group in groups[k::F] for part in group] for k in range(F)]
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
        return any(len(own & part) > 1 for own in clusters) and any(
            len(own - part) > 1 for own in clusters
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
    held = [sorted(part) for draw in drawn for part in sorted(draw, key=sorted)]
    out = [[(i, np.flatnonzero(np.isin(y, part))) for i, y in enumerate(labels)] for part in held]
    shares = np.array([[bool(set(a) & set(b)) for b in held] for a in held])
    return _parts(data, out, CLUSTERS, len(drawn), shares)


def _parts(
    data: TrainingSet,
    out: Sequence[Sequence[tuple[int, Ints]]],
    asked: str,
    draws: int = 1,
    shares: NDArray[np.bool_] | None = None,
) -> Split:
    """The split of tables by the rows that each fold holds out."""
    labels = [np.asarray(M.labels) for M in data.truths]
    fewest = 2 if asked == CLUSTERS else 1
    pieces: list[tuple[int, Ints]] = []
    held_out: list[int] = []
    training = []
    for k, parts in enumerate(out):
        away = {i: np.concatenate([rows for j, rows in parts if j == i]) for i, _ in parts}
        rest = [(i, np.setdiff1d(np.arange(labels[i].size), rows)) for i, rows in away.items()]
        training.append(data.cut([(i, left) for i, left in rest if left.size]))
        judged = [(i, rows) for i, rows in parts if np.unique(labels[i][rows]).size >= fewest]
        pieces += judged
        held_out += [k] * len(judged)
    fold = np.array(held_out)
    return Split(
        data.cut(pieces),
        fold,
        np.arange(len(pieces)) if asked == ROWS else fold,
        training,
        Words("row group" if asked == ROWS else "cluster group", "cluster", "row"),
        draws=draws,
        shares=shares,
        question=question_in_words(asked, len(pieces)),
        pieces=pieces,
    )


# ---- whole recordings, and one of their states


def split_states(data: TrainingSet, cv: Any, random_state: int | None) -> Split:
    """Hold whole recordings out that have a state which is hidden from what is learned from."""
    labels = data.item_labels
    words = data.problem.traits.words
    if not data.problem.traits.contiguous or not are_names(data.samples, labels):
        raise DataError(
            parameter("split", "states")
            + " hides one state of recordings after the other: give a name for each "
            "sample, the same in several recordings; change points have none"
        )
    check_truths(data.problem.traits, data.truths)
    names = [np.array(names_of_labels(y)) for y in labels]
    states = sorted({name for y in names for name in y.tolist()})
    if len(states) < FEWEST_STATES:
        raise DataError(
            f"{counted(len(states), words.named)}: "
            + parameter("split", "states")
            + f" needs at least {FEWEST_STATES}, "
            f"one to hide and two to learn from; label more {words.named}s, or leave split out"
        )
    wholes = split_wholes(data, cv, random_state)
    C = len(states)
    F = len(wholes)
    order = np.random.default_rng(random_state).permutation(states).tolist()
    found = []
    for draw, k in product(range(max(1, min(C, MOST_PARTS // F))), range(F)):
        state = order[(k + draw) % C]
        test = np.array([i for i in wholes.test(k) if state in names[i]], dtype=np.int64)
        rest = _without(data, wholes.train(k), names, state)
        if test.size and any(M.n_clusters > 1 for M in rest.parts.truths):
            found.append((k, state, test, rest))
    hidden = sorted({state for _, state, _, _ in found})
    if len({k for k, _, _, _ in found}) < 2 or len(hidden) < 2:
        raise DataError(
            f"no two {words.named}s can be hidden in turn: without one, some labelled "
            f"{words.whole} must still change, and another must have it; label more {words.whole}s"
        )
    which = np.concatenate([test for _, _, test, _ in found])
    shares = np.array([[a[0] == b[0] or a[1] == b[1] for b in found] for a in found])
    fold = np.repeat(np.arange(len(found)), [test.size for _, _, test, _ in found])
    question = (
        f"This is the gain on {words.whole}s with a {words.named} that the metric was not learned "
        f"from: while {words.whole}s were held out, one of their {words.named}s had no labels in "
        f"the others ({', '.join(hidden)} in turn)."
    )
    return Split(
        data.at(which),
        fold,
        np.unique(wholes.units[which], return_inverse=True)[1],
        [rest for _, _, _, rest in found],
        words,
        shares=shares,
        question=question,
    )


def _without(
    data: TrainingSet, which: Ints, names: Sequence[NDArray[Any]], state: str
) -> TrainingSet:
    """The training set of some recordings in which a state has no labels."""
    which = np.array([i for i in which if (names[i] != state).any()], dtype=np.int64)
    rest = data.at(which)
    given = [*rest.given]
    labels = [*rest.labels]
    for k, i in enumerate(which.tolist()):
        hidden = names[i] == state
        if hidden.any():
            given[k] = y = label_values(data.given[i]).astype(object)
            y[hidden] = None
            constraint = PartialLabels(y).constraint(y.size, contiguous=True)
            labels[k] = Known(y.size, constraint, None, contiguous=True)
    return replace(rest, given=given, labels=labels)
