"""``structsvm compare``: how fast each solver learns from given data."""

from __future__ import annotations

import argparse
from typing import Any

from structsvm.cli.inputs import read
from structsvm.cli.outputs import check_output
from structsvm.cli.settings import assigned, learner_of
from structsvm.cli.show import new_figure, save_figure
from structsvm.cli.terminal import Terminal
from structsvm.cli.usage import FIGURES
from structsvm.compare import Comparison, compare_on, solver_named
from structsvm.learner.steps import read_training
from structsvm.plotting.learning import plot_gap_twice
from structsvm.solvers.base import Stopping
from structsvm.support.tables import ShortTable

COLUMNS = ("seconds", "calls", "iterations", "status")


def run_compare(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and print where each solver ended."""
    if args.output is not None:
        check_output(args, args.output, FIGURES)
    learner = learner_of(args)
    limits: dict[str, Any] = {"tol": 1e-3, "max_seconds": 60.0, "max_iter": 10_000}
    stopping = Stopping(**limits | assigned(args, "solver"))
    for name in args.solvers or ():
        solver_named(name, stopping)  # refuses an unknown one before any work
    inputs = read(args, terminal, learner.problem)
    with inputs.named(), terminal.working("comparing"):
        training = read_training(learner, inputs.Xs, inputs.ys, feature_names=inputs.features)
        found = compare_on(learner.risk(training, None), args.solvers, stopping=stopping)
    for name, reason in found.refused.items():
        terminal.note(f"{name} left out: {reason}")
    terminal.report(found.to_dict(), table(found))
    if args.output is not None:
        figure = new_figure()
        plot_gap_twice(found.solutions, figure)
        save_figure(figure, args.output)
        terminal.note(f"the figure is in {args.output}")
    return 0


def table(found: Comparison) -> str:
    """Where each solver ended."""
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
    reached = "gap" if found.is_convex else "objective"
    return str(ShortTable("", ("solver", reached, *COLUMNS), rows))
