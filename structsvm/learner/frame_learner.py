"""Methods that find segments by what a classifier says of each sample of a recording."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.data import UNKNOWN, Instance, States, filled
from structsvm.errors import DataError
from structsvm.features import Columns, Lags, MovingStatistics, RecordingTransformer, Union
from structsvm.features.frames import FrameModel
from structsvm.features.scores import begins_of
from structsvm.learner.form import Form
from structsvm.learner.learner import How, Learned, Learner
from structsvm.learner.preparing import prepared
from structsvm.learner.stages import FrameScores, Stage
from structsvm.learner.training_set import TrainingSet, learn_in_memory
from structsvm.oracles import StateScore, best_states, losses_with, state_margins
from structsvm.oracles._segments.every_price import path_losses
from structsvm.oracles.state_score import segments_of
from structsvm.partitions import Constraint, EquivalenceMatrix, Found, Model, PartitionProblem
from structsvm.partitions.equivalence import runs_of, stretches_of
from structsvm.support import Bools, Floats, Interrupts, Ints, among, hook, share, stage

LAGS = (-0.25, -0.125, 0.0, 0.125, 0.25)
WINDOWS = (0.25, 0.5, 1.0)
"""Lags and widths of windows that classifiers see, in lengths of a typical segment."""
SHORT = (5, 15, 45, 135)
SHORTER = 6.0
"""Widths in samples of further windows, each for typical segments more than so many times as long:
periods and jerks are as short in long segments. On drawn signals of swimmers, whose typical segment
has 548 samples, a kernel classifier then names .92 of the samples right, and .82 without."""
STATISTICS = ("mean", "spread", "slope")
"""Statistics of windows that classifiers see. The slope tells speeds apart at any position: on
drawn signals of gaze a kernel classifier names .83 of the samples right, and .78 without."""
SIGNALS = 16
"""The largest number of columns that are taken for raw signals. More columns are features, which
show periods and speeds themselves: on five recordings of har_spsw their slopes gained nothing."""
SCORED_BY, TRIED_BY, LEARNED_BY = 0.6, 0.8, 0.85
"""The shares of the time, about, after which classifiers have scored the recordings, settings were
tried, and the search for segments was learned from all recordings."""

ENDS_AT_ONCE = 1_000_000
"""Segment ends that are compared with a true segmentation at once, at most."""


class FrameLearner(Learner):
    """Finds segments by what a classifier says of each sample, with settings tuned on labels."""

    models_: Sequence[FrameModel]

    def suits(self, problem: PartitionProblem) -> bool:
        """Whether the instances of the problem are recordings."""
        return problem.traits.contiguous

    @abstractmethod
    def _scored(self, Xs: list[Floats], ys: Any, groups: Any) -> "Scored":
        """Learn classifiers, and score each recording by some that have not seen it."""

    @abstractmethod
    def _losses(self, scored: "Scored") -> tuple[Sequence[Any], Floats]:
        """Choices of settings, and the loss of each on each known stretch, (n_choices, n_known)."""

    @abstractmethod
    def _tuned(self, scored: "Scored", choices: Sequence[Any], losses: Floats) -> Model:
        """Build the model with the settings of least loss, or usual ones if none were tried."""

    def _learn(self, data: TrainingSet, how: How) -> Learned:
        with Interrupts() as interrupts, interrupts.released():
            with share("classifiers", 0.0, SCORED_BY * how.part):
                scored = learn_in_memory(data, type(self).__name__, self._scored_in)[1]
            choices: Sequence[Any] = ()
            losses = np.empty((0, len(scored.known)))
            if scored.is_tunable:
                with share("settings", SCORED_BY * how.part, TRIED_BY * how.part):
                    choices, losses = self._losses(scored)
            with share("the search for segments", TRIED_BY * how.part, how.part):
                model = self._tuned(scored, choices, losses)
        return Learned(self._stage, model)

    def learn_held_out(self, data: TrainingSet) -> tuple[list[Instance], list[Model]]:
        """Learn as ``fit`` does, and return what the other folds teach about each recording.

        That is each instance with the probabilities by a classifier of the other folds, and the
        model whose settings are chosen on those folds.

        Raises
        ------
        DataError
            If there are no two groups to hold one out.
        """
        with share("classifiers", 0.0, SCORED_BY):
            which, scored = learn_in_memory(data, type(self).__name__, self._scored_in)
        if not scored.probabilities:
            raise DataError(f"{type(self).__name__}: there are no two groups to hold one out")
        with share("settings", SCORED_BY, TRIED_BY):
            choices, losses = self._losses(scored)
        recordings = [part.recording for part in scored.known]
        without: dict[int, Model] = {}
        with share("the search for segments", TRIED_BY, LEARNED_BY):
            self._keep(data, Learned(self._stage, self._tuned(scored, choices, losses)))
        with share("the search for segments", LEARNED_BY, 1.0):
            for k in stage("folds", np.unique(scored.fold).tolist()):
                others = scored.fold[recordings] != k
                without[k] = copy(self)._tuned(scored.at(others), choices, losses[:, others])
        pairs = zip([data.instances[i] for i in which], scored.probabilities, strict=True)
        instances = [replace(instance, states=p) for instance, p in pairs]
        return instances, [without[k] for k in scored.fold.tolist()]

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of ``classes_`` at each sample, not smoothed, (T_i, C) each.

        A classifier of boundaries returns (T_i,) each: the probability that a segment begins within
        ``tolerance`` samples.
        """
        check_is_fitted(self)
        form = Form.for_learner(self, X)
        probabilities = [np.asarray(instance.states) for instance in prepared(self, form.instances)]
        return form.answer(
            [p[:, 1] for p in probabilities] if self.classes_ is None else probabilities
        )

    @property
    @hook
    def _stage(self) -> Stage:
        owner = type(self).__name__
        if self.classes_ is None:
            return FrameScores(self.models_, np.arange(2), owner, named=False)
        return FrameScores(self.models_, self.classes_, owner)

    @hook
    def _scored_in(self, data: TrainingSet) -> "Scored":
        arrays = [filled(instance.X) for instance in data.instances]
        return self._scored(arrays, data.item_labels, data.groups)


