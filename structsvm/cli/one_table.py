"""The verdict on a single table of clusters, which is about its rows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from structsvm import evaluation
from structsvm.cli.scores import score_table
from structsvm.cli.terminal import Terminal
from structsvm.learner.learner import MetricLearner
from structsvm.model_selection.rows import evaluate_rows, fewest_rows
from structsvm.storage.unstored import Unstored

__all__ = ["can_be_split", "evaluate"]


def can_be_split(learner: MetricLearner, Xs: Sequence[Any], ys: Sequence[Any]) -> bool:
    """Whether this is one table, with rows to hold out, and not one of several learned from."""
    if learner.problem_.contiguous or len(Xs) != 1:
        return False
    if Xs[0] in learner.training_data_:
        unstored = any(isinstance(value, Unstored) for value in learner.get_params(False).values())
        if unstored or len(learner.training_data_) > 1:
            return False  # nothing can be learned again, or other tables would be missing
    return fewest_rows(ys[0]) <= len(Xs[0])


def evaluate(
    args: argparse.Namespace, terminal: Terminal, learner: MetricLearner, name: str, X: Any, y: Any
) -> int:
    """Compare by groups of rows, and print the table, the verdict and what it answers."""
    n_clusters = "true" if args.n_segments is None else args.n_segments
    with terminal.working("clustering groups of rows"):
        rows = evaluate_rows(learner, X, y, n_clusters)
    shown, plain = rows.groups, rows.groups.to_dict()
    n = len(shown.recordings)
    about = f"mean of {n} groups of rows of {name}"
    if not rows.learned_again:
        with terminal.working("clustering"):
            shown = evaluation.evaluate(learner, [X], [y], args.n_segments, names=[name])
        plain = {**shown.to_dict(), "verdict": rows.verdict.to_dict()}
        about = f"the table {name}"
    plain |= {"question": rows.question, "learned_again": rows.learned_again}
    terminal.report(
        plain,
        f"{about} (perfect: loss 0, all others 1)",
        score_table(shown),
        f"{rows.verdict}\n{rows.question}",
    )
    return 0
