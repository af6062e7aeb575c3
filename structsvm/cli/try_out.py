"""``structsvm try``: from labelled files to a decision, in one command.

A part of the data is held out. What is learned is chosen on the others by cross-validation, every
baseline is tuned on them, and the verdict comes from the part that was held out; where that is too
little, from the cross-validation on the others, if they are enough.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from structsvm.cli.evaluate import readable, refuse_groups, refuse_split
from structsvm.cli.inputs import (
    InputData,
    checking,
    groups_of,
    read,
    taken_to_be_independent,
    takes_images,
)
from structsvm.cli.outputs import check_outputs, writer_for
from structsvm.cli.predict import answers_of
from structsvm.cli.settings import Reading, refuse_settings, typed_problem
from structsvm.cli.terminal import Terminal
from structsvm.data.copies import contents, joined
from structsvm.data.times import usual_steps
from structsvm.errors import DataError, DataWarning, SettingsError, VerdictWarning, printable
from structsvm.evaluation.contrast import LEARNED, MIN_UNITS
from structsvm.evaluation.splits import fewest_rows
from structsvm.evaluation.verdict import Verdict
from structsvm.io.recording import Recording, listed
from structsvm.learner.baselines import other_methods
from structsvm.learner.files import save
from structsvm.learner.learner import MetricLearner
from structsvm.learner.training_set import CLUSTERS, ROWS, STATES, TrainingSet
from structsvm.model_selection import MetricLearnerCV
from structsvm.partitions.candidates import BLIND
from structsvm.partitions.problem import PartitionProblem
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
ENOUGH = next(n for n in itertools.count(FEWEST) if n - math.ceil(SHARE * n) >= MIN_UNITS)
"""Independent samples of which enough are left to judge by cross-validation."""


@dataclass(frozen=True, eq=False)
class Checked:
    """What was read, or a part of it, and the same as it was checked."""

    inputs: InputData
    data: TrainingSet

    def at(self, which: Ints) -> Checked:
        """Some of the samples, as they were checked."""
        items = [self.inputs.items[i] for i in which]
        return Checked(InputData.of(items, self.data.problem), self.data.at(which))

    def rows(self, which: Ints, name: str) -> Checked:
        """Some of the rows of the only table, as they were checked."""
        (table,) = self.inputs.items
        assert isinstance(table, Recording)
        X, y = table.X[which], np.asarray(table.y)[which]
        part = replace(table, name=name, X=X, y=y, time=None, source=None, origin=None)
        return Checked(InputData.of([part], self.data.problem), self.data.cut([(0, which)]))


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Split, choose, compare, write, and say what to do."""
    refuse_settings(args, "problem", "files")
    problem = typed_problem(args)
    names = {"model": "model.structsvm", "report": "report.html", "predictions": "predicted"}
    places = {what: args.output / name for what, name in names.items()}
    check_outputs(args, [places["model"], places["report"]])
    whole = _checked(args, terminal, problem)
    split = _split(whole.inputs, args)
    train, test = _divided(whole, split)
    _check_predictions(args, terminal, test.inputs, places["predictions"])
    terminal.note(_about(train, test, split))
    if split in (ROWS, CLUSTERS):
        _warn_of_copies(train, test, terminal)
    saved = False

    def keep(learner: MetricLearner) -> None:
        nonlocal saved
        learner.columns_ = Reading.of(args).to_remember
        learner.steps_ = usual_steps(train.inputs.times)
        args.output.mkdir(parents=True, exist_ok=True)
        save(learner, places["model"])
        saved = True

    try:
        search = _chosen(train, split, args, terminal, keep)
        with Interrupts():
            keep(search.best_estimator_)  # again, with its baselines
        _compare(search, test, places, args, terminal)
    except KeyboardInterrupt as interrupt:
        if not saved:
            raise
        raise KeyboardInterrupt(
            f"after choosing: {places['model']} holds what was learned, and there is no comparison"
        ) from interrupt
    return 0


def _checked(args: argparse.Namespace, terminal: Terminal, problem: PartitionProblem) -> Checked:
    """All that was given, checked before it is split: labels without a change are refused early."""
    inputs = read(args, terminal, problem)
    groups = groups_of(inputs, args.groups)
    with inputs.named(), terminal.working(checking(problem)):
        data = TrainingSet.read(
            problem, inputs.Xs, inputs.ys, feature_names=inputs.features, groups=groups
        )
        with without_warnings(DataWarning):
            problem.learning.check(data.truths)
    return Checked(inputs, data)


def _check_predictions(
    args: argparse.Namespace, terminal: Terminal, held_out: InputData, folder: Path
) -> None:
    """Refuse predictions that exist, as other outputs, and name those of other recordings."""
    places = writer_for(held_out.problem).places(folder, held_out.names)
    inside = folder.iterdir() if folder.is_dir() else ()
    others = sorted(path.name for path in inside if path.is_file() and path not in places)
    if others:
        terminal.warn(
            f"{folder} holds {listed(others, 3)} of an earlier run, which this run does not "
            "replace: they are not predictions of its held-out data"
        )
    check_outputs(args, places)


