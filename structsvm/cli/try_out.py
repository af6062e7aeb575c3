"""``structsvm try``: from labelled files to a decision, in one command.

A part of the data is held out. What is learned is chosen on the others by cross-validation, every
baseline is tuned on them, and the verdict comes from the part that was held out; where that is too
little, from the cross-validation on the others, if they are enough.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from structsvm.cli.columns import Reading
from structsvm.cli.evaluate import readable
from structsvm.cli.inputs import (
    Given,
    groups_of,
    read,
    refuse_foreign_options,
    taken_to_be_independent,
    takes_images,
)
from structsvm.cli.one_table import refuse_groups, refuse_split
from structsvm.cli.outputs import check_outputs, writer_for
from structsvm.cli.predict import answers_of
from structsvm.cli.settings import Kind, refuse_settings
from structsvm.cli.terminal import Terminal
from structsvm.data.copies import contents, joined
from structsvm.data.times import usual_steps
from structsvm.diagnosis import Diagnosis
from structsvm.errors import (
    DataError,
    DataWarning,
    SettingsError,
    VerdictWarning,
    printable,
)
from structsvm.evaluation.contrast import LEARNED, MIN_UNITS
from structsvm.evaluation.evaluate import Evaluation
from structsvm.evaluation.verdict import Verdict
from structsvm.io.recording import Recording, listed
from structsvm.learner.baselines import other_methods
from structsvm.learner.files import save
from structsvm.learner.learner import MetricLearner
from structsvm.learner.training_set import TrainingSet
from structsvm.model_selection import MetricLearnerCV
from structsvm.model_selection.splits import CLUSTERS, ROWS, STATES, fewest_rows
from structsvm.partitions.candidates import BLIND
from structsvm.plotting.report.held_out import HeldOut
from structsvm.plotting.report.page import page_of
from structsvm.storage.atomic import write_atomically
from structsvm.support.interrupts import Interrupts
from structsvm.support.plain import counted, some_of
from structsvm.support.progress import share
from structsvm.support.quiet import without_warnings

__all__ = ["run"]

Ints = NDArray[np.int64]

SHARE = 0.3
"""Of the groups, or of the rows of a table, that is held out for the verdict."""
LONG_SAMPLES, LONG_ROWS, LONG_VALUES = 40, 1_000, 500_000
"""Samples to learn from, or rows of a table, or values, from which on three folds are what there is
time for: five take twice as long."""
REPORTED = 0.9
"""What part of the time of comparing goes into the report, about."""
COPIES = 0.1
"""Of the rows that are held out: so many may be learned from by chance."""
FEWEST = 4
"""Independent samples of which any can be held out."""


@dataclass(frozen=True, eq=False)
class Checked:
    """What was given, or a part of it, and the same as it was checked."""

    given: Given
    data: TrainingSet

    def at(self, which: Ints) -> Checked:
        """Some of the samples, as they were checked."""
        items = [self.given.items[i] for i in which]
        return Checked(Given.of(items, self.data.problem), self.data.at(which))

    def rows(self, which: Ints, name: str) -> Checked:
        """Some of the rows of the only table, as they were checked."""
        (table,) = self.given.items
        assert isinstance(table, Recording)
        X, y = table.X[which], np.asarray(table.y)[which]
        part = replace(table, name=name, X=X, y=y, time=None, source=None, origin=None)
        return Checked(Given.of([part], self.data.problem), self.data.cut([(0, which)]))


class Written(NamedTuple):
    """What is written, and where."""

    model: Path
    report: Path
    predictions: Path


class Judged(NamedTuple):
    """The verdict on the screen and in the report."""

    verdict: Verdict
    source: str
    """What it is about: "held out", or "cross-validation" on the rest."""

    @classmethod
    def of(cls, search: MetricLearnerCV, held_out: Verdict, model: Path) -> Judged:
        """By what was held out; if that supports no verdict, by cross-validation, if this does."""
        whole = search.split not in (ROWS, CLUSTERS)
        if held_out.is_supported or not search.verdict_.is_supported:
            wanted = [] if held_out.is_supported or not whole else ["wanted"]
            return cls(held_out.with_notes(wanted, enough=_enough()), "held out")
        way = f"{_predicting(model, _asked(search.best_estimator_))} --baseline"
        verdict, gain = replace(search.verdict_, way=way), held_out.untrained
        notes = ["cross-validated" if whole else "of parts"]
        if (verdict.pays and gain.mean < 0) or (verdict.harms and gain.mean > 0):
            notes.append("other way")
        return cls(verdict.with_notes(notes, contrast=gain.told), "cross-validation")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Split, choose, compare, write, and say what to do."""
    refuse_settings(args, "problem", "files")
    kind = Kind.typed(args)
    refuse_foreign_options(Reading.of(args), kind.problem)
    folder = args.output
    written = Written(folder / "model.structsvm", folder / "report.html", folder / "predicted")
    check_outputs(args, [written.model, written.report])
    whole = _checked(args, terminal, kind)
    split = _question(whole.given, args, kind)
    train, test = _divided(whole, split, kind)
    _check_predictions(args, terminal, kind, written.predictions, test.given.names)
    terminal.note(_about(train, test, split))
    if split in (ROWS, CLUSTERS):
        _warn_of_copies(train, test, terminal)
    kept: list[Path] = []

    def keep(learner: MetricLearner) -> None:
        learner.columns_ = Reading.of(args).remembered
        learner.steps_ = usual_steps(train.given.times)
        args.output.mkdir(parents=True, exist_ok=True)
        save(learner, written.model)
        kept.append(written.model)

    try:
        search = _chosen(train, split, kind, args, terminal, keep)
        with Interrupts():
            keep(search.best_estimator_)  # again, with its baselines
        result, judged, diagnosis = _compared(search, test, written, args, terminal)
    except KeyboardInterrupt as interrupt:
        if not kept:
            raise
        raise KeyboardInterrupt(
            f"after choosing: {written.model} holds what was learned, and there is no comparison"
        ) from interrupt
    _tell(search, result, judged, diagnosis, written, terminal)
    return 0


