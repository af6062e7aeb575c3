"""The parts of the data of ``structsvm try``: one to learn from, and one that is held out."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from structsvm.cli.input_data import InputData
from structsvm.data import contents, joined
from structsvm.errors import DataError, SettingsError, parameter
from structsvm.evaluation import MIN_UNITS, fewest_rows
from structsvm.learner import Learner, TrainingSet
from structsvm.learner.training_set import CLUSTERS, ROWS, STATES
from structsvm.support import Ints, counted, some_of

PIECES, CHANGES = 6, 2
"""The most pieces of a recording, which is cut if there are few, and the fewest changes of each."""
NO_GROUPS = "--groups is for several files: a single table has one name"
ONE_CLASS_ONLY = (
    "All that was learned from is of one {0}, and what was held out {1}: others may differ."
)
SHARE = 0.3  # of the groups, or of the rows of a table, that is held out for the verdict
COPIES = 0.1  # part of the held-out rows that may equal training rows without a warning
FEWEST = 4  # independent instances from which on some are held out
ENOUGH = next(n for n in itertools.count(FEWEST) if n - math.ceil(SHARE * n) >= MIN_UNITS)
"""Independent instances of which enough are left to judge by cross-validation."""


@dataclass(frozen=True, eq=False)
class Part:
    """Recordings as they were read, all or some, and their training set."""

    inputs: InputData
    data: TrainingSet
    question: str = ""  # a warning, if its scores say little about other recordings or groups
    is_thinned: bool = False  # whether some samples were left out to answer in time

    def at(self, which: NDArray[np.bool_]) -> "Part":
        """Some of the instances, by a mask (N,)."""
        indices = np.flatnonzero(which).tolist()
        items = [self.inputs.items[i] for i in indices]
        inputs = replace(self.inputs, items=items, labels=None)
        return replace(self, inputs=inputs, data=self.data.at(indices))

    def cut(self, pieces: Sequence[tuple[int, NDArray[np.int64]]], **changes: Any) -> "Part":
        """Pieces of instances, each by its number and its rows; ``changes`` are fields of each."""
        items = [replace(self.inputs.items[i].at(rows), **changes) for i, rows in pieces]
        data = replace(self.data.cut(pieces), called=[item.name for item in items])
        return Part(replace(self.inputs, items=items, labels=None), data)

    def of_columns(self, names: Sequence[str]) -> "Part":
        """The same with these columns alone; with all columns of images, which are computed."""
        if self.inputs.features is None or tuple(names) == self.inputs.features:
            return self
        which = [self.inputs.features.index(name) for name in names]
        data = self.data.with_features([X[:, which] for X in self.data.arrays])
        items = [item.choosing(names) for item in self.inputs.items]
        inputs = replace(self.inputs, items=items)
        return replace(self, inputs=inputs, data=replace(data, names=list(names)))

    def with_columns_of(self, learner: Learner) -> "Part":
        """The same with the columns that a learner was learned from, if all are there."""
        names = [str(name) for name in getattr(learner, "feature_names_in_", ())]
        own = self.inputs.features or ()
        return self.of_columns(names) if names and {*names} <= {*own} else self

    @property
    def in_pieces(self) -> "Part":
        """Recordings cut into pieces, grouped by recording, if fewer than ``FEWEST``."""
        part = self
        data = self.data
        names = self.data.groups or self.inputs.names
        if data.problem.traits.contiguous and data.scorable.sum() < FEWEST:
            pieces = list(chain.from_iterable(pieces_of(data, i) for i in range(len(data))))
            part = self.cut(pieces)
            data = replace(part.data, groups=[names[i] for i, _ in pieces])
        return replace(part, data=data.without_single_group)


def n_items(part: Part) -> int:
    """The number of samples, rows or nodes in all instances."""
    return sum(instance.n_samples for instance in part.data.instances)


def split_of(inputs: InputData, split: str | None) -> str | None:
    """The kind of parts that are held out: "rows", "clusters", "states", or None for instances."""
    request = inputs.request
    contiguous = inputs.problem.traits.contiguous
    tables = not contiguous and not inputs.problem.traits.words.of_graphs
    purpose = f"--split {split} is for"
    if split == STATES and not contiguous:
        raise SettingsError(f"{purpose} recordings, not for {request.problem}: leave it out")
    if split in (ROWS, CLUSTERS) and not tables:
        raise SettingsError(
            f"{purpose} tables, whose rows have no order, not for {request.problem}: leave it "
            f"out{', or ask about new states, --split states' if contiguous else ''}"
        )
    if split in (ROWS, CLUSTERS) and len(inputs) != 1:
        several = inputs.words.wholes(len(inputs))
        raise SettingsError(f"{purpose} a single table: of {several} whole ones are held out")
    if len(inputs) == 1 and tables:
        if request.groups:
            raise SettingsError(NO_GROUPS)
        return split or ROWS
    return split


def split_in_parts(whole: Part, split: str | None) -> tuple[Part, Part]:
    """Split the data into a part to learn from and one that is held out."""
    if split not in (ROWS, CLUSTERS):
        return _wholes_divided(whole)
    (table,) = whole.inputs.items
    if not whole.data.complete.all():
        raise DataError(
            f"{table.where} has rows without a label: leave them out, or use structsvm fit, which "
            "learns from them, too"
        )
    is_held_out = _held_out_rows(table.where, np.asarray(table.y), split)
    train, test = (
        whole.cut([(0, np.flatnonzero(rows))], name=name, time=None, source=None)
        for name, rows in ((table.name, ~is_held_out), (f"{table.name}_held_out", is_held_out))
    )
    return train, test


def _wholes_divided(whole: Part) -> tuple[Part, Part]:
    """Hold out groups of instances that can be scored; copies of one another are one group."""
    data = whole.data
    full = whole.data.scorable
    groups = np.arange(len(data)) if data.groups is None else np.array(data.groups)
    copies = contents([instance.data for instance in data.instances])
    n_groups = np.unique(groups[full]).size
    units_of_each = joined(np.unique(groups, return_inverse=True)[1], copies)
    units = np.unique(units_of_each[full])
    contiguous = data.problem.traits.contiguous
    if contiguous and full.sum() == 1 and len(pieces_of(data, int(full.argmax()))) > 2:
        return _end_held_out(whole, int(full.argmax()))
    if units.size >= (2 if contiguous else FEWEST):
        is_held_out = np.isin(units_of_each, _held_out_units(data, units_of_each, units))
        train = whole.at(~is_held_out).in_pieces
        test = whole.at(is_held_out & full)
        one = "group" if data.groups is not None else whole.inputs.words.whole
        question = ONE_CLASS_ONLY.format(one, "of another one") if units.size == 2 else ""
        if train.data.scorable.sum() > 1:
            return train, replace(test, question=question)
    words = whole.inputs.words
    if not full.any():
        raise DataError(
            f"no {words.whole} has labels of single {words.item}s, on which partitions could be "
            "scored: label some, or say what the others are, "
            + parameter("outside", "rest")
            + ", or use structsvm fit"
        )
    size = words.wholes(units.size) if data.groups is None else counted(units.size, "group")
    size += "" if full.all() else f" whose {words.item}s have labels"
    if units.size < n_groups:
        size += f", of which {n_groups - units.size} more hold copies"
    apart = "" if data.groups is None else "give --groups '.+' if each file is independent, "
    raise DataError(
        f"{size}: too few to choose from once some are held out; label at least {FEWEST}, and "
        f"{ENOUGH} for a verdict, {apart}or use structsvm fit, which holds nothing out"
    )


def _held_out_units(data: TrainingSet, units_of_each: Ints, units: Ints) -> Any:
    """The units to hold out; if it can be, both parts have units with changes and without."""
    n_changes = dict.fromkeys(units.tolist(), 0)
    for unit, known in zip(units_of_each.tolist(), data.labels, strict=True):
        if known.scored is not None:
            n_changes[unit] += known.scored.n_clusters - 1
    has_changes = np.array([n > 0 for n in n_changes.values()])
    n_held_out = math.ceil(SHARE * units.size)
    least = min(has_changes.sum(), (~has_changes).sum())
    can_be = least >= 2 and n_held_out >= 2 and units.size - n_held_out >= 2
    kinds = has_changes if can_be else None
    return train_test_split(units, test_size=SHARE, random_state=0, stratify=kinds)[1]


def pieces_of(data: TrainingSet, i: int, most: int = PIECES) -> list[tuple[int, NDArray[np.int64]]]:
    """The pieces of a recording, cut in the middle of segments, with equally many changes each."""
    known = data.labels[i]
    changes = known.changes
    n = min(most, changes.size // CHANGES)
    first = [changes.size * k // n for k in range(1, n)]  # the first change of each further piece
    cuts = [(changes[c - 1] + changes[c]) // 2 for c in first if changes[c] - changes[c - 1] > 1]
    return [(i, rows) for rows in np.split(np.arange(known.n_samples), cuts)]


def _end_held_out(whole: Part, i: int) -> tuple[Part, Part]:
    """Hold out the last pieces of the only recording that can be scored; learn from all else."""
    data = whole.data
    own = pieces_of(whole.data, i)
    n = len(own) - math.ceil(SHARE * len(own))
    end = np.concatenate([rows for _, rows in own[n:]])
    test = whole.cut([(i, end)], name=f"{whole.inputs.names[i]}_end")
    others = list(chain.from_iterable(pieces_of(data, j) for j in range(len(data)) if j != i))
    train = whole.cut([*own[:n], *others])
    return train, replace(test, question=ONE_CLASS_ONLY.format("recording", "is its end"))


def _held_out_rows(where: str, y: NDArray[np.generic], split: str) -> NDArray[np.bool_]:
    """Which rows of the only table are held out, some of each cluster or all of some, (T,)."""
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


def about_parts(whole: Part, train: Part, test: Part, split: str | None) -> str:
    """Say what is learned from and what is held out."""
    if split in (ROWS, CLUSTERS):
        n_learned, n = (part.data.instances[0].n_samples for part in (train, test))
        rest = "rows of the same clusters" if split == ROWS else "clusters of their own"
        return f"learning from {n_learned} rows; held out: {n} {rest}"
    learned = [*dict.fromkeys(train.inputs.names)]
    words = whole.inputs.words
    pieces = f", cut into {len(train.inputs)} pieces" if len(train.inputs) > len(learned) else ""
    item = test.inputs.items[0]
    is_end = test.inputs.names[0] not in whole.inputs.names
    held_out = f"{len(test.inputs)}{'' if whole.data.groups is None else ', of other groups'}"
    if is_end:
        held_out = f"its end, {item.place(0, len(item.X))}"
    lines = [f"learning from {words.wholes(len(learned))}{pieces}; held out: {held_out}"]
    names = whole.inputs.names
    labels = whole.data.labels
    in_part = [names[i] for i, one in enumerate(labels) if one.truth is None and one.rows.size]
    if in_part:
        lines.append(f"labelled in part, and scored on what is labelled: {some_of(in_part, 4)}")
    if others := [names[i] for i, one in enumerate(labels) if one.scored is None]:
        lines.append(f"with labels of other kinds, and so never held out: {some_of(others, 4)}")
    if whole.data.groups is None and not is_end:
        lines.append(train.inputs.independent)
    return "\n".join(lines)


def warn_of_copies(train: Part, test: Part) -> None:
    """Warn if many held-out rows of a table equal rows that are learned from."""
    learned, held_out = ([row.tobytes() for row in part.inputs.Xs[0]] for part in (train, test))
    learned_from = set(learned)
    n = sum(row in learned_from for row in held_out)
    if n > COPIES * len(held_out):
        train.inputs.terminal.warn(
            f"{n} of the {len(held_out)} held-out rows equal training rows: the figures are better "
            "than on other rows; leave out duplicates"
        )
