"""Segments of a recording that has not ended, as its samples come."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.instance import Instance
from structsvm.data.times import REGULAR, TimeAxis, time_axis
from structsvm.errors import DataError, SettingsError, about, warn
from structsvm.learner.fitted import Fitted
from structsvm.learner.form import Form
from structsvm.learner.margin_tables import tolerance_of
from structsvm.learner.preparing import measured
from structsvm.learner.steps import no_names
from structsvm.messages import parameter
from structsvm.oracles.online import OnlineSearch, Segment
from structsvm.support.arrays import Floats
from structsvm.support.checks import counted, refuse_below, shown

PIECE = 256
"""Samples at most after which changes are looked at, and a copy of the search is kept."""

N_COPIES = 5
"""Copies that are kept: margins are those of changes that began after the first of them."""


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


@dataclass(frozen=True)
class _Kept:
    """A copy of the search, and how many rows it had been given."""

    search: OnlineSearch
    n_rows: int


class Stream:
    """The segmentation of a recording that has not ended: :meth:`structsvm.MetricLearner.stream`.

    Attributes
    ----------
    n_samples : int
        The samples that were seen.
    lookahead : int
        How many samples after a sample have to be seen before the search sees it.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import ScoreDecoder
    >>> from structsvm.learner import Stream
    >>> y = np.repeat(["rest", "walk", "rest"], 10)
    >>> rng = np.random.default_rng(0)
    >>> walks = [np.clip((y == "walk") + rng.normal(scale=0.4, size=30), 0, 1) for _ in range(4)]
    >>> scores = [np.column_stack([1 - p, p]) for p in walks]
    >>> decoder = ScoreDecoder(classes=["rest", "walk"]).fit(scores, [y] * 4)
    >>> stream = decoder.stream()
    >>> isinstance(stream, Stream)
    True
    >>> for t in range(0, 30, 5):
    ...     for change in stream.push(scores[0][t : t + 5]):
    ...         print(f"after {change.seen} samples: {change.state} since about {change.place}")
    after 15 samples: walk since about 8
    after 25 samples: rest since about 17
    >>> [(change.place, change.state) for change in stream.end()]
    [(10, 'walk'), (20, 'rest')]
    >>> stream.ends(), decoder.predict_breakpoints(scores[0])
    ([10, 20, 30], [10, 20, 30])
    """

    def __init__(self, learner: Fitted, tolerance: int | None, max_candidates: int) -> None:
        self.tolerance = tolerance_of(learner, tolerance)
        refuse_below(2, "max_candidates", max_candidates)
        _refuse_whole(learner)
        before, after = learner.inputs_.reach
        self.lookahead = int(after)
        self.n_samples = 0
        self._learner = learner
        self._inputs = learner.inputs_.online
        self._before = int(before)
        self._search: OnlineSearch = learner.model_.online(learner.problem_, max_candidates)
        self._every = max(PIECE, self._search.memory // 2)
        self._rows = np.empty((0, learner.n_features_in_))
        self._first = 0  # the number of the first of these rows
        self._n_made = 0  # what was given to the search
        self._kept = deque([_Kept(self._search.copy(), 0)])
        self._since = np.empty((0, 0))  # what it was given since the first copy
        self._open: list[Change] = []
        self._final = 0  # the last change that is final
        self._clock = _Clock(getattr(learner, "steps_", {}))
        self._has_ended = False

    @property
    def exact(self) -> bool:
        """Whether all segments were looked at that might be the best: see ``max_candidates``."""
        return not self._search.n_thinned

    def push(self, block: Any, times: Any = None) -> list[Change]:
        """Take the next samples, and return the changes that are new, final or withdrawn.

        Parameters
        ----------
        block : array or data frame of shape (n, P)
            With the columns that the method was learned from; n may be 0.
        times : array of shape (n,), optional
            When they were measured, as numbers or dates; by default those of a data frame.

        Raises
        ------
        DataError
            For samples that cannot be used, such as missing values; that are not later than those
            before; after a gap, or at another rate; or after the end of the recording.
        """
        if self._has_ended:
            raise DataError("the stream has ended: begin another one, learner.stream()")
        rows = self._read(block, times)
        if not len(rows):
            return []
        self._rows = np.vstack([self._rows, rows])
        self.n_samples += len(rows)
        found: list[Change] = []
        for piece in self._pieces(self._made(self.n_samples - self.lookahead)):
            found += self._found_after(piece)
        return found

    def end(self) -> list[Change]:
        """Take no further samples: all changes that are left are final."""
        if self._has_ended:
            return []
        self._give(self._rest())
        self._search = self._search.ended()
        self._has_ended = True
        places = [(start, state) for start, state in self._search.segments() if start > self._final]
        return self._compared(places, final=self.n_samples)

    def ends(self) -> list[int]:
        """Segment ends, as ``predict_breakpoints`` finds them in what was seen."""
        return [start for start, _ in self._segments()[1:]] + [self.n_samples][: self.n_samples]

    def states(self) -> NDArray[Any]:
        """The name of the state of each sample, as ``predict_states`` finds them in what was seen.

        Raises
        ------
        SettingsError
            For a metric, which knows names of whole segments alone.
        """
        names = self._names
        if names is None:
            raise SettingsError(no_names(self._learner.problem_))
        codes = [state for _, state in self._segments()]
        sizes = np.diff([0, *self.ends()])
        return np.asarray(names[np.repeat(np.array(codes, dtype=np.int64), sizes)])

    # ---- samples

    def _read(self, block: Any, times: Any) -> Floats:
        """The samples of a block, checked."""
        with about(f"the block after {counted(self.n_samples, 'sample')}"):
            if np.shape(block)[:1] == (0,):
                return np.empty((0, self._rows.shape[1]))
            form = Form.given_to(self._learner, block)
            if not form.single:
                P = self._rows.shape[1]
                raise DataError(
                    f"give an array or a data frame of shape (n, {P}), got {shown(block)}; of "
                    "several recordings each has a stream of its own"
                )
            if any(one.order is not None for one in form.rows):
                raise DataError("its rows are not in the order of time: sort them")
            _refuse_missing(form.instances[0])
            instance = measured(self._learner, form.instances)[0]
            axis = form.axes[0] if times is None and form.axes else None
            if times is not None:
                axis = time_axis(times, instance.n_samples)
            if axis is not None:
                self._clock.read(axis)
        return instance.X

    def _made(self, end: int) -> Floats:
        """What the search sees of the samples up to ``end`` that it has not seen."""
        if end <= self._n_made:
            return np.empty((0, 0))
        rows = self._of_rows()[self._n_made - self._first : end - self._first]
        self._n_made = end
        block = self._inputs.block
        first = max(self._first, (end - self._before) // block * block)
        self._rows = self._rows[first - self._first :]
        self._first = first
        return rows

    def _of_rows(self) -> Floats:
        instances = self._inputs([Instance(self._rows)])
        found: Floats = self._learner.model_.online_rows(self._learner.problem_, instances[0])
        return found

    def _pieces(self, rows: Floats) -> list[Floats]:
        return [rows[a : a + PIECE] for a in range(0, len(rows), PIECE)]

    # ---- changes

    def _give(self, rows: Floats) -> None:
        """Let the search go on."""
        if len(rows):
            self._search.push(rows)
            self._since = np.vstack([self._since, rows]) if len(self._since) else rows

    def _found_after(self, rows: Floats) -> list[Change]:
        """Go on by what the search sees of some samples."""
        self._give(rows)
        n_settled = len(self._search.settled)
        final = self._search.settle()
        segments = self._search.settled[n_settled:] + self._search.unsettled()
        found = self._compared([one for one in segments if one[0] > self._final], final)
        self._final = max(self._final, final)
        self._keep()
        return found

    def _keep(self) -> None:
        """Keep a copy of the search from time to time, and what it was given since the first."""
        n_given = self._kept[0].n_rows + len(self._since)
        if n_given - self._kept[-1].n_rows < self._every:
            return
        self._kept.append(_Kept(self._search.copy(), n_given))
        if len(self._kept) > N_COPIES:
            gone = self._kept[1].n_rows - self._kept[0].n_rows
            self._kept.popleft()
            self._since = self._since[gone:]

    def _compared(self, places: Sequence[Segment], final: int) -> list[Change]:
        """What is new, final or withdrawn, where these are the changes that were not final."""
        n = self._seen
        names = self._names
        left = list(self._open)
        still: list[Change] = []
        found: list[Change] = []
        for place, code in places:
            state = None if names is None else names[code : code + 1].tolist()[0]
            near = [one for one in left if one.state == state]
            same = min(near, key=lambda one: abs(one.place - place), default=None)
            if same is not None and abs(same.place - place) <= self.tolerance:
                left.remove(same)
                change = replace(same, place=place)
            else:
                same = None
                change = Change(place, n, self._margin(place), state)
            if place <= final:
                margin = change.margin if same is None else self._margin(place)
                margin = change.margin if margin is None else margin
                found.append(replace(change, margin=margin, final=n))
                continue
            still.append(change)
            if same is None:
                found.append(change)
        self._open = still
        found += [replace(one, withdrawn=n) for one in left]
        return sorted(found, key=lambda one: one.place)

    def _margin(self, place: int) -> float | None:
        """By how much the best segmentation without a change near a place is worse."""
        barred = place - self.tolerance, place + self.tolerance
        old = [one for one in self._kept if one.search.n_samples < barred[0] or not one.n_rows]
        if not old:
            return None
        search = old[-1].search.copy()
        search.push(self._since[old[-1].n_rows - self._kept[0].n_rows :], barred)
        if self._has_ended:
            search = search.ended()
        return max(search.loss() - self._search.loss(), 0.0)

    # ---- as if the recording ended now

    def _segments(self) -> list[Segment]:
        return (self._search if self._has_ended else self._as_ended()).segments()

    def _as_ended(self) -> OnlineSearch:
        rest = self._rest()
        if not len(rest):
            return self._search.ended()
        search = self._search.copy()
        search.push(rest)
        return search.ended()

    def _rest(self) -> Floats:
        """What the search would see of the samples it has not seen, if there were no others."""
        if self.n_samples == self._n_made:
            return np.empty((0, 0))
        return self._of_rows()[self._n_made - self._first :]

    @property
    def _seen(self) -> int:
        """The samples that had been seen when the search saw the last that it has seen."""
        n_given = self._kept[0].n_rows + len(self._since)
        return self.n_samples if self._has_ended else n_given + self.lookahead

    @property
    def _names(self) -> NDArray[Any] | None:
        return self._learner.classes_ if self._learner.model_.keeps_states else None


def _refuse_whole(learner: Fitted) -> None:
    """Refuse features or a scale that depend on the whole recording."""
    inputs = learner.inputs_
    if max(inputs.reach) < inf:
        return
    raise SettingsError(
        f"{type(learner).__name__} sees features that depend on the whole recording, which has not "
        "ended: learn with "
        + parameter("standardize", "training")
        + ", and features of samples that are near, such as Columns(), Lags([-4, -2, 0]) or "
        "MovingStatistics([8])"
    )


def _refuse_missing(X: Any) -> None:
    """Refuse values that only later ones could fill in; what is no number is refused elsewhere."""
    try:
        missing = np.isnan(np.ma.filled(np.ma.asarray(X, dtype=np.float64), np.nan))
    except (TypeError, ValueError):
        return
    if missing.any():
        row = int(np.argwhere(missing)[0][0])
        raise DataError(
            f"a value is missing in row {row}, and a stream cannot wait for the next: push the "
            "last value that was measured in its place, or end the stream and begin another one"
        )


class _Clock:
    """The times of the samples of a stream: each is one step after the one before."""

    def __init__(self, learned: Any) -> None:
        self.learned = learned
        self.step = 0.0
        self.last: Any = None

    def read(self, axis: TimeAxis) -> None:
        """Refuse samples out of order, after a gap, or at another rate than those before."""
        values = axis.values if self.last is None else np.concatenate([[self.last], axis.values])
        steps = replace(axis, values=values, written=None).steps
        if (steps <= 0).any():
            i = int((steps <= 0).argmax())
            raise DataError(
                f"the time {values[i + 1]} is not after {values[i]}: push the samples in the order "
                "of time, each once"
            )
        if not steps.size:
            self.last = values[-1]
            return
        step = self.step or float(np.median(steps))
        if not self.step:
            kind = "dates" if axis.holds_dates else "numbers"
            low, high = self.learned.get(kind, (step, step))
            if not low / REGULAR <= step <= REGULAR * high:
                warn(
                    f"steps are {step:.4g}, and {low:.4g} in what the model was learned "
                    "from: resample to one step, or lengths and prices mean something else"
                )
        if steps.max() > REGULAR * step:
            i = int(steps.argmax())
            raise DataError(
                f"a gap of {steps[i]:.4g} after the time {values[i]}, where a step is "
                f"{step:.4g}: end this stream, and begin another one after the gap"
            )
        if np.median(steps) < step / REGULAR:
            raise DataError(
                f"steps are {np.median(steps):.4g}, and {step:.4g} before: resample to one "
                "rate, or begin another stream"
            )
        self.step = step  # a block that is refused leaves the clock as it was
        self.last = values[-1]
