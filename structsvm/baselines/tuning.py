"""True segmentations to tune on, and the loss of guessed ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.features.names import UNNAMED
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import partition_loss
from structsvm.support.arrays import Ints


@dataclass(frozen=True, eq=False)
class Stretch:
    """Samples of a recording, next to each other, whose segmentation is known."""

    recording: int
    start: int
    end: int
    truth: EquivalenceMatrix

    def of(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The part of what every recording has for its samples, (end - start, ...)."""
        return values[self.recording][self.start : self.end]


def breakpoints(codes: Ints) -> list[int]:
    """Segment ends of a number for each sample, the last being T."""
    return [*(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), int(codes.size)]


def occurrences(names: Iterable[Iterable[Hashable]]) -> dict[Any, int]:
    """In how many samples each name occurs, given the names of the items of each."""
    counts: dict[Any, int] = {}
    for found in names:
        for name in dict.fromkeys(found):
            counts[name] = counts.get(name, 0) + 1
    return counts


def mean_loss(truths: Sequence[EquivalenceMatrix], guesses: Sequence[list[int]]) -> float:
    """Mean of ``|M - M_i|_F^2``."""
    return float(
        np.mean(
            [
                partition_loss(truth, EquivalenceMatrix.from_breakpoints(guess))
                for truth, guess in zip(truths, guesses, strict=True)
            ]
        )
    )


def stretches_to_tune_on(begins: Sequence[Ints], owner: str) -> list[Stretch]:
    """The stretches whose segmentation is known: whole recordings, and parts of others."""
    found = []
    for i, code in enumerate(begins):
        known = (code != UNNAMED).astype(np.int8)
        known[0] = 0
        edges = np.flatnonzero(np.diff(known, prepend=0, append=0))
        for first, end in edges.reshape(-1, 2).tolist():
            inside = np.flatnonzero(code[first:end] == 1) + 1
            ends = [*inside.tolist(), end - first + 1]
            truth = EquivalenceMatrix.from_breakpoints(ends)
            found.append(Stretch(i, first - 1, end, truth))
    if not found:
        raise DataError(
            f"{owner} is tuned on samples next to each other that have labels, and there are none: "
            "label a stretch that has a change"
        )
    return found
