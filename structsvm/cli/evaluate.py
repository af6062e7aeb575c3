"""``structsvm evaluate`` and ``report``: what learning is worth on held-out data; and ``try``.

``try`` holds a part of the data out. What is learned is chosen on the others by cross-validation,
every baseline is tuned on them, and the verdict comes from the part that was held out; where that
is too little, from the cross-validation on the others, if they are enough.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from structsvm.cli.inputs import (
    InputData,
    Reading,
    checking,
    groups_of,
    measured,
    read,
    read_for,
    refuse_settings,
    taken_to_be_independent,
    takes_images,
    typed_problem,
    words_of_training,
)
from structsvm.cli.predict import answers_of, check_output, check_outputs, places, write_folder
from structsvm.cli.terminal import Terminal
from structsvm.data.copies import contents, joined
from structsvm.data.sample import Sample
from structsvm.data.times import usual_steps
from structsvm.errors import DataError, DataWarning, SettingsError, VerdictWarning, printable
from structsvm.evaluation.contrast import LEARNED, MIN_UNITS
from structsvm.evaluation.evaluate import Evaluation, evaluate, score_titles
from structsvm.evaluation.splits import fewest_rows
from structsvm.evaluation.verdict import Verdict
from structsvm.io.recording import Recording
from structsvm.learner.files import load_metric_learner, save
from structsvm.learner.learner import MetricLearner
from structsvm.learner.training_set import CLUSTERS, ROWS, STATES, TrainingSet
from structsvm.model_selection import MetricLearnerCV
from structsvm.model_selection.search import WHOLE
from structsvm.partitions.plugins import problem_name
from structsvm.partitions.problem import BLIND, PartitionProblem, has_rows
from structsvm.plotting.report.held_out import HeldOut
from structsvm.plotting.report.page import page_of
from structsvm.plotting.words import confused_states, training_in_words
from structsvm.storage.atomic import write_atomically
from structsvm.storage.codec import Unstored
from structsvm.support.interrupts import Interrupts
from structsvm.support.plain import counted, some_of
from structsvm.support.quiet import without_warnings
from structsvm.support.tables import ShortTable

SHARE = 0.3  # of the groups, or of the rows of a table, that is held out for the verdict
LONG_SAMPLES, LONG_ROWS, LONG_VALUES = 40, 1_000, 500_000
"""Samples to learn from, or rows of a table, or values, from which on three folds are what there is
time for: five take twice as long."""
COPIES = 0.1  # of the rows that are held out: so many may be learned from by chance
ALL = "all.structsvm"  # the model that is learned from all that was read
FEWEST = 4  # independent samples of which any can be held out
ENOUGH = next(n for n in itertools.count(FEWEST) if n - math.ceil(SHARE * n) >= MIN_UNITS)
"""Independent samples of which enough are left to judge by cross-validation."""


# ---- a model on held-out files


def run_evaluate(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and print the table and the verdict."""
    learner, inputs, samples = _read(args, terminal)
    split = None
    if can_be_split(learner, samples, inputs.ys):
        refuse_groups(args.groups)
        split = "auto"
    about = {"split": split, "groups": groups_of(inputs, args.groups)}
    result = _compared(evaluate, args, terminal, learner, inputs, samples, **about)
    if args.groups is None and split is None and result.verdict.is_supported:
        terminal.note(taken_to_be_independent(inputs))
    terminal.report(result.to_dict(), *readable(result))
    return 0


