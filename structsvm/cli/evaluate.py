"""What learning is worth on held-out data: ``structsvm evaluate``, and what ``try`` holds out."""

from __future__ import annotations

import itertools
import math
import os
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from structsvm.cli.inputs import InputData, Request, assigned, read_for, refuse_if, takes_images
from structsvm.cli.outputs import Guard
from structsvm.cli.terminal import Terminal
from structsvm.data.copies import contents, joined
from structsvm.data.sample import Sample
from structsvm.errors import DataError, printable
from structsvm.evaluation.contrast import LEARNED, MIN_UNITS
from structsvm.evaluation.evaluate import evaluate
from structsvm.evaluation.scores import Evaluation, score_table
from structsvm.evaluation.splits import fewest_rows
from structsvm.learner.files import load_learner
from structsvm.learner.learner import Learner
from structsvm.learner.training_set import CLUSTERS, ROWS, STATES, TrainingSet
from structsvm.messages import parameter
from structsvm.partitions.problem import has_rows
from structsvm.plotting.report import HeldOut, page_of
from structsvm.support.archive import write_atomically
from structsvm.support.checks import counted, some_of
from structsvm.support.codec import Unstored
from structsvm.support.tables import ShortTable

TAKEN_FOR = 3  # other names of a state that are listed


def run_evaluate(args: Namespace, terminal: Terminal) -> int:
    """Compare, print the table and the verdict, and write the page if one is asked for."""
    if args.output is not None:
        Guard.of(args).check_file(args.output, (".html", ".htm"))
    learner = load_learner(args.model)
    request = Request.of(args)
    in_part = learner.problem_.traits.contiguous  # scored on what is labelled
    asked = {"need_labels": True, "blanks": in_part}
    inputs = read_for(learner, args.model, request, terminal, **asked)
    samples = inputs.measured(learner)
    split = "auto" if can_be_split(learner, samples, inputs.ys) else None
    refuse_if(split and args.groups, NO_GROUPS)
    about = {
        "n_clusters": args.n_clusters,
        "tolerance": 5 * inputs.window if args.tolerance is None else args.tolerance,
        **assigned(args.set, "", ("unseen_states",), args.command),
        "names": inputs.names,
        "times": inputs.times,
        "groups": inputs.groups(),
        "measured": samples,
    }
    with inputs.named(), terminal.working("partitioning"):
        result = evaluate(learner, inputs.Xs, inputs.ys, split=split, **about)
        if args.output is not None:
            own = None if split else result
            held_out = HeldOut.of(learner, inputs.Xs, inputs.ys, evaluation=own, **about)
            title = f"What {args.model.stem} is worth on {called(args.paths)}"
            page = page_of(held_out, title, result.verdict)
    if about["groups"] is None and split is None and result.verdict.is_supported:
        terminal.note(inputs.independent)
    written = {} if args.output is None else {"page": str(args.output)}
    terminal.report(result.to_dict() | written, *readable(result))
    if args.output is not None:
        write_atomically(args.output, printable(page).encode())
        terminal.note(f"the page is in {args.output}: open it in a browser")
    return 0


def called(paths: Sequence[str]) -> str:
    """Name of a file or folder for a message; of several, that of the folder they are in."""
    place = Path(os.path.commonpath([Path(path).resolve() for path in paths]))
    named = next(one for one in (place, *place.parents) if not set("*?[") & set(one.name))
    return named.stem if named.is_file() else named.name


def can_be_split(learner: Learner, samples: Sequence[Sample], ys: Sequence[Any]) -> bool:
    """Whether a verdict can be about the rows of a table, the only one."""
    if not has_rows(learner.problem_, samples) or len(samples) != 1:
        return False
    if samples[0].data in learner.training_data_:
        unstored = any(isinstance(value, Unstored) for value in learner.get_params(False).values())
        if unstored or len(learner.training_data_) > 1:
            return False  # nothing can be learned again, or other tables would be missing
    return fewest_rows(ys[0]) <= samples[0].n_samples


def readable(result: Evaluation) -> tuple[str, ...]:
    """The scores, each method called as ``--method`` calls it, states, and the verdict."""
    table = score_table(result, str)
    columns = tuple(title.replace(" (", "\n(") for title in table.columns)
    states = (state_table(result),) if result.confusion else ()
    return f"{replace(table, columns=columns)}\n", *states, str(result.verdict)


