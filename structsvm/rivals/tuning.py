"""True segmentations to tune on, and the loss of guessed ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import partition_loss

__all__ = ["breakpoints", "mean_loss", "occurrences", "some_truth"]

Ints = NDArray[np.int64]


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


def mean_loss(truths: Sequence[EquivalenceMatrix | None], guesses: Sequence[list[int]]) -> float:
    """Mean of ``|M - M_i|_F^2`` over the recordings whose segmentation is known."""
    return float(
        np.mean(
            [
                partition_loss(truth, EquivalenceMatrix.from_breakpoints(guess))
                for truth, guess in zip(truths, guesses, strict=True)
                if truth is not None
            ]
        )
    )


def some_truth(truths: Sequence[EquivalenceMatrix | None], owner: str) -> None:
    """Refuse labels of which no recording has all.

    Raises
    ------
    DataError
        When no segmentation is known.
    """
    if all(truth is None for truth in truths):
        raise DataError(
            f"{owner} is tuned on recordings with a label for every sample, and there is none: "
            "label one to the end"
        )