def run_report(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and write the page."""
    check_output(args, args.output, (".html", ".htm"))
    learner, inputs, samples = _read(args, terminal)
    learner.training_data_.warn_if_among([sample.data for sample in samples], inputs.words)
    about = {"times": inputs.times, "groups": groups_of(inputs, args.groups)}
    held_out = _compared(HeldOut.of, args, terminal, learner, inputs, samples, **about)
    page = page_of(held_out, f"What {args.model.stem} is worth")
    if args.groups is None and len(inputs) >= MIN_UNITS:
        terminal.note(taken_to_be_independent(inputs))
    write_atomically(args.output, printable(page).encode())
    terminal.note(f"the page is in {args.output}: open it in a browser")
    if terminal.as_json:
        terminal.report({"page": str(args.output)})
    return 0


def _read(
    args: argparse.Namespace, terminal: Terminal
) -> tuple[MetricLearner, InputData, list[Sample]]:
    learner = load_metric_learner(args.model)
    inputs = read_for(learner, args, terminal, need_labels=True)
    return learner, inputs, measured(learner, inputs, terminal)


def _compared(
    compare: Callable[..., Any],
    args: argparse.Namespace,
    terminal: Terminal,
    learner: MetricLearner,
    inputs: InputData,
    samples: list[Sample],
    **about: Any,
) -> Any:
    with inputs.named(), terminal.working("partitioning"):
        return compare(
            learner,
            inputs.Xs,
            inputs.ys,
            n_clusters=args.n_clusters,
            tolerance=args.tolerance,
            names=inputs.names,
            unseen_states=args.unseen_states,
            measured=samples,
            **about,
        )


def can_be_split(learner: MetricLearner, samples: Sequence[Sample], ys: Sequence[Any]) -> bool:
    """Whether a verdict can be about the rows of a table, the only one."""
    if not has_rows(learner.problem_, samples) or len(samples) != 1:
        return False
    if samples[0].data in learner.training_data_:
        unstored = any(isinstance(value, Unstored) for value in learner.get_params(False).values())
        if unstored or len(learner.training_data_) > 1:
            return False  # nothing can be learned again, or other tables would be missing
    return fewest_rows(ys[0]) <= samples[0].n_samples


def readable(result: Evaluation) -> tuple[str, ...]:
    """The scores, each method called as ``--baseline`` calls it, states, and the verdict."""
    titles, n = score_titles(result), len(result.samples)
    about = f"{'' if n == 1 else 'mean scores of '}{result.verdict.words.wholes(n)}"
    means = sorted(result.scores.items(), key=lambda item: item[0] == LEARNED)
    rows = tuple((name, *(scores[title] for title in titles)) for name, scores in means)
    columns = ("metric", *(title.replace(" (", "\n(") for title in titles.values()))
    states = (state_table(result),) if result.confusion else ()
    return f"{ShortTable(about, columns, rows)}\n", *states, str(result.verdict)


def state_table(result: Evaluation) -> str:
    found, words = result.confusion, result.verdict.words
    who = LEARNED if LEARNED in found else max(found, key=lambda name: found[name].accuracy or 0.0)
    columns = (f"{words.named} ({who})", f"{words.item}s", "named right", "taken for")
    rows = tuple(
        (state, n, f"{share:.1%}", others)
        for state, n, share, others in confused_states(found[who])
    )
    return f"{ShortTable('', columns, rows)}\n"


# ---- a model, its report and its predictions in one command


@dataclass(frozen=True, eq=False)
class Part:
    """What was read, or a part of it, and the same as it was checked."""

    inputs: InputData
    data: TrainingSet


def run_try(args: argparse.Namespace, terminal: Terminal) -> int:
    """Split, choose, compare, write, and say what to do; or learn from all what was chosen."""
    refuse_settings(args, "problem", "files")
    problem = typed_problem(args)
    model = args.output / "model.structsvm"
    is_chosen = args.refit and model.is_file()
    check_outputs(args, _outputs(args, is_chosen))
    inputs = read(args, terminal, problem)
    with inputs.named(), terminal.working(checking(problem)):
        groups = groups_of(inputs, args.groups)
        data = TrainingSet.read(
            problem, inputs.Xs, inputs.ys, feature_names=inputs.features, groups=groups
        )
        with without_warnings(DataWarning):  # labels without a change are refused before the split
            problem.learning.check(data.truths)
    whole, split = Part(inputs, data), _split(inputs, args)
    if not is_chosen:
        _try_out(whole, split, model, args, terminal)
    if args.refit:
        _learn_from_all(whole, split, load_metric_learner(model), args, terminal)
        if is_chosen and terminal.as_json:
            terminal.report({"model": str(args.output / ALL)})
    return 0


def _outputs(args: argparse.Namespace, is_chosen: bool) -> list[Path]:
    """The files that are written, apart from predictions."""
    names = [] if is_chosen else ["model.structsvm", "report.html"]
    return [args.output / name for name in [*names, *([ALL] if args.refit else [])]]


def _try_out(
    whole: Part, split: str | None, model: Path, args: argparse.Namespace, terminal: Terminal
) -> None:
    """Choose on a part, and judge by the rest."""
    train, test = _divided(whole, split)
    check_outputs(args, places(whole.inputs.problem, args.output / "predicted", test.inputs.names))
    terminal.note(_about(train, test, split))
    if split in (ROWS, CLUSTERS):
        _warn_of_copies(train, test, terminal)
    saved = False

    def keep(learner: MetricLearner) -> None:
        nonlocal saved
        _save(learner, train, model, args)
        saved = True

    try:
        search = _chosen(train, split, args, terminal, keep)
        with Interrupts():
            keep(search.best_estimator_)  # again, with its baselines
        _compare(search, test, model, args, terminal)
    except KeyboardInterrupt as interrupt:
        if not saved:
            raise
        raise KeyboardInterrupt(
            f"after choosing: {model} holds what was learned, and there is no comparison"
        ) from interrupt


def _save(learner: MetricLearner, part: Part, path: Path, args: argparse.Namespace) -> None:
    learner.columns_ = Reading.of(args).to_remember
    learner.steps_ = usual_steps(part.inputs.times)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(learner, path)


def _learn_from_all(
    whole: Part,
    split: str | None,
    learner: MetricLearner,
    args: argparse.Namespace,
    terminal: Terminal,
) -> None:
    """Learn the same from all that was read, the part that was held out as well."""
    path, inputs = args.output / ALL, whole.inputs
    if (own := problem_name(learner.problem_)) != args.problem:
        raise SettingsError(
            f"the model in {args.output} is of {own}, which --refit cannot learn from these files: "
            "leave it out, or name another --output"
        )
    data = replace(whole.data, question=split or WHOLE)
    with inputs.named(), terminal.working("learning from all"):
        learner.fit(data, baselines="all")
    with Interrupts():
        _save(learner, whole, path, args)
    called = words_of_training(learner.problem_)
    terminal.note(
        f"learned from {training_in_words(learner.training_data_, called)}; saved in {path}; "
        "nothing was held out, so that what it gains over the chosen model is not known"
    )


def _chosen(
    train: Part,
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
    test: Part,
    model: Path,
    args: argparse.Namespace,
    terminal: Terminal,
) -> None:
    """Judge by what was held out, write the report and the predictions, and say what to do."""
    learner, inputs, samples = search.best_estimator_, test.inputs, list(test.data.samples)
    with_counts = learner.problem_.traits.given_k and not learner.problem_.traits.contiguous
    predict = f"structsvm predict {model} NEW"
    if with_counts:  # for as many clusters as there were, or else their price decides
        numbers = set(learner.training_data_.n_clusters)
        predict += f" --n-clusters {numbers.pop() if len(numbers) == 1 else 'N'}"
    about: dict[str, Any] = {"times": inputs.times, "groups": test.data.groups}
    with inputs.named(), terminal.working("comparing on what was held out"):
        learner.training_data_.warn_if_among([sample.data for sample in samples], inputs.words)
        held_out = HeldOut.of(
            learner, inputs.Xs, inputs.ys, inputs.names, measured=samples, **about
        )
        verdict, source = _verdict(search, held_out.evaluation.verdict, f"{predict} --baseline")
        page = page_of(held_out, f"What was learned from {', '.join(args.paths)}", verdict)
        advice, baseline = verdict.next_step(set(learner.baselines_), search.best_candidate_)
        used = None if baseline in BLIND else baseline
        counts = (
            [M.n_clusters for M in held_out.evaluation.guesses[LEARNED]] if with_counts else None
        )
        prepared = list(held_out.samples)
        answers = answers_of(
            learner, inputs, samples, baseline=used, n_clusters=counts, prepared=prepared
        )
    folder, report = args.output / "predicted", args.output / "report.html"
    with Interrupts():  # all the files or none
        write_atomically(report, printable(page).encode())
        write_folder(folder, inputs, answers)
    chosen = f"{search.best_learned_}, lam {search.best_lam_:g}"
    terminal.note(f"chosen by cross-validation: {chosen}")
    written = {"model": str(model), "report": str(report), "predictions": str(folder)}
    plain = {
        **held_out.evaluation.to_dict(),
        "chosen": chosen,
        "best": search.best_candidate_,
        "verdict": verdict.to_dict(),
        "verdict_from": source,
        "findings": held_out.diagnosis.to_dict()["findings"],
        "predicted_with": used or LEARNED,
        **written,
    }
    *scores, _ = readable(held_out.evaluation)
    terminal.report(plain, *scores, str(verdict))
    terminal.note("\n" + "".join(f"{what:<13}{path}\n" for what, path in written.items()))
    if kinds := ", ".join(held_out.diagnosis.kinds):
        terminal.note(f"possible faults, of which the report says what to do: {kinds}\n")
    if not args.refit:
        terminal.note("add --refit to learn what was chosen from all, the part held out as well\n")
    command = f"{predict} --baseline {baseline}" if baseline else predict
    if baseline in BLIND:
        command = f"structsvm diagnose {model} LABELLED"
    terminal.note(f"{verdict.answer} {advice}\n  {command}")


def _verdict(search: MetricLearnerCV, held_out: Verdict, way: str) -> tuple[Verdict, str]:
    """The verdict by what was held out, or, if that supports none, by cross-validation."""
    whole = search.split not in (ROWS, CLUSTERS)
    if held_out.is_supported or not search.verdict_.is_supported:
        notes = [] if held_out.is_supported or not whole else ["wanted"]
        held_out = replace(held_out, naming=search.verdict_.naming)
        return held_out.with_notes(notes, enough=ENOUGH), "held out"
    verdict, gain = replace(search.verdict_, way=way), held_out.untrained
    notes = ["cross-validated" if whole else "of parts"]
    if (verdict.pays and gain.mean < 0) or (verdict.harms and gain.mean > 0):
        notes.append("other way")
    return verdict.with_notes(notes, contrast=gain.told), "cross-validation"


# ---- what is held out


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


def _split(inputs: InputData, args: argparse.Namespace) -> str | None:
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


def _divided(whole: Part, split: str | None) -> tuple[Part, Part]:
    """What is learned from, and what is held out."""
    inputs, data = whole.inputs, whole.data
    parts = []
    if split not in (ROWS, CLUSTERS):
        away = _samples_away(whole)
        for side in (~away, away):
            indices = np.flatnonzero(side).tolist()
            items = [inputs.items[i] for i in indices]
            parts.append(Part(InputData.of(items, data.problem), data.at(indices)))
        return parts[0], parts[1]
    (table,) = inputs.items
    assert isinstance(table, Recording)
    y = np.asarray(table.y)
    away = _rows_away(table.where, y, split)
    for name, rows in ((table.name, ~away), (f"{table.name}_held_out", away)):
        which = np.flatnonzero(rows)
        part = replace(
            table, name=name, X=table.X[which], y=y[which], time=None, source=None, origin=None
        )
        parts.append(Part(InputData.of([part], data.problem), data.cut([(0, which)])))
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
        apart = "" if groups is None else "leave out --groups if each file is independent, "
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


def _about(train: Part, test: Part, split: str | None) -> str:
    if split in (ROWS, CLUSTERS):
        learned, held_out = (part.data.samples[0].n_samples for part in (train, test))
        what = "rows of the same clusters" if split == ROWS else "clusters of their own"
        return f"learning from {learned} rows; held out: {held_out} {what}"
    n_learned = train.inputs.words.wholes(len(train.inputs))
    about = f"learning from {n_learned}; held out: {len(test.inputs)}"
    if train.data.groups is not None:
        return f"{about}, of other groups"
    return f"{about}\n{taken_to_be_independent(train.inputs)}"


def _warn_of_copies(train: Part, test: Part, terminal: Terminal) -> None:
    learned, held_out = ([row.tobytes() for row in part.inputs.Xs[0]] for part in (train, test))
    known = set(learned)
    n = sum(row in known for row in held_out)
    if n > COPIES * len(held_out):
        terminal.warn(
            f"{n} of the {len(held_out)} held-out rows equal training rows: the figures are better "
            "than on other rows; leave out duplicates"
        )