def state_table(result: Evaluation) -> str:
    found = result.confusion
    words = result.verdict.evidence.words
    who = LEARNED if LEARNED in found else max(found, key=lambda name: found[name].accuracy or 0.0)
    columns = (f"{words.named} ({who})", f"{words.item}s", "named right", "taken for")
    rows = []
    for k, (state, counts) in enumerate(zip(found[who].states, found[who].counts, strict=True)):
        others = [j for j in np.argsort(-counts, kind="stable") if j != k and counts[j]]
        taken = [f"{found[who].states[j]} {counts[j]}" for j in others[:TAKEN_FOR]]
        taken += [f"{len(others) - TAKEN_FOR} more"] if len(others) > TAKEN_FOR else []
        if n := int(counts.sum()):
            rows.append((str(state), n, f"{counts[k] / n:.1%}", ", ".join(taken)))
    return f"{ShortTable('', columns, tuple(rows))}\n"


# ---- what try holds out of what was read


PIECES, CHANGES = 6, 2
"""Pieces that a recording is cut into at most, if there are few, and changes in each at least."""
NO_GROUPS = "--groups is for several files: a single table has one name"
ALIKE = "All that was learned from is of one {0}, and what was held out {1}: others may differ."

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
    question: str = ""
    """A sentence if figures on it say little about other recordings or groups."""

    def at(self, which: NDArray[np.bool_]) -> Part:
        """Some of the samples, (N,)."""
        indices = np.flatnonzero(which).tolist()
        items = [self.inputs.items[i] for i in indices]
        return Part(replace(self.inputs, items=items, labels=None), self.data.at(indices))

    def cut(self, pieces: Sequence[tuple[int, NDArray[np.int64]]], **changes: Any) -> Part:
        """Parts of recordings or of the table: the number of each, and its items; with changes."""
        items = [replace(self.inputs.items[i].at(rows), **changes) for i, rows in pieces]
        data = replace(self.data.cut(pieces), called=[item.name for item in items])
        return Part(replace(self.inputs, items=items, labels=None), data)

    @property
    def in_pieces(self) -> Part:
        """Recordings, if they are few, in pieces that have their recording for group."""
        part = self
        data = self.data
        names = self.data.groups or self.inputs.names
        if data.problem.traits.contiguous and data.scorable.sum() < FEWEST:
            pieces = [piece for i in range(len(data)) for piece in _pieces(data, i)]
            part = self.cut(pieces)
            data = replace(part.data, groups=[names[i] for i, _ in pieces])
        return replace(part, data=data.told_apart)


def split_of(inputs: InputData, split: str | None) -> str | None:
    """What the verdict is about, if not about further samples: rows of the only table, say."""
    request = inputs.request
    contiguous = inputs.problem.traits.contiguous
    tables = not contiguous and not takes_images(inputs.problem)
    given = f"--split {split} is for"
    if split == STATES:
        refuse_if(not contiguous, f"{given} recordings, not for {request.problem}: leave it out")
    elif split is not None:
        refuse_if(
            not tables,
            f"{given} tables, whose rows have no order, not for {request.problem}: leave it "
            f"out{', or ask about new states, --split states' if contiguous else ''}",
        )
        many = f"of {inputs.words.wholes(len(inputs))} whole ones are held out"
        refuse_if(len(inputs) != 1, f"{given} a single table: {many}")
    if len(inputs) == 1 and tables:
        refuse_if(request.groups, NO_GROUPS)
        return split or ROWS
    return split


def divided(whole: Part, split: str | None) -> tuple[Part, Part]:
    """What is learned from, and what is held out."""
    if split not in (ROWS, CLUSTERS):
        return _wholes_divided(whole)
    (table,) = whole.inputs.items
    if not whole.data.complete.all():
        raise DataError(
            f"{table.where} has rows without a label: leave them out, or use structsvm fit, which "
            "learns from them, too"
        )
    away = _rows_away(table.where, np.asarray(table.y), split)
    train, test = (
        whole.cut([(0, np.flatnonzero(rows))], name=name, time=None, source=None)
        for name, rows in ((table.name, ~away), (f"{table.name}_held_out", away))
    )
    return train, test


