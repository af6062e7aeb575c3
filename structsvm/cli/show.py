"""``structsvm show`` and ``diagnose``: the facts of a model, and possible faults."""

from argparse import Namespace
from typing import Any

from structsvm.cli.inputs import read_for
from structsvm.cli.request import Request
from structsvm.cli.terminal import Terminal
from structsvm.diagnosis.diagnose import diagnose
from structsvm.learner.feature_weights import heaviest_features
from structsvm.learner.files import load_learner
from structsvm.plotting.words import described, facts
from structsvm.support import ShortTable

TOP = 10  # features that are printed; --json has all of them
BAR = 24  # characters of the longest bar


def run_show(args: Namespace, terminal: Terminal) -> int:
    """Print the facts, the largest weights and the possible faults of a model."""
    learner = load_learner(args.model)
    diagnosis = diagnose(learner)
    plain = {"model": str(args.model)} | described(learner) | diagnosis.to_dict()
    findings = [str(diagnosis.spelled(terminal.spelling))] if len(diagnosis) else []
    about = terminal.beside([*facts(learner).items()])
    weights = [_weights(learner)] if learner.sees is not None else []
    terminal.report(plain, about, *weights, *findings)
    return 0


def _weights(learner: Any) -> str:
    """The features with the largest weights, as a table with bars."""
    weights = heaviest_features(learner)
    top = weights[:TOP]
    largest = max((weight for _, weight in top), default=0.0) or 1.0
    title = f"{len(top)} of {len(weights)}, untrained 1"
    bars = ((name, f"{weight:.3g}", "━" * round(BAR * weight / largest)) for name, weight in top)
    return f"\n{ShortTable('', ('feature', 'weight', title), tuple(bars))}\n"


def run_diagnose(args: Namespace, terminal: Terminal) -> int:
    """Print possible faults of a model, and of files if some are named."""
    learner = load_learner(args.model)
    diagnosis = diagnose(learner)
    if args.paths:
        request = Request.of(args)
        inputs = read_for(learner, args.model, request, terminal, need_labels=True, blanks=True)
        with inputs.named(), terminal.working("looking"):
            diagnosis = diagnose(learner, inputs.Xs, inputs.ys, names=inputs.names)
    terminal.report(diagnosis.to_dict(), str(diagnosis.spelled(terminal.spelling)))
    return 0