def _chosen(
    train: Checked,
    split: str | None,
    args: argparse.Namespace,
    terminal: Terminal,
    keep: Callable[[MetricLearner], object],
) -> MetricLearnerCV:
    data = train.data
    rows = sum(sample.n_samples for sample in data.samples)
    is_long = len(data) >= LONG_SAMPLES or rows * data.n_features >= LONG_VALUES
    search = MetricLearnerCV(
        data.problem,
        split=split,
        cv=3 if is_long or (data.has_rows and rows >= LONG_ROWS) else None,
        n_jobs=args.jobs,
        random_state=0,
    )
    # The verdict is that on what is held out, not the one of choosing.
    quiet = without_warnings(VerdictWarning)
    with quiet, train.inputs.named(), terminal.working("choosing by cross-validation"):
        search.fit(data, baselines="all", when_learned=keep)
    return search


def _compare(
    search: MetricLearnerCV,
    test: Checked,
    places: dict[str, Path],
    args: argparse.Namespace,
    terminal: Terminal,
) -> None:
    """Judge by what was held out, write the report and the predictions, and say what to do."""
    learner, inputs = search.best_estimator_, test.inputs
    samples, writer = list(test.data.samples), writer_for(test.inputs.problem)
    chosen = f"{search.best_learned_}, lam {search.best_lam_:g}"
    with inputs.named(), terminal.working("comparing on what was held out"):
        learner.training_data_.warn_if_among([sample.data for sample in samples], inputs.words)
        with share("the report", 0.0, REPORTED):
            held_out = HeldOut.of(
                learner,
                inputs.Xs,
                inputs.ys,
                inputs.names,
                measured=samples,
                times=inputs.times,
                groups=test.data.groups,
            )
            result, diagnosis = held_out.evaluation, held_out.diagnosis
            predict = f"structsvm predict {places['model']} NEW{_counts_typed(learner)}"
            verdict, source = _verdict(search, result.verdict, f"{predict} --baseline")
            title = f"What was learned from {', '.join(map(str, args.paths))}"
            page = page_of(held_out, title, verdict)
        with share("predictions", REPORTED, 1.0):
            counts = [M.n_clusters for M in held_out.guesses[LEARNED]]
            answers = answers_of(
                learner,
                inputs,
                samples,
                n_clusters=counts if _takes_counts(learner) else None,
                prepared=list(held_out.samples),
            )
    with Interrupts():  # all the files or none
        write_atomically(places["report"], printable(page).encode())
        writer.write_folder(places["predictions"], inputs.items, answers)
    terminal.note(f"chosen by cross-validation: {chosen}")
    plain = {
        **result.to_dict(),
        "chosen": chosen,
        "best": search.best_candidate_,
        "verdict": verdict.to_dict(),
        "verdict_from": source,
        "findings": diagnosis.to_dict()["findings"],
        **{what: str(place) for what, place in places.items()},
    }
    *scores, _ = readable(result)
    terminal.report(plain, *scores, str(verdict))
    terminal.note("\n" + "".join(f"{what:<13}{place}\n" for what, place in places.items()))
    if len(diagnosis):
        kinds = ", ".join(diagnosis.kinds)
        terminal.note(f"possible faults, of which the report says what to do: {kinds}\n")
    available = {*learner.baselines_, *other_methods(learner)}
    advice, baseline = verdict.next_step(available, search.best_candidate_)
    command = f"{predict} --baseline {baseline}" if baseline else predict
    if baseline in BLIND:
        command = f"structsvm diagnose {places['model']} LABELLED"
    terminal.note(f"{verdict.answer} {advice}\n  {command}")


def _verdict(search: MetricLearnerCV, held_out: Verdict, way: str) -> tuple[Verdict, str]:
    """The verdict by what was held out, or, if that supports none, by cross-validation."""
    whole = search.split not in (ROWS, CLUSTERS)
    if held_out.is_supported or not search.verdict_.is_supported:
        notes = [] if held_out.is_supported or not whole else ["wanted"]
        return held_out.with_notes(notes, enough=ENOUGH), "held out"
    verdict, gain = replace(search.verdict_, way=way), held_out.untrained
    notes = ["cross-validated" if whole else "of parts"]
    if (verdict.pays and gain.mean < 0) or (verdict.harms and gain.mean > 0):
        notes.append("other way")
    return verdict.with_notes(notes, contrast=gain.told), "cross-validation"


def _is_one_table(inputs: InputData) -> bool:
    problem = inputs.problem
    return len(inputs) == 1 and not (problem.traits.contiguous or takes_images(problem))


