"""``structsvm try``: from labelled files to a decision, in one command.

A part of the data is held out. What is learned is chosen on the others by cross-validation, every
rival is tuned on them, and the verdict comes from the part that was held out; where that is too
little, from the cross-validation, in which every sample was held out once.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from structsvm.cli.columns import named_columns
from structsvm.cli.context import groups_of
from structsvm.cli.evaluate import readable
from structsvm.cli.inputs import Given, read, refuse_foreign_options, takes_images
from structsvm.cli.one_table import refuse_split
from structsvm.cli.outputs import check_outputs, writer_for
from structsvm.cli.predict import answers_of
from structsvm.cli.settings import Kind, typed_settings
from structsvm.cli.terminal import Terminal
from structsvm.errors import (
    DataError,
    DataWarning,
    LearningError,
    SettingsError,
    VerdictWarning,
    printable,
    warn,
)
from structsvm.evaluation.evaluate import evaluate
from structsvm.evaluation.verdict import Verdict, rival_in_words
from structsvm.io.recording import Recording
from structsvm.learner.files import save
from structsvm.learner.learner import MetricLearner
from structsvm.learner.rivals import rivals_of
from structsvm.learner.training_set import TrainingSet
from structsvm.model_selection import MetricLearnerCV
from structsvm.model_selection.splits import CLUSTERS, ROWS, STATES, fewest_rows
from structsvm.report import report_page
from structsvm.storage.atomic import write_atomically
from structsvm.support.interrupts import Interrupts
from structsvm.support.plain import counted
from structsvm.support.quiet import without_warnings

__all__ = ["run"]

Ints = NDArray[np.int64]

SHARE = 0.3
"""Of the groups, or of the rows of a table, that is held out for the verdict."""
MANY = 40
"""Samples to learn from with which three folds are enough to choose by; five take twice as long."""
FEWEST = 4
"""Independent samples that a verdict on held-out ones needs."""


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Split, choose, compare, write, and say what to do.

    Raises
    ------
    SettingsError
        When an option does not suit the problem.
    DataError
        When there is too little to hold anything out.
    """
    kind = Kind.typed(args.problem, typed_settings(args))
    refuse_foreign_options(args, kind.problem)
    folder: Path = args.output
    model, page, _ = _places(folder)
    check_outputs(args, [model, page])
    contiguous = kind.problem.traits.contiguous
    given = read(args, terminal, kind.problem, need_labels=True, ask=contiguous)
    with given.named(), without_warnings(DataWarning):
        labelled = TrainingSet.read(kind.problem, given.Xs, given.ys)
        if labelled.is_complete:
            kind.problem.check_training(labelled.truths)
    split, train, test, groups = _split(given, args, kind)
    terminal.note(_about(train, test, split, groups))

    search = MetricLearnerCV(
        kind.problem,
        features=kind.features,
        split=split,
        cv=3 if len(train) >= MANY else None,
        n_jobs=args.jobs,
        random_state=0,
    )
    kept: list[Path] = []

    def keep(learned: MetricLearner) -> None:
        learned.columns_ = dict(named_columns(args))
        folder.mkdir(parents=True, exist_ok=True)
        save(learned, model)
        kept.append(model)

    try:
        # The verdict is that on what is held out, not the one of choosing.
        quiet = without_warnings(VerdictWarning)
        with quiet, train.named(), terminal.working("choosing by cross-validation"):
            data = TrainingSet.read(
                kind.problem, train.Xs, train.ys, feature_names=train.features, groups=groups
            )
            search.fit(data, when_learned=keep)
        learner = search.best_estimator_
        with train.named(), terminal.working("tuning rivals"):
            _tune_the_rest(learner, data)
        with Interrupts():
            keep(learner)  # again, with its rivals
        _compare(args, terminal, kind, search, train, test)
    except KeyboardInterrupt as interrupt:
        if not kept:
            raise
        raise KeyboardInterrupt(
            f"after choosing: {model} holds what was learned, and there is no comparison"
        ) from interrupt
    return 0


