"""The changes in a recording that has not ended: new, withdrawn or final, with their margins."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from structsvm.oracles._segments.online import OnlineSearch, Segment
from structsvm.support import Floats, uninterrupted

PIECE = 64  # samples that the search takes at once, at most, before changes are looked at
EVERY = 8  # samples after which they are looked at even if the last segment is the same


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
    """How many samples had been seen when it was final, whatever comes after; None before."""
    withdrawn: int | None = None
    """How many had been seen when the best segmentation no longer had it; None if it has it."""


class Rise(NamedTuple):
    """A new maximum of the margin of a change: the one before, the new one, and its place then."""

    before: float
    after: float
    place: int


@dataclass(eq=False)
class ChangeTracker:
    """Reports the changes that a search finds, each once its margin has reached ``least``.

    ``rises`` collects the new maxima of margins of changes that are not reported yet.
    """

    search: OnlineSearch
    tolerance: int
    least: float = 0.0
    names: NDArray[Any] | None = None  # of the states; None if segments have none
    ahead: int = 0  # how many samples have to follow one before the search is given it
    rises: list[Rise] | None = None
    has_ended: bool = False
    _settled: list[Segment] = field(default_factory=list)
    _found: list[Segment] = field(default_factory=list)  # the unsettled ones, when last looked at
    _due: int = 0  # the number of samples after which changes are looked at next
    _open: list[Change] = field(default_factory=list)  # changes that are not final

    def after(self, rows: Floats) -> list[Change]:
        """Give the search more rows; the changes that are then new, final or withdrawn."""
        search = self.search
        changes: list[Change] = []
        for a in range(0, len(rows), PIECE):
            if search.push(rows[a : a + PIECE]) or search.n_given >= self._due:
                changes += self._news()
        return changes

    @uninterrupted
    def at_end(self, rows: Floats) -> list[Change]:
        """Give the search the last rows; the changes that are then final or withdrawn."""
        self.search.push(rows)
        self.search.end()
        self.has_ended = True
        changes = self.search.segments()[1:]
        return self._compared(changes, len(changes))

    def segments_after(self, rows: Floats) -> list[Segment]:
        """All segments, as if the recording ended after these rows."""
        search = self.search
        if not self.has_ended:
            search = search.copy()
            search.push(rows)
            search.end()
        return self._settled + search.segments()

    @uninterrupted
    def _news(self) -> list[Change]:
        """The changes that are new, final or withdrawn since they were last looked at."""
        self._due = self.search.n_given + EVERY
        certain = self.search.settle()
        segments = self.search.segments()
        if not certain[1:] and segments == self._found and all(one.seen for one in self._open):
            return []
        self._settled += certain[:-1]
        self._found = segments
        return self._compared(certain[1:] + segments[1:], len(certain) - 1)

    def _compared(self, begun: Sequence[Segment], n_final: int) -> list[Change]:
        """Compare the segments that begin with a change with open changes; the first are final."""
        n = self.search.n_given + (0 if self.has_ended else self.ahead)
        unmatched = self._open
        self._open = []
        changes: list[Change] = []
        for i, (place, code) in enumerate(begun):
            change = self._taken_from(unmatched, place, code)
            is_final = i < n_final
            if is_final or not change.seen:
                change = self._with_margin(change)
            is_new = not change.seen and (change.margin or 0.0) >= self.least
            if is_new:
                change = replace(change, seen=n)
            if is_final:
                change = replace(change, final=n)
            else:
                self._open.append(change)
            if change.seen and (is_final or is_new):
                changes.append(change)
        changes += [replace(one, withdrawn=n) for one in unmatched if one.seen]
        return sorted(changes, key=lambda one: one.place)

    def _taken_from(self, unmatched: list[Change], place: int, code: int) -> Change:
        """Take out of ``unmatched`` the change that is at this place now, or make a new one."""
        state = None if self.names is None else self.names[code : code + 1].tolist()[0]
        candidates = [one for one in unmatched if one.state == state]
        same = min(candidates, key=lambda one: abs(one.place - place), default=None)
        if same is None or abs(same.place - place) > self.tolerance:
            return Change(place, 0, None, state)
        unmatched.remove(same)
        return same if same.place == place else replace(same, place=place)

    def _with_margin(self, change: Change) -> Change:
        """The change with its margin: how much worse the best segmentation without it is.

        Until the change is reported, that is the largest margin it ever had.
        """
        place = change.place
        loss = self.search.loss_without(place - self.tolerance, place + self.tolerance)
        if loss is None:
            return change
        margin = max(loss - self.search.loss(), 0.0)
        before = change.margin or 0.0
        if not change.seen:
            if self.rises is not None and margin > before:
                self.rises.append(Rise(before, margin, place))
            margin = max(margin, before)
        return replace(change, margin=margin)