def _split(inputs: InputData, args: argparse.Namespace) -> str | None:
    """What the verdict is about, if it is not about further samples."""
    split: str | None = args.split
    if split is not None:
        refuse_split(split, args.problem, inputs.problem)
    if split not in (None, STATES) and len(inputs) != 1:
        raise SettingsError(
            f"--split {split} is for a single table: of {inputs.words.wholes(len(inputs))} "
            "whole ones are held out"
        )
    if not _is_one_table(inputs):
        return split
    refuse_groups(args.groups)
    return split or ROWS


def _divided(whole: Checked, split: str | None) -> tuple[Checked, Checked]:
    if not _is_one_table(whole.inputs):
        away = _samples_away(whole)
        return whole.at(np.flatnonzero(~away)), whole.at(np.flatnonzero(away))
    (name,), away = whole.inputs.names, _rows_away(whole, split)
    return (
        whole.rows(np.flatnonzero(~away), name),
        whole.rows(np.flatnonzero(away), f"{name}_held_out"),
    )


def _samples_away(whole: Checked) -> NDArray[np.bool_]:
    """Which samples are held out, (N,): copies go with what they are copies of."""
    groups = whole.data.groups
    names = np.arange(len(whole.data)).astype(str) if groups is None else np.array(groups)
    copies = contents([sample.data for sample in whole.data.samples])
    names = joined(np.unique(names, return_inverse=True)[1], copies)
    units = np.unique(names)
    if units.size < FEWEST:
        wholes = whole.inputs.words.wholes(units.size)
        what = wholes if groups is None else counted(units.size, "group")
        apart = "" if groups is None else "leave out --groups if each file is independent, "
        raise DataError(
            f"{what}: too few to choose from once some are held out; label at least {FEWEST}, and "
            f"{ENOUGH} for a verdict, {apart}or use structsvm fit, which holds nothing out"
        )
    return np.isin(names, train_test_split(units, test_size=SHARE, random_state=0)[1])


def _rows_away(whole: Checked, split: str | None) -> NDArray[np.bool_]:
    """Which rows of the only table are held out, or the rows of which clusters, (T,)."""
    (where,), (labels,) = whole.inputs.places, whole.inputs.ys
    y = np.asarray(labels)
    clusters, sizes = np.unique(y, return_counts=True)
    n_clusters = counted(clusters.size, "cluster")
    if sizes.min() < 2:
        single = [repr(name) for name in clusters[sizes < 2].tolist()]
        raise DataError(
            f"{where} has clusters of a single row, of which none can be held out: "
            f"{some_of(single)}. Label more rows of them, correct the label if it is written "
            "wrongly, leave these rows out, or use structsvm fit"
        )
    if len(y) < 2 * fewest_rows(y):
        raise DataError(
            f"{where} has {counted(len(y), 'row')} in {n_clusters}, of "
            "which too few can be held out: label more, or use structsvm fit"
        )
    if split == ROWS:
        rows = np.arange(len(y))
        held_out = train_test_split(rows, test_size=SHARE, stratify=y, random_state=0)[1]
        return np.isin(rows, held_out)
    if clusters.size < 2 * FEWEST:
        raise DataError(
            f"{where} has {n_clusters}: to hold whole ones out takes {2 * FEWEST}; --split rows "
            "asks about further rows of the same clusters"
        )
    return np.isin(y, train_test_split(clusters, test_size=SHARE, random_state=0)[1])


def _about(train: Checked, test: Checked, split: str | None) -> str:
    if split in (ROWS, CLUSTERS):
        learned, held_out = (part.data.samples[0].n_samples for part in (train, test))
        what = "rows of the same clusters" if split == ROWS else "clusters of their own"
        return f"learning from {learned} rows; held out: {held_out} {what}"
    n_learned = train.inputs.words.wholes(len(train.inputs))
    about = f"learning from {n_learned}; held out: {len(test.inputs)}"
    if train.data.groups is not None:
        about += ", of other groups"
    if split == STATES:
        about += "\nto choose, each state in turn is left unlabelled in the training folds"
    if train.data.groups is None:
        about += f"\n{taken_to_be_independent(train.inputs)}"
    return about


def _takes_counts(learner: MetricLearner) -> bool:
    traits = learner.problem_.traits
    return traits.given_k and not traits.contiguous


def _counts_typed(learner: MetricLearner) -> str:
    """The option for as many clusters as there were, without which their price decides."""
    if not _takes_counts(learner):
        return ""
    counts: Sequence[int] = sorted(set(learner.training_data_.n_clusters))
    return f" --n-clusters {counts[0] if len(counts) == 1 else 'N'}"


def _warn_of_copies(train: Checked, test: Checked, terminal: Terminal) -> None:
    learned, held_out = ([row.tobytes() for row in part.inputs.Xs[0]] for part in (train, test))
    known = set(learned)
    n = sum(row in known for row in held_out)
    if n > COPIES * len(held_out):
        terminal.warn(
            f"{n} of the {len(held_out)} held-out rows equal training rows: the figures are better "
            "than on other rows; leave out duplicates"
        )
