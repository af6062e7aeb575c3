"""``structsvm evaluate``: what learning is worth on held-out data."""

from __future__ import annotations

import argparse

from structsvm.cli import one_table
from structsvm.cli.inputs import groups_of, measured, read_for, taken_to_be_independent
from structsvm.cli.terminal import Terminal
from structsvm.evaluation.contrast import LEARNED
from structsvm.evaluation.evaluate import (
    Evaluation,
    evaluate,
    perfect_in_words,
    score_titles,
)
from structsvm.learner.files import load_metric_learner
from structsvm.plotting.words import confused_states
from structsvm.support.tables import ShortTable


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and print the table and the verdict."""
    learner = load_metric_learner(args.model)
    given = read_for(learner, args, terminal, need_labels=True)
    samples = measured(learner, given, terminal)
    groups = groups_of(given, args.groups)
    if one_table.can_be_split(learner, samples, given.ys):
        one_table.refuse_groups(groups)
        shown, plain, what, verdict = one_table.evaluate(args, terminal, learner, given, samples[0])
        terminal.report(plain, about_scores(what, shown), score_table(shown), verdict)
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
            groups=groups,
            measured=samples,
        )
    if groups is None and result.verdict.is_supported:
        terminal.note(taken_to_be_independent(given))
    terminal.report(result.to_dict(), *readable(result))
    return 0


def readable(result: Evaluation) -> tuple[str, ...]:
    n = len(result.samples)
    about = f"{'' if n == 1 else 'mean of '}{result.words.wholes(n)}"
    states = (state_table(result),) if result.confusion else ()
    return about_scores(about, result), score_table(result), *states, str(result.verdict)


def about_scores(what: str, result: Evaluation) -> str:
    perfect = perfect_in_words(score_titles(result)).rstrip(".")
    return f"{what} ({perfect[0].lower()}{perfect[1:]})\n" if perfect else what


def score_table(result: Evaluation) -> str:
    """The mean scores of each metric, called as ``--baseline`` calls it."""
    titles = score_titles(result)
    means = sorted(result.scores.items(), key=lambda item: item[0] == LEARNED)
    rows = tuple((metric, *(scores[name] for name in titles)) for metric, scores in means)
    columns = (title.replace(" (", "\n(") for title in titles.values())
    return f"{ShortTable('', ('metric', *columns), rows)}\n"


def state_table(result: Evaluation) -> str:
    who = LEARNED if LEARNED in result.confusion else next(iter(result.confusion))
    columns = (f"{result.words.named} ({who})", result.words.bearers, "named right", "taken for")
    rows = tuple(
        (state, n, f"{share:.1%}", others)
        for state, n, share, others in confused_states(result.confusion[who])
    )
    return f"{ShortTable('', columns, rows)}\n"
