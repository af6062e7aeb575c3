"""``structsvm evaluate`` and ``report``: what learning is worth on held-out data."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli.held_out import NO_GROUPS
from structsvm.cli.inputs import (
    InputData,
    groups_of,
    measured,
    read_for,
    refuse_if,
    taken_to_be_independent,
)
from structsvm.cli.predict import check_output
from structsvm.cli.terminal import Terminal
from structsvm.data.sample import Sample
from structsvm.errors import printable
from structsvm.evaluation.evaluate import Evaluation, evaluate, score_titles
from structsvm.evaluation.splits import fewest_rows
from structsvm.evaluation.verdict import LEARNED, MIN_UNITS
from structsvm.learner.files import load_metric_learner
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.problem import has_rows
from structsvm.plotting.report.held_out import HeldOut
from structsvm.plotting.report.page import page_of
from structsvm.storage.archive import write_atomically
from structsvm.storage.codec import Unstored
from structsvm.support.tables import ShortTable

TAKEN_FOR = 3  # other names of a state that are listed


def run_evaluate(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and print the table and the verdict."""
    learner, inputs, about = _asked(args, terminal)
    split = "auto" if can_be_split(learner, about["measured"], inputs.ys) else None
    refuse_if(split and args.groups, NO_GROUPS)
    groups = groups_of(inputs, args.groups, terminal)
    with inputs.named(), terminal.working("partitioning"):
        result = evaluate(learner, inputs.Xs, inputs.ys, split=split, groups=groups, **about)
    if groups is None and split is None and result.verdict.is_supported:
        terminal.note(taken_to_be_independent(inputs))
    terminal.report(result.to_dict(), *readable(result))
    return 0


def run_report(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compare, and write the page."""
    check_output(args, args.output, (".html", ".htm"))
    learner, inputs, about = _asked(args, terminal)
    learner.training_data_.warn_if_among([x.data for x in about["measured"]], inputs.words)
    groups = groups_of(inputs, args.groups, terminal)
    with inputs.named(), terminal.working("partitioning"):
        held_out = HeldOut.of(learner, inputs.Xs, inputs.ys, groups=groups, **about)
    page = page_of(held_out, f"What {args.model.stem} is worth on {called(args.paths)}")
    if groups is None and len(inputs) >= MIN_UNITS:
        terminal.note(taken_to_be_independent(inputs))
    write_atomically(args.output, printable(page).encode())
    terminal.note(f"the page is in {args.output}: open it in a browser")
    if terminal.as_json:
        terminal.report({"page": str(args.output)})
    return 0


def _asked(
    args: argparse.Namespace, terminal: Terminal
) -> tuple[MetricLearner, InputData, dict[str, Any]]:
    """The model, the files, and how partitions of these are scored."""
    learner = load_metric_learner(args.model)
    inputs = read_for(learner, args, terminal, need_labels=True)
    about = {
        "n_clusters": args.n_clusters,
        "tolerance": inputs.tolerance(args.tolerance),
        "unseen_states": args.unseen_states,
        "names": inputs.names,
        "times": inputs.times,
        "measured": measured(learner, inputs, terminal),
    }
    return learner, inputs, about


def called(paths: Sequence[str]) -> str:
    """What a person calls a file, a folder, or the place of several."""
    place = Path(os.path.commonpath([Path(path).resolve() for path in paths]))
    while set("*?[") & set(place.name):
        place = place.parent
    return place.stem if place.is_file() else place.name


def can_be_split(learner: MetricLearner, samples: Sequence[Sample], ys: Sequence[Any]) -> bool:
    """Whether a verdict can be about the rows of a table, the only one."""
    if not has_rows(learner.problem_, samples) or len(samples) != 1:
        return False
    if samples[0].data in learner.training_data_:
        unstored = any(isinstance(value, Unstored) for value in learner.get_params(False).values())
        if unstored or len(learner.training_data_) > 1:
            return False  # nothing can be learned again, or other tables would be missing
    return fewest_rows(ys[0]) <= samples[0].n_samples


def readable(result: Evaluation) -> tuple[str, ...]:
    """The scores, each method called as ``--baseline`` calls it, states, and the verdict."""
    titles, n = score_titles(result), len(result.samples)
    about = f"{'' if n == 1 else 'mean scores of '}{result.verdict.words.wholes(n)}"
    means = sorted(result.scores.items(), key=lambda item: item[0] == LEARNED)
    rows = tuple((name, *(scores[title] for title in titles)) for name, scores in means)
    columns = ("metric", *(title.replace(" (", "\n(") for title in titles.values()))
    states = (state_table(result),) if result.confusion else ()
    return f"{ShortTable(about, columns, rows)}\n", *states, str(result.verdict)


def state_table(result: Evaluation) -> str:
    found, words = result.confusion, result.verdict.words
    who = LEARNED if LEARNED in found else max(found, key=lambda name: found[name].accuracy or 0.0)
    columns = (f"{words.named} ({who})", f"{words.item}s", "named right", "taken for")
    rows = []
    for k, (state, counts) in enumerate(zip(found[who].states, found[who].counts, strict=True)):
        others = [j for j in np.argsort(-counts, kind="stable") if j != k and counts[j]]
        taken = [f"{found[who].states[j]} {counts[j]}" for j in others[:TAKEN_FOR]]
        taken += [f"{len(others) - TAKEN_FOR} more"] if len(others) > TAKEN_FOR else []
        if n := int(counts.sum()):
            rows.append((str(state), n, f"{counts[k] / n:.1%}", ", ".join(taken)))
    return f"{ShortTable('', columns, tuple(rows))}\n"
