"""Whether labels of recordings are names of states, or only tell segments apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

from numpy.typing import NDArray

from structsvm.data.instance import Instance
from structsvm.data.labels import labels_of_items, unknown_labels
from structsvm.errors import nth, warn

NUMBERED = re.compile(r"(?P<text>.*?)(?P<number>\d{1,18})", re.DOTALL)
"""A number, which may stand at the end of a text."""


def are_names(instances: Sequence[Instance], labels: Sequence[Any]) -> bool:
    """Whether labels are names of states that several recordings have, and not numbers in order."""
    vectors = [labels_of_items(y, x.n_samples) for x, y in zip(instances, labels, strict=True)]
    states = {i: _states(y) for i, y in enumerate(vectors) if y is not None}
    counts = Counter(chain.from_iterable(dict.fromkeys(found) for found in states.values()))
    if len(counts) < 2 or max(counts.values()) < 2:
        return False
    if all(map(_is_counted, states.values())):
        first, second, *_ = counts
        is_text = isinstance(first, str)
        is_protocol = len({tuple(found) for found in states.values()}) == 1
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
            "out",
        )
    return not without


def _states(y: NDArray[Any]) -> list[Any]:
    """The names of its segments, one after the other; samples without a name are none."""
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
