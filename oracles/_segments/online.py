"""Online searches for segments, which take samples as they come and know the best segments so far.

A search can be copied: a copy that goes on alone tells what the best segments would be if the
recording ended now, or if no segment had begun near a sample.
"""

from collections import deque
from copy import copy
from dataclasses import dataclass, field

import numpy as np

from structsvm.data import LARGEST_VALUE
from structsvm.errors import OracleError
from structsvm.oracles._segments import running
from structsvm.oracles._segments.running import Progress, Rules
from structsvm.oracles.state_score import NEVER_LATE, StateScore, are_scores
from structsvm.support import Floats, all_within, is_number, is_whole, refuse_unless, shown

AT_ONCE = 4096  # samples that one compiled call searches; between calls old paths are dropped
LARGEST_COUNT = 2**20  # the largest number of columns and of candidates for which there is memory
LEAST_BETWEEN, N_COPIES = 32, 32  # samples between two copies at least, and the number of copies

Segment = tuple[int, int]
"""The first sample of a segment, and the number of its state; 0 where there are no states."""


@dataclass(eq=False)
class OnlineSearch:
    """The best segments of the samples so far, in the order in which they come."""

    rules: Rules
    now: Progress
    rows: Floats
    """The samples that are still needed, and room for more, (m, columns)."""
    whole: Floats = field(default_factory=lambda: np.zeros((1, 0)))
    """Scores of a recording of fewer than n samples as one segment in each state, (C, n)."""
    n_before: int = 0  # samples before a boundary that late scores refer to, at most
    n_after: int = 0  # samples after a boundary that late scores refer to, at most
    n_given: int = 0
    first: int = 0  # the number of the first of the rows
    barred: tuple[int, int] = (0, -1)
    """No segment begins from the first of these samples to the last."""
    copies: deque[Progress] = field(default_factory=lambda: deque(maxlen=N_COPIES))
    """Progress at earlier samples, from which :meth:`loss_without` searches again."""
    due: int = 0  # the number of given samples at which the next copy is taken

    @classmethod
    def of_states(cls, score: StateScore, lengths: Floats | None = None) -> "OnlineSearch":
        """The exact search for what :func:`best_states` finds; ``score.samples`` are not read.

        ``lengths``, (C, n), are the scores of a recording of fewer than n samples as one segment,
        which may be shorter than those that ``score`` allows.
        """
        if not isinstance(score, StateScore):
            raise OracleError(f"expected a StateScore, got {shown(score)}")
        C, columns = score.lengths.shape
        changes = score.changes.copy()
        np.fill_diagonal(changes, -np.inf)
        return cls(
            Rules.of(1.0, score.lengths, changes, score.late),
            Progress.of(score.first, score.last, columns + 1),
            rows=np.empty((0, C)),
            whole=np.zeros((C, 0)) if lengths is None else lengths,
            n_before=max(0, -int(score.late.min(initial=0))),
            n_after=max(0, int(score.late.max(initial=0))),
        )

    @classmethod
    def of_changes(cls, n_columns: int, price: float, max_candidates: int = 256) -> "OnlineSearch":
        """The search for the best segmentation at a price of a segment, of samples (n, r).

        It is exact as long as at most ``max_candidates`` segments may be running; then the older
        ones are thinned, which ``n_thinned`` counts.
        """
        counts = ("n_columns", n_columns, 0), ("max_candidates", max_candidates, 2)
        for name, value, least in counts:
            fits = is_whole(value) and least <= value <= LARGEST_COUNT
            refuse_unless(fits, name, f"an integer from {least} to {LARGEST_COUNT}", value)
        fits = is_number(price) and 0 <= price <= LARGEST_VALUE
        refuse_unless(fits, "price", f"a number from 0 to {LARGEST_VALUE:g}", price)
        last = np.full(1, -float(price))
        return cls(
            Rules.of(float(price) or 1.0, np.zeros((1, 2)), last[None], NEVER_LATE),
            Progress.of(np.zeros(1), last, max_candidates, n_columns),
            rows=np.empty((0, n_columns)),
        )

    @property
    def n_thinned(self) -> int:
        """How often candidates were dropped that might have been best; 0 for an exact search."""
        return int(self.now.counts[running.N_THINNED])

    def push(self, rows: Floats) -> bool:
        """Search further samples, (n, C), minus infinity where a state is forbidden.

        Returns whether the last segment of the best segmentation is another one than before. The
        compiled search trusts what it reads, so that samples are checked here.
        """
        try:
            samples = np.ascontiguousarray(rows, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise OracleError(f"a search goes on by samples: {error}") from error
        if samples.shape[1:] != self.rows.shape[1:]:
            raise OracleError(f"expected samples (n, {self.rows.shape[1]}), got {samples.shape}")
        in_metric = len(self.now.means) > 0
        if not (all_within(samples, LARGEST_VALUE) if in_metric else are_scores(samples)):
            raise OracleError(f"samples must hold numbers up to {LARGEST_VALUE:g}")
        self._take(samples)
        return self._go_on(self.n_given - self.n_after)

    def _take(self, samples: Floats) -> None:
        """Append samples to those that are needed, and take a copy of the progress if it is due."""
        if self.n_given >= self.due:
            self.copies.append(self.now.copy())
            self.due = self.n_given + max(LEAST_BETWEEN, self.rules.lengths.shape[1] // 8)
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
        """The samples that a search from sample ``since`` on reads."""
        begin = max(since - self.n_before - self.first, 0)
        return self.rows[begin : self.n_given - self.first]

    def _go_on(self, end: int) -> bool:
        """Search given samples up to number ``end``; whether the last segment is another one."""
        rows = self.rows[: self.n_given - self.first]
        is_another = False
        for begin in range(self.now.n_samples, end, AT_ONCE):
            stop = min(end, begin + AT_ONCE)
            self._make_room(len(self.now.states) * (stop - begin + 1))
            where = rows, self.first, stop, *self.barred
            is_another |= running.go_on(*self.now, *self.rules, *where)
        return is_another

    def _make_room(self, n: int) -> None:
        """Make room for n more rows in the table of paths."""
        if self.now.counts[running.N_ROWS] + n <= len(self.now.paths):
            return
        running.forget(self.now)
        in_use = self.now.counts[running.N_ROWS]
        if 2 * in_use + n > len(self.now.paths):
            paths = np.resize(self.now.paths, 2 * in_use + n)  # repeats rows, which are not in use
            self.now = self.now._replace(paths=paths)

    def end(self) -> None:
        """Search to the end of a recording that has no further samples."""
        self._go_on(self.n_given)

    def copy(self) -> "OnlineSearch":
        """A copy of the search, which goes on alone."""
        search = copy(self)
        search.now = self.now.copy()
        search.rows = self._needed(self.now.n_samples).copy()
        search.first = self.n_given - len(search.rows)
        search.copies = deque(maxlen=N_COPIES)
        search.due = 0
        return search

    def loss(self) -> float:
        """The cost of the best segmentation so far, in the units of margins."""
        best = max(self._score_of_path(), float(self._scores_of_whole().max(initial=-np.inf)))
        return -best / self.rules.unit

    def loss_without(self, low: int, high: int) -> float | None:
        """The cost if no segment began from ``low`` to ``high``; None if that is too long ago."""
        for name, place in (("low", low), ("high", high)):
            refuse_unless(is_whole(place), name, "an integer", place)
        earlier = [one for one in self.copies if one.n_samples < max(low, 1)]
        if not earlier:
            return None
        search = copy(self)
        search.now = earlier[-1].copy()
        search.barred = min(max(low, 0), self.n_given), min(max(high, -1), self.n_given)
        search._go_on(self.now.n_samples)
        return search.loss()

    def segments(self) -> list[Segment]:
        """The segments of the best segmentation, except those that :meth:`settle` has returned."""
        of_whole = self._scores_of_whole()
        if of_whole.size and of_whole.max() > self._score_of_path():
            return [(0, int(of_whole.argmax()))]
        return self._path_to(self.now.counts[running.BEST])

    def _score_of_path(self) -> float:
        """The score of the best path in the table; minus infinity if there is none."""
        best = self.now.counts[running.BEST]
        if best < 0:
            return -np.inf
        state = self.now.states[self.now.paths[best]["state"]]
        return float(state["closed"] + state["last"] + state["gone"])

    def _scores_of_whole(self) -> Floats:
        """The scores of the recording as one segment, by state, (C,); empty if it is too long."""
        n = self.now.n_samples
        if not 0 < n < self.whole.shape[1]:
            return self.whole[0, :0]
        return np.asarray(self.now.states["total"] + self.whole[:, n] + self.now.states["last"])

    def settle(self) -> list[Segment]:
        """Remove and return the segments that no further sample can change.

        They are the ones that all paths to candidates have in common; the last of them may go on.
        """
        if self.now.n_samples < self.whole.shape[1]:
            return []  # the recording may still be one segment
        common = running.forget(self.now)
        segments = self._path_to(common)
        if segments:
            self.now.paths[common]["before"] = -1
        return segments

    def _path_to(self, row: int) -> list[Segment]:
        """The segments up to that of a row in the table of paths; none for -1."""
        path = []
        while row >= 0:
            start, state, row = self.now.paths[row].tolist()
            path.append((start, state))
        return path[::-1]
