"""``structsvm compare``: how fast each solver learns a metric."""

from argparse import Namespace
from dataclasses import replace

from structsvm.cli.guard import Guard
from structsvm.cli.inputs import Reading
from structsvm.cli.options import FIGURES
from structsvm.cli.outputs import figure_in
from structsvm.cli.request import Request, assigned, learner_of
from structsvm.cli.terminal import Terminal
from structsvm.evaluation import STOPPING, compare_on
from structsvm.learner.parameters import named_problem
from structsvm.learner.preparing import read_training
from structsvm.learner.structured import risk_of
from structsvm.plotting import plot_gaps


def run_compare(args: Namespace, terminal: Terminal) -> int:
    """Compare solvers, print where each ended, and draw their gaps if a figure is asked for."""
    if args.output is not None:
        Guard.of(args).check_file(args.output, FIGURES)
    request = Request.of(args)
    learner = learner_of(request)
    stopping = replace(STOPPING, **assigned(args.set, "solver", vars(STOPPING), "compare"))
    inputs = Reading(request, terminal, named_problem(learner.problem)).whole()
    with inputs.named(), terminal.working("comparing"):
        training = read_training(learner, inputs.Xs, inputs.ys, feature_names=inputs.features)
        risk = risk_of(learner, training, None)
        comparison = compare_on(risk, args.solvers, stopping=stopping, repeats=args.repeats)
    terminal.report(comparison.to_dict(), repr(comparison))
    if args.output is not None:
        with figure_in(args.output, terminal) as figure:
            plot_gaps(comparison.solutions, figure=figure)
    return 0
