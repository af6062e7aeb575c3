"""The changes in a recording that has not ended: what is new, withdrawn or final, and how sure."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
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


Kept = tuple[OnlineSearch, list[Floats]]
"""A copy of a search, and the samples after it up to the next one."""


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
        self._kept: deque[Kept] = deque([(search.copy(), [])], maxlen=N_COPIES)
        self._settled: list[Segment] = []
        self._unsettled: list[Segment] = []
        self._open: list[Change] = []
        self._final = 0  # the last change that is final
        self._last = search.newest
        self._due = 0

    def after(self, rows: Floats) -> list[Change]:
        """What is new after some samples as the search sees them; what was not told has seen 0."""
        found: list[Change] = []
        for a in range(0, len(rows), PIECE):
            self._go_on(rows[a : a + PIECE])
            if self.search.newest != self._last or self.n_given >= self._due:
                self._last = self.search.newest
                self._due = self.n_given + EVERY
                found += self._news()
        return found

    def at_end(self, rows: Floats) -> list[Change]:
        """The same after the last samples."""
        if len(rows):
            self._go_on(rows)
        self.search = self.search.ended()
        self.has_ended = True
        return self._compared(self.search.segments(), self.n_given)

    def segments_after(self, rows: Floats) -> list[Segment]:
        """All segments, if the recording ended after these samples."""
        search = self.search
        if not self.has_ended:
            search = search.copy()
            search.push(rows)
            search = search.ended()
        return self._settled + search.segments()

    def _go_on(self, rows: Floats) -> None:
        """Let the search go on, and keep a copy of it from time to time."""
        self.search.push(rows)
        self.n_given += len(rows)
        earlier, since = self._kept[-1]
        since.append(rows)
        if self.search.n_samples - earlier.n_samples >= self._every:
            since[:] = [np.concatenate(since)]
            self._kept.append((self.search.copy(), []))

    def _news(self) -> list[Change]:
        """What is new, final or withdrawn."""
        certain = self.search.settle()
        self._settled += certain[:-1]
        unsettled = self.search.segments()
        if not certain[:-1] and unsettled == self._unsettled and all(c.seen for c in self._open):
            return []
        self._unsettled = unsettled
        final = certain[-1][0] if certain else self._final
        found = self._compared(certain[:-1] + unsettled, final)
        self._final = max(self._final, final)
        return found

    def _compared(self, segments: Sequence[Segment], final: int) -> list[Change]:
        """The same, where changes up to ``final`` are final."""
        n = self.n_given + (0 if self.has_ended else self.ahead)
        left = self._open
        self._open = []
        found: list[Change] = []
        for segment in segments:
            if segment[0] <= self._final:
                continue
            change = self._taken_from(left, *segment)
            is_final = change.place <= final
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

    def _taken_from(self, left: list[Change], place: int, code: int) -> Change:
        """The one of these changes that this is, which it is no longer among, or a new one."""
        state = None if self.names is None else self.names[code : code + 1].tolist()[0]
        near = [one for one in left if one.state == state]
        same = min(near, key=lambda one: abs(one.place - place), default=None)
        if same is None or abs(same.place - place) > self.tolerance:
            return Change(place, 0, None, state)
        left.remove(same)
        return same if same.place == place else replace(same, place=place)

    def _with_margin(self, change: Change) -> Change:
        """By how much the best segmentation without a change near it is worse.

        Before it is told, the most that this ever was.
        """
        barred = change.place - self.tolerance, change.place + self.tolerance
        kept = list(self._kept)
        while kept[-1][0].n_samples >= max(barred[0], 1):
            kept.pop()
            if not kept:
                return change
        given = islice(self._kept, len(kept) - 1, None)
        search = kept[-1][0].copy()
        search.push(np.concatenate([*chain.from_iterable(since for _, since in given)]), barred)
        if self.has_ended:
            search = search.ended()
        margin = max(search.loss() - self.search.loss(), 0.0)
        if not change.seen:
            before = change.margin or 0.0
            if self.rises is not None and margin > before:
                self.rises.append(Rise(before, margin, change.place))
            margin = max(margin, before)
        return replace(change, margin=margin)
