"""Which states were named, and which were true: counts, accuracy and macro F1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.sample import Sample
from structsvm.errors import DataError
from structsvm.features.names import read_names
from structsvm.graphs import NodeLabels
from structsvm.partial_labels.complete import labels_of_each
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import refuse_unlisted
from structsvm.support.plain import some_of

__all__ = ["Confusion"]

Names = NDArray[Any]

STATE_SCORES = ("accuracy", "macro F1")
"""Scores of names, over all samples together."""


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often each true state was given each name; items without a name do not count.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.evaluation.confusion import Confusion
    >>> found = Confusion(("rest", "walk"), np.array([[5, 1], [0, 4]]))
    >>> found.accuracy, round(found.macro_f1, 3)
    (0.9, 0.899)
    >>> print(found)
    true  rest  walk
    rest     5     1
    walk     0     4
    """

    states: tuple[Any, ...]
    """Names of the rows and of the columns, C."""
    counts: Ints
    """(C, C): true states in rows, what they were called in columns."""

    @classmethod
    def sum(cls, parts: Sequence[Confusion]) -> Confusion:
        """Count over all parts, which have the same states."""
        return cls(parts[0].states, np.sum([part.counts for part in parts], axis=0))

    @property
    def accuracy(self) -> float | None:
        """The share of items that have their name; None if none has one."""
        return float(np.trace(self.counts) / self.counts.sum()) if self.counts.any() else None

    @property
    def macro_f1(self) -> float | None:
        """The mean F1 of the states that occur or were found; None if no item has a name."""
        both: Floats = self.counts.sum(axis=0) + self.counts.sum(axis=1)
        occurs = both > 0
        f1 = 2 * np.diag(self.counts)[occurs] / both[occurs]
        return float(np.mean(f1)) if occurs.any() else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the names, and the rows of the table."""
        return {"states": list(self.states), "counts": self.counts.tolist()}

    def __str__(self) -> str:
        """The table, true states in rows."""
        rows = [["true", *map(str, self.states)]]
        pairs = zip(self.states, self.counts.tolist(), strict=True)
        rows += [[str(state), *map(str, row)] for state, row in pairs]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        )


def confusions_of(
    learner: Any,
    samples: Sequence[Sample],
    ys: Any,
    partitions: Sequence[Any],
    found: Mapping[str, Sequence[Names]],
    unseen_states: str,
) -> dict[str, list[Confusion]]:
    """Confusions of the states of each sample, by the method that named them.

    The states that were learned come first, in their order. Where the true partition is one of
    pixels, these are counted, whatever has the names.
    """
    refuse_unlisted("unseen_states", unseen_states, ("refuse", "count"))
    words, known = learner.problem_.traits.words, learner.inputs_.states
    pairs = zip(labels_of_each(ys, samples, words), samples, strict=True)
    of_items = [learner.problem_.learning.item_labels(y, sample) for y, sample in pairs]
    sizes = [sample.n_samples for sample in samples]
    truths = read_names(of_items, sizes, words.whole) if found else None
    if truths is None:
        return {}
    learned = [] if known is None else known.tolist()
    unseen: dict[Any, int] = {}
    for i, y in enumerate(truths):
        for name in set(y.tolist()) - {None, *learned}:
            unseen.setdefault(name, i)
    if unseen and known is not None and unseen_states == "refuse":
        listed = [f"{s!r} ({words.whole} {unseen[s]})" for s in sorted(unseen, key=str)]
        raise DataError(
            f"the labels name states that training did not: {some_of(listed)}; known are "
            f"{', '.join(map(repr, learned))}. Correct the names, or evaluate with "
            "unseen_states='count': their samples then count as named wrongly, and all scores of "
            "the segmentation are as usual"
        )
    others = {name for each in found.values() for y in each for name in np.asarray(y).tolist()}
    others |= {name for M in partitions for name in _names_of_pixels(M)}
    states = (*learned, *sorted((others | unseen.keys()) - set(learned), key=str))
    number = {name: k for k, name in enumerate(states)}

    def codes(names: Names) -> Ints:
        return np.array([number.get(name, -1) for name in np.asarray(names).tolist()])

    def confusion(truth: Ints, M: Any, names: Names) -> Confusion:
        counts, named = np.zeros((len(states), len(states)), dtype=np.int64), truth >= 0
        if pixels := _names_of_pixels(M):
            common = M.common(codes(names), len(states))
            np.add.at(counts, [number[name] for name in pixels], np.rint(common).astype(np.int64))
        else:
            np.add.at(counts, (truth[named], codes(names)[named]), 1)
        return Confusion(states, counts)

    true = [codes(y) for y in truths]
    return {who: list(map(confusion, true, partitions, each)) for who, each in found.items()}


def share_right(truth: Names, M: Any, found: Names) -> float:
    """The share of items with a name, or of pixels, that were given it; NaN if none has one."""
    if pixels := _names_of_pixels(M):
        number = {name: k for k, name in enumerate(pixels)}
        codes = np.array([number.get(name, len(pixels)) for name in found.tolist()])
        return float(np.trace(M.common(codes, len(pixels) + 1)) / M.counts.sum())
    known = truth != None  # noqa: E711
    return float(np.mean(truth[known] == found[known])) if known.any() else np.nan


def _names_of_pixels(M: Any) -> list[Any]:
    """What a true partition of pixels calls its parts; nothing for others."""
    known = isinstance(M, NodeLabels) and M.pixels is not None and M.names is not None
    return M.names.tolist() if known else []
