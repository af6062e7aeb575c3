"""Whether training labels teach anything, and whether they are names of states."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

from numpy.typing import NDArray

from structsvm.data import GRAPHS, TABLES, Instance, labels_of_items, unknown_labels
from structsvm.errors import DataError, nth, warn
from structsvm.graphs.labelled_nodes import NOTHING_TO_CUT, limit_of
from structsvm.partitions import Traits
from structsvm.partitions.training_instance import Truths

SEVERAL = 30
SHORTEST_USUAL = 1.5
"""At least so many samples in segments that are shorter on average seem to be measurements."""


def check_truths(traits: Traits, truths: Sequence[Any]) -> None:
    """Refuse training labels that teach nothing, and warn if they teach little."""
    words = traits.words
    if all(truth.n_clusters == 1 for truth in truths):
        if words is GRAPHS:
            raise DataError(NOTHING_TO_CUT)
        raise DataError(
            f"every {words.whole} is one single {words.part}: label at least one that has two"
        )
    if traits.contiguous:
        _warn_of_odd_segments(truths)
    elif limit := limit_of(truths):
        warn(limit)
    elif words is TABLES and traits.given_k and all(M.n_clusters == M.n_samples for M in truths):
        raise DataError(
            "every row has its own label, and any metric clusters them correctly: labels "
            "say which rows belong together"
        )


def _warn_of_odd_segments(truths: Truths) -> None:
    if len(truths) == 1:
        warn(
            "one labelled recording: whether the metric suits another one cannot be evaluated; "
            "label a second one, or cut this one in two"
        )
    T = sum(truth.n_samples for truth in truths)
    K = sum(truth.n_clusters for truth in truths)
    if T >= SEVERAL and T < SHORTEST_USUAL * K:
        warn(
            f"labels change at nearly every sample ({K} segments of {T} samples): if they are "
            "measurements, give the states or the change points instead"
        )


NUMBERED = re.compile(r"(?P<text>.*?)(?P<number>\d{1,18})", re.DOTALL)
"""A number, which may stand at the end of a text."""


def are_names(instances: Sequence[Instance], labels: Sequence[Any]) -> bool:
    """Whether labels are names of states that several recordings have, and not numbers in order."""
    vectors = [labels_of_items(y, x.n_samples) for x, y in zip(instances, labels, strict=True)]
    states = {i: _states(y) for i, y in enumerate(vectors) if y is not None}
    counts = Counter(chain.from_iterable(dict.fromkeys(names) for names in states.values()))
    if len(counts) < 2 or max(counts.values()) < 2:
        return False
    if all(map(_is_counted, states.values())):
        first, second, *_ = counts
        is_text = isinstance(first, str)
        is_protocol = len({tuple(names) for names in states.values()}) == 1
        if is_text and not is_protocol:
            warn(
                f"labels such as {first!r} and {second!r} count the segments of each recording: "
                "they tell segments apart, and are no names of states"
            )
        if not (is_text and is_protocol):
            return False
    without = [i for i in range(len(vectors)) if i not in states]
    if without:
        warn(
            nth("recording", next(iter(states)))
            + " has names of states and "
            + nth("recording", without[0])
            + " has breakpoints: classifiers of samples need names in all of them, and are left "
            "out"
        )
    return not without


def _states(y: NDArray[Any]) -> list[Any]:
    """The names of the segments of a recording in their order, without unlabelled ones."""
    values = y[~unknown_labels(y)].tolist()
    return [name for i, name in enumerate(values) if i == 0 or name != values[i - 1]]


def _is_counted(states: Sequence[Any]) -> bool:
    """Whether numbers, alone or at the end of the same text, rise by one from each to the next."""
    numbers = [_numbered(state) for state in states]
    return None not in numbers and all(
        after == (text, number + 1)
        for (text, number), after in pairwise(one for one in numbers if one is not None)
    )


def _numbered(state: Any) -> tuple[str, int] | None:
    """A number, and the text that it ends."""
    if isinstance(state, int):
        return "", state
    match = NUMBERED.fullmatch(state) if isinstance(state, str) else None
    return None if match is None else (match["text"], int(match["number"]))
