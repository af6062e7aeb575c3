"""Which states were named, and which were true: counts, accuracy and macro F1."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score

from structsvm.errors import DataError
from structsvm.support.arrays import Ints

__all__ = ["Confusion"]

Names = NDArray[Any]

STATE_SCORES = ("accuracy", "macro F1")
"""Scores of names, over all samples together."""

UNSEEN = ("refuse", "count")
"""What may be done about states that were not learned."""
SHOWN = 5
"""Names and recordings that a message lists of each."""


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
    def total(cls, parts: Sequence[Confusion]) -> Confusion:
        """The sum of confusions of the same states."""
        return cls(parts[0].states, np.sum([part.counts for part in parts], axis=0))

    @property
    def accuracy(self) -> float | None:
        """The share of items that have their name; None if none has one."""
        true, found, counts = self._cells
        return float(accuracy_score(true, found, sample_weight=counts)) if counts.size else None

    @property
    def macro_f1(self) -> float | None:
        """The mean F1 of the states that occur or were found; None if no item has a name."""
        true, found, counts = self._cells
        if not counts.size:
            return None
        return float(
            f1_score(true, found, average="macro", sample_weight=counts, zero_division=0.0)
        )

    @property
    def scores(self) -> dict[str, float | None]:
        """Both, by name."""
        return dict(zip(STATE_SCORES, (self.accuracy, self.macro_f1), strict=True))

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

    @property
    def _cells(self) -> tuple[Ints, Ints, Ints]:
        """Row, column and count of each cell that is not empty."""
        true, found = np.nonzero(self.counts)
        return true, found, self.counts[true, found]


def confusions(
    truths: Sequence[Names], found: Mapping[str, Sequence[Names]], known: Collection[Any]
) -> dict[str, list[Confusion]]:
    """A confusion for each sample, by what named the states; names are None where there is none.

    The states that were learned come first, in their order.
    """
    others = {name for y in truths for name in y.tolist() if name is not None}
    others |= {name for each in found.values() for y in each for name in np.unique(y).tolist()}
    states = (*known, *sorted(others - set(known), key=str))
    number = {name: k for k, name in enumerate(states)}
    codes = [np.array([number.get(name, -1) for name in y.tolist()]) for y in truths]
    C = len(states)
    return {
        who: [
            Confusion(states, _counted(code, np.array([number[n] for n in y.tolist()]), C))
            for code, y in zip(codes, each, strict=True)
        ]
        for who, each in found.items()
    }


def refuse_unseen(truths: Sequence[Names], known: Collection[Any], whole: str) -> None:
    """Refuse names of states that were not learned, with the samples that have them."""
    learned, where = set(known), dict[Any, list[int]]()
    for i, y in enumerate(truths):
        for name in {name for name in y.tolist() if name is not None} - learned:
            where.setdefault(name, []).append(i)
    if not where:
        return
    names = sorted(where, key=str)
    listed = [f"{name!r} ({_places(where[name], whole)})" for name in names[:SHOWN]]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    one = len(names) == 1
    raise DataError(
        f"the labels name {'a state' if one else f'{len(names)} states'} that training did not: "
        f"{', '.join(listed)}{more}; known are {', '.join(map(repr, known))}. Correct the names, "
        "or evaluate with unseen_states='count': their samples then count as named wrongly, and "
        "all scores of the segmentation are as usual"
    )


def _places(numbers: Sequence[int], whole: str) -> str:
    more = f" and {len(numbers) - 1} more" if len(numbers) > 1 else ""
    return f"{whole} {numbers[0]}{more}"


def _counted(true: Ints, found: Ints, C: int) -> Ints:
    named = true >= 0
    pairs = np.bincount(true[named] * C + found[named], minlength=C * C)
    return pairs.reshape(C, C).astype(np.int64)
