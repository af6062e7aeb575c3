"""``structsvm fit``: learn a metric from labelled recordings, tables or images."""

from __future__ import annotations

import argparse
import inspect
import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from structsvm.cli.cluster import (
    check_options,
    files_of,
    is_too_large,
    on_cluster,
    reads_later,
)
from structsvm.cli.columns import Reading
from structsvm.cli.inputs import (
    Given,
    groups_of,
    read,
    refuse_foreign_options,
    takes_images,
    words_of_training,
)
from structsvm.cli.one_table import can_be_split, refuse_split
from structsvm.cli.outputs import check_output
from structsvm.cli.partial import labels_of, tell_unlabelled, unlabelled_samples, with_counts
from structsvm.cli.settings import Kind, assigned, parameters_of, solver_of, typed_metric
from structsvm.cli.show import describe
from structsvm.cli.terminal import Terminal
from structsvm.data.times import usual_steps
from structsvm.errors import DataError, ModelFileError, SettingsError
from structsvm.io.sniff import stem_of
from structsvm.learner.files import read_header, save
from structsvm.learner.learner import MetricLearner
from structsvm.learner.settings import Settings
from structsvm.learner.steps import read_training
from structsvm.learner.training_set import TrainingSet
from structsvm.model_selection import MetricLearnerCV
from structsvm.model_selection.margin_rates import margin_rates
from structsvm.partitions.problem import PartitionProblem
from structsvm.plotting.words import certificate_in_words, question_in_words, training_in_words
from structsvm.solvers.checkpoint import read_state
from structsvm.storage.atomic import unwritable
from structsvm.support.interrupts import Interrupts

