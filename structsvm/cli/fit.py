"""``structsvm fit``: learn a metric from labelled recordings into a model file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structsvm.cli import cuts
from structsvm.cli.columns import named_columns
from structsvm.cli.inputs import read
from structsvm.cli.one_table import can_be_split
from structsvm.cli.outputs import check_output
from structsvm.cli.parser import file_options, force_option, report_options
from structsvm.cli.partial import labels_of, partial_options, tell_unlabelled, unlabelled_samples
from structsvm.cli.settings import assignment, problem_with
from structsvm.cli.show import describe
from structsvm.cli.terminal import Terminal
from structsvm.datasets.recording import Recording
from structsvm.errors import ModelFileError, SettingsError
from structsvm.learner.learner import MetricLearner
from structsvm.learner.settings import REGULARIZERS
from structsvm.parallel.auto import BACKEND_NAMES
from structsvm.partitions.problem import PartitionProblem
from structsvm.persistence import read_header, save
from structsvm.plugins import problem_class, problem_names
from structsvm.problems.normalized_cut import NormalizedCut
from structsvm.report import certificate_in_words, training_in_words
from structsvm.solvers.auto import SOLVER_NAMES
from structsvm.status import Status
from structsvm.storage.atomic import unwritable
from structsvm.support.interrupts import Interrupts

__all__ = ["add_parser", "learn"]

INTERRUPTED = 130

EPILOG = """\
examples:
  structsvm fit change-point recordings/ -o my.structsvm
  structsvm fit change-point recordings/ --regions regions.csv -o my.structsvm
  structsvm fit normalized-cut images/ --masks masks/ -o cuts.structsvm

