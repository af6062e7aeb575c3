"""Blind baselines, which ignore the features: learning pays only if it beats all of them."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from structsvm.data import Instance
from structsvm.errors import DataError
from structsvm.learner import AsMeasured, Learned, Learner, Method, TrainingSet
from structsvm.learner.frame_learner import Stretch, losses_of
from structsvm.learner.learner import How
from structsvm.learner.training_summary import WITH_CHANGE, TrainingSummary
from structsvm.partitions import Constraint, EquivalenceMatrix, Found, Model, PartitionProblem
from structsvm.support import Floats
from structsvm.training_labels import Known

N_LENGTHS = 80  # candidate lengths, from one sample to twice the longest recording
MAX_SEGMENTATIONS = 40
"""The most training segmentations that times are taken from and judged by."""
Stretches = Sequence[Stretch]  # stretches of recordings with known segmentations
Times = tuple[Floats, Floats]
"""Shares s and offsets d, (n,) each, of changes at ``s T + d`` in a recording of T samples: s is 0
for times from the start and 1 for times from the end, and d is 0 for shares of the length."""


class BlindLearner(Learner):
    """Base of methods that segment recordings by the labels of others, ignoring the features."""

    def suits(self, problem: PartitionProblem) -> bool:
        """Whether the problem is one of recordings."""
        return problem.traits.contiguous

    @abstractmethod
    def _chosen(self, stretches: Stretches, lengths: Sequence[int]) -> Model:
        """The model of least mean loss on labelled stretches of recordings of these lengths."""

    def _learn(self, data: TrainingSet, how: How) -> Learned:
        stretches = []
        for i, (instance, labels) in enumerate(zip(data.instances, data.labels, strict=True)):
            for rows, truth in zip(*labels.part, strict=True):
                end = int(rows[-1]) + 1
                stretches.append(Stretch(i, int(rows[0]), end, truth, instance.n_samples))
        if all(part.truth.n_clusters == 1 for part in stretches):
            raise DataError("no recording has a change: there is no boundary to learn from")
        return Learned(AsMeasured(), self._chosen(stretches, [x.n_samples for x in data.instances]))


class BlindModel(Model):
    """Segment ends that follow from the number of samples."""

    @abstractmethod
    def ends(self, T: int, K: int | None) -> list[int]:
        """The segment ends of a recording of T samples, of K segments if K is given."""

    def partition(self, problem: Any, instance: Instance, constraint: Constraint) -> Found:
        """Segments that depend on the numbers of samples and segments alone."""
        ends = self.ends(instance.n_samples, constraint.n_clusters)
        return Found(EquivalenceMatrix.from_breakpoints(ends))


@dataclass(eq=False, repr=False)
class EqualSegments(BlindLearner):
    """Segments of equal length, whatever is in the recording.

    The length has the smallest mean loss ``|M - M_i|_F^2`` on the training recordings. If no method
    beats it, the features say nothing about the labels.

    Attributes
    ----------
    length_ : float
        Mean number of samples in a segment.
    loss_ : float
        The mean loss on the training recordings.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.baselines import EqualSegments
    >>> Xs = [np.zeros((30, 1))] * 4
    >>> EqualSegments().fit(Xs, [[10, 20, 30]] * 4).predict_breakpoints(Xs[:1])
    [[10, 20, 30]]
    """

    problem: PartitionProblem | str | None = None

    called = "segments of equal length"

    def _chosen(self, stretches: Stretches, lengths: Sequence[int]) -> Model:
        truths = [part.truth for part in stretches]
        lengths_tried = np.geomspace(1.0, 2.0 * max(M.n_samples for M in truths), N_LENGTHS)
        segmentations = [[_equal(M.n_samples, L) for M in truths] for L in lengths_tried]
        losses = losses_of(truths, segmentations).mean(axis=1)
        best = len(losses) - 1 - int(np.argmin(losses[::-1]))  # the longest of equally good ones
        self.length_ = float(lengths_tried[best])
        self.loss_ = float(losses[best])
        return EqualLengths(self.length_)


@dataclass(frozen=True)
class EqualLengths(BlindModel):
    """Segments of nearly equal length."""

    length: float

    def ends(self, T: int, K: int | None) -> list[int]:
        return _equal(T, self.length if K is None else T / K)


def _equal(T: int, length: float) -> list[int]:
    """Ends of nearly equal segments of T samples, whose mean length is nearest to ``length``."""
    K = max(1, min(T, round(T / length)))
    return [(k * T + K // 2) // K for k in range(1, K)] + [T]


@dataclass(eq=False, repr=False)
class FixedTimes(BlindLearner):
    """Changes at the times of the training recordings: from the start, from the end, or scaled.

    The times are those of one training segmentation, or medians over segmentations with equally
    many changes. They are samples from the start, samples from the end, or shares of the length:
    the same for all changes, or for each change the one that varies least. The choice has the
    least mean loss on the training recordings. It is hard to beat where recordings follow a
    protocol.

    Attributes
    ----------
    loss_ : float
        The mean loss on the training recordings.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.baselines.blind import FixedTimes
    >>> Xs = [np.zeros((T, 1)) for T in (30, 50, 70)]
    >>> fixed = FixedTimes().fit(Xs, [[10, 25, 30], [10, 45, 50], [10, 65, 70]])
    >>> fixed.predict_breakpoints([np.zeros((100, 1))])
    [[10, 95, 100]]
    """

    problem: PartitionProblem | str | None = None

    called = "the times of the training labels"

    def _chosen(self, stretches: Stretches, lengths: Sequence[int]) -> Model:
        whole = [part for part in stretches if part.truth.n_samples == lengths[part.recording]]
        judged = (whole or stretches)[:: -(-len(whole or stretches) // MAX_SEGMENTATIONS)]
        changes: dict[int, list[int]] = {}
        for part in judged:
            places = (part.start + part.truth.boundaries[1:-1]).tolist()
            changes.setdefault(part.recording, []).extend(places)
        sizes = {i: float(lengths[i]) for i in changes}
        protocols = _protocols(list(map(np.array, changes.values())), np.array([*sizes.values()]))
        truths = [part.truth for part in judged]
        segmentations = [
            [_within(part, _at(times, sizes[part.recording])) for part in judged]
            for times in protocols
        ]
        losses = losses_of(truths, segmentations).mean(axis=1)
        order = np.argsort(losses, kind="stable")
        shares = [np.array(places) / sizes[i] for i, places in changes.items()]
        self.loss_ = float(losses[order[0]])
        return ProtocolTimes(tuple(protocols[k] for k in order), np.concatenate(shares))


@dataclass(frozen=True, eq=False)
class ProtocolTimes(BlindModel):
    """Changes at given times of a recording."""

    times: Sequence[Times]  # protocols to choose from, that of the least training loss first
    shares: Floats  # all changes of the training recordings, as shares of their lengths

    def ends(self, T: int, K: int | None) -> list[int]:
        if K is None:
            return _at(self.times[0], T)
        for times in self.times:
            ends = _at(times, T)
            if len(ends) == K:
                return ends
        places = (np.arange(K - 1) + 0.5) / max(K - 1, 1)
        shares = np.quantile(self.shares, places) if self.shares.size else places
        return _apart(shares * T, T)


def _protocols(changes: Sequence[Floats], sizes: Floats) -> list[Times]:
    """Candidate times, from the changes (n_i,) of each recording and the lengths (N,)."""
    protocols: list[Times] = []
    counts = np.array([places.size for places in changes])
    for n in dict.fromkeys(counts.tolist()):
        which = np.flatnonzero(counts == n)
        protocols += _clocks(np.array([changes[i] for i in which.tolist()]), sizes[which])
    for places, T in zip(changes, sizes, strict=True):
        protocols += _clocks(places[None], np.array([T]))
    # Recordings that end early, or begin late, have only some of the changes.
    longest = int(counts.max())
    first = np.full((len(changes), longest), np.nan)
    last = np.full((len(changes), longest), np.nan)
    for i, places in enumerate(changes):
        first[i, : places.size] = places
        last[i, longest - places.size :] = places - sizes[i]
    protocols.append((np.zeros(longest), np.nanmedian(first, axis=0)))
    protocols.append((np.ones(longest), np.nanmedian(last, axis=0)))
    return protocols


def _clocks(changes: Floats, sizes: Floats) -> list[Times]:
    """Median times of changes (N, n) as shares, from the start, from the end, and mixed."""
    n = changes.shape[1]
    lengths = sizes[:, None]
    scaled = (np.median(changes / lengths, axis=0), np.zeros(n))
    from_start = (np.zeros(n), np.median(changes, axis=0))
    from_end = (np.ones(n), np.median(changes - lengths, axis=0))
    clocks: list[Times] = [scaled, from_start, from_end]
    if len(changes) == 1:  # all three are exact
        return clocks
    off = [np.abs(share * lengths + offset - changes).mean(axis=0) for share, offset in clocks]
    least = np.argmin(off, axis=0)
    shares = np.choose(least, [share for share, _ in clocks])
    return [*clocks, (shares, np.choose(least, [offset for _, offset in clocks]))]


def _at(times: Times, T: float) -> list[int]:
    """Ends of the segments of T samples; times outside of the recording are left out."""
    share, offset = times
    places = np.sort(share * T + offset)
    return _apart(places[(places > 0) & (places < T)], int(T))


def _apart(places: Floats, T: int) -> list[int]:
    """Ends of segments near the sorted places, each at least one sample after the one before."""
    n = min(places.size, T - 1)
    order = np.arange(n)
    ends = np.maximum(np.round(places[:n]).astype(np.int64), 1)
    ends = np.maximum.accumulate(ends - order) + order
    return [*np.minimum(ends, T - n + order).tolist(), T]


def _within(part: Stretch, ends: Sequence[int]) -> list[int]:
    """The segment ends within a stretch of a recording, counted from the stretch's start."""
    return [t - part.start for t in ends if part.start < t < part.end] + [part.end - part.start]


