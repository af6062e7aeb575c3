"""``structsvm evaluate``: the scores of a model and of other methods on held-out data."""

import os
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.cli.guard import Guard
from structsvm.cli.inputs import read_for
from structsvm.cli.parts import NO_GROUPS
from structsvm.cli.request import Request, assigned
from structsvm.cli.terminal import Terminal
from structsvm.data import Instance
from structsvm.errors import SettingsError, printable
from structsvm.evaluation import LEARNED, Evaluation, fewest_rows, score_table
from structsvm.evaluation.evaluate import evaluate
from structsvm.learner import Learner
from structsvm.learner.files import load_learner
from structsvm.partitions.problem import has_rows
from structsvm.plotting.held_out import ShownOnPage
from structsvm.plotting.report import page_of
from structsvm.support import ShortTable, Unstored, write_atomically

TAKEN_FOR = 3  # states that a state is taken for and that are listed


def run_evaluate(args: Namespace, terminal: Terminal) -> int:
    """Print the table of scores and the verdict, and write the page if one is asked for."""
    if args.output is not None:
        Guard.of(args).check_file(args.output, (".html", ".htm"))
    learner = load_learner(args.model)
    request = Request.of(args)
    in_part = learner.problem_.traits.contiguous  # scored on the labelled samples
    inputs = read_for(learner, args.model, request, terminal, need_labels=True, blanks=in_part)
    instances = inputs.measured(learner)
    split = "auto" if can_be_split(learner, instances, inputs.ys) else None
    if split and args.groups:
        raise SettingsError(NO_GROUPS)
    about = {
        "n_clusters": args.n_clusters,
        "tolerance": 5 * inputs.window if args.tolerance is None else args.tolerance,
        **assigned(args.set, "", ("unseen_states",), args.command),
        "names": inputs.names,
        "times": inputs.times,
        "groups": inputs.groups(),
        "measured": instances,
    }
    with inputs.named(), terminal.working("partitioning"):
        result = evaluate(learner, inputs.Xs, inputs.ys, split=split, **about)
        if args.output is not None:
            own = None if split else result
            held_out = ShownOnPage.of(learner, inputs.Xs, inputs.ys, evaluation=own, **about)
            title = f"What {args.model.stem} is worth on {called(args.paths)}"
            page = page_of(held_out, title, result.verdict)
    if about["groups"] is None and split is None and result.verdict.is_supported:
        terminal.note(inputs.independent)
    written = {} if args.output is None else {"page": str(args.output)}
    terminal.report(result.to_dict() | written, *readable(result))
    if args.output is not None:
        write_atomically(args.output, printable(page).encode())
        terminal.note(f"the page is in {args.output}: open it in a browser")
    return 0


def called(paths: Sequence[str]) -> str:
    """The name of a file or folder; of several, that of the folder they are in."""
    place = Path(os.path.commonpath([Path(path).resolve() for path in paths]))
    named = next(one for one in (place, *place.parents) if not set("*?[") & set(one.name))
    return named.stem if named.is_file() else named.name


def can_be_split(learner: Learner, instances: Sequence[Instance], ys: Sequence[Any]) -> bool:
    """Whether there is a single table whose rows can be held out, for a verdict about rows."""
    if not has_rows(learner.problem_, instances) or len(instances) != 1:
        return False
    if instances[0].data in learner.training_data_:
        unstored = any(isinstance(value, Unstored) for value in learner.get_params(False).values())
        if unstored or len(learner.training_data_) > 1:
            return False  # the method cannot be learned again, or other tables would be missing
    return fewest_rows(ys[0]) <= instances[0].n_samples


def readable(result: Evaluation) -> tuple[str, ...]:
    """The texts of the scores, with names of methods as in ``--method``, states and verdict."""
    table = score_table(result, str)
    columns = tuple(title.replace(" (", "\n(") for title in table.columns)
    states = (state_table(result),) if result.confusion else ()
    return f"{replace(table, columns=columns)}\n", *states, str(result.verdict)


def state_table(result: Evaluation) -> str:
    """How often each state was named right, and what it was taken for, by what names states."""
    confusion = result.confusion
    words = result.verdict.evidence.words
    who = (
        LEARNED
        if LEARNED in confusion
        else max(confusion, key=lambda name: confusion[name].accuracy or 0.0)
    )
    columns = (f"{words.named} ({who})", f"{words.item}s", "named right", "taken for")
    rows = []
    for k, (state, counts) in enumerate(
        zip(confusion[who].states, confusion[who].counts, strict=True)
    ):
        others = [j for j in np.argsort(-counts, kind="stable") if j != k and counts[j]]
        taken = [f"{confusion[who].states[j]} {counts[j]}" for j in others[:TAKEN_FOR]]
        taken += [f"{len(others) - TAKEN_FOR} more"] if len(others) > TAKEN_FOR else []
        if n := int(counts.sum()):
            rows.append((str(state), n, f"{counts[k] / n:.1%}", ", ".join(taken)))
    return f"{ShortTable('', columns, tuple(rows))}\n"