def typical_length(sequences: Sequence[Ints]) -> float:
    """The median number of samples of a segment."""
    return float(np.median(np.concatenate([runs_of(y).sizes for y in sequences])))


def context_of(estimator: Any, sequences: Sequence[Ints], n_features: int) -> RecordingTransformer:
    """Features of the samples around each: lags for boosting, windows for other classifiers."""
    typical = typical_length(sequences)
    if among(estimator, (None, "boosting", "fast-boosting")):
        return Lags(sorted({round(part * typical) for part in LAGS}))
    # An odd window has a sample in its middle: in an even one, where a segment begins and where it
    # ends look alike one sample apart, which put every second change one sample off.
    widths = {max(3, 2 * round((part * typical - 1) / 2) + 1) for part in WINDOWS}
    if n_features > SIGNALS:
        return Union(Columns(), MovingStatistics(sorted(widths), ("mean", "spread")))
    widths |= {width for width in SHORT if SHORTER * width < typical}
    return Union(Columns(), MovingStatistics(sorted(widths), STATISTICS))


def losses_of(
    truths: Sequence[EquivalenceMatrix], segmentations: Sequence[Sequence[list[int]]]
) -> Floats:
    """``|M - M_i|_F^2`` of the segment ends that each choice finds in each, (n_choices, n)."""
    losses = np.empty((len(segmentations), len(truths)))
    for i, truth in enumerate(truths):
        paths = [of_choice[i] for of_choice in segmentations]
        size = max(1, ENDS_AT_ONCE // max(map(len, paths)))
        for k in range(0, len(paths), size):
            batch = paths[k : k + size]
            counts = np.array([len(path) for path in batch])
            bounds = np.zeros((counts.size, counts.max() + 1), dtype=np.int64)
            bounds[:, 1:][np.arange(counts.max()) < counts[:, None]] = [*chain(*batch)]
            losses[k : k + size, i] = path_losses(truth.boundaries, bounds, counts)
    return losses


@dataclass(frozen=True, eq=False)
class Stretch:
    """Consecutive samples of a recording whose segmentation is known."""

    recording: int
    start: int
    end: int
    truth: EquivalenceMatrix
    n_samples: int  # of the recording
    beside: tuple[int, int] = (0, 0)
    """The numbers of samples before and after it, up to the next ones that have labels."""

    @property
    def edges(self) -> tuple[bool, bool]:
        """Whether it begins, and ends, where the recording does."""
        return self.start == 0, self.end == self.n_samples

    def of(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The part of per-sample ``values`` of all recordings, (end - start, ...)."""
        return values[self.recording][self.start : self.end]


@dataclass(frozen=True, eq=False)
class Scored:
    """Training recordings, with probabilities by classifiers that have not seen them."""

    probabilities: Sequence[Floats]  # (T_i, C) each; empty if no recording can be held out
    known: Sequence[Stretch]
    fold: Ints  # the fold in which each recording was held out, (N,)
    codes: Sequence[Ints]  # numbers of the states of each recording, (T_i,)
    units: Ints  # the group of each recording, or its own number, (N,)

    def at(self, which: NDArray[np.bool_]) -> "Scored":
        """The same recordings with some of the known stretches."""
        kept = [part for part, take in zip(self.known, which.tolist(), strict=True) if take]
        return replace(self, known=kept)

    @property
    def is_tunable(self) -> bool:
        return bool(self.probabilities and self.known)

    @property
    def units_of_known(self) -> Ints:
        """The group of each known stretch, (n_known,)."""
        return self.units[[part.recording for part in self.known]]

    @property
    def sequences(self) -> list[Ints]:
        """Numbers of the states of the known stretches."""
        return [part.of(self.codes) for part in self.known]

    @property
    def edges(self) -> Bools:
        """Whether each known stretch begins, and ends, where its recording does, (n_known, 2)."""
        return np.array([part.edges for part in self.known], dtype=np.bool_).reshape(-1, 2)

    @property
    def beside(self) -> Ints:
        """Samples without a label before and after each known stretch, (n_known, 2)."""
        return np.array([part.beside for part in self.known], dtype=np.int64).reshape(-1, 2)

    def seen(self, smoothing: float) -> list[Floats]:
        """Logarithms of the smoothed probabilities of the known stretches."""
        return [np.log(part.of(self.probabilities) + smoothing) for part in self.known]


def stretches_to_tune_on(begins: Sequence[Ints], owner: str) -> list[Stretch]:
    """The stretches whose segmentation is known: whole recordings, and parts of others."""
    stretches: list[Stretch] = []
    for i, code in enumerate(begins):
        parts = stretches_of(code != UNKNOWN, code == 1)
        bounds = [0, *chain.from_iterable((start, end) for start, end, _ in parts), code.size]
        gaps = np.diff(bounds)[::2].tolist()
        pairs = zip(parts, pairwise(gaps), strict=True)
        stretches += [Stretch(i, *part, code.size, beside) for part, beside in pairs]
    if not stretches:
        raise DataError(
            f"{owner} is tuned on samples next to each other that have labels, and there are none: "
            "label a stretch that has a change"
        )
    return stretches


def read_named(
    arrays: list[Floats], ys: Any, owner: str, *, bridges: bool = False
) -> tuple[States, list[Stretch], list[Ints]]:
    """The states of recordings, the stretches with names, and the states of all samples there.

    Where it ``bridges`` short gaps between names, stretches go on through them.
    """
    states = States.read(ys, arrays, owner)
    codes = list(map(bridged, states.codes)) if bridges else states.codes
    begins = [begins_of(code, code == UNKNOWN) for code in codes]
    return states, stretches_to_tune_on(begins, owner), codes


def bridged(code: Ints) -> Ints:
    """Fill gaps between two states that are shorter than the labelled segments on both sides.

    There is a change in such a gap, put into its middle, and another segment is unlikely.
    """
    starts, ends, states = segments_of(code)
    lengths = ends - starts
    gap = lengths[1:-1]
    is_short = (gap < lengths[:-2]) & (gap < lengths[2:])
    is_change = (states[1:-1] == UNKNOWN) & (states[:-2] != states[2:])
    filled = code.copy()
    for k in (np.flatnonzero(is_short & is_change) + 1).tolist():
        middle = (starts[k] + ends[k]) // 2
        filled[starts[k] : middle] = states[k - 1]
        filled[middle : ends[k]] = states[k + 1]
    return filled


class StatePath(Model):
    """Segments that have states, by the best path through the probabilities at each sample."""

    keeps_rules = has_margins = keeps_states = True

    @abstractmethod
    def score(self, problem: Any, p: Floats) -> StateScore:
        """The score of paths, given the probabilities of states, (T, C)."""

    def partition(self, problem: Any, instance: Instance, constraint: Constraint) -> Found:
        """The segments of the best path."""
        score = self._score_of(problem, instance)
        path = best_states(score, constraint.n_clusters, constraint)
        return Found.of(runs_of(path), path)

    def margins(
        self, problem: Any, instance: Instance, constraint: Constraint, tolerance: int
    ) -> tuple[Found, Floats]:
        """The best segments, and how much less the best path without each change scores."""
        score = self._score_of(problem, instance)
        margins = state_margins(score, constraint.n_clusters, constraint, tolerance)
        return Found.of(runs_of(margins.states), margins.states), margins.boundaries

    def losses_with(
        self, problem: Any, instance: Instance, constraint: Constraint, places: Ints
    ) -> Floats:
        """How much less the best path with a change at each of ``places`` scores."""
        score = self._score_of(problem, instance)
        return losses_with(score, places, constraint.n_clusters, constraint)

    def _score_of(self, problem: Any, instance: Instance) -> StateScore:
        """The score of paths whose segments have the lengths that the problem allows."""
        score = self.score(problem, np.asarray(instance.states))
        shortest = getattr(problem, "min_length", 1)
        longest = getattr(problem, "max_length", None)
        is_free = shortest == 1 and longest is None
        return score if is_free else score.lasting(shortest, longest)