INTERRUPTED = 130
CHOSEN = ("metric", "regularizer", "lam", "whiten", "features")
"""Settings of a learner that differ between the candidates of a split."""


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Learn, save, and say what came of it."""
    if args.output is None:
        args.output = Path(f"{stem_of(Path(os.path.abspath(args.paths[0])))}.structsvm")
    check_output(args, args.output, replaceable=_resumed(args))
    if args.checkpoint is not None:
        check_output(args, args.checkpoint, replaceable=True)
        if args.checkpoint.exists():
            read_state(args.checkpoint)  # refused before any work if it is none
    kind = Kind.typed(args)
    refuse_foreign_options(Reading.of(args), kind.problem)
    _check_split(args, kind.problem)
    if args.rates and not kind.problem.traits.contiguous:
        raise SettingsError(f"--rates is for changes of recordings, not for {args.problem}")
    learner = MetricLearner(
        **parameters_of(
            args,
            problem=kind.problem,
            metric=typed_metric(args, kind.problem),
            regularizer=args.regularizer,
            lam=None if args.lam == "cv" else args.lam,
            features=kind.features,
            n_jobs=args.jobs,
            backend="auto" if args.scheduler is None else "dask",
            random_state=getattr(kind.problem, "random_state", 0),  # folds are the same every time
        )
        | {"solver": solver_of(args, kind.problem)}
    )
    Settings.of(learner.get_params(deep=False))  # refuses before any work what cannot be
    check_options(args, kind.problem)
    with on_cluster(args):
        return _learn(args, terminal, learner, kind)


def _learn(
    args: argparse.Namespace,
    terminal: Terminal,
    learner: MetricLearner,
    kind: Kind,
) -> int:
    """Read, learn, save, and say what came of it."""
    given = _read(args, terminal, kind.problem)
    counted = with_counts(kind.problem, assigned(args, "problem"), given, terminal)
    learner.set_params(problem=counted)
    doing = "making graphs" if takes_images(kind.problem) else "checking"
    with given.named(), terminal.working(doing):
        training = read_training(
            learner,
            given.Xs,
            given.ys if given.files is None else None,
            feature_names=given.features,
            groups=groups_of(given, args.groups),
        )
    if given.files is not None:
        given = replace(given, ys=training.given or ())  # which are read now
    if args.split is not None:
        training = _chosen_by_parts(learner, training, given, terminal, args)
    elif args.lam == "cv" or (args.lam is None and takes_images(kind.problem)):
        learner.set_params(lam=_chosen_lam(learner, training, given, terminal, args.lam == "cv"))
    interrupted = learn(
        learner,
        training,
        terminal,
        given,
        checkpoint=args.checkpoint,
        output=args.output,
        columns=Reading.of(args).remembered,
        baselines=None if args.baselines == "none" else args.baselines,
    )
    if args.rates and not interrupted:
        interrupted = _learn_rates(learner, training, terminal, args.output)
    _tell(learner, training, given, args, terminal, interrupted)
    if terminal.as_json:
        unlabelled = {"unlabelled_samples": unlabelled_samples(given)}
        terminal.report(describe(learner, args.output) | unlabelled)
    return INTERRUPTED if interrupted else 0


def learn(
    learner: MetricLearner,
    training: TrainingSet,
    terminal: Terminal,
    given: Given | None = None,
    *,
    checkpoint: Path | None = None,
    output: Path | None = None,
    columns: Mapping[str, str] | None = None,
    baselines: str | None = "quick",
) -> bool:
    """Fit a learner and the baselines it has to beat, showing how far it has come."""

    def keep(learned: MetricLearner) -> None:
        learned.columns_ = dict(columns or {})
        learned.steps_ = usual_steps(given.times if given is not None else ())
        if output is not None:
            save(learned, output)

    # Of what is labelled in part other samples are made, with numbers of their own.
    named = given.named() if given is not None and training.is_complete else nullcontext()
    with Interrupts() as interrupts:  # from the metric to its file nothing may get lost
        tuned = True
        try:
            with interrupts.released(), terminal.working("learning"), named:
                learner.fit(training, baselines=baselines, resume=checkpoint, when_learned=keep)
        except KeyboardInterrupt:
            if not hasattr(learner, "metric_"):
                raise
            tuned = False
        interrupted = learner.interrupted_
        if not (tuned or interrupted):
            baselines = " or ".join(map(_in_words, learner.problem_.traits.baselines))
            terminal.warn(f"interrupted: {baselines} will be missing from evaluations")
        if not interrupted:  # with the baselines, as far as they are tuned
            keep(learner)
        interrupts.taken()  # all is done
    return interrupted


def _learn_rates(
    learner: MetricLearner, training: TrainingSet, terminal: Terminal, output: Path
) -> bool:
    """Learn how often changes with a margin are right, and save it; whether Ctrl-C ended that."""
    if not training.is_complete:
        raise DataError("--rates takes recordings that are labelled in full: the model is saved")
    try:
        with terminal.working("learning how often changes are right"):
            learner.margin_rates_ = margin_rates(learner, training)
    except KeyboardInterrupt:
        terminal.warn("interrupted: the model has no rates of its changes")
        return True
    with Interrupts():
        save(learner, output)
    terminal.note(str(learner.margin_rates_))
    return False


def _read(args: argparse.Namespace, terminal: Terminal, problem: PartitionProblem) -> Given:
    if reads_later(args) or is_too_large(args, problem):
        return files_of(args, terminal, problem)
    some = args.regions is not None or "chunk_column" in Reading.of(args).typed
    given = read(
        args,
        terminal,
        problem,
        need_labels=not some,
        blanks=True,
        ask=problem.traits.contiguous,
    )
    labels = labels_of(given, args.regions)
    tell_unlabelled(given, terminal)
    return replace(given, ys=labels)


def _chosen_lam(
    learner: MetricLearner,
    training: TrainingSet,
    given: Given,
    terminal: Terminal,
    asked: bool,
) -> float | None:
    """The strength of the regularizer that does best on held-out samples."""
    teaching = training
    if not asked:
        if not training.is_complete:
            return None
        several = [i for i, truth in enumerate(training.truths) if truth.n_clusters > 1]
        if len(several) < 2:
            return None
        teaching = training.at(several)  # one of a single part teaches nothing
    search = _search_of(learner, candidates=("untrained", learner.metric), rule="min")
    with terminal.working("choosing lam by cross-validation"):
        lam = search.choose(teaching).lam
    terminal.note(f"lam {lam:g}, chosen on held-out {given.words.whole}s")
    return lam


def _search_of(learner: MetricLearner, **settings: Any) -> MetricLearnerCV:
    """A search with the parameters that it shares with a learner."""
    shared = inspect.signature(MetricLearnerCV).parameters
    settings |= {k: v for k, v in learner.get_params(deep=False).items() if k in shared}
    return MetricLearnerCV(**settings)


def _chosen_by_parts(
    learner: MetricLearner,
    training: TrainingSet,
    given: Given,
    terminal: Terminal,
    args: argparse.Namespace,
) -> TrainingSet:
    """Give the learner what does best on what is held out, and tell what that is worth."""
    split = str(args.split)
    search = _search_of(learner, split=split)
    with given.named(), terminal.working("choosing on held-out parts"):
        chosen = search.choose(training)
    learner.set_params(**{name: getattr(chosen, name) for name in CHOSEN})
    found = f"{search.best_learned_}, lam {search.best_lam_:g}"
    verdict = replace(search.verdict_, way=f"structsvm predict {args.output} NEW --baseline")
    terminal.note(f"{found}, chosen on held-out {split}\n{verdict}")
    return replace(training, question=split)


def _check_split(args: argparse.Namespace, problem: PartitionProblem) -> None:
    """Refuse --split where nothing can be split, and beside what it chooses."""
    if args.split is None:
        return
    refuse_split(args.split, args.problem, problem)
    typed = {"metric": args.metric not in (None, "full"), "lam": args.lam is not None}
    typed["regularizer"] = args.regularizer != "squared"
    for name in (name for name, given in typed.items() if given):
        raise SettingsError(f"--split chooses what --{name} gives: leave one out")


def _resumed(args: argparse.Namespace) -> bool:
    checkpoint: Path | None = args.checkpoint
    if checkpoint is None or unwritable(checkpoint) or unwritable(args.output):
        return False  # the check of the outputs says why
    if os.path.realpath(checkpoint) == os.path.realpath(args.output):
        raise SettingsError(f"--checkpoint {checkpoint} is the model file: name another file")
    if not (checkpoint.is_file() and args.output.is_file()):
        return False
    try:
        read_header(args.output)
    except ModelFileError:
        return False
    return True


def _tell(
    learner: MetricLearner,
    training: TrainingSet,
    given: Given,
    args: argparse.Namespace,
    terminal: Terminal,
    interrupted: bool,
) -> None:
    if interrupted and learner.interrupted_:
        best = "best certified" if learner.problem_.traits.convex else "best"
        terminal.warn(f"interrupted: the {best} metric so far is saved in {args.output}")
    words, left_out = given.words, len(given) - len(learner.training_data_)
    if left_out:
        terminal.note(f"{words.wholes(left_out)} without any label left out")
    if learner.alternated_ is not None:
        terminal.note(learner.alternated_.summary)
    called = words_of_training(learner.problem_)
    where, on = "PATH", f"{words.whole}s it was not learned from"
    if training.is_complete and can_be_split(learner, training.samples, training.given or ()):
        on = f"held-out {learner.question_}, each with a metric learned from the others"
        where = args.paths[0]
    question = question_in_words(learner)
    terminal.note(
        f"learned from {training_in_words(learner.training_data_, called)}\n"
        + (f"{question}\n" if question else "")
        + f"{certificate_in_words(learner.solution_)}\n"
        f"saved in {args.output}; to evaluate it on {on}\n"
        f"  structsvm evaluate {args.output} {where}"
    )


def _in_words(baseline: str) -> str:
    return baseline.upper() if baseline in ("pca", "rca") else f"the {baseline}"
