"""``structsvm plot``: a figure of a model, or of the partition of a file."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

import numpy as np

import structsvm.plotting
from structsvm.cli.guard import Guard
from structsvm.cli.input_data import InputData
from structsvm.cli.inputs import read_for
from structsvm.cli.options import FIGURES, OF_MODELS
from structsvm.cli.outputs import figure_in
from structsvm.cli.request import Request
from structsvm.cli.terminal import Terminal
from structsvm.data import unlabelled
from structsvm.errors import SettingsError
from structsvm.learner import Learner
from structsvm.learner.files import load_learner

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run_plot(args: Namespace, terminal: Terminal) -> int:
    """Draw a model or a file, write the figure, and say where it is."""
    Guard.of(args).check_file(args.output, FIGURES)
    learner = load_learner(args.model)
    with figure_in(args.output, terminal) as figure:
        if not args.paths:
            draw = getattr(structsvm.plotting, f"plot_{args.show or OF_MODELS[0]}")
            draw(learner, ax=figure.subplots())
        else:
            if args.show:
                raise SettingsError(
                    f"--show {args.show} is of a model alone: leave it, or {args.paths[0]}, out"
                )
            request = Request.of(args)
            inputs = read_for(learner, args.model, request, terminal, need_labels=False)
            contents = f"{' '.join(args.paths)} holds {inputs.words.wholes(len(inputs))}"
            if len(inputs) > 1:
                raise SettingsError(f"{contents}: name one file")
            with inputs.named(), terminal.working("partitioning"):
                about = {"margins": args.margins, "level": args.level}
                _draw(learner, inputs, figure, args.n_clusters, about)
    terminal.report({"figure": str(args.output)})
    return 0


def _draw(
    learner: Learner, inputs: InputData, figure: "Figure", K: Any, about: dict[str, Any]
) -> None:
    """Draw a recording with its segments, a table with its clusters, or an image with its parts."""
    (X,) = inputs.Xs
    (y,) = inputs.ys
    (name,) = inputs.names
    (times,) = inputs.times
    whole = inputs.words.whole
    ax = figure.subplots()
    contiguous = inputs.problem.traits.contiguous
    for option, typed in about.items():
        if typed and not contiguous:
            raise SettingsError(f"--{option} is for recordings, not {whole}s: leave it out")
    if K == "true" and y is None:
        raise SettingsError("--n-clusters true needs the true labels: give --labels, or a number")
    if inputs.problem.traits.words.of_graphs:
        if K == "true":
            K = int(np.unique(y[~unlabelled(y)]).size)
        structsvm.plotting.plot_cut(X, learner.predict([X], K)[0], ax=ax)
    elif contiguous:
        drawn = about | {"times": times}
        structsvm.plotting.plot_segmentation(learner, X, y, n_clusters=K, ax=ax, **drawn)
    else:
        structsvm.plotting.plot_clusters(learner, X, y, n_clusters=K, ax=ax)
    figure.suptitle(name, ha="left", x=0.02)
