"""Whole recordings held out in folds, and one of their states hidden from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.labels import label_values
from structsvm.errors import DataError, parameter
from structsvm.evaluation.split_wholes import MOST_PARTS, Split, split_wholes
from structsvm.learner.names import are_names
from structsvm.learner.training_set import TrainingSet, names_of_labels
from structsvm.learner.truths import check_truths
from structsvm.partial_labels import PartialLabels
from structsvm.support.values import Ints, counted
from structsvm.training_labels import Known

FEWEST_STATES = 3  # two to learn from and one to hide


def split_states(data: TrainingSet, cv: Any, random_state: int | None) -> Split:
    """Hold whole recordings out that have a state which is hidden from what is learned from."""
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
    C = len(states)
    F = len(wholes)
    order = np.random.default_rng(random_state).permutation(states).tolist()
    hidden_states = []
    for draw, k in product(range(max(1, min(C, MOST_PARTS // F))), range(F)):
        state = order[(k + draw) % C]
        test = np.array([i for i in wholes.test(k) if state in names[i]], dtype=np.int64)
        rest = _without(data, wholes.train(k), names, state)
        if test.size and any(M.n_clusters > 1 for M in rest.parts.truths):
            hidden_states.append((k, state, test, rest))
    hidden = sorted({state for _, state, _, _ in hidden_states})
    if len({k for k, _, _, _ in hidden_states}) < 2 or len(hidden) < 2:
        raise DataError(
            f"no two {words.named}s can be hidden in turn: without one, some labelled "
            f"{words.whole} must still change, and another must have it; label more {words.whole}s"
        )
    which = np.concatenate([test for _, _, test, _ in hidden_states])
    shares = np.array(
        [[a[0] == b[0] or a[1] == b[1] for b in hidden_states] for a in hidden_states]
    )
    fold = np.repeat(np.arange(len(hidden_states)), [test.size for _, _, test, _ in hidden_states])
    question = (
        f"This is the gain on {words.whole}s with a {words.named} that the metric was not learned "
        f"from: while {words.whole}s were held out, one of their {words.named}s had no labels in "
        f"the others ({', '.join(hidden)} in turn)."
    )
    return Split(
        data.at(which),
        fold,
        np.unique(wholes.units[which], return_inverse=True)[1],
        [rest for _, _, _, rest in hidden_states],
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
    rest_labels = [*rest.given]
    labels = [*rest.labels]
    for k, i in enumerate(which.tolist()):
        hidden = names[i] == state
        if hidden.any():
            rest_labels[k] = y = label_values(data.given[i]).astype(object)
            y[hidden] = None
            constraint = PartialLabels(y).constraint(y.size, contiguous=True)
            labels[k] = Known(y.size, constraint, None, contiguous=True)
    return replace(rest, given=rest_labels, labels=labels)
