"""The best segmentation whose segments keep a rule, exactly, by dynamic programming.

Time O(n r) for n allowed segments of T samples and rank r, times K for K segments. Where K is not
given, and the starts are neighbours that move on with the end, as for lengths from a to b, the
tree of starts leaves most of them out.

Where values are missing, the score of a column is divided by the number of its present values.
Cutting a segment then still adds a square: the sum of a part without any value is 0.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from structsvm.errors import OracleError, PluginError
from structsvm.oracles._segments.best_path import best_path, rounding_of
from structsvm.oracles._segments.boundaries import Allowed, Boundaries
from structsvm.partitions import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    EquivalenceMatrix,
    Oracle,
    TraceObjective,
)
from structsvm.problem import Quality
from structsvm.support import Bools, Ints, asked, read_only, refuse_below, refuse_unless, shown

Rule = Callable[[Any, Any, int], Any]

DOUBTFUL = 1e-6
"""Rounding of at most this part of the price of a segment is not reported, because bounds of the
objective allow for as much."""


@dataclass(frozen=True)
class AllowedSegmentsOracle(Oracle):
    """Maximises ``Tr(A M)`` over the segmentations whose segments obey a rule.

    Parameters
    ----------
    rule : callable
        ``rule(starts, end, n_samples)`` says which of the segments ``start, ..., end - 1`` are
        allowed; ``starts`` is an array of integers, and the answer as many truth values. It is
        asked once for a number of samples, and must be hashable: a function, or a method of a
        frozen dataclass.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import AllowedSegmentsOracle
    >>> from structsvm.partitions import TraceObjective
    >>> at_least_two = lambda starts, end, n: end - starts >= 2
    >>> Z = np.array([[0.0], [9.0], [0.0], [0.0]])
    >>> answer = AllowedSegmentsOracle(at_least_two).maximize(TraceObjective(Z, shift=-1.0))
    >>> answer.y.breakpoints
    [2, 4]
    """

    takes = frozenset({"n_clusters", "boundaries", "regions"})
    takes_gaps = True

    rule: Rule

    def __post_init__(self) -> None:
        """Check once, at the door."""
        fits = callable(self.rule) and getattr(type(self.rule), "__hash__", None) is not None
        refuse_unless(fits, "rule", "a function, or a method of a frozen dataclass", self.rule)

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise over the segmentations that rule and ``constraint`` allow."""
        T = objective.n_samples
        K = constraint.n_clusters
        boundaries = Boundaries.of(constraint, T)
        path = best_path(objective, boundaries, K, _allowed(self.rule, T))
        if path is None:
            into = "" if K is None else f" into {K} segments"
            bare = constraint == replace(UNCONSTRAINED, n_clusters=K)
            constraint_in_words = "" if bare else ", with changes where they are known to be"
            raise OracleError(
                f"no segmentation{into} of {T} samples has only segments that "
                f"{_in_words(self.rule)} allows{constraint_in_words}: allow more"
            )
        y = EquivalenceMatrix.from_boundaries(path)
        value = objective.value(y)
        return Argmax(y, value, value + rounding_of(objective, value, DOUBTFUL), Quality.EXACT)


@dataclass(frozen=True)
class Lengths:
    """The rule that segments have at least and at most so many samples, known without asking.

    A recording that is shorter may be one segment.
    """

    min_length: int = 1
    max_length: int | None = None

    def __post_init__(self) -> None:
        """Check what compiled code relies on."""
        refuse_below(1, "min_length", self.min_length)
        if self.max_length is not None:
            refuse_below(1, "max_length", self.max_length)

    def __call__(self, starts: Ints, end: int, n_samples: int) -> Bools:
        """Which segments are allowed."""
        length = end - starts
        longest = n_samples if self.max_length is None else self.max_length
        return np.asarray((length >= min(self.min_length, n_samples)) & (length <= longest))

    def allowed(self, n_samples: int) -> Allowed:
        """The segments of ``n_samples`` samples with such lengths."""
        ends = np.arange(n_samples + 1)
        longest = n_samples if self.max_length is None else self.max_length
        shortest = min(self.min_length, n_samples)
        return Allowed(np.maximum(ends - longest, 0), np.maximum(ends - shortest, -1))


@lru_cache(maxsize=64)
def _allowed(rule: Rule, T: int) -> Allowed:
    """The segments of T samples that a rule allows, asked once for each end."""
    if isinstance(rule, Lengths):
        return rule.allowed(T)
    every = read_only(np.arange(T, dtype=np.int64))
    _check_one_by_one(rule, every)
    starts_of_ends = [every[:0]]
    for end in range(1, T + 1):
        starts = np.flatnonzero(rule_says(rule, every[:end], end, T))
        if starts.size and starts.size == starts[-1] - starts[0] + 1:
            starts = every[starts[0] : starts[-1] + 1]  # a view: a rule may allow T^2 / 2 segments
        starts_of_ends.append(starts)
    counts = np.array([starts.size for starts in starts_of_ends])
    low = np.array([starts[0] if starts.size else 0 for starts in starts_of_ends])
    high = np.array([starts[-1] if starts.size else -1 for starts in starts_of_ends])
    some = counts > 0
    if (counts == high - low + 1).all():
        move_on = bool((np.diff(low[some]) >= 0).all() and (np.diff(high[some]) >= 0).all())
        return Allowed(low, high, move_on)
    firsts = np.concatenate([[0], np.cumsum(counts)])
    return Allowed(low, high, False, firsts, np.concatenate(starts_of_ends))


def rule_says(rule: Rule, starts: Ints, end: int, n_samples: int) -> Bools:
    """Whether a rule allows each of the segments from ``starts`` to ``end``, (n,)."""
    owner = getattr(rule, "__self__", None)
    called = getattr(rule, "__name__", type(rule).__name__)
    named = called if owner is None else f"{type(owner).__name__}.{called}"
    with asked(rule if owner is None else owner, called):
        try:
            returned = rule(starts, end, n_samples)
        except ValueError as error:
            if "truth value of an array" in str(error):
                advice = "start is an array: combine conditions with & and |, not with if, and, or"
                error.args = (f"{error}; {advice}",)
            raise
    answers = np.asarray(returned)
    if answers.dtype != np.bool_ or answers.shape not in ((), starts.shape):
        raise PluginError(
            f"{named} returned {shown(returned)} for an array of {starts.size} starts: return a "
            "truth value for each, such as (end - start >= 4) & (start % 2 == 0), or one for all "
            "of them"
        )
    return np.broadcast_to(answers, starts.shape)


def _check_one_by_one(rule: Rule, every: Ints) -> None:
    """Refuse a rule whose answer about one start depends on which others it is asked about."""
    T = every.size
    together = rule_says(rule, every, T, T)
    for start in sorted({0, T // 2, T - 1}):
        if rule_says(rule, every[start : start + 1], T, T)[0] != together[start]:
            raise PluginError(
                f"{_in_words(rule)} allows the segment {start}..{T} or not, depending on the other "
                "starts that it is asked about: its answer must hold an entry for each start"
            )


def _in_words(rule: Rule) -> str:
    """A rule in messages: its name, or the settings of its class that are not the default."""
    owner = rule if isinstance(rule, Lengths) else getattr(rule, "__self__", None)
    if not is_dataclass(owner):
        return getattr(rule, "__name__", "the rule")
    settings = ", ".join(
        f"{field.name}={getattr(owner, field.name)!r}"
        for field in fields(owner)
        if getattr(owner, field.name) != field.default
    )
    return settings if owner is rule else f"{type(owner).__name__}({settings})"
