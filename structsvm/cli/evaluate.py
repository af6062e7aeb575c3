"""``structsvm evaluate``: what learning is worth on held-out data."""

from __future__ import annotations

import argparse

from rich import box
from rich.console import RenderableType
from rich.table import Table

from structsvm.cli import one_table
from structsvm.cli.inputs import measured, read_for
from structsvm.cli.terminal import Terminal
from structsvm.errors import printable
from structsvm.evaluation.evaluate import Evaluation, evaluate, perfect_in_words, score_titles
from structsvm.evaluation.verdict import LEARNED, rival_title
from structsvm.learner.files import load_metric_learner
from structsvm.plotting.words import confused_states


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and print the table and the verdict."""
    learner = load_metric_learner(args.model)
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
            unseen_states=args.unseen_states,
            measured=samples,
        )
    terminal.report(result.to_dict(), *readable(result))
    return 0


def readable(result: Evaluation) -> tuple[RenderableType, ...]:
    """What it is about, the scores, the names of states if there are any, the verdict."""
    n = len(result.samples)
    about = f"{'' if n == 1 else 'mean of '}{result.words.wholes(n)}"
    states = (state_table(result),) if result.confusion else ()
    return about_scores(about, result), score_table(result), *states, str(result.verdict)


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
        found.add_row(rival_title(metric), *numbers, style="bold" if metric == "learned" else None)
    return found


def state_table(result: Evaluation) -> Table:
    """How often each state was named right, and what it was taken for, in the learned metric.

    Or by the first of its rivals that names states, if it names none itself.
    """
    who = LEARNED if LEARNED in result.confusion else next(iter(result.confusion))
    found = Table(box=box.SIMPLE_HEAD)
    found.add_column(f"{result.words.named} ({who})")
    for title in (result.words.bearers, "named right"):
        found.add_column(title, justify="right")
    found.add_column("taken for")
    for state, n, share, others in confused_states(result.confusion[who]):
        found.add_row(printable(state), str(n), f"{share:.1%}", printable(others))
    return found
