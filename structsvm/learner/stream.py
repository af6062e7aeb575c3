"""Segments of a recording that has not ended, as its samples come."""

from copy import copy
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import (
    LARGEST_VALUE,
    REGULAR,
    TimeAxis,
    as_floats,
    time_axis,
    warn_about_times,
)
from structsvm.errors import DataError, SettingsError, about, parameter
from structsvm.learner.change_tracker import Change, ChangeTracker
from structsvm.learner.fitted import Fitted
from structsvm.learner.form import Form
from structsvm.learner.margin_tables import tolerance_of
from structsvm.learner.preparing import measured
from structsvm.learner.steps import no_names
from structsvm.oracles._segments.online import Segment
from structsvm.support import Floats, all_within, counted, refuse_below, shown, uninterrupted


class Stream:
    """The segmentation of a recording that has not ended: :meth:`structsvm.MetricLearner.stream`.

    Attributes
    ----------
    n_samples : int
        The samples that were seen.
    lookahead : int
        How many samples after a sample have to be seen before the search sees it.
    least : float
        The margin that a change has to reach before it is reported.

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

    def __init__(
        self, learner: Fitted, tolerance: int | None, max_candidates: int, least: float = 0.0
    ) -> None:
        tolerance = tolerance_of(learner, tolerance)
        refuse_below(2, "max_candidates", max_candidates)
        _refuse_whole(learner)
        before, after = learner.inputs_.reach
        model = learner.model_
        names = learner.classes_ if model.keeps_states else None
        self.lookahead = int(after)
        self.least = least
        self.n_samples = 0
        self._learner = copy(learner)  # as it is now, whatever it learns from later
        self._search = model.online(learner.problem_, max_candidates)
        self._changes = ChangeTracker(self._search, tolerance, least, names, self.lookahead)
        self._before = int(before)
        self._step = learner.inputs_.block
        self._rows = np.empty((0, learner.n_features_in_))  # the last samples
        self._clock = _Clock(getattr(learner, "steps_", {}))

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
        if self._changes.has_ended:
            raise DataError("the stream has ended: begin another one, learner.stream()")
        try:
            rows, axis = self._read(block, times)
            waiting = np.concatenate([self._rows, rows]) if len(self._rows) else rows.copy()
            made = self._made(waiting, self.n_samples + len(rows) - self.lookahead)
            if axis is not None:
                self._clock.read(axis)
        except DataError:
            with about(f"the block after {counted(self.n_samples, 'sample')}"):
                raise
        # Ctrl-C before this line changes nothing; after it, the next block does what is left.
        self._rows = waiting
        self.n_samples += len(rows)
        changes = self._changes.after(made)
        self._forget()
        return changes

    def _forget(self) -> None:
        """Forget the samples that no later ones need."""
        needed = (self._search.n_given - self._before) // self._step * self._step
        gone = needed - (self.n_samples - len(self._rows))
        if gone > 0:
            self._rows = self._rows[gone:].copy()

    @uninterrupted
    def end(self) -> list[Change]:
        """Take no further samples: all changes that are left are final."""
        if self._changes.has_ended:
            return []
        return self._changes.at_end(self._made(self._rows, self.n_samples))

    def ends(self) -> list[int]:
        """Segment ends, as ``predict_breakpoints`` finds them in what was seen."""
        starts = [start for start, _ in self._segments()]
        return [*starts[1:], self.n_samples] if starts else []

    def states(self) -> NDArray[Any]:
        """The name of the state of each sample, as ``predict_states`` finds them in what was seen.

        Raises
        ------
        SettingsError
            For a metric, which knows names of whole segments alone.
        """
        names = self._changes.names
        if names is None:
            raise SettingsError(no_names(self._learner.problem_))
        segments = self._segments()
        codes = np.array([state for _, state in segments], dtype=np.int64)
        sizes = np.diff([*(start for start, _ in segments), self.n_samples])
        return np.asarray(names[np.repeat(codes, sizes)])

    def _segments(self) -> list[Segment]:
        """All segments, if the recording ended now."""
        return self._changes.segments_after(self._made(self._rows, self.n_samples))

    # ---- samples

    def _read(self, block: Any, times: Any) -> tuple[Floats, TimeAxis | None]:
        """The samples of a block, checked, and their times."""
        P = self._rows.shape[1]
        is_plain = type(block) is np.ndarray and block.dtype == np.float64 and times is None
        if is_plain and block.shape[1:] == (P,) and all_within(block, LARGEST_VALUE):
            return block, None  # the checks below would find nothing wrong
        if np.shape(block)[:1] == (0,):
            return np.empty((0, P)), None
        form = Form.for_learner(self._learner, block)
        if not form.single:
            raise DataError(
                f"give an array or a data frame of shape (n, {P}), got {shown(block)}; of "
                "several recordings each has a stream of its own"
            )
        if any(one.order is not None for one in form.rows):
            raise DataError("its rows are not in the order of time: sort them")
        names = list(getattr(self._learner, "feature_names_in_", ()))
        _refuse_missing(form.instances[0], names or None)
        instance = measured(self._learner, form.instances)[0]
        if times is not None:
            return instance.X, time_axis(times, instance.n_samples)
        return instance.X, form.axes[0] if form.axes else None

    def _made(self, rows_in_memory: Floats, end: int) -> Floats:
        """The rows of the search for the samples up to ``end`` that it was not given yet."""
        n_given = self._search.n_given
        if end <= n_given:
            return np.empty((0, self._search.rows.shape[1]))
        prepared = self._learner.inputs_.online(rows_in_memory)
        rows: Floats = self._learner.model_.online_rows(prepared)
        first = self.n_samples - len(self._rows)
        return rows[n_given - first : end - first]


def _refuse_whole(learner: Fitted) -> None:
    """Refuse features or a scale that depend on the whole recording."""
    if max(learner.inputs_.reach) < inf:
        return
    raise SettingsError(
        f"{type(learner).__name__} sees features that depend on the whole recording, which has not "
        "ended: learn with "
        + parameter("standardize", "training")
        + ", and features of samples that are near, such as Columns(), Lags([-4, -2, 0]) or "
        "MovingStatistics([8])"
    )


def _refuse_missing(X: Any, names: Any) -> None:
    """Refuse missing values, which only later samples could fill in."""
    missing = np.isnan(as_floats(X, "it", names, "mask")).any(axis=1)
    if missing.any():
        raise DataError(
            f"a value is missing in row {int(missing.argmax())}, and a stream cannot wait for the "
            "next: push the last value that was measured in its place, or end the stream and begin "
            "another one"
        )


class _Clock:
    """Checks that each sample of a stream is measured one step after the one before."""

    def __init__(self, learned: Any) -> None:
        self.learned = learned  # the steps of the training recordings
        self.step = 0.0  # the usual step of this stream; 0 while it is not known
        self.last: NDArray[Any] | None = None  # the time of the last sample

    def read(self, axis: TimeAxis) -> None:
        """Refuse samples out of order, after a gap, or at another rate than those before."""
        last = axis.values[:0] if self.last is None else self.last
        if last.size and (last.dtype.kind == "M") != axis.holds_dates:
            raise DataError(
                "times are numbers in some blocks and dates in others: give one of both"
            )
        values = np.concatenate([last, axis.values])
        together = replace(axis, values=values, written=None)
        step = self.step or together.usual_step
        self._check_steps(together, step)
        if step and not self.step:
            warn_about_times(["the stream"], [together], self.learned)
        self.step = step  # a block that is refused leaves the clock as it was
        self.last = values[-1:]

    def _check_steps(self, axis: TimeAxis, step: float) -> None:
        steps = axis.steps
        if not steps.size:
            return
        i = int(steps.argmin())
        if steps[i] <= 0:
            raise DataError(
                f"the time {axis.values[i + 1]} is not after {axis.values[i]}: push the samples in "
                "the order of time, each once"
            )
        i = int(steps.argmax())
        if steps[i] > REGULAR * step:
            raise DataError(
                f"a gap of {steps[i]:.4g} after the time {axis.values[i]}, where a step is "
                f"{step:.4g}: end this stream, and begin another one after the gap"
            )
        if axis.usual_step < step / REGULAR:
            raise DataError(
                f"steps are {axis.usual_step:.4g}, and {step:.4g} before: resample to one "
                "rate, or begin another stream"
            )