def _check_predictions(
    args: argparse.Namespace, terminal: Terminal, kind: Kind, folder: Path, names: Sequence[str]
) -> None:
    """Refuse predictions that exist, as other outputs; a warning names those of other
    recordings.
    """
    places = writer_for(kind.problem, "png").places(folder, names)
    inside = folder.iterdir() if folder.is_dir() else ()
    others = sorted(path.name for path in inside if path.is_file() and path not in places)
    if others:
        terminal.warn(
            f"{folder} holds {listed(others, 3)} of an earlier run, which this run does not "
            "replace: they are not predictions of its held-out data"
        )
    check_outputs(args, places)


def _checked(args: argparse.Namespace, terminal: Terminal, kind: Kind) -> Checked:
    """All that was given, checked before it is split: labels without a change are refused early."""
    contiguous = kind.problem.traits.contiguous
    given = read(args, terminal, kind.problem, need_labels=True, ask=contiguous)
    groups = groups_of(given, args.groups)
    doing = "making graphs" if takes_images(kind.problem) else "checking"
    with given.named(), terminal.working(doing):
        data = TrainingSet.read(
            kind.problem, given.Xs, given.ys, feature_names=given.features, groups=groups
        )
        with without_warnings(DataWarning):
            kind.problem.learning.check(data.truths)
    return Checked(given, data)


def _chosen(
    train: Checked,
    split: str | None,
    kind: Kind,
    args: argparse.Namespace,
    terminal: Terminal,
    keep: Callable[[MetricLearner], object],
) -> MetricLearnerCV:
    search = MetricLearnerCV(
        kind.problem,
        features=kind.features,
        split=split,
        cv=3 if _takes_long(train.data) else None,
        n_jobs=args.jobs,
        random_state=0,
    )
    # The verdict is that on what is held out, not the one of choosing.
    quiet = without_warnings(VerdictWarning)
    doing = terminal.working("choosing by cross-validation")
    with quiet, train.given.named(), doing:
        search.fit(train.data, baselines="all", when_learned=keep)
    return search


def _takes_long(data: TrainingSet) -> bool:
    rows = sum(sample.n_samples for sample in data.samples)
    long_table = data.has_rows and rows >= LONG_ROWS
    return len(data) >= LONG_SAMPLES or long_table or rows * data.n_features >= LONG_VALUES


