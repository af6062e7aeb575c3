"""What --split asks, and the verdict on a single table: about its rows or about new clusters."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from structsvm.cli.inputs import Given, takes_images
from structsvm.cli.terminal import Terminal
from structsvm.data.sample import Sample
from structsvm.errors import DataWarning, SettingsError
from structsvm.evaluation import evaluate as evaluation
from structsvm.evaluation.evaluate import Evaluation
from structsvm.learner.learner import MetricLearner
from structsvm.model_selection.rows import evaluate_rows
from structsvm.model_selection.splits import STATES, fewest_rows
from structsvm.partitions.problem import PartitionProblem, has_rows
from structsvm.storage.codec import Unstored
from structsvm.support.quiet import without_warnings


def refuse_split(split: str, name: str, problem: PartitionProblem) -> None:
    """Refuse a question that samples of another kind answer."""
    contiguous = problem.traits.contiguous
    if split == STATES and not contiguous:
        raise SettingsError(f"--split states is for recordings, not for {name}: leave it out")
    if split != STATES and (contiguous or takes_images(problem)):
        raise SettingsError(
            f"--split {split} is for tables, whose rows have no order, not for {name}: leave it "
            f"out{', or ask about new states, --split states' if contiguous else ''}"
        )


def can_be_split(learner: MetricLearner, samples: Sequence[Sample], ys: Sequence[Any]) -> bool:
    problem = learner.problem_
    if not has_rows(problem, samples) or len(samples) != 1:
        return False
    if samples[0].data in learner.training_data_:
        unstored = any(isinstance(value, Unstored) for value in learner.get_params(False).values())
        if unstored or len(learner.training_data_) > 1:
            return False  # nothing can be learned again, or other tables would be missing
    return fewest_rows(ys[0]) <= samples[0].n_samples


def refuse_groups(groups: object) -> None:
    """Refuse groups of a single table."""
    if groups is not None:
        raise SettingsError("--groups is for several files: a single table has one name")


def evaluate(
    args: argparse.Namespace,
    terminal: Terminal,
    learner: MetricLearner,
    given: Given,
    sample: Sample,
) -> tuple[Evaluation, dict[str, Any], str, str]:
    """Compare by groups of rows or clusters: scores to print, plain ones, what of, the verdict."""
    (name,), (y,) = given.names, given.ys
    n_clusters = "true" if args.n_clusters is None else args.n_clusters
    with given.named():
        with terminal.working("clustering parts of the table"):
            rows = evaluate_rows(learner, sample, y, n_clusters)
        shown, plain = rows.groups, rows.groups.to_dict()
        what = f"mean of {len(shown.samples)} groups of {rows.split} of {name}"
        if not rows.learned_again:
            # Warnings about the table were given with those about its rows.
            with terminal.working("clustering"), without_warnings(DataWarning):
                shown = evaluation.evaluate(
                    learner, given.Xs, [y], args.n_clusters, names=[name], measured=[sample]
                )
            plain = {**shown.to_dict(), "verdict": rows.verdict.to_dict()}
            what = f"the table {name}"
    plain |= {"question": rows.question, "learned_again": rows.learned_again}
    return shown, plain, what, str(rows.verdict)
