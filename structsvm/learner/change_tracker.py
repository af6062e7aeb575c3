"""The changes in a recording that has not ended: what is new, withdrawn or final, and how sure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsvm.oracles._segments.online import OnlineSearch, Segment
from structsvm.support.values import Floats

PIECE = 256
"""Samples at most after which changes are looked at."""

EVERY = 8
"""Samples after which all changes are looked at, and not only where the last one is another."""

COPIED, N_COPIES = 64, 16
"""Samples after which a copy of the search is kept, at least, and how many: margins are those of
changes that began after the first of them."""


@dataclass(frozen=True)
class Change:
    """A change that a stream has found.

    Examples
    --------
    >>> from structsvm.learner import Change
    >>> change = Change(place=120, seen=131, margin=1.4, state="walk")
    >>> change.final is None
    True
    """

    place: int
    """The first sample of the segment that it begins."""
    seen: int
    """How many samples had been seen when it was found."""
    margin: float | None
    """By how much the best segmentation of what was seen is worse without a change near it, in the
    units of :meth:`structsvm.MetricLearner.predict_segments`; None where it began too long ago."""
    state: Any = None
    """The name of the state of that segment, where the method knows names."""
    final: int | None = None
    """How many samples had been seen when it was sure to stay, whatever comes; None before."""
    withdrawn: int | None = None
    """How many had been seen when the best segmentation had no such change any more."""


class Rise(NamedTuple):
    """The most that a margin of a change ever was, before and after it rose, and the place then."""

    before: float
    after: float
    place: int


class ChangeTracker:
    """Tells of changes that a search finds once their margins have reached ``least``.

    Their states are among ``names``; ``ahead`` are the samples that had to be seen after one before
    the search is given it. How the margins of those rise that are not told is noted in ``rises``.
    """

    def __init__(
        self,
        search: OnlineSearch,
        tolerance: int,
        least: float = 0.0,
        names: NDArray[Any] | None = None,
        ahead: int = 0,
        rises: list[Rise] | None = None,
    ) -> None:
        self.search = search
        self.tolerance = tolerance
        self.least = least
        self.names = names
        self.ahead = ahead
        self.rises = rises
        self.n_given = 0
        self.has_ended = False
        self._every = max(COPIED, search.memory // 4)
        self._kept = deque([(0, search.copy())], maxlen=N_COPIES)
        self._since: list[Floats] = []  # what was given after the first copy
        self._open: list[Change] = []
        self._final = 0  # the last change that is final
        self._looked_at: tuple[int, Segment | None] = 0, None

    def after(self, rows: Floats) -> list[Change]:
        """What is new after some samples as the search sees them; what was not told has seen 0."""
        found: list[Change] = []
        for a in range(0, len(rows), PIECE):
            self._give(rows[a : a + PIECE])
            found += self._new()
        return found

    def at_end(self, rows: Floats) -> list[Change]:
        """The same after the last samples."""
        if len(rows):
            self._give(rows)
        self.search = self.search.ended()
        self.has_ended = True
        return self._compared(self.search.segments(), self.n_given)

    def _give(self, rows: Floats) -> None:
        """Let the search go on, and keep a copy of it from time to time."""
        self.search.push(rows)
        self._since.append(rows)
        self.n_given += len(rows)
        if self.n_given - self._kept[-1][0] >= self._every:
            first = self._kept[0][0]
            self._kept.append((self.n_given, self.search.copy()))
            self._since = [np.concatenate(self._since)[self._kept[0][0] - first :]]

    def _new(self) -> list[Change]:
        last = self.search.last()
        if last == self._looked_at[1] and self.n_given < self._looked_at[0] + EVERY:
            return []
        self._looked_at = self.n_given, last
        n_settled = len(self.search.settled)
        final = self.search.settle()
        segments = self.search.settled[n_settled:] + self.search.unsettled()
        found = self._compared(segments, final)
        self._final = max(self._final, final)
        return found

    def _compared(self, segments: Sequence[Segment], final: int) -> list[Change]:
        """What is new, final or withdrawn, where changes up to ``final`` are final."""
        n = self.n_given + (0 if self.has_ended else self.ahead)
        names = self.names
        left = self._open
        self._open = []
        found: list[Change] = []
        for place, code in segments:
            if place <= self._final:
                continue
            state = None if names is None else names[code : code + 1].tolist()[0]
            near = [one for one in left if one.state == state]
            same = min(near, key=lambda one: abs(one.place - place), default=None)
            if same is not None and abs(same.place - place) <= self.tolerance:
                left.remove(same)
                change = replace(same, place=place)
            else:
                change = Change(place, 0, None, state)
            is_final = place <= final
            if is_final or not change.seen:
                change = self._with_margin(change)
            is_new = not change.seen and (change.margin or 0.0) >= self.least
            if is_new:
                change = replace(change, seen=n)
            if is_final:
                change = replace(change, final=n)
            else:
                self._open.append(change)
            if is_final or is_new:
                found.append(change)
        found += [replace(one, withdrawn=n) for one in left]
        return sorted(found, key=lambda one: one.place)

    def _with_margin(self, change: Change) -> Change:
        """By how much the best segmentation without a change near it is worse.

        Before it is told, the most that this ever was.
        """
        barred = change.place - self.tolerance, change.place + self.tolerance
        old = [(n, one) for n, one in self._kept if one.n_samples < barred[0] or not n]
        if not old:
            return change
        n_before, earlier = old[-1]
        self._since = [np.concatenate(self._since)]
        search = earlier.copy()
        search.push(self._since[0][n_before - self._kept[0][0] :], barred)
        if self.has_ended:
            search = search.ended()
        margin = max(search.loss() - self.search.loss(), 0.0)
        if not change.seen:
            before = change.margin or 0.0
            if self.rises is not None and margin > before:
                self.rises.append(Rise(before, margin, change.place))
            margin = max(margin, before)
        return replace(change, margin=margin)
