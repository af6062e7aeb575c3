"""``structsvm fit``: learn a method."""

import inspect
import os
from argparse import Namespace
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from structsvm.cli.guard import Guard
from structsvm.cli.input_data import InputData
from structsvm.cli.inputs import Reading
from structsvm.cli.request import Request, learner_of
from structsvm.cli.terminal import Terminal
from structsvm.errors import ModelFileError, SettingsError, parameter
from structsvm.evaluation.margin_rates import margin_rates
from structsvm.io.folders import find_recordings
from structsvm.io.sniff import stem_of
from structsvm.learner import Learner, TrainingSet
from structsvm.learner.files import MODEL, save
from structsvm.learner.learner import How
from structsvm.learner.parameters import named_problem
from structsvm.learner.preparing import read_training
from structsvm.model_selection import MetricLearnerCV
from structsvm.partitions import PartitionProblem
from structsvm.plotting.words import CHOSEN_FOR, described, training_in_words
from structsvm.solvers.checkpoint import read_state
from structsvm.support import Interrupts, require

INTERRUPTED = 130
WHOLE = ("labels", "outside", "chunk_column", "recording_column", "categories", "regions", "rates")
"""Options and parameters of reading that need all recordings in memory."""
WAIT = 30  # seconds to wait for a scheduler


@dataclass(frozen=True)
class FitPlan:
    """Options of learning, and the files that are written."""

    output: Path
    choose_lam: bool | None  # None chooses it for images alone
    baselines: str
    checkpoint: Path | None
    rates: bool


def run_fit(args: Namespace, terminal: Terminal) -> int:
    """Learn a method, save it, and say how learning ended."""
    request = Request.of(args)
    if args.method == "decoder":  # scores are given for samples, not for windows
        request = replace(request, files={"window": 1, **request.files})
    output = args.output
    if output is None:
        output = Path(f"{stem_of(Path(os.path.abspath(args.paths[0])))}.structsvm")
    is_chosen = True if args.lam == "cv" else None
    choose_lam = is_chosen if args.lam in (None, "cv") else False
    plan = FitPlan(output, choose_lam, args.baselines, args.checkpoint, args.rates)
    _check_outputs(Guard.of(args), plan)
    backend = "auto" if args.scheduler is None else "dask"
    lam = None if args.lam == "cv" else args.lam
    how = {"n_jobs": args.jobs, "backend": backend}
    learner = learner_of(request, args.method, args.metric, lam, **how)
    return _fit_files(request, plan, learner, args.scheduler, terminal)


def _fit_files(
    request: Request, plan: FitPlan, learner: Learner, scheduler: str | None, terminal: Terminal
) -> int:
    """Read files, or leave that to workers, and learn from them; return the exit status."""
    problem: PartitionProblem = named_problem(learner.problem)
    if plan.rates and not problem.traits.contiguous:
        raise SettingsError(f"--rates is for changes of recordings, not for {request.problem}")
    learner._check(How(resume=plan.checkpoint))  # refuses wrong settings before any work
    later = _is_read_later(request, plan, scheduler, problem)
    in_part = request.regions is not None or "chunk_column" in request.files
    with _cluster(scheduler):
        about: Any = {"need_labels": not in_part, "blanks": not later, "later": later}
        inputs = Reading(request, terminal, problem, **about).whole()
        return learn_from(learner, inputs if later else inputs.labelled_in_part(), plan)


def _check_outputs(guard: Guard, plan: FitPlan) -> None:
    """Refuse files that cannot be written; resuming may replace the model of a stopped run."""
    checkpoint = plan.checkpoint
    is_resumed = False
    if checkpoint is not None:
        if os.path.realpath(checkpoint) == os.path.realpath(plan.output):
            raise SettingsError(f"--checkpoint {checkpoint} is the model file: name another file")
        guard.check_file(checkpoint, replaceable=True)
        if checkpoint.exists():
            read_state(checkpoint)
            with suppress(ModelFileError):
                is_resumed = plan.output.is_file() and bool(MODEL.read(plan.output))
    guard.check_file(plan.output, replaceable=is_resumed)


def _is_read_later(
    request: Request, plan: FitPlan, scheduler: str | None, problem: PartitionProblem
) -> bool:
    """Whether files are read when they are needed: if asked for, or if memory cannot hold all."""
    typed = {**request.files, "regions": request.regions, "rates": plan.rates}
    whole = next((name for name in WHOLE if typed.get(name)), None)
    if typed.get("missing") == "impute":
        whole = "missing"
    if typed.get("lazy") or scheduler is not None:
        asked = parameter("lazy", True) if typed.get("lazy") else parameter("scheduler")
        if problem.traits.words.of_graphs:
            raise SettingsError(asked + " is for recordings and tables, not for images")
        if whole is not None:
            raise SettingsError(
                parameter(whole or "")
                + " needs all recordings in memory, and with "
                + asked
                + " they are read one at a time: leave one of them out"
            )
        return True
    if problem.traits.words.of_graphs or whole is not None or not hasattr(os, "sysconf"):
        return False
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sum(path.stat().st_size for path in find_recordings(request.paths)[0]) > memory


