"""Recordings that are read one at a time, brought together as far as they fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

import numpy as np

from structsvm.data.deferred import bytes_to_read
from structsvm.data.labels import labels_of_items, missing_labels
from structsvm.data.per_instance import units_of
from structsvm.errors import DataError, LearningError, among, warn
from structsvm.learner.training_set import TrainingSet
from structsvm.support import limits
from structsvm.support.values import Ints

SEED = 0
"""Of the recordings that are drawn where not all of them fit in memory."""

Learned = TypeVar("Learned")


def learn_in_memory(
    data: TrainingSet, name: str, learn: Callable[[TrainingSet], Learned]
) -> tuple[Ints, Learned]:
    """Numbers of the instances that fit in memory, and what is learned from them."""
    which = even_part(data, limits.GATHERED)
    part = (data if which.size == len(data) else data.at(which)).read()
    drawn = f"{which.size} of {data.problem.traits.words.wholes(len(data))}"
    if which.size < len(data):
        amount = limits.amount(limits.GATHERED)
        warn(
            f"{name} is fitted on {drawn}, an even subset: at most {amount} of them are in memory "
            "at once; to use more, give arrays",
        )
    try:
        with among(which.tolist()):
            return which, learn(part)
    except (DataError, LearningError) as error:
        if which.size < len(data):
            error.add_note(f"it is fitted on {drawn}, an even subset: to use more, give arrays")
        raise


def even_part(data: TrainingSet, max_bytes: int) -> Ints:
    """Numbers of instances that fit, ascending: all, or some of each group; two at least."""
    sizes = np.array([bytes_to_read(instance.data) for instance in data.instances])
    if sizes.sum() <= max_bytes:
        return np.arange(len(data))
    units = units_of(data.groups, len(data), data.problem.traits.words)[1].tolist()
    drawn = np.random.default_rng(SEED).permutation(len(data))
    turns = np.empty(len(data), dtype=np.int64)
    taken = dict.fromkeys(units, 0)
    for i in drawn.tolist():  # the first one of each group, then the second of each, ...
        turns[i] = taken[units[i]]
        taken[units[i]] += 1
    drawn = drawn[np.argsort(turns[drawn], kind="stable")]
    # Before these, the instances by which each label is in two groups.
    shown: dict[Hashable, set[int]] = {}
    labels = data.item_labels
    shows_more = []
    for i in drawn.tolist():
        values = labels_of_items(labels[i], data.instances[i].n_samples)
        names = set() if values is None else {*values[~missing_labels(values)].tolist()}
        groups = [shown.setdefault(name, set()) for name in names]
        shows_more.append(any(len(group) < 2 and units[i] not in group for group in groups))
        for group in groups:
            group.add(units[i])
    order = drawn[np.argsort(~np.array(shows_more), kind="stable")]
    count = int((np.cumsum(sizes[order]) <= max_bytes).sum())
    return np.sort(order[: max(count, 2)])
