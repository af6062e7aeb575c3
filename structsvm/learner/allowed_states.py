"""Which sequences of states are allowed: changes, an order, and how long each state lasts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, SettingsError, nth
from structsvm.learner.frame_learner import Stretch
from structsvm.oracles.state_score import segments_of
from structsvm.problems import StateSequence
from structsvm.support import Bools, Floats, Ints, is_listed, refuse_below, refuse_unless

LONGEST_KNOWN = 2**22
"""The greatest length that may be set: there is a score for each length up to it."""


@dataclass(frozen=True, eq=False)
class Allowed:
    """Which states may follow a state, begin and end a recording, and how long each lasts."""

    changes: Bools  # from each state to each other, (C, C)
    first: Bools  # (C,), as all below
    last: Bools
    shortest: Floats  # the least and the greatest number of samples of a segment in each state
    longest: Floats

    @classmethod
    def of(cls, decoder: Any, classes: NDArray[Any]) -> "Allowed":
        """Read the settings of a decoder: order, changes, min_length and max_length."""
        names = classes.tolist()
        C = len(names)
        changes = np.ones((C, C), dtype=np.bool_)
        first = np.ones(C, dtype=np.bool_)
        last = first.copy()
        if decoder.order is not None:
            refuse_unless(is_listed(decoder.order), "order", "a list of states", decoder.order)
            order = list(decoder.order)
            if decoder.changes is not None or sorted(order, key=repr) != sorted(names, key=repr):
                raise SettingsError(
                    f"order is {order}: name each of the states {names} once, and give no changes"
                )
            places = np.array([order.index(name) for name in names])
            changes = places[None, :] == places[:, None] + 1
            first = places == 0
            last = places == C - 1
        elif decoder.changes is not None:
            fits = isinstance(decoder.changes, Mapping) and all(
                map(is_listed, decoder.changes.values())
            )
            wanted = "a dictionary from each state to a list of those that may follow it"
            refuse_unless(fits, "changes", wanted, decoder.changes)
            follow = {name: list(after) for name, after in decoder.changes.items()}
            strange = {*follow, *chain.from_iterable(follow.values())} - {*names}
            if strange:
                raise SettingsError(f"changes name {sorted(strange, key=repr)}: there are {names}")
            changes = np.array([[b in follow.get(a, ()) for b in names] for a in names])
        shortest = _of_each(names, decoder.min_length, "min_length", 1.0)
        longest = _of_each(names, decoder.max_length, "max_length", inf)
        if (shortest > longest).any():
            raise SettingsError("min_length is above max_length: swap them")
        return cls(changes, first, last, shortest, longest)

    def of_parts(self, edges: Bools) -> "Allowed":
        """The rules for stretches; ``edges`` say whether each begins and ends a recording, (n, 2).

        If one does not, they may begin and end in any state, in segments that are cut short.
        """
        if edges.all():
            return self
        any_state = np.ones_like(self.first)
        shortest = np.ones_like(self.shortest)
        return replace(self, first=any_state, last=any_state, shortest=shortest)

    def first_broken(self, y: Ints, begins: bool, ends: bool) -> int | None:
        """The number of the first segment that is not allowed; one that is cut may be longer."""
        starts, stops, states = segments_of(y)
        least = np.asarray(stops - starts, dtype=np.float64)
        wrong = least > self.longest[states]
        if not begins:
            least[0] = inf
        if not ends:
            least[-1] = inf
        wrong |= least < self.shortest[states]
        wrong[1:] |= ~self.changes[states[:-1], states[1:]]
        wrong[0] |= begins and not self.first[states[0]]
        wrong[-1] |= ends and not self.last[states[-1]]
        return int(wrong.argmax()) if wrong.any() else None

    def sequence(self, lengths: Floats, block: int = 1, most: float = inf) -> StateSequence:
        """The problem with these scores of lengths, (C, L), in blocks of ``block`` samples.

        No segment has to be longer than the recording, which has ``most`` samples.
        """
        shortest = self.shortest
        longest = self.longest
        if block > 1:  # blocks need not begin where segments do
            shortest = np.maximum(shortest // block, 1.0)
            longest = np.ceil(longest / block) + 1
        shortest = np.minimum(shortest, most)
        finite = longest[np.isfinite(longest)]
        more = int(max(0.0, finite.max(initial=0.0) + 2 - lengths.shape[1]))
        lengths = np.pad(lengths, ((0, 0), (0, more)), mode="edge")
        n = np.arange(lengths.shape[1])
        allowed = (n >= shortest[:, None]) & (n <= longest[:, None])
        lengths = np.where(allowed, lengths, -inf)
        return StateSequence(lengths, self.changes, self.first, self.last)


def check_states(
    stretches: Sequence[Stretch], sequences: Sequence[Ints], allowed: Allowed, classes: NDArray[Any]
) -> None:
    """Refuse sequences of states that are not allowed."""
    for part, y in zip(stretches, sequences, strict=True):
        k = allowed.first_broken(y, *part.edges)
        if k is not None:
            starts, ends, states = segments_of(y)
            a = int(part.start + starts[k])
            b = int(part.start + ends[k])
            raise DataError(
                nth("recording", part.recording) + f": samples {a}..{b} of the state "
                f"{str(classes[states[k]])!r} are not what changes, order, min_length and "
                "max_length allow: change the labels, or the settings"
            )


def _of_each(names: list[Any], numbers: Any, name: str, default: float) -> Floats:
    """The number of samples that a setting has for each state, (C,)."""
    by_state = numbers if isinstance(numbers, Mapping) else dict.fromkeys(names, numbers)
    if strange := {*by_state} - {*names}:
        raise SettingsError(f"{name} names {sorted(strange, key=repr)}: there are {names}")
    for value in by_state.values():
        if value is not None:
            refuse_below(1, name, value)
            refuse_unless(value <= LONGEST_KNOWN, name, f"at most {LONGEST_KNOWN}", value)
    lengths = [by_state.get(state) for state in names]
    return np.array([default if length is None else float(length) for length in lengths])
