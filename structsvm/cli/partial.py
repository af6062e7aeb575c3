"""Labels as ``fit`` takes them from the command line: full, blank in places, regions, chunks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.cli.inputs import Given, takes_images
from structsvm.cli.terminal import Terminal
from structsvm.data.words import IMAGES, RECORDINGS
from structsvm.errors import DataError, DataWarning, warn
from structsvm.io.label_files import read_regions
from structsvm.io.recording import Recording, listed
from structsvm.partial_labels.labels import PartialLabels, unlabelled
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.settings import settings_in

LIKE_MISSING = ("null", "none", "na", "n/a", "nan", "<na>", "nat")
"""Classes whose names elsewhere mean that there is none, in lower case."""


def labels_of(given: Given, regions: Path | None) -> list[Any]:
    """The labels of each sample, with what is known of regions and chunks of recordings."""
    times = dict(zip(given.names, given.times, strict=True))
    known = {} if regions is None else read_regions(regions, times)
    strangers = [name for name in known if name not in given.names]
    if strangers:
        raise DataError(
            f"{regions}: no {given.words.whole} is called {listed(strangers)}; they are "
            f"{listed(given.names)}"
        )
    labels = []
    for item, y in zip(given.items, given.ys, strict=True):
        if isinstance(item, Recording):
            try:
                y = _labels(item, known.get(item.name, []), regions is not None)
            except DataError as error:
                raise DataError(f"{item.where}: {error}") from error
        labels.append(y)
    return labels


def with_counts(
    problem: PartitionProblem, typed: Collection[str], given: Given, terminal: Terminal
) -> PartitionProblem:
    """The problem with its number of clusters unknown where images differ in it."""
    counts = [0]
    if takes_images(problem):
        counts = [np.unique(y[~unlabelled(y)]).size for y in given.ys]
    settled = "cluster_count" in typed or "cluster_count" not in settings_in(problem)
    if min(counts) == max(counts) or settled:
        return problem
    terminal.note(
        f"the images have {min(counts)} to {max(counts)} parts: the number of parts of a new one "
        "is learned, too (--set problem.cluster_count=known leaves it to --n-clusters)"
    )
    return replace(problem, cluster_count="unknown")  # type: ignore[type-var]


def unlabelled_samples(given: Given) -> int:
    # What is read later has labels, if it is known by now.
    sizes = [0] * len(given.ys) if given.files is not None else _sizes(given)
    ys = [y.labels if isinstance(y, PartialLabels) else y for y in given.ys]
    return sum(
        size if y is None else int(unlabelled(np.ravel(y)).sum())
        for size, y in zip(sizes, ys, strict=True)
    )


def tell_unlabelled(given: Given, terminal: Terminal) -> None:
    n = unlabelled_samples(given)
    if n:
        terminal.note(f"unlabelled: {n} of {given.words.items(sum(_sizes(given)))}")
    labels = [y for y in given.ys if y is not None and np.ndim(y) == 1]
    if n and given.words is RECORDINGS and _stand_alone([~unlabelled(y) for y in labels]):
        terminal.warn(
            "every label stands alone among unlabelled samples: if a label holds until the next "
            "one, fill it in, as ffill of pandas does; here the samples between are unlabelled"
        )
    named = {str(label) for y in labels for label in set(y.tolist())}
    doubtful = sorted(name for name in named if name.lower() in LIKE_MISSING)
    if doubtful:
        warn(
            f"{listed(doubtful)} is taken as a class; if it means that the label is unknown, "
            f"give missing_labels={doubtful[0]!r}",
            DataWarning,
        )


def _stand_alone(known: Sequence[NDArray[np.bool_]]) -> bool:
    several = any(there.sum() > 1 for there in known)
    return several and not any((there[1:] & there[:-1]).any() for there in known)


def _sizes(given: Given) -> list[int]:
    """The number of samples, rows or pixels of each."""
    images = given.words is IMAGES
    return [int(np.prod(np.shape(X)[:2])) if images else len(X) for X in given.Xs]


def _labels(recording: Recording, regions: Sequence[Any], some: bool) -> Any:
    y = recording.y
    is_partial = regions or recording.chunks is not None or (some and y is None)
    if is_partial or (y is not None and y.dtype.kind in "if" and unlabelled(y).any()):
        return PartialLabels(y, regions=regions, chunks=recording.chunks)
    return y
