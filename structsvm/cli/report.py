"""``structsvm report``: one page on what a model is worth."""

from __future__ import annotations

import argparse

from structsvm.cli.inputs import groups_of, measured, read_for, taken_to_be_independent
from structsvm.cli.outputs import check_output
from structsvm.cli.terminal import Terminal
from structsvm.errors import printable
from structsvm.evaluation.contrast import MIN_UNITS
from structsvm.learner.files import load_metric_learner
from structsvm.plotting import report_page
from structsvm.storage.atomic import write_atomically
from structsvm.storage.limits import amount


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluate, and write the page."""
    check_output(args, args.output, (".html", ".htm"))
    learner = load_metric_learner(args.model)
    given = read_for(learner, args, terminal, need_labels=True)
    samples = measured(learner, given, terminal)
    learner.training_data_.warn_if_among([sample.data for sample in samples], given.words)
    with given.named(), terminal.working("partitioning"):
        page = report_page(
            learner,
            given.Xs,
            given.ys,
            names=given.names,
            title=args.title or f"What {args.model.stem} is worth",
            n_clusters=args.n_clusters,
            tolerance=args.tolerance,
            measured=samples,
            times=given.times,
            unseen_states=args.unseen_states,
            groups=groups_of(given, args.groups),
        )
    if args.groups is None and len(given) >= MIN_UNITS:
        terminal.note(taken_to_be_independent(given))
    encoded = printable(page).encode()
    write_atomically(args.output, encoded)
    terminal.note(f"the page is in {args.output}, {amount(len(encoded))}: open it in a browser")
    if terminal.as_json:
        terminal.report({"page": str(args.output)})
    return 0
