"""``structsvm fit``: learn a metric; ``compare``: how fast each solver learns it."""

from __future__ import annotations

import inspect
import os
from argparse import Namespace
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from structsvm.cli.inputs import (
    InputData,
    assigned,
    learner_of,
    read,
    refuse_if,
    solver_of,
    takes_images,
    typed_files,
)
from structsvm.cli.predict import check_output
from structsvm.cli.show import figure_in
from structsvm.cli.usage import FIGURES
from structsvm.errors import ModelFileError, SettingsError
from structsvm.evaluation.compare import STOPPING, compare_on
from structsvm.evaluation.evaluate import margin_rates
from structsvm.io.files import find_recordings
from structsvm.io.sniff import stem_of
from structsvm.learner.files import MODEL, save
from structsvm.learner.fitting import Settings, named_problem
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import read_training
from structsvm.learner.structured import risk_of
from structsvm.learner.training_set import TrainingSet
from structsvm.messages import Code, parameter
from structsvm.model_selection import MetricLearnerCV
from structsvm.partitions.problem import PartitionProblem
from structsvm.plotting.metric import plot_gaps
from structsvm.plotting.words import QUESTIONS, described, training_in_words
from structsvm.solvers.checkpoint import read_state
from structsvm.support.interrupts import Interrupts
from structsvm.support.lazy import require

INTERRUPTED = 130
WHOLE = ("labels", "outside", "chunk_column", "recording_column", "categories", "regions", "rates")
"""Parameters of reading and options that need all recordings in memory."""
WAIT = 30  # seconds to wait for a scheduler


def run_fit(args: Namespace) -> int:
    """Learn, save, and say what came of it."""
    if args.output is None:
        args.output = Path(f"{stem_of(Path(os.path.abspath(args.paths[0])))}.structsvm")
    _check_outputs(args)
    backend = "auto" if args.scheduler is None else "dask"
    learner = learner_of(args, n_jobs=args.jobs, backend=backend)
    problem: PartitionProblem = named_problem(learner.problem)
    if learner.metric != "closed-form" or assigned(args, "solver"):
        learner.set_params(solver=solver_of(args, problem))
    no_changes = args.rates and not problem.traits.contiguous
    refuse_if(no_changes, f"--rates is for changes of recordings, not for {args.problem}")
    Settings.of(learner.get_params(deep=False))  # refuses before any work what cannot be
    later = _is_read_later(args, problem)
    some = args.regions is not None or "chunk_column" in typed_files(args)
    with _cluster(args):
        inputs = read(args, problem, need_labels=not some, blanks=not later, later=later)
        return _learn(learner, inputs if later else inputs.labelled_in_part())


def _check_outputs(args: Namespace) -> None:
    """Refuse files before any work; resuming may replace the model of an interrupted run."""
    checkpoint, is_resumed = args.checkpoint, False
    if checkpoint is not None:
        same = os.path.realpath(checkpoint) == os.path.realpath(args.output)
        refuse_if(same, f"--checkpoint {checkpoint} is the model file: name another file")
        check_output(args, checkpoint, replaceable=True)
        if checkpoint.exists():
            read_state(checkpoint)
            with suppress(ModelFileError):
                is_resumed = args.output.is_file() and bool(MODEL.read(args.output))
    check_output(args, args.output, replaceable=is_resumed)


# ---- reading


def _is_read_later(args: Namespace, problem: PartitionProblem) -> bool:
    """Whether files are read when they are needed: as asked for, or as memory has no room."""
    typed = vars(args) | typed_files(args)
    whole = next((name for name in WHOLE if typed.get(name)), None)
    if typed["missing"] == "impute":
        whole = "missing"
    if typed.get("lazy") or args.scheduler is not None:
        asked = parameter("lazy", Code("true")) if typed.get("lazy") else parameter("scheduler")
        refuse_if(takes_images(problem), asked + " is for recordings and tables, not for images")
        refuse_if(
            whole is not None,
            parameter(whole or "")
            + " needs all recordings in memory, and with "
            + asked
            + " they are read one at a time: leave one of them out",
        )
        return True
    if takes_images(problem) or whole is not None or not hasattr(os, "sysconf"):
        return False
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sum(path.stat().st_size for path in find_recordings(args.paths)[0]) > memory


def _cluster(args: Namespace) -> Any:
    """The workers of the scheduler that was named, if one was, which ``backend="dask"`` takes."""
    if args.scheduler is None:
        return nullcontext()
    distributed = require("distributed", "dask", "--scheduler")
    try:
        return distributed.Client(args.scheduler, timeout=WAIT)
    except (OSError, ValueError, TypeError) as error:
        unanswered = f"--scheduler {args.scheduler}: no scheduler answers ({error})"
        raise SettingsError(unanswered) from error


# ---- learning


