"""``structsvm evaluate``: what learning is worth on other recordings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.table import Table

from structsvm.cli import cuts, one_table
from structsvm.cli.inputs import read_to_judge
from structsvm.cli.parser import evaluation_options, file_options, report_options
from structsvm.cli.scores import score_table
from structsvm.cli.terminal import Terminal
from structsvm.evaluation import Evaluation, evaluate
from structsvm.graph_cuts.learner import CutLearner
from structsvm.persistence import load

__all__ = ["add_parser", "readable"]

EPILOG = """\
examples:
  structsvm evaluate my.structsvm others/
  structsvm evaluate my.structsvm others/ --n-segments true

Give recordings that the model was not learned from. The untrained metric, PCA and RCA were
tuned on the labels that the metric was learned from.

The verdict on clusters of a single table is about its rows: groups of them are clustered each by
itself. If it is the table that the model was learned from, a metric is learned anew for each group
from the rows of the others, and the verdict is about further rows of the same clusters.
"""


def add_parser(commands: Any) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "evaluate",
        help="compare with the untrained metric on other recordings",
        description="Compare the learned metric with the untrained one on labelled recordings.",
        epilog=EPILOG,
        parents=[file_options(), evaluation_options(), report_options()],
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and print the table and the verdict."""
    learner = load(args.model)
    if isinstance(learner, CutLearner):
        return cuts.evaluate(args, terminal, learner)
    names, Xs, ys = read_to_judge(learner, args, terminal)
    if one_table.can_be_split(learner, Xs, ys):
        return one_table.evaluate(args, terminal, learner, names[0], Xs[0], ys[0])
    with terminal.working("partitioning"):
        result = evaluate(learner, Xs, ys, args.n_segments, args.margin, names=names)
    terminal.report(result.to_dict(), *readable(result))
    return 0


def readable(result: Evaluation) -> tuple[str, Table, str]:
    """What it is about, the scores, the verdict."""
    n = len(result.recordings)
    about = f"{'' if n == 1 else 'mean of '}{result.words.wholes(n)}"
    return f"{about} (perfect: loss 0, all others 1)", score_table(result), str(result.verdict)
