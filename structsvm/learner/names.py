"""Whether labels of recordings are names of states, or only tell segments apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

from numpy.typing import NDArray

from structsvm.data.labels import labels_of_items, unknown_labels
from structsvm.data.sample import Sample
from structsvm.errors import warn
from structsvm.messages import nth


def are_names(samples: Sequence[Sample], labels: Sequence[Any]) -> bool:
    """Whether labels are names of states that several recordings have, and not numbers in order."""
    vectors = [labels_of_items(y, x.n_samples) for x, y in zip(samples, labels, strict=True)]
    states = {i: _states(y) for i, y in enumerate(vectors) if y is not None}
    counts = Counter(chain.from_iterable(dict.fromkeys(found) for found in states.values()))
    if all(map(_is_counted, states.values())) or len(counts) < 2 or max(counts.values()) < 2:
        return False
    without = [i for i in range(len(vectors)) if i not in states]
    if without:
        warn(
            nth("recording", next(iter(states)))
            + " has names of states and "
            + nth("recording", without[0])
            + " has breakpoints: classifiers of samples need names in all of them, and are left "
            "out",
        )
    return not without


def _states(y: NDArray[Any]) -> list[Any]:
    """The names of its segments, one after the other; samples without a name are none."""
    values = y[~unknown_labels(y)].tolist()
    return [name for i, name in enumerate(values) if i == 0 or name != values[i - 1]]


def _is_counted(states: Sequence[Any]) -> bool:
    return all(isinstance(state, int) for state in states) and all(
        after == before + 1 for before, after in pairwise(states)
    )
