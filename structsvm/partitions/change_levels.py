"""Where a change may be: every sample at which one costs little more than the best segmentation.

The excess of a sample t is

    e(t) = (Tr(A M) - max { Tr(A M') : M' has a boundary at t }) / price,

0 at the changes of the best segmentation M. For segments with states it is the loss of score
divided by the weight of a logarithm of a probability, because models of the same samples may differ
twofold in that weight. If a share of the true changes of held-out recordings has an excess of at
most q, the samples {t : e(t) <= q} of a new recording hold about the same share of its true
changes. For recordings of a new group the share is guaranteed if each of G held-out groups weighs
1 / (G + 1) and the remaining weight lies at infinity (hierarchical conformal prediction: Lee,
Barber and Willett, Distribution-free inference with hierarchical data, 2023).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structsvm.errors import SettingsError, parameter
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support import Floats, Ints, is_number, refuse_unless

SLACK = 1e-9  # rounding of a sum of weights


@dataclass(frozen=True, eq=False)
class ChangeLevels:
    """The excess at the true changes of held-out recordings, from which intervals are made.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import ChangeLevels
    >>> levels = ChangeLevels(np.array([0.0, 0.1, 0.4, 0.2]), np.array([0, 0, 1, 1]))
    >>> levels.about(0.6), levels.guaranteed(0.6)
    (0.2, 0.4)
    """

    excess: Floats
    """In units of the price of a change, or in logarithms of probabilities of states, (n,)."""
    groups: Ints
    """The number of the group of the recording of each change, (n,)."""

    @classmethod
    def of(cls, excess: Sequence[Floats], groups: Sequence[int]) -> "ChangeLevels | None":
        """From the excess at the true changes of each recording, and its group; None for none."""
        sizes = [one.size for one in excess]
        if not sum(sizes):
            return None
        _, numbers = np.unique(np.repeat(groups, sizes), return_inverse=True)
        return cls(np.concatenate(excess), numbers.astype(np.int64))

    @property
    def n_groups(self) -> int:
        return int(self.groups.max()) + 1

    @property
    def most(self) -> float:
        """The largest level that :meth:`about` knows."""
        return self.excess.size / (self.excess.size + 1)

    def about(self, level: float) -> float:
        """The excess that a true change of a new recording exceeds with probability 1 - level.

        Estimated from n changes, a new one being the largest of n + 1 with probability 1 / (n + 1).

        Raises
        ------
        SettingsError
            If there are too few changes for the level; the message has the number that is needed.
        """
        n = self.excess.size
        _refuse_above(level, n, "learned", "true changes", "")
        return self._reached(level, np.full(n, 1.0 / (n + 1)))

    def guaranteed(self, level: float) -> float:
        """The same, guaranteed for recordings of a new group.

        Raises
        ------
        SettingsError
            If there are too few groups for the level; the message has the number that is needed.
        """
        G = self.n_groups
        wanted = "guaranteed for a new group"
        _refuse_above(level, G, wanted, "groups", ", or leave the guarantee out")
        sizes = np.bincount(self.groups)[self.groups]
        return self._reached(level, 1.0 / ((G + 1) * sizes))

    def _reached(self, level: float, weights: Floats) -> float:
        """The least excess at which the weights of the changes up to it sum to the level."""
        order = np.argsort(self.excess, kind="stable")
        reached = np.cumsum(weights[order]) >= level - SLACK
        return float(self.excess[order][reached.argmax()])


def _refuse_above(level: float, n: int, wanted: str, of: str, way_out: str) -> None:
    """Refuse a level that is no share, or one for which ``n`` changes or groups are too few."""
    between = is_number(level) and 0.0 < level < 1.0
    refuse_unless(between, "level", "a number between 0 and 1", level)
    if level > n / (n + 1) + SLACK:
        enough = math.ceil(level / (1.0 - level) - SLACK)
        raise SettingsError(
            parameter("level", level)
            + f" can be {wanted} from {enough} {of} on, and {n} were held out: label more, "
            "ask for "
            + parameter("level", math.floor(100 * n / (n + 1)) / 100)
            + f" at most{way_out}"
        )


class Places(NamedTuple):
    """Where changes may be, as ranges from the first to the last sample."""

    around: list[tuple[int, int]]  # around each predicted change, (K - 1,)
    possible: list[list[tuple[int, int]]]
    """Ranges without a predicted change, within each segment, (K,)."""


def places_of(segmentation: EquivalenceMatrix, excess: Floats, most: float) -> Places:
    """The ranges of samples 1, ..., T - 1 whose ``excess``, (T - 1,), is at most ``most``."""
    ends = segmentation.boundaries[1:-1]
    allowed = np.concatenate([[False], excess <= most, [False]])
    allowed[ends] = True
    steps = np.diff(allowed.astype(np.int8))
    first = np.flatnonzero(steps == 1) + 1
    last = np.flatnonzero(steps == -1)
    own = np.searchsorted(first, ends, side="right") - 1
    around = [(int(first[i]), int(last[i])) for i in own]
    possible: list[list[tuple[int, int]]] = [[] for _ in range(segmentation.n_clusters)]
    for i in sorted({*range(first.size)} - {*own.tolist()}):
        segment = int(np.searchsorted(ends, first[i], side="right"))
        possible[segment].append((int(first[i]), int(last[i])))
    return Places(around, possible)
