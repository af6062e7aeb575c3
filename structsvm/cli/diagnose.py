"""``structsvm diagnose``: what makes a fit poor."""

from __future__ import annotations

import argparse

from structsvm.cli.inputs import measured, read_for
from structsvm.cli.settings import as_typed
from structsvm.cli.terminal import Terminal
from structsvm.diagnosis import diagnose, diagnose_measured
from structsvm.learner.files import load_metric_learner


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Look at the model, and at the files if there are any, and print what is found."""
    learner = load_metric_learner(args.model)
    if args.paths:
        inputs = read_for(learner, args, terminal, need_labels=True, blanks=True)
        samples = measured(learner, inputs, terminal)
        with inputs.named(), terminal.working("looking"):
            found = diagnose_measured(learner, samples, inputs.ys, names=inputs.names)
    else:
        found = diagnose(learner)
    terminal.report(found.to_dict(), as_typed(str(found), args))
    return 0
