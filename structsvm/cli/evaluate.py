"""``structsvm evaluate``: what learning is worth on held-out data."""

from __future__ import annotations

import argparse

from rich import box
from rich.table import Table

from structsvm.cli import one_table
from structsvm.cli.inputs import measured, read_for
from structsvm.cli.terminal import Terminal
from structsvm.evaluation import Evaluation, evaluate
from structsvm.learner.files import load
from structsvm.views.words import perfect_in_words, score_titles

__all__ = ["about_scores", "readable", "run", "score_table"]


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and print the table and the verdict."""
    learner = load(args.model)
    given = read_for(learner, args, terminal, need_labels=True)
    samples = measured(learner, given, terminal)
    if one_table.can_be_split(learner, samples, given.ys):
        rows = one_table.evaluate(args, terminal, learner, given, samples[0])
        what = about_scores(rows.what, rows.shown)
        terminal.report(rows.plain, what, score_table(rows.shown), rows.verdict)
        return 0
    with given.named(), terminal.working("partitioning"):
        result = evaluate(
            learner,
            given.Xs,
            given.ys,
            args.n_clusters,
            args.tolerance,
            names=given.names,
            measured=samples,
        )
    terminal.report(result.to_dict(), *readable(result))
    return 0


def readable(result: Evaluation) -> tuple[str, Table, str]:
    """What it is about, the scores, the verdict."""
    n = len(result.samples)
    about = f"{'' if n == 1 else 'mean of '}{result.words.wholes(n)}"
    return about_scores(about, result), score_table(result), str(result.verdict)


def about_scores(what: str, result: Evaluation) -> str:
    """What the scores are of, and which values of them are perfect."""
    perfect = perfect_in_words(score_titles(result)).rstrip(".")
    return f"{what} ({perfect[0].lower()}{perfect[1:]})" if perfect else what


def score_table(result: Evaluation) -> Table:
    """The mean scores of each metric."""
    titles = score_titles(result)
    found = Table(box=box.SIMPLE_HEAD)
    found.add_column("metric")
    for title in titles.values():
        found.add_column(title, justify="right")
    for metric, scores in sorted(result.scores.items(), key=lambda item: item[0] == "learned"):
        values = [scores[name] for name in titles]
        numbers = ["-" if value is None else f"{value:.3f}" for value in values]
        shown = metric.upper() if metric in ("pca", "rca") else metric
        found.add_row(shown, *numbers, style="bold" if metric == "learned" else None)
    return found
