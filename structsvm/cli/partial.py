"""Labels as ``fit`` takes them from the command line: full, blank in places, regions, chunks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structsvm.cli.terminal import Terminal
from structsvm.datasets.recording import Recording, listed
from structsvm.datasets.regions import read_regions
from structsvm.errors import DataError
from structsvm.partial_labels.complete import read_labels
from structsvm.partial_labels.labels import PartialLabels, unlabelled
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.traits import Words

__all__ = ["labels_of", "partial_options", "tell_unlabelled", "unlabelled_samples"]

LIKE_MISSING = ("null", "none", "na", "n/a", "nan", "<na>", "nat")
"""Classes whose names elsewhere mean that there is none, in lower case."""


def partial_options(group: argparse._ArgumentGroup) -> None:
    """Options of labels that do not say everything."""
    group.add_argument(
        "--regions",
        type=Path,
        metavar="FILE",
        help="csv: recording, start, end, changes (0, 1, 2, ... or 1+); labels may be absent then",
    )
    group.add_argument(
        "--chunk-column",
        metavar="NAME",
        help="column of numbers of rows that belong together, blank for others (clustering)",
    )


def labels_of(
    recordings: Sequence[Recording], problem: PartitionProblem, regions: Path | None
) -> list[Any]:
    """The labels of each recording, looked at by the problem; DataError names the file."""
    given = {} if regions is None else read_regions(regions)
    names = [recording.name for recording in recordings]
    strangers = [name for name in given if name not in names]
    if strangers:
        raise DataError(
            f"{regions}: no recording is called {listed(strangers)}; they are {listed(names)}"
        )
    labels = []
    for recording in recordings:
        try:
            y = _labels(recording, given.get(recording.name, []), regions is not None)
            read_labels(problem, [recording.X], [y])
        except DataError as error:
            prefix = f"{problem.words.whole} 0: "
            raise DataError(f"{recording.where}: {str(error).removeprefix(prefix)}") from error
        labels.append(y)
    return labels


def unlabelled_samples(recordings: Sequence[Recording]) -> int:
    """How many samples of all recordings have no label."""
    return sum(
        len(recording.X) if recording.y is None else int(unlabelled(recording.y).sum())
        for recording in recordings
    )


def tell_unlabelled(recordings: Sequence[Recording], words: Words, terminal: Terminal) -> None:
    """How many samples have no label, and which classes are called as if they had none."""
    total = sum(len(recording.X) for recording in recordings)
    n = unlabelled_samples(recordings)
    terminal.note(f"unlabelled: {n} of {words.items(total)}")
    named = {str(label) for r in recordings if r.y is not None for label in set(r.y.tolist())}
    doubtful = sorted(name for name in named if name.lower() in LIKE_MISSING)
    if doubtful:
        terminal.warn(
            f"{listed(doubtful)} is taken for a class like any other; if it means that no label is "
            f"known, give --missing-label {doubtful[0]}"
        )


def _labels(recording: Recording, regions: Sequence[Any], some: bool) -> Any:
    """What is known of one recording."""
    if not regions and recording.chunks is None and not (some and recording.y is None):
        return recording.y
    return PartialLabels(recording.y, regions=regions, chunks=recording.chunks)