def _compared(
    search: MetricLearnerCV,
    test: Checked,
    written: Written,
    args: argparse.Namespace,
    terminal: Terminal,
) -> tuple[Evaluation, Judged, Diagnosis]:
    """The scores on what was held out, of which the report and the predictions are written."""
    learner = search.best_estimator_
    given, measured = test.given, list(test.data.samples)
    with given.named(), terminal.working("comparing on what was held out"):
        arrays = [sample.data for sample in measured]
        learner.training_data_.warn_if_among(arrays, given.words)
        with share("the report", 0.0, REPORTED):
            held_out = HeldOut.of(
                learner,
                given.Xs,
                given.ys,
                given.names,
                measured=measured,
                times=given.times,
                groups=test.data.groups,
            )
            judged = Judged.of(search, held_out.evaluation.verdict, written.model)
            title = f"What was learned from {', '.join(map(str, args.paths))}"
            text = page_of(held_out, title, judged.verdict)
        writer = writer_for(learner.problem_, "png")
        with share("predictions", REPORTED, 1.0):
            counts = [M.n_clusters for M in held_out.guesses[LEARNED]]
            answers = answers_of(
                learner,
                writer,
                given,
                measured,
                n_clusters=counts if _is_told_how_many(learner) else None,
                prepared=list(held_out.samples),
            )
    with Interrupts():  # all the files or none
        write_atomically(written.report, printable(text).encode())
        writer.write_folder(written.predictions, given.items, answers)
    return held_out.evaluation, judged, held_out.diagnosis


def _tell(
    search: MetricLearnerCV,
    result: Evaluation,
    judged: Judged,
    diagnosis: Diagnosis,
    written: Written,
    terminal: Terminal,
) -> None:
    """The scores, the verdict, what was written, and the next command."""
    learner = search.best_estimator_
    asked = _asked(learner)
    chosen = f"{search.best_learned_}, lam {search.best_lam_:g}"
    plain = result.to_dict() | {"chosen": chosen, "best": search.best_candidate_}
    terminal.note(f"chosen by cross-validation: {chosen}")
    plain |= {"verdict": judged.verdict.to_dict(), "verdict_from": judged.source}
    *scores, _ = readable(result)
    where = {name: str(path) for name, path in written._asdict().items()}
    plain["findings"] = diagnosis.to_dict()["findings"]
    terminal.report(plain | where, *scores, str(judged.verdict))
    terminal.note("\n" + "".join(f"{name:<13}{path}\n" for name, path in where.items()))
    if len(diagnosis):
        kinds = ", ".join(diagnosis.kinds)
        terminal.note(f"possible faults, of which the report says what to do: {kinds}\n")
    baselines = {*learner.baselines_, *other_methods(learner)}
    terminal.note(_next(judged.verdict, search.best_candidate_, baselines, written.model, asked))


def _enough() -> int:
    return next(n for n in itertools.count(FEWEST) if n - math.ceil(SHARE * n) >= MIN_UNITS)


def _is_one_table(given: Given, kind: Kind) -> bool:
    return len(given) == 1 and not (kind.problem.traits.contiguous or takes_images(kind.problem))


def _question(given: Given, args: argparse.Namespace, kind: Kind) -> str | None:
    if args.split is not None:
        refuse_split(args.split, args.problem, kind.problem)
    if args.split not in (None, STATES) and len(given) != 1:
        raise SettingsError(
            f"--split {args.split} is for a single table: of {given.words.wholes(len(given))} "
            "whole ones are held out"
        )
    if not _is_one_table(given, kind):
        return str(args.split) if args.split is not None else None
    refuse_groups(args.groups)
    return str(args.split or ROWS)


def _divided(whole: Checked, split: str | None, kind: Kind) -> tuple[Checked, Checked]:
    if not _is_one_table(whole.given, kind):
        away = _samples_away(whole)
        return whole.at(np.flatnonzero(~away)), whole.at(np.flatnonzero(away))
    (name,) = whole.given.names
    away = _rows_away(whole, split)
    return (
        whole.rows(np.flatnonzero(~away), name),
        whole.rows(np.flatnonzero(away), f"{name}_held_out"),
    )


