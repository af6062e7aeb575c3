"""Labels as ``fit`` takes them from the command line: full, blank in places, regions, chunks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.cli.inputs import InputData, takes_images
from structsvm.cli.terminal import Terminal
from structsvm.data.values import unlabelled
from structsvm.errors import DataError, DataWarning, warn
from structsvm.io.label_files import read_regions
from structsvm.io.recording import Recording, listed
from structsvm.partial_labels.labels import PartialLabels
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.settings import settings_in

LIKE_MISSING = ("null", "none", "na", "n/a", "nan", "<na>", "nat")
"""Classes whose names elsewhere mean that there is none, in lower case."""


def labels_of(inputs: InputData, regions: Path | None) -> list[Any]:
    """The labels of each sample, with what is known of regions and chunks of recordings."""
    times = dict(zip(inputs.names, inputs.times, strict=True))
    known = {} if regions is None else read_regions(regions, times)
    strangers = [name for name in known if name not in inputs.names]
    if strangers:
        raise DataError(
            f"{regions}: no {inputs.words.whole} is called {listed(strangers)}; they are "
            f"{listed(inputs.names)}"
        )
    labels = []
    for item, y in zip(inputs.items, inputs.ys, strict=True):
        if isinstance(item, Recording):
            here, chunks = known.get(item.name, []), item.chunks
            some = y is None and regions is not None
            blank = y is not None and y.dtype.kind in "if" and unlabelled(y).any()
            if here or chunks is not None or some or blank:
                try:
                    y = PartialLabels(y, regions=here, chunks=chunks)
                except DataError as error:
                    raise DataError(f"{item.where}: {error}") from error
        labels.append(y)
    return labels


def with_counts(
    problem: PartitionProblem, typed: Collection[str], inputs: InputData, terminal: Terminal
) -> PartitionProblem:
    """The problem with its number of clusters unknown where images differ in it."""
    settled = "cluster_count" in typed or "cluster_count" not in settings_in(problem)
    if settled or not takes_images(problem):
        return problem
    counts = {np.unique(y[~unlabelled(y)]).size for y in inputs.ys}
    if len(counts) == 1:
        return problem
    terminal.note(
        f"the images have {min(counts)} to {max(counts)} parts: the number of parts of a new one "
        "is learned, too (--set problem.cluster_count=known leaves it to --n-clusters)"
    )
    return replace(problem, cluster_count="unknown")  # type: ignore[type-var]


def unlabelled_samples(inputs: InputData) -> int:
    # What is read later has labels, if it is known by now.
    sizes = [0] * len(inputs.ys) if inputs.files is not None else _sizes(inputs)
    ys = [y.labels if isinstance(y, PartialLabels) else y for y in inputs.ys]
    return sum(
        size if y is None else int(unlabelled(np.ravel(y)).sum())
        for size, y in zip(sizes, ys, strict=True)
    )


def tell_unlabelled(inputs: InputData, terminal: Terminal) -> None:
    n = unlabelled_samples(inputs)
    labels = [y for y in inputs.ys if y is not None and np.ndim(y) == 1]
    if n:
        terminal.note(f"unlabelled: {n} of {inputs.words.items(sum(_sizes(inputs)))}")
        if inputs.problem.traits.contiguous and _stand_alone([~unlabelled(y) for y in labels]):
            terminal.warn(
                "every label stands alone among unlabelled samples: if a label holds until the "
                "next one, fill it in, as ffill of pandas does; here the samples between are "
                "unlabelled"
            )
    names = {str(label) for y in labels for label in set(y.tolist())}
    doubtful = sorted(name for name in names if name.lower() in LIKE_MISSING)
    if doubtful:
        warn(
            f"{listed(doubtful)} is taken as a class; if it means that the label is unknown, "
            f"give missing_labels={doubtful[0]!r}",
            DataWarning,
        )


def _stand_alone(known: Sequence[NDArray[np.bool_]]) -> bool:
    several = any(there.sum() > 1 for there in known)
    return several and not any((there[1:] & there[:-1]).any() for there in known)


def _sizes(inputs: InputData) -> list[int]:
    """The number of samples, rows or pixels of each."""
    images = takes_images(inputs.problem)
    return [int(np.prod(np.shape(X)[:2])) if images else len(X) for X in inputs.Xs]
