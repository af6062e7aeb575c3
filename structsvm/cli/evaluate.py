"""``structsvm evaluate``: what learning is worth on other recordings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from structsvm.cli import cuts
from structsvm.cli.inputs import read_to_judge
from structsvm.cli.parser import evaluation_options, file_options, report_options
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
    with terminal.working("partitioning"):
        result = evaluate(learner, Xs, ys, args.n_segments, args.margin, names=names)
    terminal.report(result.to_dict(), *readable(result))
    return 0


def readable(result: Evaluation) -> tuple[str, Table, str]:
    """What it is about, the scores, the verdict."""
    n = len(result.recordings)
    about = f"{'' if n == 1 else 'mean of '}{result.words.wholes(n)}"
    return f"{about} (perfect: loss 0, all others 1)", _table(result), str(result.verdict)


def _table(result: Evaluation) -> Table:
    """The mean scores of each metric."""
    found = Table(box=box.SIMPLE_HEAD)
    columns = ["metric", "loss", "covering", "adjusted Rand"]
    if result.learned.f1 is not None:
        columns.append(f"F1 (within {result.margin})")
    for column in columns:
        found.add_column(column, justify="left" if column == "metric" else "right")
    for name, scores in sorted(result.scores.items(), key=lambda item: item[0] == "learned"):
        numbers = (scores.loss, scores.covering, scores.adjusted_rand, scores.f1)
        values = (f"{value:.3f}" for value in numbers if value is not None)
        shown = name.upper() if name in ("pca", "rca") else name
        found.add_row(shown, *values, style="bold" if name == "learned" else None)
    return found
