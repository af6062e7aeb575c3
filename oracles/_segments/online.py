"""Searches for segments that take the samples as they come, and what is known of the best so far.

They are values that can be copied: a copy that goes on alone says what would be if the recording
ended now, or if no segment had begun near a sample.
"""

from collections import deque
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structsvm.data import LARGEST_VALUE
from structsvm.errors import OracleError
from structsvm.oracles._segments.running import (
    N_ROWS,
    N_SAMPLES,
    N_THINNED,
    PATHS,
    RUNNING,
    START,
    STATE,
    STATES,
    Records,
    are_scores,
    forget,
    gains,
    go_on,
)
from structsvm.oracles.state_score import NEVER_LATE, StateScore
from structsvm.support import Floats, Ints, is_number, is_whole, read_only, refuse_unless, shown

AT_ONCE = 4096
"""Samples after which sums are begun anew, so that they keep their digits, and paths looked at."""

LARGEST_COUNT = 2**20  # columns, and segments that may be running, for which there is memory
COPIED, N_COPIES = 64, 16  # samples after which a copy is kept, at least, and how many

Segment = tuple[int, int]
"""Where a segment begins, and the number of its state; 0 where there are no states."""


@dataclass(eq=False)
class OnlineSearch:
    """The best segments of the samples so far, in the order in which they come.

    All that a step changes is in arrays, so that Ctrl-C finds it done or not begun.
    """

    rules: tuple[Any, ...]
    running: Records
    states: Records
    rows: Floats
    """The samples that are still needed, and room for others, (m, columns)."""
    mean: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Of the samples of segments in a metric, (n, columns)."""
    paths: Records = field(default_factory=lambda: np.empty(0, PATHS))
    counts: Ints = field(default_factory=lambda: np.array([0, 0, 0, -1, 0]))
    whole: Floats = field(default_factory=lambda: np.zeros((1, 0)))
    """What a segment earns that is a whole recording, shorter than any other, (C, n)."""
    n_before: int = 0  # samples around a boundary that matter where scores are late
    n_after: int = 0
    price: float = 1.0  # the unit of losses
    memory: int = 0  # samples that matter for what begins now, about
    n_given: int = 0
    first: int = 0  # the number of the first of the rows
    barred: tuple[int, int] = (0, -1)
    """No segment begins from the first of these samples to the last."""
    copies: deque["OnlineSearch"] = field(default_factory=lambda: deque(maxlen=N_COPIES))
    """What it was, from time to time."""
    due: int = 0  # how many samples are given when the next one is kept

    @classmethod
    def of_states(cls, score: StateScore, lengths: Floats | None = None) -> "OnlineSearch":
        """What :func:`best_states` finds in all samples, exactly; those of ``score`` are not read.

        ``lengths``, (C, n), are what a segment earns that is a whole recording, shorter than any
        that ``score`` allows.
        """
        if not isinstance(score, StateScore):
            raise OracleError(f"expected a StateScore, got {shown(score)}")
        C, columns = score.lengths.shape
        changes = score.changes.copy()
        np.fill_diagonal(changes, -np.inf)
        return cls(
            (1.0, score.lengths, *map(read_only, (changes, score.late, gains(score.lengths)))),
            np.zeros((C, columns + 1), RUNNING),
            _at_first(score.first, score.last),
            rows=np.empty((0, C)),
            whole=np.zeros((C, 0)) if lengths is None else lengths,
            n_before=max(0, -int(score.late.min(initial=0))),
            n_after=max(0, int(score.late.max(initial=0))),
            memory=columns,
        )

    @classmethod
    def of_changes(cls, n_columns: int, price: float, max_candidates: int = 256) -> "OnlineSearch":
        """The best segmentation at a price of a segment, of samples in the metric, (n, r).

        It is exact as long as no more than ``max_candidates`` segments may be running, which
        ``n_thinned`` counts; then the older ones are thinned.
        """
        counts = ("n_columns", n_columns, 0), ("max_candidates", max_candidates, 2)
        for name, value, least in counts:
            fits = is_whole(value) and least <= value <= LARGEST_COUNT
            refuse_unless(fits, name, f"an integer from {least} to {LARGEST_COUNT}", value)
        fits = is_number(price) and 0 <= price <= LARGEST_VALUE
        refuse_unless(fits, "price", f"a number from 0 to {LARGEST_VALUE:g}", price)
        price = float(price)
        lengths = np.zeros((1, 2))
        rules = lengths, np.full((1, 1), -price), NEVER_LATE, gains(lengths)
        return cls(
            (price, *map(read_only, rules)),
            np.zeros((1, max_candidates), RUNNING),
            _at_first(np.zeros(1), np.full(1, -price)),
            rows=np.empty((0, n_columns)),
            mean=np.zeros((max_candidates, n_columns)),
            price=price or 1.0,
        )

    @property
    def n_samples(self) -> int:
        """Those that were looked at."""
        return int(self.counts[N_SAMPLES])

    @property
    def n_thinned(self) -> int:
        """How often segments were left out that might have been the best; 0 for an exact search."""
        return int(self.counts[N_THINNED])

    @property
    def newest(self) -> list[Segment]:
        """The last of the best segments; nothing where none are allowed."""
        start, state = self.counts[START:].tolist()
        return [(start, state)] if start >= 0 else []

    def push(self, rows: Floats) -> None:
        """Go on by samples, (n, C); minus infinity is what is forbidden to a state.

        The compiled searches read wherever they are told to, so that samples are checked here,
        whoever made them.
        """
        try:
            samples = np.ascontiguousarray(rows, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise OracleError(f"a search goes on by samples: {error}") from error
        if samples.shape[1:] != self.rows.shape[1:]:
            raise OracleError(f"expected samples (n, {self.rows.shape[1]}), got {samples.shape}")
        if not are_scores(samples, LARGEST_VALUE, not self.mean.size):
            raise OracleError(f"samples must hold numbers up to {LARGEST_VALUE:g}")
        self._take(samples)
        self._go_on(self.n_given - self.n_after)

    def _take(self, samples: Floats) -> None:
        """Put samples behind those that are needed, and keep a copy from time to time."""
        if self.n_given >= self.due:
            self.copies.append(self.copy())
            self.due = self.n_given + max(COPIED, self.memory // 4)
        n = self.n_given - self.first
        if n + len(samples) > len(self.rows):
            needed = self._needed(self.copies[0].n_samples)
            n = len(needed)
            room = 1 << (2 * n + len(samples)).bit_length()
            rows = np.empty((room, self.rows.shape[1]))
            rows[:n] = needed
            self.rows = rows
            self.first = self.n_given - n
        self.rows[n : n + len(samples)] = samples
        self.n_given += len(samples)

    def _needed(self, since: int) -> Floats:
        """The samples after so many, and those before that matter."""
        begin = max(since - self.n_before - self.first, 0)
        return self.rows[begin : self.n_given - self.first]

    def _go_on(self, end: int) -> None:
        """Search further, up to so many of the samples that are there."""
        rows = self.rows[: self.n_given - self.first]
        now = self.n_samples
        while now < end:
            stop = min(end, now + AT_ONCE)
            n = len(self.states) * (stop - now + 1)
            if self.counts[N_ROWS] + n > len(self.paths):
                self._make_room(n)
            go_on(
                *(self.running, self.states, self.paths, self.counts, self.mean),
                *(rows, self.first, stop, *self.barred, *self.rules),
            )
            now = stop

    def _make_room(self, n: int) -> None:
        """Make room for so many rows more."""
        forget(self.running, self.states, self.paths, self.counts)
        kept = self.paths[: self.counts[N_ROWS]]
        if 2 * len(kept) + n > len(self.paths):
            self.paths = np.concatenate([kept, np.empty(len(kept) + n, PATHS)])

    def end(self) -> None:
        """Search to the end of a recording that has no further samples."""
        self._go_on(self.n_given)

    def copy(self) -> "OnlineSearch":
        """The same search, which goes on alone."""
        search = copy(self)
        for name in ("running", "states", "paths", "counts", "mean"):
            setattr(search, name, getattr(self, name).copy())
        search.rows = self._needed(self.n_samples).copy()
        search.first = self.n_given - len(search.rows)
        search.copies = deque(maxlen=N_COPIES)
        search.due = 0
        return search

    def loss(self) -> float:
        """What the best segmentation so far costs, in the units of margins."""
        return -max(self._of_paths(), float(self._of_whole().max(initial=-np.inf))) / self.price

    def loss_without(self, low: int, high: int) -> float | None:
        """The same if none began from ``low`` to ``high``; None where that is too long ago."""
        for name, place in (("low", low), ("high", high)):
            refuse_unless(is_whole(place), name, "an integer", place)
        earlier = [one for one in self.copies if one.n_samples < max(low, 1)]
        if not earlier:
            return None
        search = earlier[-1].copy()
        search.barred = min(max(low, 0), self.n_given), min(max(high, -1), self.n_given)
        search.rows = self.rows
        search.first = self.first
        search.n_given = self.n_given
        search._go_on(self.n_samples)
        return search.loss()

    def segments(self) -> list[Segment]:
        """Those of the best segmentation that were not put aside, in their order."""
        of_whole = self._of_whole()
        if of_whole.size and of_whole.max() > self._of_paths():
            return [(0, int(of_whole.argmax()))]
        c = self.counts[STATE]
        best = self.states["best"][c]
        return self._path_to(int(self.running["row"][c, best])) if best >= 0 else []

    def _of_paths(self) -> float:
        state = self.states[self.counts[STATE]]
        return float(state["closed"] + state["last"] + state["gone"])

    def _of_whole(self) -> Floats:
        """The score of the recording as one segment in each state; nothing if it is too long."""
        n = self.n_samples
        if not 0 < n < self.whole.shape[1]:
            return self.whole[0, :0]
        return np.asarray(self.states["total"] + self.whole[:, n] + self.states["last"])

    def settle(self) -> list[Segment]:
        """Put aside what no further sample can change: the segments of all paths that may be the
        best still, the last of which may go on.
        """
        if self.n_samples < self.whole.shape[1]:
            return []  # it may be one segment still
        common = forget(self.running, self.states, self.paths, self.counts)
        segments = self._path_to(common)
        if segments:
            self.paths[common]["before"] = -1
        return segments

    def _path_to(self, row: int) -> list[Segment]:
        path = []
        while row >= 0:
            start, state, row = self.paths[row].tolist()
            path.append((start, state))
        return path[::-1]


def _at_first(first: Floats, last: Floats) -> Records:
    """States of a recording without a sample."""
    states = np.zeros(first.size, STATES)
    states["closed"] = -np.inf
    states["best"] = -1
    states["last"] = last
    states["total"] = first
    return states
