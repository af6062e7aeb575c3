"""Whole instances held out in folds, and folds whose training set lacks the labels of a state."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, check_cv

from structsvm.data import TABLES, Instance, Words, contents, joined, label_values, units_of
from structsvm.errors import (
    DataError,
    DataWarning,
    LearningError,
    SettingsError,
    among,
    parameter,
    without_warnings,
)
from structsvm.learner import TrainingSet
from structsvm.learner.training_set import even_part, names_of_labels
from structsvm.learner.truths import are_names, check_truths
from structsvm.partial_labels import PartialLabels
from structsvm.partitions import UNCONSTRAINED
from structsvm.partitions.comparison import disagreement
from structsvm.support import Ints, counted, is_whole, limits, stage
from structsvm.training_labels import Known

SPLIT_TABLE = (
    ". Or let it be split: "
    + parameter("split", "rows")
    + " holds out rows of the clusters it has, "
    + parameter("split", "clusters")
    + " whole clusters"
)
MOST_PARTS = 10  # held-out groups of rows or clusters, or folds that hide a state, over all draws


@dataclass(frozen=True, eq=False)
class Split:
    """Held-out instances in folds, and the training set of each fold."""

    held_out: TrainingSet  # M instances: those that were given, or parts of them
    fold: Ints  # the fold that holds each instance out, 0, 1, ..., (M,)
    units: Ints
    """The group of each instance, or its own number without groups, (M,); copies share one."""
    training: Sequence[TrainingSet]  # for each fold, what is learned from while it is held out
    words: Words  # nouns for the held-out instances
    numbers: Ints | None = None
    """A number for each instance, the same for copies, (M,); None for parts of instances."""
    draws: int = 1  # how often everything is held out, each time in other folds
    shares: NDArray[np.bool_] | None = None
    """Whether two folds hold out some of the same, (n_folds, n_folds); None if none do."""
    question: str = ""
    """A sentence on which question this split answers, and which it does not."""
    pieces: Sequence[tuple[int, Ints]] = ()
    """The instance and the rows of each held-out part; empty where wholes are held out."""
    whole: tuple[TrainingSet, Sequence[Ints]] | None = None
    """All instances, and the numbers of those in each fold; None if they do not fit in memory."""

    def __len__(self) -> int:
        return len(self.training)

    def test(self, k: int) -> Ints:
        """Numbers of the instances that are held out in fold ``k``."""
        return np.flatnonzero(self.fold == k)

    def train(self, k: int) -> Ints:
        """Numbers of the instances to learn from while fold ``k`` is held out."""
        if self.shares is None:
            return np.flatnonzero(self.fold != k)
        return np.flatnonzero(~self.shares[k][self.fold])

    def draws_among(self, which: Ints) -> float:
        """In how many draws of folds these instances were held out, in effect, at least 1."""
        if self.draws == 1:
            return 1.0
        folds = np.unique(self.fold[which])
        n_folds = len(self) // self.draws  # folds are numbered draw by draw
        return folds.size / int(np.bincount(folds // n_folds).max())

    def test_set(self, k: int) -> TrainingSet:
        return self.held_out.at(self.test(k))

    def learned_without(self, k: int, learner: Any, **params: Any) -> Any:
        """A clone of the learner, fitted to the training set of fold ``k``."""
        fitted = clone(learner)
        try:
            with without_warnings(DataWarning, ConvergenceWarning), among():
                fitted.fit(self.training[k], **params)
        except LearningError as error:
            error.add_note(f"so it is without the {self.words.whole}s of fold {k}")
            raise
        return fitted

    def held_out_by(self, learner: Any) -> Iterator[tuple[Any, Instance, Known, int]]:
        """For each held-out instance: the learner of its fold, the instance, labels and unit."""
        for k in stage("folds", range(len(self))):
            fitted = self.learned_without(k, learner)
            test = self.test_set(k)
            units = self.units[self.test(k)].tolist()
            for row in zip(fitted.inputs_(test.instances), test.labels, units, strict=True):
                yield fitted, *row

    def loss_of(self, learner: Any) -> float:
        """The mean loss on held-out instances, each partitioned by the learner of its fold."""
        problem = self.held_out.problem
        losses = []
        for fitted, instance, labels, _ in self.held_out_by(learner):
            guess = fitted.model_.partition(problem, instance, UNCONSTRAINED).partition
            losses.append(disagreement(problem, labels.scored, labels.of_scored(guess)))
        return float(np.mean(losses))


def split_wholes(data: TrainingSet, cv: Any, random_state: int | None) -> Split:
    """Hold out whole instances that can be scored; groups and copies stay together."""
    N = len(data)
    words = data.problem.traits.words
    groups = data.groups
    full = data.scorable
    numbers = contents([instance.data for instance in data.instances])
    names, units = units_of(groups, N, words)
    if np.unique(units[full]).size < 2:
        noun = f"one {words.whole}" if groups is None else f"one group of {words.wholes(N)}"
        noun = noun if full.any() else f"no {words.whole}"
        noun += "" if full.all() else f" whose {words.item}s have labels"
        raise DataError(
            f"{noun}: nothing can be held out "
            "to choose and evaluate by; label another one, or use MetricLearner, which needs only "
            "one" + (SPLIT_TABLE if words is TABLES and N == 1 else "")
        )
    apart = joined(units, numbers)
    fold = np.full(N, -1)
    judged = full if is_whole(cv) else np.ones(N, dtype=bool)  # a splitter splits all instances
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
        training.append(data.at(np.flatnonzero(learned)).without_single_group)
    called = data.problem.traits.words.seen_in(data.instances)
    which = np.flatnonzero(full)
    fold = fold[full]
    apart = apart[full]
    numbers = numbers[full]
    in_memory = even_part(data, limits.GATHERED).size == N
    whole = data.without_single_group, [which[fold == k] for k in range(len(training))]
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
    # The caller refuses a splitter that divides groups.
    with without_warnings(Warning, beginning="The groups parameter is ignored"):
        try:
            splits = list(check_cv(splitter).split(np.zeros((N, 1)), groups=together))
        except (TypeError, ValueError) as error:
            raise SettingsError(
                f"cv cannot divide {words.wholes(N)}: give a number of folds, or a splitter of "
                f"scikit-learn that needs no labels, got {cv!r} ({error})"
            ) from error
    for k, (train, test) in enumerate(splits):
        held_out[test] = k
        times[test] += 1
        times[np.setdiff1d(np.arange(N), [*train, *test])] += 2  # in neither of both
    if (times != 1).any():
        raise SettingsError(
            f"cv must hold every {words.whole} out exactly once, which it does not with "
            + words.numbered(int((times != 1).argmax()))
            + f", got {cv!r}"
        )
    return held_out


FEWEST_STATES = 3  # two to learn from and one to hide


def split_states(data: TrainingSet, cv: Any, random_state: int | None) -> Split:
    """Hold out whole recordings with a state whose labels the training set does not show."""
    labels = data.item_labels
    words = data.problem.traits.words
    if not data.problem.traits.contiguous or not are_names(data.instances, labels):
        raise DataError(
            parameter("split", "states")
            + " hides one state of recordings after the other: give a name for each "
            "sample, the same in several recordings; change points have none"
        )
    check_truths(data.problem.traits, data.truths)
    names = [np.array(names_of_labels(y)) for y in labels]
    states = sorted(set(chain.from_iterable(y.tolist() for y in names)))
    if len(states) < FEWEST_STATES:
        raise DataError(
            f"{counted(len(states), words.named)}: "
            + parameter("split", "states")
            + f" needs at least {FEWEST_STATES}, "
            f"one to hide and two to learn from; label more {words.named}s, or leave split out"
        )
    wholes = split_wholes(data, cv, random_state)
    order = np.random.default_rng(random_state).permutation(states).tolist()
    folds = list(_folds_hiding_a_state(data, wholes, names, order))
    of_wholes = np.array([fold.of_wholes for fold in folds])
    hidden = np.array([fold.state for fold in folds])
    if np.unique(of_wholes).size < 2 or np.unique(hidden).size < 2:
        raise DataError(
            f"no two {words.named}s can be hidden in turn: without one, some labelled "
            f"{words.whole} must still change, and another must have it; label more {words.whole}s"
        )
    which = np.concatenate([fold.test for fold in folds])
    question = (
        f"This is the gain on {words.whole}s with a {words.named} that the metric was not learned "
        f"from: while {words.whole}s were held out, one of their {words.named}s had no labels in "
        f"the others ({', '.join(np.unique(hidden).tolist())} in turn)."
    )
    return Split(
        data.at(which),
        np.repeat(np.arange(len(folds)), [fold.test.size for fold in folds]),
        np.unique(wholes.units[which], return_inverse=True)[1],
        [fold.training for fold in folds],
        words,
        shares=(of_wholes[:, None] == of_wholes) | (hidden[:, None] == hidden),
        question=question,
    )


class _FoldHidingAState(NamedTuple):
    of_wholes: int  # the fold of whole recordings that it is a part of
    state: str
    test: Ints  # the held-out recordings that have the state
    training: TrainingSet  # the other recordings, in which the state has no labels


def _folds_hiding_a_state(
    data: TrainingSet, wholes: Split, names: Sequence[NDArray[Any]], states: Sequence[str]
) -> Iterator[_FoldHidingAState]:
    """A few folds for each fold of wholes, each with another state hidden in its training set."""
    C = len(states)
    F = len(wholes)
    for draw, k in product(range(max(1, min(C, MOST_PARTS // F))), range(F)):
        state = states[(k + draw) % C]
        test = np.array([i for i in wholes.test(k) if state in names[i]], dtype=np.int64)
        training = _without(data, wholes.train(k), names, state)
        if test.size and any(M.n_clusters > 1 for M in training.parts.truths):
            yield _FoldHidingAState(k, state, test, training)


def _without(
    data: TrainingSet, which: Ints, names: Sequence[NDArray[Any]], state: str
) -> TrainingSet:
    """The training set of some recordings in which a state has no labels."""
    which = np.array([i for i in which if (names[i] != state).any()], dtype=np.int64)
    training = data.at(which)
    given = [*training.given]
    labels = [*training.labels]
    for k, i in enumerate(which.tolist()):
        hidden = names[i] == state
        if hidden.any():
            given[k] = y = label_values(data.given[i]).astype(object)
            y[hidden] = None
            constraint = PartialLabels(y).constraint(y.size, contiguous=True)
            labels[k] = Known(y.size, constraint, None, contiguous=True)
    return replace(training, given=given, labels=labels)
