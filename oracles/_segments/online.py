"""Searches for segments that take the samples as they come, and what is known of the best so far.

They are values that can be copied: a copy that goes on alone says what would be if the recording
ended now, or if no segment had begun near a sample.
"""

import sys
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.data.missing import LARGEST_VALUE
from structsvm.errors import OracleError
from structsvm.oracles._segments.running import BEFORE, Passed, Running, are_scores, forget
from structsvm.oracles._segments.running_changes import pass_changes
from structsvm.oracles._segments.running_states import StateRules, gains, pass_states
from structsvm.oracles.state_score import StateScore
from structsvm.support.values import (
    Floats,
    Ints,
    is_number,
    is_whole,
    read_only,
    refuse_unless,
    shown,
)

NOT_BARRED = (0, -1)

AT_ONCE = 4096
"""Samples after which sums are begun anew, so that they keep their digits, and paths looked at."""

LARGEST_COUNT = 2**20
"""Columns, and segments that may be running, for which there is memory."""

Segment = tuple[int, int]
"""Where a segment begins, and the number of its state; 0 where there are no states."""


@dataclass(eq=False)
class OnlineSearch:
    """The best segments of the samples so far, in the order in which they come."""

    step: Callable[..., Passed]
    rules: tuple[Any, ...]
    """What it goes by."""
    running: Running
    tree: Ints
    n_rows: int
    last: Floats
    """What the last segment earns in each state, (C,)."""
    rows: Floats
    """The samples that are still needed, (m, columns)."""
    whole: Floats
    """What a segment earns that is a whole recording, shorter than any other, (C, n)."""
    n_before: int = 0
    """Samples before and after a boundary that matter where scores are late."""
    n_after: int = 0
    price: float = 1.0
    """The unit of losses."""
    memory: int = 0
    """Samples that matter for what begins now, about."""
    n_samples: int = 0
    n_thinned: int = 0
    """How often segments were left out that might have been the best; 0 for an exact search."""
    first: int = 0
    """Samples before the first of these rows."""
    gone: float = 0.0
    """What was taken from all scores."""
    total: Any = 0.0
    """The scores of all samples, as long as a whole recording of them may be one segment, (C,)."""
    barred: tuple[int, int] = NOT_BARRED
    newest: Segment = (-1, 0)
    """The last segment of the best segmentation, which begins at -1 if none is allowed."""

    @classmethod
    def of_states(cls, score: StateScore, lengths: Floats | None = None) -> "OnlineSearch":
        """What :func:`best_states` finds in all samples, exactly; those of ``score`` are not read.

        ``lengths``, (C, n), are what a segment earns that is a whole recording, shorter than any
        that ``score`` allows.
        """
        if not isinstance(score, StateScore):
            raise OracleError(f"expected a StateScore, got {shown(score)}")
        C, columns = score.lengths.shape
        older, newer = map(read_only, gains(score.lengths))
        return cls(
            pass_states,
            StateRules(score.lengths, score.changes, score.late, older, newer, score.last),
            *Running.of(score.first, columns + 1),
            last=score.last,
            rows=np.empty((0, C)),
            whole=np.zeros((C, 0)) if lengths is None else lengths,
            n_before=max(0, -int(score.late.min(initial=0))),
            n_after=max(0, int(score.late.max(initial=0))),
            memory=columns,
            total=score.first,
        )

    @classmethod
    def of_changes(cls, n_columns: int, price: float, max_candidates: int = 256) -> "OnlineSearch":
        """The best segmentation at a price of a segment, of samples in the metric, (n, r).

        It is exact as long as no more than ``max_candidates`` segments may be running, which
        ``n_thinned`` counts; then the older ones are thinned.
        """
        fits = is_whole(n_columns) and 0 <= n_columns <= LARGEST_COUNT
        refuse_unless(fits, "n_columns", f"an integer from 0 to {LARGEST_COUNT}", n_columns)
        fits = is_whole(max_candidates) and 2 <= max_candidates <= LARGEST_COUNT
        wanted = f"an integer from 2 to {LARGEST_COUNT}"
        refuse_unless(fits, "max_candidates", wanted, max_candidates)
        fits = is_number(price) and 0 <= price <= LARGEST_VALUE
        refuse_unless(fits, "price", f"a number from 0 to {LARGEST_VALUE:g}", price)
        search = cls(
            pass_changes,
            (float(price),),
            *Running.of(np.zeros(1), max_candidates, n_columns),
            last=np.zeros(1),
            rows=np.empty((0, n_columns)),
            whole=np.zeros((1, 0)),
            price=float(price) or 1.0,
        )
        search.running.closed[0] = 0.0
        return search

    def push(self, rows: Floats, barred: tuple[int, int] = NOT_BARRED) -> None:
        """Go on by samples, (n, C); no segment begins from ``barred[0]`` to ``barred[1]``.

        Minus infinity is what is forbidden to a state. The compiled searches read wherever they are
        told to, so that samples and ranges are checked here, whoever made them.
        """
        try:
            samples = np.ascontiguousarray(rows, dtype=np.float64)
            if barred is not NOT_BARRED:
                first, last = map(int, barred)
                barred = max(first, -1), min(last, sys.maxsize)
        except (TypeError, ValueError, OverflowError) as error:
            raise OracleError(f"a search goes on by samples and a range: {error}") from error
        if samples.shape[1:] != self.rows.shape[1:]:
            raise OracleError(f"expected samples (n, {self.rows.shape[1]}), got {samples.shape}")
        if not are_scores(samples, LARGEST_VALUE, self.step is pass_states):
            raise OracleError(f"samples must hold numbers up to {LARGEST_VALUE:g}")
        self.barred = barred
        self.rows = np.concatenate([self.rows, samples]) if len(self.rows) else samples
        self._go_on(self.first + len(self.rows) - self.n_after)
        gone = self.n_samples - self.n_before - self.first
        if gone > 0:
            self.rows = self.rows[gone:].copy()
            self.first += gone

    def _go_on(self, end: int) -> None:
        """Search further, up to so many of the samples that are there."""
        while self.n_samples < end:
            now = self.n_samples
            stop = min(end, now + AT_ONCE)
            self._make_room(self.last.size * (stop - now))
            self.n_rows, start, state, n_thinned = self.step(
                *(self.tree, self.n_rows, self.rows, self.first, now, stop),
                *(*self.barred, *self.running, *self.rules),
            )
            self.newest = start, state
            self.n_thinned += n_thinned
            if stop < self.whole.shape[1]:
                self.total = self.total + self.rows[now - self.first : stop - self.first].sum(0)
            self.n_samples = stop

    def _make_room(self, n: int) -> None:
        """Make room for so many rows more."""
        if self.n_rows + n <= len(self.tree):
            return
        self._forget()
        if 2 * self.n_rows + n > len(self.tree):
            self.tree = np.resize(self.tree, (2 * self.n_rows + n, 3))

    def _forget(self) -> int:
        """Forget what no path needs, and what all scores have in common; see :func:`forget`."""
        self.n_rows, common, gone = forget(self.tree, self.n_rows, *self.running)
        self.gone += gone
        return common

    def ended(self) -> "OnlineSearch":
        """The search of a recording that has no further samples."""
        search = self.copy()
        search._go_on(self.first + len(self.rows))
        return search

    def copy(self) -> "OnlineSearch":
        """The same search, which goes on alone."""
        search = copy(self)
        search.running = Running._make(one.copy() for one in self.running)
        search.tree = self.tree[: self.n_rows].copy()
        return search

    def loss(self) -> float:
        """What the best segmentation so far costs, in the units of margins."""
        return -max(self._of_paths(), float(self._of_whole().max(initial=-np.inf))) / self.price

    def segments(self) -> list[Segment]:
        """Those of the best segmentation that were not put aside, in their order."""
        of_whole = self._of_whole()
        if of_whole.size and of_whole.max() > self._of_paths():
            return [(0, int(of_whole.argmax()))]
        return self._path_to(int(self.running.behind[self.newest[1]]))

    def _of_paths(self) -> float:
        state = self.newest[1]
        return float(self.running.closed[state] + self.last[state]) + self.gone

    def _of_whole(self) -> Floats:
        """The score of the recording as one segment in each state; nothing if it is too long."""
        n = self.n_samples
        if not 0 < n < self.whole.shape[1]:
            return self.whole[0, :0]
        return np.asarray(self.total + self.whole[:, n] + self.last)

    def settle(self) -> list[Segment]:
        """Put aside what no further sample can change: the segments of all paths that may be the
        best still, the last of which may go on.
        """
        if self.n_samples < self.whole.shape[1]:
            return []  # it may be one segment still
        common = self._forget()
        segments = self._path_to(common)
        if segments:
            self.tree[common, BEFORE] = -1
        return segments

    def _path_to(self, row: int) -> list[Segment]:
        path = []
        while row >= 0:
            start, state, row = self.tree[row].tolist()
            path.append((start, state))
        return path[::-1]
