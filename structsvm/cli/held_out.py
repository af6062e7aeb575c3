"""What ``structsvm try`` holds out of what was read."""

from __future__ import annotations

import argparse
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from structsvm.cli.inputs import (
    InputData,
    taken_to_be_independent,
    takes_images,
)
from structsvm.cli.terminal import Terminal
from structsvm.data.copies import contents, joined
from structsvm.errors import DataError, SettingsError
from structsvm.evaluation.contrast import MIN_UNITS
from structsvm.evaluation.splits import fewest_rows
from structsvm.io.recording import Recording
from structsvm.learner.training_set import CLUSTERS, ROWS, STATES, TrainingSet
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.plain import counted, some_of

SHARE = 0.3  # of the groups, or of the rows of a table, that is held out for the verdict
COPIES = 0.1  # of the rows that are held out: so many may be learned from by chance
FEWEST = 4  # independent samples of which any can be held out
ENOUGH = next(n for n in itertools.count(FEWEST) if n - math.ceil(SHARE * n) >= MIN_UNITS)
"""Independent samples of which enough are left to judge by cross-validation."""


@dataclass(frozen=True, eq=False)
class Part:
    """What was read, or a part of it, and the same as it was checked."""

    inputs: InputData
    data: TrainingSet


def refuse_split(split: str, name: str, problem: PartitionProblem) -> None:
    """Refuse a question that samples of another kind answer."""
    contiguous = problem.traits.contiguous
    if split == STATES and not contiguous:
        raise SettingsError(f"--split states is for recordings, not for {name}: leave it out")
    if split != STATES and (contiguous or takes_images(problem)):
        raise SettingsError(
            f"--split {split} is for tables, whose rows have no order, not for {name}: leave it "
            f"out{', or ask about new states, --split states' if contiguous else ''}"
        )


def refuse_groups(groups: object) -> None:
    """Refuse groups of a single table."""
    if groups is not None:
        raise SettingsError("--groups is for several files: a single table has one name")


def split_of(inputs: InputData, args: argparse.Namespace) -> str | None:
    """What the verdict is about, if not about further samples: rows of the only table, say."""
    split: str | None = args.split
    if split is not None:
        refuse_split(split, args.problem, inputs.problem)
    if split not in (None, STATES) and len(inputs) != 1:
        raise SettingsError(
            f"--split {split} is for a single table: of {inputs.words.wholes(len(inputs))} "
            "whole ones are held out"
        )
    if len(inputs) > 1 or inputs.problem.traits.contiguous or takes_images(inputs.problem):
        return split
    refuse_groups(args.groups)
    return split or ROWS


def divided(whole: Part, split: str | None) -> tuple[Part, Part]:
    """What is learned from, and what is held out."""
    inputs, data = whole.inputs, whole.data
    parts = []
    if split not in (ROWS, CLUSTERS):
        away = _samples_away(whole)
        for side in (~away, away):
            indices = np.flatnonzero(side).tolist()
            items = [inputs.items[i] for i in indices]
            parts.append(Part(inputs.having(items), data.at(indices)))
        return parts[0], parts[1]
    (table,) = inputs.items
    assert isinstance(table, Recording)
    y = np.asarray(table.y)
    away = _rows_away(table.where, y, split)
    for name, rows in ((table.name, ~away), (f"{table.name}_held_out", away)):
        which = np.flatnonzero(rows)
        part = replace(table.at(which), name=name, time=None, source=None)
        parts.append(Part(inputs.having([part]), data.cut([(0, which)])))
    return parts[0], parts[1]


def _samples_away(whole: Part) -> NDArray[np.bool_]:
    """Which samples are held out, (N,): copies go with what they are copies of."""
    groups = whole.data.groups
    names = np.arange(len(whole.data)).astype(str) if groups is None else np.array(groups)
    copies = contents([sample.data for sample in whole.data.samples])
    names = joined(np.unique(names, return_inverse=True)[1], copies)
    units = np.unique(names)
    if units.size < FEWEST:
        wholes = whole.inputs.words.wholes(units.size)
        what = wholes if groups is None else counted(units.size, "group")
        apart = "" if groups is None else "give --groups '.+' if each file is independent, "
        raise DataError(
            f"{what}: too few to choose from once some are held out; label at least {FEWEST}, and "
            f"{ENOUGH} for a verdict, {apart}or use structsvm fit, which holds nothing out"
        )
    return np.isin(names, train_test_split(units, test_size=SHARE, random_state=0)[1])


def _rows_away(where: str, y: NDArray[np.generic], split: str) -> NDArray[np.bool_]:
    """Which rows of the only table are held out, or the rows of which clusters, (T,)."""
    clusters, sizes = np.unique(y, return_counts=True)
    if sizes.min() < 2:
        single = [repr(name) for name in clusters[sizes < 2].tolist()]
        raise DataError(
            f"{where} has clusters of a single row, of which none can be held out: "
            f"{some_of(single)}. Label more rows of them, correct the label if it is written "
            "wrongly, leave these rows out, or use structsvm fit"
        )
    if len(y) - math.ceil(SHARE * len(y)) < fewest_rows(y):
        raise DataError(
            f"{where} has {counted(len(y), 'row')} in {counted(clusters.size, 'cluster')}, of "
            "which too few can be held out: label more, or use structsvm fit"
        )
    if split == ROWS:
        rows = np.arange(len(y))
        held_out = train_test_split(rows, test_size=SHARE, stratify=y, random_state=0)[1]
        return np.isin(rows, held_out)
    return np.isin(y, train_test_split(clusters, test_size=SHARE, random_state=0)[1])


def about_parts(train: Part, test: Part, split: str | None) -> str:
    if split in (ROWS, CLUSTERS):
        learned, held_out = (part.data.samples[0].n_samples for part in (train, test))
        what = "rows of the same clusters" if split == ROWS else "clusters of their own"
        return f"learning from {learned} rows; held out: {held_out} {what}"
    n_learned = train.inputs.words.wholes(len(train.inputs))
    about = f"learning from {n_learned}; held out: {len(test.inputs)}"
    if train.data.groups is not None:
        return f"{about}, of other groups"
    return f"{about}\n{taken_to_be_independent(train.inputs)}"


def warn_of_copies(train: Part, test: Part, terminal: Terminal) -> None:
    learned, held_out = ([row.tobytes() for row in part.inputs.Xs[0]] for part in (train, test))
    known = set(learned)
    n = sum(row in known for row in held_out)
    if n > COPIES * len(held_out):
        terminal.warn(
            f"{n} of the {len(held_out)} held-out rows equal training rows: the figures are better "
            "than on other rows; leave out duplicates"
        )