def _wholes_divided(whole: Part) -> tuple[Part, Part]:
    """Hold samples out that can be scored; copies go with what they are copies of."""
    data = whole.data
    full = whole.data.scorable
    names = np.arange(len(data)) if data.groups is None else np.array(data.groups)
    copies = contents([sample.data for sample in data.samples])
    n_given = np.unique(names[full]).size
    names = joined(np.unique(names, return_inverse=True)[1], copies)
    units = np.unique(names[full])
    few = data.problem.traits.contiguous
    if few and full.sum() == 1 and len(_pieces(data, int(full.argmax()))) > 2:
        return _end_held_out(whole, int(full.argmax()))
    if units.size >= (2 if few else FEWEST):
        away = np.isin(names, _units_away(data, names, units))
        train = whole.at(~away).in_pieces
        test = whole.at(away & full)
        one = "group" if data.groups is not None else whole.inputs.words.whole
        question = ALIKE.format(one, "of another one") if units.size == 2 else ""
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
    what = words.wholes(units.size) if data.groups is None else counted(units.size, "group")
    what += "" if full.all() else f" whose {words.item}s have labels"
    if units.size < n_given:
        what += f", of which {n_given - units.size} more hold copies"
    apart = "" if data.groups is None else "give --groups '.+' if each file is independent, "
    raise DataError(
        f"{what}: too few to choose from once some are held out; label at least {FEWEST}, and "
        f"{ENOUGH} for a verdict, {apart}or use structsvm fit, which holds nothing out"
    )


def _units_away(data: TrainingSet, names: NDArray[np.int64], units: NDArray[np.int64]) -> Any:
    """The units that are held out, of which some have changes, as some that are learned from do."""
    changes = dict.fromkeys(units.tolist(), 0)
    for unit, known in zip(names.tolist(), data.labels, strict=True):
        if known.scored is not None:
            changes[unit] += known.scored.n_clusters - 1
    kinds = np.array([n > 0 for n in changes.values()])
    n_away = math.ceil(SHARE * units.size)
    least = min(kinds.sum(), (~kinds).sum())
    can_be = least >= 2 and n_away >= 2 and units.size - n_away >= 2
    by = kinds if can_be else None
    return train_test_split(units, test_size=SHARE, random_state=0, stratify=by)[1]


def _pieces(data: TrainingSet, i: int) -> list[tuple[int, NDArray[np.int64]]]:
    """A recording from the middle of a segment to that of a later one, with like many changes."""
    known = data.labels[i]
    changes = np.array([0] if known.truth is None else known.truth.breakpoints[:-1])
    n = min(PIECES, changes.size // CHANGES)
    first = [changes.size * k // n for k in range(1, n)]  # changes that are the first of a piece
    cuts = [(changes[c - 1] + changes[c]) // 2 for c in first if changes[c] - changes[c - 1] > 1]
    return [(i, rows) for rows in np.split(np.arange(known.n_samples), cuts)]


def _end_held_out(whole: Part, i: int) -> tuple[Part, Part]:
    """The first pieces of the only recording labelled in full, with others; its last pieces."""
    data = whole.data
    own = _pieces(whole.data, i)
    n = len(own) - math.ceil(SHARE * len(own))
    end = np.concatenate([rows for _, rows in own[n:]])
    test = whole.cut([(i, end)], name=f"{whole.inputs.names[i]}_end")
    others = [piece for j in range(len(data)) if j != i for piece in _pieces(data, j)]
    train = whole.cut([*own[:n], *others])
    return train, replace(test, question=ALIKE.format("recording", "is its end"))


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


def about_parts(whole: Part, train: Part, test: Part, split: str | None) -> str:
    if split in (ROWS, CLUSTERS):
        n_learned, n = (part.data.samples[0].n_samples for part in (train, test))
        what = "rows of the same clusters" if split == ROWS else "clusters of their own"
        return f"learning from {n_learned} rows; held out: {n} {what}"
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
    known = whole.data.labels
    in_part = [names[i] for i, one in enumerate(known) if one.truth is None and one.rows.size]
    if in_part:
        lines.append(f"labelled in part, and scored on what is labelled: {some_of(in_part, 4)}")
    if others := [names[i] for i, one in enumerate(known) if one.scored is None]:
        lines.append(f"with labels of other kinds, and so never held out: {some_of(others, 4)}")
    if whole.data.groups is None and not is_end:
        lines.append(train.inputs.independent)
    return "\n".join(lines)


def warn_of_copies(train: Part, test: Part) -> None:
    learned, held_out = ([row.tobytes() for row in part.inputs.Xs[0]] for part in (train, test))
    known = set(learned)
    n = sum(row in known for row in held_out)
    if n > COPIES * len(held_out):
        train.inputs.terminal.warn(
            f"{n} of the {len(held_out)} held-out rows equal training rows: the figures are better "
            "than on other rows; leave out duplicates"
        )
