"""``structsvm report``: one page on what a model is worth."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from structsvm.cli import cuts
from structsvm.cli.inputs import read_to_judge
from structsvm.cli.outputs import check_output
from structsvm.cli.parser import evaluation_options, file_options, force_option, report_options
from structsvm.cli.terminal import Terminal
from structsvm.errors import printable
from structsvm.graph_cuts.learner import CutLearner
from structsvm.persistence import load
from structsvm.report import report_page
from structsvm.storage.atomic import write_atomically

__all__ = ["add_parser"]

EPILOG = """\
example:
  structsvm report my.structsvm others/ -o report.html

Give recordings that the model was not learned from. The page needs no network and no other file.
"""


def add_parser(commands: Any) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "report",
        help="write a page on what a model is worth on other recordings",
        description="Write a page: verdict, scores, every recording, the metric, certificate.",
        epilog=EPILOG,
        parents=[file_options(), evaluation_options(), report_options()],
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="HTML", required=True, help="page to write"
    )
    force_option(parser)
    parser.add_argument("--title", help="heading of the page (default: the name of the model)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluate, and write the page."""
    check_output(args, args.output, (".html", ".htm"))
    learner = load(args.model)
    if isinstance(learner, CutLearner):
        names, Xs, ys = cuts.read_to_judge(args, terminal)
    else:
        names, Xs, ys = read_to_judge(learner, args, terminal)
        learner.training_data_.warn_if_among(Xs, learner.problem_.words)
    with terminal.working("partitioning"):
        page = report_page(
            learner,
            Xs,
            ys,
            names=names,
            title=args.title or f"What {args.model.stem} is worth",
            n_segments=args.n_segments,
            margin=args.margin,
        )
    write_atomically(args.output, printable(page).encode())
    terminal.note(f"the page is in {args.output}, {len(page) / 1e6:.1f} MB: open it in a browser")
    if terminal.as_json:
        terminal.report({"page": str(args.output)})
    return 0
