"""The score of a labelling of a recording by states."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.data import LARGEST_VALUE
from structsvm.errors import OracleError
from structsvm.partitions import EquivalenceMatrix, partition_loss
from structsvm.partitions.equivalence import runs_of
from structsvm.partitions.trace_objective import faults_of_truth
from structsvm.support import Floats, Ints, all_within, is_number, is_whole, read_only, shown

NEVER_LATE = read_only(np.zeros((0, 0), dtype=np.int64))  # ``late`` where no scores are late
MOST_LATE = 2**31  # samples, more than any recording has


@dataclass(frozen=True, eq=False)
class StateScore:
    """The score of a recording of T samples divided into segments with one of C states each.

    The score is the sum of ``samples[t, c]`` over the samples in state c, of ``lengths[c, n]`` over
    the segments of n samples in state c, of ``changes[a, b]`` over neighbouring segments in states
    a and b, and of ``first[c]`` and ``last[c]`` for the first and the last segment. What is
    forbidden earns minus infinity. With a ``truth``, ``truth_weight`` times the partition loss
    ``|M - truth|_F^2`` is added.

    Parameters
    ----------
    samples : array of shape (T, C)
    lengths : array of shape (C, L + 1), L at least 1
        The last column stands for all longer segments too; that of length 0 is not read.
    changes : array of shape (C, C)
        The diagonal is not read, because neighbours have different states.
    first, last : array of shape (C,)
    truth : EquivalenceMatrix, optional
        Of segments.
    truth_weight : float
        0 or more.
    late : array of int of shape (C, C), optional
        By how many samples scores are late where a segment in state a goes over into one in state
        b: so many samples behind that boundary are scored as if they were in state a still, and
        before it as if they were in b already where it is negative.

    Raises
    ------
    OracleError
        When shapes do not agree, or a score is neither a number nor minus infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import StateScore
    >>> samples = np.array([[1.0, 0.0], [1.0, 0.0], [0.4, 0.5], [1.0, 0.0]])
    >>> score = StateScore(samples, np.zeros((2, 5)), np.full((2, 2), -1.0), *np.zeros((2, 2)))
    >>> score.value(np.array([0, 0, 1, 0]))
    1.5
    """

    samples: Floats
    lengths: Floats
    changes: Floats
    first: Floats
    last: Floats
    truth: EquivalenceMatrix | None = None
    truth_weight: float = 0.0
    late: Any = None

    def __post_init__(self) -> None:
        """Copy the arrays as compiled code needs them, and check all that it relies on."""
        scores = self.samples, self.lengths, self.changes, self.first, self.last
        arrays = [_as_scores(name, one) for name, one in zip(ARRAYS, scores, strict=True)]
        vars(self).update(zip(ARRAYS, arrays, strict=True))
        samples, lengths, changes, first, last = arrays
        if samples.ndim != 2 or samples.size == 0:
            raise OracleError(f"samples must have shape (T, C), got {samples.shape}")
        C = samples.shape[1]
        if lengths.ndim != 2 or lengths.shape[0] != C or lengths.shape[1] < 2:
            raise OracleError(
                f"lengths must have shape ({C}, L + 1) with L >= 1, got {lengths.shape}"
            )
        if changes.shape != (C, C):
            raise OracleError(f"changes must have shape {(C, C)}, got {changes.shape}")
        if first.shape != (C,) or last.shape != (C,):
            raise OracleError(
                f"first and last must have shape {(C,)}, got {first.shape} and {last.shape}"
            )
        entries = samples, lengths[:, 1:], changes[~np.eye(C, dtype=np.bool_)], first, last
        for name, numbers in zip(ARRAYS, entries, strict=True):
            if not are_scores(numbers):
                raise OracleError(
                    f"{name} must hold numbers up to {LARGEST_VALUE:g}, or minus infinity for what "
                    "is forbidden: look for NaN and inf"
                )
        vars(self)["late"] = _as_samples(self.late, C)
        if self.truth is not None:
            self._check_truth(self.truth)

    def _check_truth(self, truth: EquivalenceMatrix) -> None:
        fault = next(faults_of_truth(truth, len(self.samples)), None)
        if fault is None and not truth.is_contiguous:
            fault = "the truth must be made of segments of consecutive samples"
        if fault is None and not (
            is_number(self.truth_weight) and 0 <= self.truth_weight < LARGEST_VALUE
        ):
            fault = f"truth_weight must be a number >= 0, got {self.truth_weight!r}"
        if fault is not None:
            raise OracleError(fault)

    def value(self, states: Ints) -> float:
        """The score of a state for each sample, (T,).

        Raises
        ------
        OracleError
            When a sample has no state, or one that is none of 0, ..., C - 1.
        """
        states = self._checked(states, least=0)
        starts, ends, of = segments_of(states)
        total = self.samples[np.arange(states.size), states].sum()
        if self.late.size:
            total += self._of_late(starts[1:], of)
        n = np.minimum(ends - starts, self.lengths.shape[1] - 1)
        total += self.lengths[of, n].sum() + self.changes[of[:-1], of[1:]].sum()
        total += self.first[of[0]] + self.last[of[-1]]
        if self.truth is not None:
            guess = EquivalenceMatrix.from_breakpoints(ends)
            total += self.truth_weight * partition_loss(self.truth, guess)
        return float(total)

    def _of_late(self, places: Ints, of: Ints) -> float:
        """What late scores change in the sum: samples near boundaries count for a neighbour."""
        T = len(self.samples)
        plain = np.where(np.isneginf(self.samples), 0.0, self.samples)
        earned = 0.0
        for t, a, b in zip(places.tolist(), of[:-1].tolist(), of[1:].tolist(), strict=True):
            shown_at = min(max(t + int(self.late[a, b]), 0), T)
            between = plain[min(t, shown_at) : max(t, shown_at)]
            gain = float((between[:, a] - between[:, b]).sum())
            earned += gain if shown_at > t else -gain
        return earned

    def knowing(self, states: Ints) -> "StateScore":
        """The score with known states of samples, (T,), where -1 stands for an unknown one.

        Raises
        ------
        OracleError
            When they are not integers from -1 to C - 1, one for each sample.
        """
        states = self._checked(states, least=-1)
        others = (states >= 0)[:, None] & (np.arange(self.samples.shape[1]) != states[:, None])
        return replace(self, samples=np.where(others, -np.inf, self.samples))

    def lasting(self, shortest: int = 1, longest: int | None = None) -> "StateScore":
        """The score in which segments with fewer or more samples than these are forbidden.

        A recording that is shorter may be one segment.

        Raises
        ------
        OracleError
            When they are not integers of 1 or more, the first at most the second.
        """
        fits = is_whole(shortest) and shortest >= 1
        if not (fits and (longest is None or (is_whole(longest) and longest >= shortest))):
            raise OracleError(f"segments cannot last {shortest!r} samples to {longest!r}")
        T = len(self.samples)
        least = min(shortest, T)
        most = T if longest is None else min(longest, T)
        more = max(0, most + 2 - self.lengths.shape[1])
        lengths = np.pad(self.lengths, ((0, 0), (0, more)), mode="edge")
        lengths[:, :least] = -np.inf
        if most < T:
            lengths[:, most + 1 :] = -np.inf
        return replace(self, lengths=lengths)

    def _checked(self, states: Any, least: int) -> Ints:
        T, C = self.samples.shape
        return checked_states(states, T, C, least)


ARRAYS = ("samples", "lengths", "changes", "first", "last")


def checked_states(states: Any, n_samples: int, n_states: int, least: int = 0) -> Ints:
    """Numbers of states, from ``least`` on, one for each sample; an OracleError for others."""
    codes = np.asarray(states)
    if codes.shape != (n_samples,) or codes.dtype.kind not in "iu":
        raise OracleError(f"give an integer for each of {n_samples} samples, not {shown(states)}")
    if codes.min() < least or codes.max() >= n_states:
        raise OracleError(
            f"states are {least}..{n_states - 1}, and there are {codes.min()}..{codes.max()}"
        )
    return codes.astype(np.int64, copy=False)


def _as_samples(late: Any, C: int) -> Ints:
    """``late`` checked, (C, C); NEVER_LATE if it is not given."""
    try:
        numbers = np.asarray(late)
    except ValueError:
        numbers = np.empty(1, dtype=object)
    if late is None or numbers.shape == (0, 0):
        return NEVER_LATE
    if numbers.shape != (C, C) or numbers.dtype.kind not in "iu":
        raise OracleError(f"late must hold integers, of shape {(C, C)}, got {shown(late)}")
    return read_only(np.clip(numbers, -MOST_LATE, MOST_LATE).astype(np.int64, order="C"))


def _as_scores(name: str, values: Any) -> Floats:
    """A read-only copy of an array of numbers."""
    try:
        scores = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise OracleError(f"{name} must be an array of numbers, got {shown(values)}") from error
    scores.setflags(write=False)
    return scores


def are_scores(numbers: Floats) -> bool:
    """Whether all numbers are minus infinity or within LARGEST_VALUE."""
    if all_within(numbers, LARGEST_VALUE):
        return True
    return bool((np.isneginf(numbers) | (np.abs(numbers) <= LARGEST_VALUE)).all())


def segments_of(states: Ints) -> tuple[Ints, Ints, Ints]:
    """Starts, ends and states of the segments of a labelling with a state for each sample, (K,)."""
    bounds = runs_of(states).boundaries
    return bounds[:-1], bounds[1:], states[bounds[:-1]]