@dataclass(eq=False, repr=False)
class OnePart(Learner):
    """All items in one part, such as an image without an object; the part may have a name."""

    name: Any = None
    problem: PartitionProblem | str | None = None

    called = "one single part"

    def _learn(self, data: TrainingSet, how: How) -> Learned:
        self.classes_ = None if self.name is None else np.array([self.name])
        return Learned(AsMeasured(), Whole(is_named=self.name is not None))


@dataclass(frozen=True)
class Whole(Model):
    """All items of an instance in one part, whatever the number of parts that is asked for."""

    is_named: bool = False

    def partition(self, problem: Any, instance: Instance, constraint: Constraint) -> Found:
        """One part, in the only state if that has a name."""
        states = np.zeros(1, dtype=np.int64) if self.is_named else None
        return Found(EquivalenceMatrix.from_breakpoints([instance.n_samples]), states)


def blind_methods(has_changes: bool) -> list[Method]:
    """The blind methods; all but "one-part" need recordings with changes."""
    of_changes = [Method("equal-segments", EqualSegments()), Method("fixed-times", FixedTimes())]
    return [*(of_changes if has_changes else []), Method("one-part", OnePart())]


def blind_to(problem: PartitionProblem, learned_from: TrainingSummary) -> dict[str, Learner]:
    """Blind methods, learned from the labels that a fitted learner has kept; by name.

    The most frequent name is one of them if the labels had names.
    """
    boundaries: dict[int, list[Sequence[int]]] = {}
    for i, *edges in learned_from.stretches:
        boundaries.setdefault(i, []).append(edges)
    labels = [_known(T, boundaries.get(i, [])) for i, T in enumerate(learned_from.n_samples)]
    has_changes = any(len(one) >= WITH_CHANGE for one in learned_from.stretches)
    methods = blind_methods(has_changes)
    if learned_from.commonest is not None:
        methods.append(Method("most-frequent", OnePart(learned_from.commonest)))
    instances = [Instance(np.zeros((T, 0))) for T in learned_from.n_samples]
    data = TrainingSet(problem, instances, labels, np.ones(len(labels)), labels)
    return {method.name: method.learned_from(data) for method in methods}


def _known(T: int, boundaries: Sequence[Sequence[int]]) -> Known:
    """The labels of a recording, given the segment boundaries of each labelled stretch."""
    if boundaries and (boundaries[0][0], boundaries[0][-1]) == (0, T):
        return Known.of(EquivalenceMatrix.from_boundaries(np.array(boundaries[0])))
    forced = set(chain.from_iterable(edges[1:-1] for edges in boundaries))
    inside = set(chain.from_iterable(range(edges[0] + 1, edges[-1]) for edges in boundaries))
    rules = Constraint(forced=tuple(sorted(forced)), forbidden=tuple(sorted(inside - forced)))
    return Known(T, rules, None, contiguous=True)