def _samples_away(whole: Checked) -> NDArray[np.bool_]:
    """Which samples are held out, (N,)."""
    given, groups = whole.given, whole.data.groups
    names = np.arange(len(given)).astype(str) if groups is None else np.array(groups)
    numbers = contents([sample.data for sample in whole.data.samples])
    names = joined(np.unique(names, return_inverse=True)[1], numbers)
    units = np.unique(names)
    if units.size < FEWEST:
        what = given.words.wholes(units.size) if groups is None else counted(units.size, "group")
        apart = "" if groups is None else "leave out --groups if each file is independent, "
        raise DataError(
            f"{what}: too few to choose from once some are held out; label at least {FEWEST}, and "
            f"{_enough()} for a verdict, {apart}or use structsvm fit, which holds nothing out"
        )
    return np.isin(names, train_test_split(units, test_size=SHARE, random_state=0)[1])


def _rows_away(whole: Checked, split: str | None) -> NDArray[np.bool_]:
    """Which rows of the only table are held out, or the rows of which clusters, (T,)."""
    (where,), (labels,) = whole.given.places, whole.given.ys
    y = np.asarray(labels)
    clusters, sizes = np.unique(y, return_counts=True)
    if sizes.min() < 2:
        single = [repr(name) for name in clusters[sizes < 2].tolist()]
        raise DataError(
            f"{where} has clusters of a single row, of which none can be held out: "
            f"{some_of(single)}. Label more rows of them, correct the label if it is written "
            "wrongly, leave these rows out, or use structsvm fit"
        )
    if len(y) < 2 * fewest_rows(y):
        raise DataError(
            f"{where} has {counted(len(y), 'row')} in {counted(clusters.size, 'cluster')}, of "
            "which too few can be held out: label more, or use structsvm fit"
        )
    if split == CLUSTERS:
        if clusters.size < 2 * FEWEST:
            raise DataError(
                f"{where} has {counted(clusters.size, 'cluster')}: to hold whole ones out "
                f"takes {2 * FEWEST}; --split rows asks about further rows of the same clusters"
            )
        return np.isin(y, train_test_split(clusters, test_size=SHARE, random_state=0)[1])
    rows = np.arange(len(y))
    return np.isin(rows, train_test_split(rows, test_size=SHARE, stratify=y, random_state=0)[1])


def _about(train: Checked, test: Checked, split: str | None) -> str:
    words, groups = train.given.words, train.data.groups
    if split in (ROWS, CLUSTERS):
        sizes = [share.data.samples[0].n_samples for share in (train, test)]
        what = "rows of the same clusters" if split == ROWS else "clusters of their own"
        return f"learning from {sizes[0]} rows; held out: {sizes[1]} {what}"
    told = f"learning from {words.wholes(len(train.given))}; held out: {len(test.given)}"
    if groups is not None:
        told += ", of other groups"
    if split == STATES:
        told += "\nto choose, each state in turn is left unlabelled in the training folds"
    if groups is not None:
        return told
    return f"{told}\n{taken_to_be_independent(train.given)}"


def _is_told_how_many(learner: MetricLearner) -> bool:
    traits = learner.problem_.traits
    return traits.given_k and not traits.contiguous


def _asked(learner: MetricLearner) -> str:
    """The option for as many clusters as there were, without which their price decides."""
    if not _is_told_how_many(learner):
        return ""
    counts = set(learner.training_data_.n_clusters)
    return f" --n-clusters {counts.pop() if len(counts) == 1 else 'N'}"


def _warn_of_copies(train: Checked, test: Checked, terminal: Terminal) -> None:
    """Tell how many of the rows that are held out are learned from, if that matters."""
    learned, held_out = ([row.tobytes() for row in part.given.Xs[0]] for part in (train, test))
    known = set(learned)
    n = sum(row in known for row in held_out)
    if n > COPIES * len(held_out):
        terminal.warn(
            f"{n} of the {len(held_out)} held-out rows equal training rows: the figures are better "
            "than on other rows; leave out duplicates"
        )


def _predicting(model: Path, asked: str = "") -> str:
    return f"structsvm predict {model} NEW{asked}"


def _next(
    verdict: Verdict, best: str, baselines: Collection[str], model: Path, asked: str = ""
) -> str:
    """What to do, and the next command, which does it."""
    said, name = verdict.next_step(baselines, best)
    command = _predicting(model, asked) + (f" --baseline {name}" if name else "")
    if name in BLIND:
        command = f"structsvm diagnose {model} LABELLED"
    return f"{verdict.answer} {said}\n  {command}"