def _compare(
    args: argparse.Namespace,
    terminal: Terminal,
    kind: Kind,
    search: MetricLearnerCV,
    train: Given,
    test: Given,
) -> None:
    """Judge on what was held out, write the report and the predictions, and say what to do."""
    learner = search.best_estimator_
    model, page, table = _places(args.output)
    with test.named(), terminal.working("comparing on what was held out"):
        measured = learner.measured(test.Xs)
        result = evaluate(learner, test.Xs, test.ys, names=test.names, measured=measured)
        text = report_page(
            learner,
            test.Xs,
            test.ys,
            names=test.names,
            title=f"What was learned from {', '.join(map(str, args.paths))}",
            measured=measured,
            times=test.times,
        )
        writer = writer_for(kind.problem, "png")
        answers = answers_of(learner, writer, test, measured)
    with Interrupts():  # all the files or none
        write_atomically(page, printable(text).encode())
        writer.write_folder(table, test.items, answers)
    chosen = f"{search.best_learned_}, lam {search.best_lam_:g}"
    plain = result.to_dict() | {
        "chosen": chosen,
        "best": search.best_candidate_,
        "model": str(model),
        "report": str(page),
        "predictions": str(table),
    }
    terminal.note(f"chosen on the labelled {train.words.whole}s: {chosen}")
    *scores, judged = readable(result)
    if not result.verdict.is_supported:
        judged = f"cross-validated: {search.verdict_}"
        plain["verdict"] = search.verdict_.to_dict()
    terminal.report(plain, *scores, judged)
    terminal.note(f"\nmodel        {model}\nreport       {page}\npredictions  {table}\n")
    # A few held-out samples support no verdict; those of choosing were held out in turn.
    verdict = result.verdict if result.verdict.is_supported else search.verdict_
    rivals = {*learner.baselines_, *learner.rivals_}
    terminal.note(_next(verdict, search.best_candidate_, rivals, model))


def _places(folder: Path) -> tuple[Path, Path, Path]:
    """Where the model, the report and the predictions are written."""
    return folder / "model.structsvm", folder / "report.html", folder / "predicted"


def _tune_the_rest(learner: MetricLearner, read: TrainingSet) -> None:
    """Tune the rivals that nothing was chosen from, so that the comparison is with every one."""
    data = replace(read, question=learner.question_)
    rivals = [rival.name for rival in rivals_of(data, learner.features)]
    tuned = {*learner.baselines_, *learner.rivals_}
    for name in (*data.problem.traits.baselines, *rivals):
        if name in tuned:
            continue
        try:
            learner.fit_baselines(data, names=[name])
        except (DataError, LearningError) as error:
            warn(f"{name} is not compared with: {error}", DataWarning)


def _split(
    given: Given, args: argparse.Namespace, kind: Kind
) -> tuple[str | None, Given, Given, list[str] | None]:
    """What is asked, what is learned from, what is held out, and the groups of the former.

    Whole samples are held out, by groups if there are any; of a single table rows or clusters.
    """
    tables = not (kind.problem.traits.contiguous or takes_images(kind.problem))
    if args.split is not None:
        refuse_split(args.split, args.problem, kind.problem)
    if args.split not in (None, STATES) and len(given) != 1:
        raise SettingsError(
            f"--split {args.split} is for a single table: of {given.words.wholes(len(given))} "
            "whole ones are held out"
        )
    if tables and len(given) == 1:
        if args.groups is not None:
            raise SettingsError("--groups is for several files: a single table has one name")
        split = args.split or ROWS
        return split, *_split_table(given, split, kind), None
    groups = groups_of(given, args.groups)
    units = np.unique(groups if groups is not None else np.arange(len(given)).astype(str))
    if units.size < FEWEST:
        what = given.words.wholes(units.size) if groups is None else counted(units.size, "group")
        apart = "" if groups is None else "leave out --groups if each file is independent, "
        raise DataError(
            f"{what}: holding any out leaves too few to choose from; label at least {FEWEST}, "
            f"{apart}or use structsvm fit, which holds nothing out"
        )
    _, held_out = train_test_split(units, test_size=SHARE, random_state=0)
    names = np.arange(len(given)).astype(str) if groups is None else np.array(groups)
    away = np.isin(names, held_out)
    kept = (
        None
        if groups is None
        else [name for name, out in zip(groups, away, strict=True) if not out]
    )
    return (
        args.split,
        _at(given, np.flatnonzero(~away), kind),
        _at(given, np.flatnonzero(away), kind),
        kept,
    )


