"""``structsvm compare``: how fast each solver learns from given data."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from structsvm.cli.inputs import read
from structsvm.cli.outputs import check_output
from structsvm.cli.plot import new_figure, save_figure
from structsvm.cli.settings import Kind, assigned, parameters_of, typed_metric
from structsvm.cli.terminal import Terminal
from structsvm.cli.usage import FIGURES
from structsvm.compare import Comparison, compare_on, solver_named
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import read_training
from structsvm.plotting.learning import plot_gap_twice
from structsvm.solvers.base import Stopping
from structsvm.support.tables import ShortTable


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and print where each solver ended."""
    if args.output is not None:
        check_output(args, args.output, FIGURES)
    kind = Kind.typed(args)
    limits: dict[str, Any] = {"tol": 1e-3, "max_seconds": 60.0, "max_iter": 10_000}
    stopping = Stopping(**limits | assigned(args, "solver"))
    for name in args.solvers or ():
        solver_named(name, stopping)  # refuses an unknown one before any work
    traits = kind.problem.traits
    learner = MetricLearner(
        **parameters_of(
            args,
            problem=kind.problem,
            metric=typed_metric(args, kind.problem),
            regularizer=args.regularizer,
            lam=args.lam,
            features=kind.features,
        )
    )
    given = read(args, terminal, kind.problem, need_labels=True, ask=traits.contiguous)
    with given.named(), terminal.working("comparing"):
        risk = learner.risk(
            read_training(learner, given.Xs, given.ys, feature_names=given.features), None
        )
        found = compare_on(risk, args.solvers, stopping=stopping)
    for name, reason in found.refused.items():
        terminal.note(f"{name} left out: {reason}")
    terminal.report(found.to_dict(), table(found))
    if args.output is not None:
        _draw(found, args.output)
        terminal.note(f"the figure is in {args.output}")
    return 0


def table(found: Comparison) -> str:
    """Where each solver ended."""
    reached = "gap" if found.is_convex else "objective"
    rows = tuple(
        (
            row["solver"],
            f"{row['gap']:.1e}" if found.is_convex else f"{row['upper']:.6g}",
            f"{row['seconds']:.2f}",
            row["oracle_calls"],
            row["iterations"],
            row["status"],
        )
        for row in found.summary()
    )
    return str(
        ShortTable("", ("solver", reached, "seconds", "calls", "iterations", "status"), rows)
    )


def _draw(found: Comparison, path: Path) -> None:
    figure = new_figure()
    plot_gap_twice(found.solutions, figure)
    save_figure(figure, path)
