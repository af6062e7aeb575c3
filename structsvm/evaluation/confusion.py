"""Counts of the names that states were given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import Instance, read_names
from structsvm.errors import DataError, parameter
from structsvm.graphs import NodeLabels
from structsvm.learner.fitted import Fitted
from structsvm.support import Floats, Ints, ShortTable, refuse_unlisted, some_of

__all__ = ["Confusion"]
Names = NDArray[Any]


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

    def __str__(self) -> str:
        """The table, true states in rows."""
        names = tuple(map(str, self.states))
        rows = [(name, *row) for name, row in zip(names, self.counts.tolist(), strict=True)]
        return str(ShortTable("", ("true", *names), tuple(rows)))


def confusions_of(
    learner: Fitted,
    instances: Sequence[Instance],
    labels: Sequence[Any],
    partitions: Sequence[Any],
    names_by: Mapping[str, Sequence[Names]],
    unseen_states: str,
) -> dict[str, list[Confusion]]:
    """Confusions of each instance, by the method that named its states; learned ones come first."""
    refuse_unlisted("unseen_states", unseen_states, ("refuse", "count"))
    words = learner.problem_.traits.words
    of_items = [x.item_labels(y) for y, x in zip(labels, instances, strict=False)]
    sizes = [instance.n_samples for instance in instances]
    truths = read_names(of_items, sizes, words.whole) if names_by else None
    if truths is None:
        return {}
    named_by_others = getattr(learner.inputs_, "scores", None) is not None
    classes = None if named_by_others else learner.classes_
    learned = [] if classes is None else classes.tolist()
    unseen: dict[Any, int] = {}
    for i, y in enumerate(truths):
        for name in set(y.tolist()) - {None, *learned}:
            unseen.setdefault(name, i)
    if learned and unseen and unseen_states == "refuse":
        listed = [f"{s!r} (" + words.numbered(unseen[s]) + ")" for s in sorted(unseen, key=str)]
        raise DataError(
            "the labels name states that training did not: "
            + some_of(listed)
            + f"; known are {', '.join(map(repr, learned))}. Correct the names, or evaluate with "
            + parameter("unseen_states", "count")
            + ": their samples then count as named wrongly, and all scores of the segmentation are "
            "as usual"
        )
    all_names = chain.from_iterable(names_by.values())
    others = set(chain.from_iterable(np.asarray(y).tolist() for y in all_names))
    others |= set(chain.from_iterable(_names_of_pixels(M) for M in partitions))
    states = (*learned, *sorted((others | unseen.keys()) - set(learned), key=str))
    confusions = {}
    for method, each in names_by.items():
        counts = [_counts(*one, states) for one in zip(truths, partitions, each, strict=True)]
        confusions[method] = [Confusion(states, np.rint(one).astype(np.int64)) for one in counts]
    return confusions


def share_right(truth: Names, M: Any, predicted: Names) -> float:
    """The share of items with a name, or of pixels, that were given it; NaN if none has one."""
    states = dict.fromkeys([*_names_of_pixels(M), *truth.tolist(), *predicted.tolist()])
    counts = _counts(truth, M, predicted, tuple(states))
    return float(np.trace(counts) / counts.sum()) if counts.any() else np.nan


def _counts(truth: Names, M: Any, predicted: Names, states: Sequence[Any]) -> Floats:
    """How many items, or pixels, of each true state were given each name, (C, C)."""
    number = {name: k for k, name in enumerate(states)}
    codes = np.array([number[name] for name in np.asarray(predicted).tolist()])
    counts = np.zeros((len(states), len(states)))
    if pixels := _names_of_pixels(M):
        np.add.at(counts, [number[name] for name in pixels], M.common(codes, len(states)))
        return counts
    has_name = truth != None  # noqa: E711
    true = np.array([number[name] for name in truth[has_name].tolist()], dtype=np.int64)
    np.add.at(counts, (true, codes[has_name]), 1.0)
    return counts


def _names_of_pixels(M: Any) -> list[Any]:
    """The names of the labels in a true partition of pixels; empty for other partitions."""
    has_names = isinstance(M, NodeLabels) and M.pixels is not None and M.names is not None
    return M.names.tolist() if has_names else []