def _cluster(scheduler: str | None) -> Any:
    """A client of the scheduler that was named, which ``backend="dask"`` uses; else nothing."""
    if scheduler is None:
        return nullcontext()
    distributed = require("distributed", "dask", "--scheduler")
    try:
        return distributed.Client(scheduler, timeout=WAIT)
    except (OSError, ValueError, TypeError) as error:
        unanswered = f"--scheduler {scheduler}: no scheduler answers ({error})"
        raise SettingsError(unanswered) from error


def learn_from(learner: Learner, inputs: InputData, plan: FitPlan) -> int:
    """Learn from what was read, save the model, and tell about it; return the exit status."""
    words = inputs.words
    terminal = inputs.terminal
    output = plan.output
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
        inputs = replace(inputs, labels=training.given)  # which have been read by now
    of_images = inputs.problem.traits.words.of_graphs
    if plan.choose_lam or (plan.choose_lam is None and learner.has_path and of_images):
        _choose_lam(learner, training, inputs, always=bool(plan.choose_lam))
    interrupted = _fit(learner, training, inputs, plan)
    if interrupted:
        terminal.warn(f"interrupted: the best model so far is saved in {output}")
    elif plan.rates:
        with terminal.working("learning how often changes are right"):
            learner.margin_rates_ = margin_rates(learner, training)
        save(learner, output)
        terminal.note(str(learner.margin_rates_))
    if left_out := len(inputs) - len(learner.training_data_):
        terminal.note(f"{words.wholes(left_out)} without any label left out")
    if (alternated := getattr(learner, "alternated_", None)) is not None:
        terminal.note(alternated.summary)
    terminal.note(f"learned from {training_in_words(learner)}")
    if learner.question_ in CHOSEN_FOR:
        terminal.note(CHOSEN_FOR[learner.question_])
    if learner.solution_ is not None:
        terminal.note(learner.solution_.summary())
    terminal.note(
        f"saved in {output}; to evaluate it on {words.whole}s it was not learned from\n"
        f"  structsvm evaluate {output} PATH"
    )
    if terminal.as_json:
        about = {"model": str(output), "unlabelled_samples": inputs.n_unlabelled}
        terminal.report(about | described(learner))
    return INTERRUPTED if interrupted else 0


def _fit(learner: Learner, training: TrainingSet, inputs: InputData, plan: FitPlan) -> bool:
    """Fit a learner and its baselines, and save it; return whether Ctrl-C stopped its learning."""
    terminal = inputs.terminal
    checkpoint = plan.checkpoint
    keep = partial(inputs.save, path=plan.output)
    baselines = None if plan.baselines == "none" else plan.baselines
    # Labels in part make instances of their own, whose numbers are not those of the files.
    named = inputs.named() if training.complete.all() else nullcontext()
    with Interrupts() as interrupts:  # so that nothing is lost between the metric and its file
        try:
            with interrupts.released(), terminal.working("learning"), named:
                learner.fit(training, baselines=baselines, resume=checkpoint, when_learned=keep)
        except KeyboardInterrupt:
            if not hasattr(learner, "training_data_"):
                raise
            if not learner.interrupted_:
                missing = " or ".join(learner.problem_.traits.baselines)
                terminal.warn(f"interrupted: {missing} will be missing from evaluations")
        if not learner.interrupted_:  # with the baselines that have been learned
            keep(learner)
        interrupts.taken()  # a Ctrl-C that waits is forgotten: everything is done
    return learner.interrupted_


def _choose_lam(learner: Any, training: TrainingSet, inputs: InputData, always: bool) -> None:
    """Choose ``lam`` on held-out instances, ``always``, or if two or more have several parts."""
    if not always:
        truths = training.truths if training.complete.all() else []
        several = [i for i, truth in enumerate(truths) if truth.n_clusters > 1]
        if len(several) < 2:
            return
        training = training.at(several)
    shared = inspect.signature(MetricLearnerCV.__init__).parameters
    own = learner.get_params(deep=False)
    settings: dict[str, Any] = {name: own[name] for name in shared if name in own}
    search = MetricLearnerCV(**settings | {"candidates": ("untrained", learner.metric)})
    with inputs.terminal.working("choosing lam by cross-validation"):
        search.choose(training)
    table = search.cv_results_
    lams = dict(zip(table["mean_criterion"], table["lam"], strict=True))
    lam = lams[min(mean for mean, lam in lams.items() if lam is not None and mean == mean)]
    inputs.terminal.note(f"lam {lam:g}, chosen on held-out {inputs.words.whole}s")
    learner.set_params(lam=lam)
