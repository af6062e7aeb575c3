"""Instances of a few items, and neighbours of partitions."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from structsvm.data import Instance
from structsvm.errors import StructSVMError
from structsvm.partitions import EquivalenceMatrix

NEIGHBOURS, NEAR = 12, 8
"""Neighbours of a partition that are looked at, and items that are near the end of a cluster."""


def partition_of_items(truth: Any) -> Any:
    """The partition of labels, of which a problem that is not convex may know more."""
    return getattr(truth, "M", truth)


def tiny_instance(instances: Sequence[Instance], n_items: int) -> Instance | None:
    """An instance of few items: without side information any, with it the first of an instance."""
    if all(instance.side is None for instance in instances):
        return Instance(np.zeros((n_items, instances[0].n_features)))
    large = [instance for instance in instances if instance.n_samples >= n_items]
    try:
        return large[n_items % len(large)].at(np.arange(n_items)) if large else None
    except StructSVMError:
        return None


def neighbours(M: EquivalenceMatrix, rng: np.random.Generator) -> Iterator[EquivalenceMatrix]:
    """Clusters merged or cut, and stretches made clusters or given to the neighbour."""
    labels: Any = M.labels
    T = labels.size
    new = labels.max() + 1
    ends = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), T]
    for _ in range(NEIGHBOURS):
        k = int(rng.integers(0, len(ends) - 1))
        begin = ends[k]
        end = ends[k + 1]
        # Near the end of the cluster as often as anywhere in it: a rule about lengths shows where
        # they are just long enough.
        middle = int(rng.integers(max(begin, end - int(rng.choice([NEAR, T]))), end))
        start, stop = sorted(rng.integers(0, T + 1, 2).tolist())
        following = labels[min(end, T - 1)]
        for where, label in (
            (labels == labels[begin], following),
            (slice(middle, end), new),
            (slice(middle, end), following),
            (slice(start, stop), new),
        ):
            changed = labels.copy()
            changed[where] = label
            yield EquivalenceMatrix.from_labels(changed)
