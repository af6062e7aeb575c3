"""``structsvm compare``: how fast each solver learns from given recordings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from structsvm.cli.inputs import check_labels, read
from structsvm.cli.outputs import check_output
from structsvm.cli.parser import file_options, force_option, positive, report_options
from structsvm.cli.plot import FORMATS, new_figure, save_figure
from structsvm.cli.terminal import Terminal
from structsvm.compare import DEFAULT_SOLVERS, Comparison, compare_solvers, solver_named
from structsvm.datasets.recording import arrays_and_labels
from structsvm.learner.settings import REGULARIZERS
from structsvm.plotting.learning import plot_gap_twice
from structsvm.problems.change_point import ChangePoint
from structsvm.solvers.auto import SOLVER_NAMES
from structsvm.solvers.base import Stopping

__all__ = ["add_parser", "table"]

EPILOG = f"""\
examples:
  structsvm compare recordings/
  structsvm compare recordings/ --metric diagonal --solvers cutting-plane one-slack/scs
  structsvm compare recordings/ --json > history.json
  structsvm compare recordings/ -o gaps.png

Solvers are {", ".join(SOLVER_NAMES)};
after a slash, a cutting-plane method may name its master: interior, newton, clarabel, scs, ...
Every solver runs on one thread until its certified relative gap is at most --tol.
"""


def add_parser(commands: Any) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "compare",
        help="compare solvers on the same recordings",
        description="Learn the same metric with several solvers and compare their certified gaps.",
        epilog=EPILOG,
        parents=[file_options(), report_options()],
    )
    parser.set_defaults(run=run)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders")
    parser.add_argument(
        "--solvers",
        nargs="+",
        metavar="SOLVER",
        help=f"(default: those of {', '.join(DEFAULT_SOLVERS)} that suit)",
    )
    group = parser.add_argument_group("learning")
    group.add_argument(
        "--metric", choices=("full", "diagonal"), default="full", help="(default: full)"
    )
    group.add_argument(
        "--regularizer",
        choices=sorted(REGULARIZERS),
        default="squared",
        help="squared norm, or trace, which favours few features or directions (default: squared)",
    )
    group.add_argument("--lam", type=float, default=0.1, help="strength of it (default: 0.1)")
    group.add_argument("--tol", type=float, default=1e-3, help="gap to reach (default: 0.001)")
    group.add_argument(
        "--max-seconds", type=float, default=60.0, metavar="S", help="for each (default: 60)"
    )
    group.add_argument(
        "--max-iter", type=positive, default=10_000, metavar="N", help="for each (default: 10000)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FIG", help=f"picture: {', '.join(FORMATS)}"
    )
    force_option(parser)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and print where each solver ended."""
    if args.output is not None:
        check_output(args, args.output, FORMATS)
    stopping = Stopping(args.tol, args.max_iter, args.max_seconds)
    for name in args.solvers or ():
        solver_named(name, stopping)  # refuses an unknown one before any work
    problem = ChangePoint()
    recordings = read(args, terminal, need_labels=True, ask=True)
    check_labels(recordings, problem)
    Xs, ys = arrays_and_labels(recordings)
    with terminal.working("comparing"):
        found = compare_solvers(
            problem,
            Xs,
            ys,
            args.solvers,
            metric=args.metric,
            lam=args.lam,
            regularizer=args.regularizer,
            stopping=stopping,
        )
    for name, reason in found.refused.items():
        terminal.note(f"{name} left out: {reason}")
    terminal.report(found.to_dict(), table(found))
    if args.output is not None:
        _draw(found, args.output)
        terminal.note(f"the figure is in {args.output}")
    return 0


def table(found: Comparison) -> Table:
    """Where each solver ended."""
    shown = Table(box=box.SIMPLE_HEAD)
    shown.add_column("solver", min_width=max(len(name) for name in found.solutions))
    for column in ("gap", "seconds", "calls", "iterations"):
        shown.add_column(column, justify="right")
    shown.add_column("")
    for row in found.summary():
        shown.add_row(
            row["solver"],
            f"{row['gap']:.1e}",
            f"{row['seconds']:.2f}",
            str(row["oracle_calls"]),
            str(row["iterations"]),
            row["status"],
        )
    return shown


def _draw(found: Comparison, path: Path) -> None:
    figure = new_figure()
    plot_gap_twice(found.solutions, figure)
    save_figure(figure, path)