def _learn(learner: MetricLearner, inputs: InputData) -> int:
    args, words = inputs.args, inputs.words
    terminal = args.terminal
    learner.set_params(problem=inputs.with_counts())
    with inputs.named(), terminal.working("checking"):
        training = read_training(
            learner,
            inputs.Xs,
            inputs.ys if inputs.files is None else None,
            feature_names=inputs.features,
            groups=inputs.groups(),
        )
    training = replace(training, called=inputs.names)
    if inputs.files is not None:
        inputs = replace(inputs, labels=training.given)  # which are read now
    if args.lam == "cv" or (args.lam is None and takes_images(inputs.problem)):
        _choose_lam(learner, training, inputs)
    interrupted = _fit(learner, training, inputs)
    if interrupted:
        terminal.warn(f"interrupted: the best metric so far is saved in {args.output}")
    elif args.rates:
        with terminal.working("learning how often changes are right"):
            learner.margin_rates_ = margin_rates(learner, training)
        save(learner, args.output)
        terminal.note(str(learner.margin_rates_))
    if left_out := len(inputs) - len(learner.training_data_):
        terminal.note(f"{words.wholes(left_out)} without any label left out")
    if learner.alternated_ is not None:
        terminal.note(learner.alternated_.summary)
    terminal.note(f"learned from {training_in_words(learner)}")
    if learner.question_ in QUESTIONS:
        terminal.note(QUESTIONS[learner.question_])
    terminal.note(
        f"{learner.solution_.summary()}\n"
        f"saved in {args.output}; to evaluate it on {words.whole}s it was not learned from\n"
        f"  structsvm evaluate {args.output} PATH"
    )
    if terminal.as_json:
        about = {"model": str(args.output), "unlabelled_samples": inputs.n_unlabelled}
        terminal.report(about | described(learner))
    return INTERRUPTED if interrupted else 0


def _fit(learner: MetricLearner, training: TrainingSet, inputs: InputData) -> bool:
    """Fit a learner and its baselines, and save it, also where Ctrl-C ends that; whether it did."""
    args, terminal = inputs.args, inputs.args.terminal
    keep = partial(inputs.save, path=args.output)
    baselines = None if args.baselines == "none" else args.baselines
    # Of what is labelled in part other samples are made, with numbers of their own.
    named = inputs.named() if training.complete.all() else nullcontext()
    with Interrupts() as interrupts:  # from the metric to its file nothing may get lost
        try:
            with interrupts.released(), terminal.working("learning"), named:
                learner.fit(
                    training, baselines=baselines, resume=args.checkpoint, when_learned=keep
                )
        except KeyboardInterrupt:
            if not hasattr(learner, "metric_"):
                raise
            if not learner.interrupted_:
                missing = " or ".join(learner.problem_.traits.baselines)
                terminal.warn(f"interrupted: {missing} will be missing from evaluations")
        if not learner.interrupted_:  # with the baselines, as far as they are tuned
            keep(learner)
        interrupts.taken()  # all is done
    return learner.interrupted_


def _choose_lam(learner: MetricLearner, training: TrainingSet, inputs: InputData) -> None:
    """Give the learner the ``lam`` that does best on held-out samples, if some teach anything."""
    if inputs.args.lam is None:  # one of a single part teaches nothing
        truths = training.truths if training.complete.all() else []
        several = [i for i, truth in enumerate(truths) if truth.n_clusters > 1]
        if len(several) < 2:
            return
        training = training.at(several)
    shared, own = inspect.signature(MetricLearnerCV).parameters, learner.get_params(deep=False)
    settings: dict[str, Any] = {name: own[name] for name in shared if name in own}
    search = MetricLearnerCV(**settings | {"candidates": ("untrained", learner.metric)})
    with inputs.args.terminal.working("choosing lam by cross-validation"):
        lam = search.choose(training).lam
    inputs.args.terminal.note(f"lam {lam:g}, chosen on held-out {inputs.words.whole}s")
    learner.set_params(lam=lam)


# ---- how fast each solver learns it


def run_compare(args: Namespace) -> int:
    """Compare, and print where each solver ended."""
    if args.output is not None:
        check_output(args, args.output, FIGURES)
    learner = learner_of(args)
    stopping = replace(STOPPING, **assigned(args, "solver", vars(STOPPING), "compare"))
    inputs = read(args, named_problem(learner.problem))
    with inputs.named(), args.terminal.working("comparing"):
        training = read_training(learner, inputs.Xs, inputs.ys, feature_names=inputs.features)
        found = compare_on(risk_of(learner, training, None), args.solvers, stopping=stopping)
    args.terminal.report(found.to_dict(), repr(found))
    if args.output is not None:
        with figure_in(args) as figure:
            plot_gaps(found.solutions, figure=figure)
    return 0