def _split_table(given: Given, split: str, kind: Kind) -> tuple[Given, Given]:
    """Rows of one table that are learned from, and rows or clusters that are held out."""
    (item,) = given.items
    assert isinstance(item, Recording)
    y = np.asarray(item.y)
    clusters, sizes = np.unique(y, return_counts=True)
    if len(y) < 2 * fewest_rows(y) or sizes.min() < 2:
        raise DataError(
            f"{item.where} has {counted(len(y), 'row')} in {counted(clusters.size, 'cluster')}, of "
            "which too few can be held out: label more, or use structsvm fit"
        )
    if split == CLUSTERS:
        if clusters.size < 2 * FEWEST:
            raise DataError(
                f"{item.where} has {counted(clusters.size, 'cluster')}: to hold whole ones out "
                f"takes {2 * FEWEST}; --split rows asks about further rows of the same clusters"
            )
        away = np.isin(y, train_test_split(clusters, test_size=SHARE, random_state=0)[1])
    else:
        rows = np.arange(len(y))
        away = np.isin(rows, train_test_split(rows, test_size=SHARE, stratify=y, random_state=0)[1])
    parts = [
        replace(item, name=name, X=item.X[rows], y=y[rows], time=None, source=None, origin=None)
        for name, rows in ((item.name, ~away), (f"{item.name}_held_out", away))
    ]
    return Given.of(parts[:1], kind.problem), Given.of(parts[1:], kind.problem)


def _at(given: Given, which: Ints, kind: Kind) -> Given:
    return Given.of([given.items[i] for i in which], kind.problem)


def _about(train: Given, test: Given, split: str | None, groups: Sequence[str] | None) -> str:
    """What is learned from and what is held out, and what to do if they are not independent."""
    if split in (ROWS, CLUSTERS):
        sizes = [len(X) for X in (train.Xs[0], test.Xs[0])]
        what = "rows of the same clusters" if split == ROWS else "clusters of their own"
        return f"learning from {sizes[0]} rows; held out: {sizes[1]} {what}"
    told = f"learning from {train.words.wholes(len(train))}; held out: {len(test)}"
    if groups is not None:
        told += ", of other groups"
    if split == STATES:
        told += "\nto choose, each state in turn is hidden from what is learned from"
    if groups is not None:
        return told
    return (
        f"{told}\n{train.words.whole}s are taken to be independent: if several are of one person "
        "or machine, say so with --groups, a pattern that finds whose they are in their names"
    )


def _next(verdict: Verdict, best: str, rivals: Collection[str], model: Path) -> str:
    """One sentence, and the next command, which does what the sentence says.

    Parameters
    ----------
    best : str
        What did best in cross-validation.
    rivals : collection of str
        What the model can partition with beside the metric.
    """
    command = f"structsvm predict {model} NEW"
    enough = verdict.enough
    if enough is not None and enough.rival in rivals and verdict.answer.endswith("use it."):
        return f"{verdict.answer} Partition new data with\n  {command} --rival {enough.rival}"
    if best in rivals:
        return (
            f"{verdict.answer} In cross-validation {rival_in_words(best)} did best; partition new "
            f"data with it\n  {command} --rival {best}"
        )
    return f"{verdict.answer} Partition new data with\n  {command}"
