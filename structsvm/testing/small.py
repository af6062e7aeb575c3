"""Instances of a few items, and neighbours of partitions."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from structsvm.data import Instance
from structsvm.errors import StructSVMError
from structsvm.partitions import EquivalenceMatrix

NEIGHBOURS, NEAR = 12, 8
"""Number of random places at which neighbours of a partition are made, and of items near an end."""


def partition_of_items(truth: Any) -> Any:
    """The partition of a truth, which in a problem that is not convex is an attribute of it."""
    return getattr(truth, "M", truth)


def tiny_instance(instances: Sequence[Instance], n_items: int) -> Instance | None:
    """An instance of few items: zeros, or the first items of an instance with side information."""
    if all(instance.side is None for instance in instances):
        return Instance(np.zeros((n_items, instances[0].n_features)))
    large = [instance for instance in instances if instance.n_samples >= n_items]
    try:
        return large[n_items % len(large)].at(np.arange(n_items)) if large else None
    except StructSVMError:
        return None


def neighbours(M: EquivalenceMatrix, rng: np.random.Generator) -> Iterator[EquivalenceMatrix]:
    """Partitions that differ by a merged, cut or moved cluster, or by a stretch of items."""
    labels: Any = M.labels
    T = labels.size
    new = labels.max() + 1
    ends = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), T]
    for _ in range(NEIGHBOURS):
        k = int(rng.integers(0, len(ends) - 1))
        begin = ends[k]
        end = ends[k + 1]
        # Half of the cuts are near the end of the cluster, where rules about lengths show.
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