Recordings are .npz files (X, and y or bkps, and features if they have names), or .csv and .parquet
files with a header in which every column but the label is a feature. Labels may be blank where they
are not known (-1 in .npz files), or what --missing-label says; --regions says how many changes
stretches have. Ctrl-C ends learning and saves the best metric so far with its certificate.
"""


def add_parser(commands: Any) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "fit",
        help="learn a metric from labelled recordings",
        description="Learn a metric from labelled recordings.",
        epilog=EPILOG,
        parents=[file_options(), report_options()],
    )
    parser.set_defaults(run=lambda args, terminal: run(args, terminal, parser))
    parser.add_argument("problem", choices=problem_names(), help="what the labels say")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="MODEL", required=True, help="model file to write"
    )
    force_option(parser)
    partial_options(parser.add_argument_group("labels that do not say everything"))
    _learning_options(parser.add_argument_group("learning"))
    _running_options(parser.add_argument_group("running"))
    _problem_options(parser.add_argument_group("problem"))


def run(args: argparse.Namespace, terminal: Terminal, parser: argparse.ArgumentParser) -> int:
    """Learn, save, and say what came of it."""
    check_output(args, args.output, replaceable=_resumed(args))
    if problem_class(args.problem) is NormalizedCut:
        return cuts.fit(args, terminal, parser)
    if args.checkpoint is not None:
        check_output(args, args.checkpoint, replaceable=True)
    problem = _problem(args)
    learner = MetricLearner(
        problem=problem,
        metric=args.metric,
        regularizer=args.regularizer,
        lam=0.1 if args.lam is None else args.lam,
        standardize=None if args.standardize == "none" else args.standardize,
        solver=args.solver,
        slack=args.slack,
        tol=1e-2 if args.tol is None else args.tol,
        max_iter=args.max_iter,
        master=args.master,
        n_jobs=args.jobs,
        backend=args.backend,
    )
    some = args.regions is not None or args.chunk_column is not None
    recordings = read(args, terminal, need_labels=not some, blanks=True, ask=problem.contiguous)
    labels = labels_of(recordings, problem, args.regions)
    tell_unlabelled(recordings, problem.words, terminal)
    interrupted = learn(
        learner,
        recordings,
        labels,
        terminal,
        args.checkpoint,
        args.output,
        named_columns(args),
    )
    if interrupted:
        terminal.warn(f"interrupted: the best certified metric so far is saved in {args.output}")
    words = learner.problem_.words
    _tell_partial(learner, len(recordings), terminal)
    terminal.note(
        f"learned from {training_in_words(learner.training_data_, words)}\n"
        f"{certificate_in_words(learner.solution_)}\n"
        f"saved in {args.output}; {_next(learner, recordings, args)}"
    )
    if terminal.as_json:
        unlabelled = {"unlabelled_samples": unlabelled_samples(recordings)}
        terminal.report(describe(learner, args.output) | unlabelled)
    return INTERRUPTED if interrupted else 0


def _resumed(args: argparse.Namespace) -> bool:
    """Whether a run goes on whose model may be there already, because it was interrupted."""
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


def _next(learner: MetricLearner, recordings: Sequence[Recording], args: argparse.Namespace) -> str:
    """How to find out what the metric is worth: on other data, or on the rows of one table."""
    where, on, command = "PATH", "it was not learned from", f"structsvm evaluate {args.output}"
    what = f"{learner.problem_.words.whole}s"
    Xs, ys = [r.X for r in recordings], [r.y for r in recordings]
    if all(y is not None for y in ys) and can_be_split(learner, Xs, ys):
        what, on, where = (
            "rows held out, each clustered as learned from the others",
            "",
            args.paths[0],
        )
    return f"on {f'{what} {on}'.strip()}, try\n  {command} {where}"


def _tell_partial(learner: MetricLearner, n_given: int, terminal: Terminal) -> None:
    """What became of labels that do not say everything."""
    words, used = learner.problem_.words, len(learner.training_data_)
    if used < n_given:
        terminal.note(f"of {words.wholes(n_given - used)} nothing is known: left out")
    if learner.alternated_ is not None:
        terminal.note(learner.alternated_.summary)


def learn(
    learner: MetricLearner,
    recordings: list[Recording],
    ys: list[Any],
    terminal: Terminal,
    checkpoint: Path | None = None,
    output: Path | None = None,
    columns: Mapping[str, str] | None = None,
) -> bool:
    """Fit a learner and the rivals it has to beat, showing how far it has come.

    Parameters
    ----------
    output : Path, optional
        Model file, written as soon as there is a metric, and again with the rivals.
    columns : mapping, optional
        What the columns of the tables were called, which the model file keeps.

    Returns
    -------
    bool
        Whether Ctrl-C ended learning; then no rival is tuned.
    """
    Xs = [recording.X for recording in recordings]
    with Interrupts() as interrupts:  # from the metric to its file nothing may get lost
        try:
            with interrupts.released(), terminal.working("learning"):
                learner.fit(Xs, ys, feature_names=recordings[0].features, resume=checkpoint)
        except KeyboardInterrupt:
            if not hasattr(learner, "components_"):
                raise
            interrupted = True
        else:
            status, calibration = learner.solution_.status, learner.calibration_
            interrupted = status is Status.INTERRUPTED or calibration.missing
        learner.columns_ = dict(columns or {})
        if output is not None:
            save(learner, output)
        if interrupted:
            interrupts.taken()
            return True
        try:
            with (
                interrupts.released(),
                terminal.working("tuning PCA and RCA (Ctrl-C skips it)"),
            ):
                learner.fit_baselines(Xs, ys)
        except KeyboardInterrupt:
            terminal.warn("interrupted: PCA or RCA will be missing from evaluations")
        if output is not None:
            save(learner, output)
        interrupts.taken()  # all is done
    return False


def _learning_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--metric",
        choices=("full", "diagonal"),
        default="full",
        help="combinations of features, or a weight for each (default: full)",
    )
    group.add_argument(
        "--regularizer",
        choices=sorted(REGULARIZERS),
        default="squared",
        help="squared norm, or trace, which favours few features or directions (default: squared)",
    )
    group.add_argument(
        "--lam",
        type=float,
        help="strength of the regularizer (default: 0.1, or cross-validated for normalized-cut)",
    )
    group.add_argument(
        "--standardize",
        choices=("recording", "training", "none"),
        default="recording",
        help="scale features on each recording, on all of them, or not (default: recording)",
    )
    group.add_argument(
        "--solver",
        choices=(*SOLVER_NAMES, "quasi-newton", "cccp"),
        default="auto",
        help="the outer loop (default: auto); the last two are those of normalized-cut",
    )
    group.add_argument(
        "--slack", choices=("n", "one"), default="n", help="for each recording, or one (default: n)"
    )
    group.add_argument(
        "--tol",
        type=float,
        help="certified relative gap to reach (default: 0.01; 0.001, uncertified, for cuts)",
    )
    group.add_argument(
        "--max-iter", type=int, default=200, metavar="N", help="rounds at most (default: 200)"
    )


def _running_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--master",
        default="auto",
        metavar="SOLVER",
        help="auto, interior, newton, or a solver that cvxpy has installed (default: auto)",
    )
    group.add_argument(
        "--jobs", type=int, metavar="N", help="workers, -1 for one per core (default: none)"
    )
    group.add_argument(
        "--backend",
        choices=[name for name in BACKEND_NAMES if name != "dask"],
        default="auto",
        help="what the workers are (default: auto)",
    )
    group.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="keep the state in this file; if it is there, go on from it",
    )


def _problem_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--set",
        type=assignment,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any setting of the problem, as structsvm problems lists them; tuples and the like as "
        "Python writes them, --set 'parents=(0, 0, 1)'; may be repeated",
    )
    group.add_argument(
        "--known-segments",
        dest="n_segments",
        action="store_const",
        const="known",
        help="learn for a number of segments that is given when predicting",
    )
    group.add_argument(
        "--penalty",
        choices=("learned", "fixed"),
        help="price of a segment while learning (default: learned)",
    )
    group.add_argument(
        "--margin",
        type=float,
        metavar="KAPPA",
        help="weight of the loss, above 0 and at most 1 (default: 1)",
    )


def _problem(args: argparse.Namespace) -> PartitionProblem:
    """The problem with the settings that were given."""
    named = {name: getattr(args, name) for name in ("n_segments", "penalty", "margin")}
    given = {name: value for name, value in named.items() if value is not None}
    problem = problem_with(args.problem, {**given, **dict(args.set)})
    assert isinstance(problem, PartitionProblem)
    return problem
