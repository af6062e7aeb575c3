"""``structsvm try``: a model, its report and its predictions in one command.

A part of the data is held out. What is learned is chosen on the others by cross-validation, every
baseline is tuned on them, and the verdict comes from the part that was held out; where that is too
little, from the cross-validation on the others, if they are enough.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from structsvm.cli.evaluate import called, readable
from structsvm.cli.held_out import ENOUGH, Part, about_parts, divided, split_of, warn_of_copies
from structsvm.cli.inputs import (
    InputData,
    Reading,
    as_typed,
    checking,
    groups_of,
    read_layers,
    refuse_settings,
    typed_problem,
    words_of_training,
)
from structsvm.cli.predict import answers_of, check_outputs, places, tell_names, write_folder
from structsvm.cli.terminal import Terminal
from structsvm.data.times import usual_steps
from structsvm.errors import DataError, DataWarning, SettingsError, VerdictWarning, printable
from structsvm.evaluation.contrast import LEARNED
from structsvm.evaluation.verdict import Verdict
from structsvm.learner.files import load_metric_learner, save
from structsvm.learner.learner import MetricLearner
from structsvm.learner.training_set import CLUSTERS, ROWS, TrainingSet
from structsvm.model_selection import MetricLearnerCV
from structsvm.model_selection.search import WHOLE
from structsvm.partitions.plugins import problem_name
from structsvm.partitions.problem import BLIND
from structsvm.plotting.report.held_out import HeldOut
from structsvm.plotting.report.page import page_of
from structsvm.plotting.words import training_in_words
from structsvm.storage.atomic import write_atomically
from structsvm.support.interrupts import Interrupts
from structsvm.support.quiet import without_warnings

LONG_SAMPLES, LONG_ROWS, LONG_VALUES = 40, 1_000, 500_000
"""Samples to learn from, or rows of a table, or values, from which on three folds are what there is
time for: five take twice as long."""
ALL = "all.structsvm"  # the model that is learned from all that was read


def run_try(args: argparse.Namespace, terminal: Terminal) -> int:
    """Split, choose, compare, write, and say what to do; or learn from all what was chosen."""
    refuse_settings(args, "problem", "files")
    _check(args)
    layers = read_layers(args, terminal, typed_problem(args))
    if len(layers) == 1:
        _try_layer(next(iter(layers.values())), args, terminal)
        return 0
    return _try_each(layers, args, terminal)


def _try_each(layers: Mapping[str, InputData], args: argparse.Namespace, terminal: Terminal) -> int:
    """Try each of several layers of labels, in a folder of its own."""
    results: dict[str, Any] = {}
    own: dict[str, argparse.Namespace] = {}
    for name, inputs in layers.items():
        folder = args.output / (re.sub(r"[^\w-]", "_", name) or "_")
        while folder in [one.output for one in own.values()]:
            folder = folder.with_name(f"{folder.name}_")
        its = {"output": folder, "window": inputs.window}
        own[name] = argparse.Namespace(**{**vars(args), **its})
        _check(own[name])
    for name, inputs in layers.items():
        terminal.note(f"\n{name}: looked for in {inputs.words.wholes(len(inputs))}")
        part = replace(terminal, parts=[])
        try:
            _try_layer(inputs, own[name], part)
            results[name] = {k: v for one in part.parts or () for k, v in one.items()}
        except DataError as error:
            terminal.warn(f"{name}: {as_typed(str(error), args)}")
    terminal.note(f"\n{len(results)} of {len(layers)} layers were learned:")
    terminal.report({"layers": results}, *(_in_a_line(*one) for one in results.items()))
    return 0 if results else 1


def _in_a_line(name: str, plain: Mapping[str, Any]) -> str:
    if "verdict" not in plain:
        return f"{name}: {plain['model']}"
    answer = plain["verdict"]["sentence"].partition(". ")[0]
    methods = [one for one in dict.fromkeys((plain["predicted_with"], "untrained")) if one in plain]
    losses = " and ".join(f"{plain[one]['loss']:.3f} ({one})" for one in methods)
    return f"{name}: loss {losses}. {answer}. {plain['report']}"


def _try_layer(inputs: InputData, args: argparse.Namespace, terminal: Terminal) -> None:
    """Try what was read, with the labels of one layer."""
    problem, model = inputs.problem, args.output / "model.structsvm"
    is_chosen = args.refit and model.is_file()
    with inputs.named(), terminal.working(checking(problem)):
        groups = groups_of(inputs, args.groups, terminal)
        about: dict[str, Any] = {"feature_names": inputs.features, "called": inputs.names}
        data = TrainingSet.read(problem, inputs.Xs, inputs.ys, groups=groups, **about)
        with without_warnings(DataWarning):  # labels without a change are refused before the split
            problem.learning.check(data.truths)
    whole, split = Part(inputs, data), split_of(inputs, args)
    if not is_chosen:
        _try_out(whole, split, model, args, terminal)
    if args.refit:
        _learn_from_all(whole, split, load_metric_learner(model), args, terminal)
        if is_chosen:
            terminal.report({"model": str(args.output / ALL)})


def _check(args: argparse.Namespace) -> None:
    """Refuse to write over what is there, apart from predictions."""
    is_chosen = args.refit and (args.output / "model.structsvm").is_file()
    names = [] if is_chosen else ["model.structsvm", "report.html"]
    check_outputs(args, [args.output / name for name in [*names, *([ALL] if args.refit else [])]])


def _try_out(
    whole: Part, split: str | None, model: Path, args: argparse.Namespace, terminal: Terminal
) -> None:
    """Choose on a part, and judge by the rest."""
    train, test = divided(whole, split)
    check_outputs(args, places(whole.inputs.problem, args.output / "predicted", test.inputs.names))
    terminal.note(about_parts(train, test, split))
    if split in (ROWS, CLUSTERS):
        warn_of_copies(train, test, terminal)
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
    called = words_of_training(learner)
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
    learner, inputs = search.best_estimator_, test.inputs
    samples = inputs.scored(test.data.samples)
    with_counts = learner.problem_.traits.given_k and not learner.problem_.traits.contiguous
    predict = f"structsvm predict {model} NEW"
    if with_counts:  # for as many clusters as there were, or else their price decides
        numbers = set(learner.training_data_.n_clusters)
        predict += f" --n-clusters {numbers.pop() if len(numbers) == 1 else 'N'}"
    about: dict[str, Any] = {"times": inputs.times, "groups": test.data.groups}
    about["tolerance"] = inputs.tolerance()
    with inputs.named(), terminal.working("comparing on what was held out"):
        learner.training_data_.warn_if_among([sample.data for sample in samples], inputs.words)
        held_out = HeldOut.of(
            learner, inputs.Xs, inputs.ys, inputs.names, measured=samples, **about
        )
        verdict, source = _verdict(search, held_out.evaluation.verdict, f"{predict} --baseline")
        page = page_of(held_out, f"{called(args.paths)}: what was learned", verdict)
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
    tell_names(learner, used, terminal)
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
