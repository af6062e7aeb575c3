"""Searches for segments that take the samples as they come, and what is known of the best so far.

They are values that can be copied: a copy that goes on alone says what would be if the recording
ended now, or if no segment had begun near a sample.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from copy import copy
from typing import Self

import numpy as np

from structsvm.data.missing import LARGEST_VALUE
from structsvm.errors import OracleError
from structsvm.oracles._segments.running_changes import RunningMeans, pass_changes
from structsvm.oracles._segments.running_states import (
    Running,
    StateRules,
    begun,
    continued,
    forget,
    gains,
    pass_states,
)
from structsvm.oracles._segments.tree import BEFORE, START, STATE, kept, path_to
from structsvm.oracles.state_score import StateScore
from structsvm.support.contract import hook
from structsvm.support.interrupts import uninterrupted
from structsvm.support.values import (
    Floats,
    Ints,
    all_within,
    is_number,
    is_whole,
    read_only,
    refuse_unless,
    shown,
)

NOT_BARRED = (0, -1)

REBASED = 2**16
"""Samples after which sums are begun anew, so that they keep their digits however long it takes."""

LARGEST_COUNT = 2**20
"""Columns, and segments that may be running, for which there is memory."""

Segment = tuple[int, int]
"""Where a segment begins, and the number of its state; 0 where there are no states."""


class OnlineSearch(ABC):
    """The best segments of the samples so far."""

    n_columns: int
    n_samples = 0
    n_thinned = 0
    """How often segments were left out that might have been the best; 0 for an exact search."""
    memory = 0
    """Samples that matter for what begins now, about."""
    tree: Ints
    n_rows: int
    settled: list[Segment]
    """Segments of every path that may still be the best, but for the last one of these."""

    @uninterrupted
    def push(self, rows: Floats, barred: tuple[int, int] = NOT_BARRED) -> None:
        """Go on by samples, (n, C); no segment begins from ``barred[0]`` to ``barred[1]``.

        Minus infinity is what is forbidden to a state. The compiled searches read wherever they are
        told to, so that samples and ranges are checked here, whoever made them.
        """
        try:
            samples = read_only(np.array(rows, dtype=np.float64, order="C"))
            first, last = map(int, barred)
        except (TypeError, ValueError, OverflowError) as error:
            raise OracleError(f"a search goes on by samples and a range: {error}") from error
        if samples.ndim != 2 or samples.shape[1] != self.n_columns:
            raise OracleError(f"expected samples (n, {self.n_columns}), got {samples.shape}")
        if not (all_within(samples, LARGEST_VALUE) or self._is_allowed(samples)):
            raise OracleError(f"samples must hold numbers up to {LARGEST_VALUE:g}")
        if len(samples):
            self._push(samples, (max(first, -1), min(last, sys.maxsize)))

    @hook
    def _is_allowed(self, rows: Floats) -> bool:
        """Whether samples are allowed although they hold more than numbers."""
        return False

    @abstractmethod
    def _push(self, rows: Floats, barred: tuple[int, int]) -> None:
        """Go on by samples that were checked."""

    @abstractmethod
    def ended(self) -> Self:
        """The search of a recording that has no further samples."""

    @abstractmethod
    def loss(self) -> float:
        """What the best segmentation so far costs, in the units of margins."""

    @abstractmethod
    def _last_row(self) -> int:
        """The row of the last segment of the best segmentation; -1 if none is allowed."""

    @abstractmethod
    def _common(self) -> int:
        """Forget what no path needs; the newest row that all paths have, or -1."""

    @abstractmethod
    def copy(self) -> Self:
        """The same search, which goes on alone."""

    def segments(self) -> list[Segment]:
        """Those of the best segmentation, in their order."""
        return self.settled + self.unsettled()

    def unsettled(self) -> list[Segment]:
        """Those of them that were not put aside."""
        whole = self._as_one()
        return self._path_to(self._last_row()) if whole is None else [whole]

    @hook
    def _as_one(self) -> Segment | None:
        """The recording as one segment, where that is allowed and no longer one would be."""
        return None

    def last(self) -> Segment | None:
        """The last segment of the best segmentation, if any is allowed."""
        row = self._last_row()
        return None if row < 0 else self._segment(row)

    @uninterrupted
    def settle(self) -> int:
        """Put aside what no further sample can change; where the last begins that is known to."""
        common = self._common()
        if common >= 0:
            self.settled += self._path_to(common)[:-1]
            self.tree[common, BEFORE] = -1
            return int(self.tree[common, START])
        return -1

    def _path_to(self, row: int) -> list[Segment]:
        return [self._segment(i) for i in path_to(self.tree, row)]

    def _segment(self, row: int) -> Segment:
        return int(self.tree[row, START]), int(self.tree[row, STATE])


class OnlineStates(OnlineSearch):
    """The best segments with states, exactly: what :func:`best_states` finds in all samples.

    The samples of ``score`` are not looked at. ``lengths``, (C, L + 1), are what a segment earns
    that is a whole recording, shorter than any that ``score`` allows.
    """

    def __init__(self, score: StateScore, lengths: Floats | None = None) -> None:
        if not isinstance(score, StateScore):
            raise OracleError(f"expected a StateScore, got {shown(score)}")
        self.settled = []
        C, columns = score.lengths.shape
        self.n_columns = C
        self.score = score
        self.whole = np.zeros((C, 0)) if lengths is None else lengths
        self.rules = StateRules(
            score.lengths, score.changes, score.late, *map(read_only, gains(score.lengths))
        )
        self.running, self.tree, self.n_rows = begun(score.first, columns - 1)
        self.closed = np.full(C, -np.inf)
        self.behind = np.full(C, -1)
        self.memory = columns
        self.before = max(0, -int(score.late.min(initial=0)))
        self.after = max(0, int(score.late.max(initial=0)))
        """Samples before and after a boundary that matter where scores are late."""
        self.rows = read_only(np.empty((0, C)))
        self.totals = np.zeros((C, 1))
        self.first = 0
        """Samples before the first of these rows."""
        self.barred = NOT_BARRED
        self.based = 0
        """Samples when the totals were begun anew."""
        self.gone = 0.0
        """What was taken from all sums."""

    def _is_allowed(self, rows: Floats) -> bool:
        return all_within(np.where(np.isneginf(rows), 0.0, rows), LARGEST_VALUE)

    def _push(self, rows: Floats, barred: tuple[int, int]) -> None:
        self.rows = read_only(np.concatenate([self.rows, rows])) if len(self.rows) else rows
        self.totals = continued(self.totals, rows)
        self.barred = barred
        self._go_on(self.first + len(self.rows) - self.after)
        gone = max(self.n_samples - self.before - self.first, 0)
        self.rows = self.rows[gone:]
        self.totals = self.totals[:, gone:].copy()
        self.first += gone
        if self.n_samples - self.based >= REBASED:
            self._rebase()

    def _go_on(self, n_samples: int) -> None:
        """Decode further, up to so many of the samples that are there."""
        if n_samples <= self.n_samples:
            return
        span = self.first, self.n_samples - self.first, n_samples - self.first
        self.tree, self.n_rows = pass_states(
            *(self.rules, self.running, self.tree, self.n_rows, self.rows, self.totals),
            *(*span, self.barred, self.closed, self.behind),
        )
        self.n_samples = n_samples

    def _rebase(self) -> None:
        """Take from all sums what they have in common, which changes no comparison."""
        now = self.totals[:, self.n_samples - self.first]
        best = float(self.closed.max(initial=0.0, where=np.isfinite(self.closed)))
        self.totals = self.totals - now[:, None]
        self.running.value[:] += now[:, None] - best
        self.closed -= best
        self.gone += best
        self.based = self.n_samples

    @uninterrupted
    def ended(self) -> OnlineStates:
        search = self.copy()
        search._go_on(self.first + len(self.rows))
        return search

    def copy(self) -> OnlineStates:
        search = copy(self)
        search.running = Running._make(one.copy() for one in self.running)
        search.tree = self.tree.copy()
        search.closed = self.closed.copy()
        search.behind = self.behind.copy()
        search.settled = self.settled.copy()
        return search

    def loss(self) -> float:
        return -float(np.maximum(self.closed + self.score.last, self._of_whole()).max()) - self.gone

    def _as_one(self) -> Segment | None:
        scores = self._of_whole()
        if scores.max() <= (self.closed + self.score.last).max():
            return None
        return 0, int(scores.argmax())

    def _of_whole(self) -> Floats:
        """The score of the recording as one segment in each state, where it is shorter than any."""
        n = self.n_samples
        if not 0 < n < self.whole.shape[1]:
            return np.full(len(self.whole), -np.inf)
        total = self.totals[:, n - self.first]
        return np.asarray(self.score.first + total + self.whole[:, n] + self.score.last)

    def _last_row(self) -> int:
        return int(self.behind[int((self.closed + self.score.last).argmax())])

    def _common(self) -> int:
        self.n_rows, common = forget(self.running, self.tree, self.n_rows, self.behind)
        return int(common)


class OnlineChanges(OnlineSearch):
    """The best segmentation at a price of a segment, of samples in the metric, (n, r).

    It is exact as long as no more than ``max_candidates`` segments may be running, which
    ``n_thinned`` counts; then the older ones are thinned.
    """

    def __init__(self, n_columns: int, price: float, max_candidates: int = 256) -> None:
        fits = is_whole(n_columns) and 0 <= n_columns <= LARGEST_COUNT
        refuse_unless(fits, "n_columns", f"an integer from 0 to {LARGEST_COUNT}", n_columns)
        fits = is_whole(max_candidates) and 2 <= max_candidates <= LARGEST_COUNT
        wanted = f"an integer from 2 to {LARGEST_COUNT}"
        refuse_unless(fits, "max_candidates", wanted, max_candidates)
        fits = is_number(price) and 0 <= price <= LARGEST_VALUE
        refuse_unless(fits, "price", f"a number from 0 to {LARGEST_VALUE:g}", price)
        self.settled = []
        self.n_columns = n_columns
        self.price = price
        n = max_candidates
        starts, rows = np.zeros((2, n), dtype=np.int64)
        costs, scatter = np.zeros((2, n))
        self.running = RunningMeans(costs, starts, rows, scatter, np.zeros((n, n_columns)))
        self.size = 1
        self.tree = np.empty((64, 3), dtype=np.int64)
        self.tree[0] = 0, 0, -1
        self.n_rows = 1
        self.best = 0.0
        self.row = -1
        self.gone = 0.0

    def _push(self, rows: Floats, barred: tuple[int, int]) -> None:
        self.size, self.tree, self.n_rows, self.best, self.row, n_thinned = pass_changes(
            *(self.running, self.size, self.tree, self.n_rows, rows),
            *(self.n_samples, self.price, barred),
        )
        self.n_samples += len(rows)
        self.n_thinned += n_thinned
        self.running.value[: self.size] -= self.best
        self.gone += self.best
        self.best = 0.0

    def ended(self) -> OnlineChanges:
        return self

    def copy(self) -> OnlineChanges:
        search = copy(self)
        search.running = RunningMeans._make(one.copy() for one in self.running)
        search.tree = self.tree.copy()
        search.settled = self.settled.copy()
        return search

    def loss(self) -> float:
        return (self.best + self.gone) / (self.price or 1.0)

    def _last_row(self) -> int:
        return self.row

    def _common(self) -> int:
        needed = np.append(self.running.row[: self.size], self.row)
        self.n_rows, common = kept(self.tree, self.n_rows, needed)
        self.running.row[: self.size] = needed[:-1]
        self.row = int(needed[-1])
        return int(common)
