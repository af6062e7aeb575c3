"""Recordings that are read one at a time, brought together as far as they fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from structsvm.data.deferred import of_each
from structsvm.data.samples import units_of
from structsvm.data.values import label_values, missing_labels
from structsvm.errors import DataError, DataWarning, LearningError, warn
from structsvm.learner.training_set import TrainingSet
from structsvm.storage import limits
from structsvm.support.arrays import Floats, Ints

Learned = TypeVar("Learned")

SEED = 0
"""Of the recordings that are drawn where not all of them fit."""


def learn_in_memory(
    data: TrainingSet, name: str, learn: Callable[[TrainingSet], Learned]
) -> tuple[Ints, Learned]:
    everything = np.arange(len(data))
    if not data.is_deferred:
        return everything, learn(data)
    which = even_part(data, limits.GATHERED)
    part = data.at(which)
    arrays = [sample.data for sample in part.samples]
    part = part.with_features(of_each("reading", _itself, arrays))
    if which.size == everything.size:
        return which, learn(part)
    words = data.problem.traits.words
    drawn = f"{which.size} of {words.wholes(len(data))}"
    warn(
        f"{name} is fitted on {drawn}, an even subset: at most {limits.amount(limits.GATHERED)} of "
        "them are in memory at once; to use more, give arrays",
        DataWarning,
    )
    try:
        return which, learn(part)
    except (DataError, LearningError) as error:
        shown = ", ".join(map(str, which[:20].tolist())) + (", ..." if which.size > 20 else "")
        raise type(error)(
            f"{error} (numbered among {drawn}, the even subset that it is fitted on: {shown}; "
            "to use more, give arrays)"
        ) from error


def even_part(data: TrainingSet, max_bytes: int) -> Ints:
    """Numbers of samples that fit, ascending: all, or some of each group; two at least."""
    sizes = np.array([8 * sample.n_samples * sample.n_features for sample in data.samples])
    if sizes.sum() <= max_bytes:
        return np.arange(len(data))
    units = units_of(data.groups, len(data), data.problem.traits.words)[1]
    drawn = np.random.default_rng(SEED).permutation(len(data))
    turns, taken = np.empty(len(data), dtype=np.int64), dict.fromkeys(units.tolist(), 0)
    for i in drawn.tolist():  # the first one of each group, then the second of each, ...
        turns[i] = taken[int(units[i])]
        taken[int(units[i])] += 1
    drawn = drawn[np.argsort(turns[drawn], kind="stable")]
    order = drawn[np.argsort(~_shows_more(data, drawn, units), kind="stable")]
    count = int((np.cumsum(sizes[order]) <= max_bytes).sum())
    return np.sort(order[: max(count, 2)])


def _shows_more(data: TrainingSet, order: Ints, units: Ints) -> Any:
    shown: dict[Hashable, set[int]] = {}
    labels, found = data.item_labels or [()] * len(data), []
    for i in order.tolist():
        unit, names = int(units[i]), _names(labels[i], data.samples[i].n_samples)
        groups = [shown.setdefault(name, set()) for name in names]
        found.append(any(len(group) < 2 and unit not in group for group in groups))
        for group in groups:
            group.add(unit)
    return np.array(found, dtype=bool)


def _names(y: Any, T: int) -> Sequence[Hashable]:
    """The labels of a sample that has one for each item; none of breakpoints."""
    labels = getattr(y, "labels", y)  # of PartialLabels
    values = label_values(() if labels is None else labels)
    if values.shape != (T,):
        return []
    return list(dict.fromkeys(values[~missing_labels(values)].tolist()))


def _itself(X: Floats) -> Floats:
    return X
