"""``structsvm plot``: a picture of a partition, or of what the metric looks at."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.cli.inputs import InputData, read_for, takes_images
from structsvm.cli.outputs import check_output
from structsvm.cli.terminal import Terminal
from structsvm.cli.usage import FIGURES, OF_DATA, OF_MODELS
from structsvm.data.values import unlabelled
from structsvm.errors import DataError, SettingsError
from structsvm.learner.files import load_metric_learner
from structsvm.learner.learner import MetricLearner
from structsvm.plotting import (
    plot_clusters,
    plot_cut,
    plot_gap,
    plot_metric,
    plot_segmentation,
    plot_spectrum,
    plot_weights,
)
from structsvm.storage.atomic import write_atomically
from structsvm.support.extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150
PLOTS: dict[str, Callable[..., Any]] = {
    "weights": plot_weights,
    "metric": plot_metric,
    "spectrum": plot_spectrum,
    "gap": plot_gap,
}


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Draw a model or a sample, and say where the figure is."""
    check_output(args, args.output, FIGURES)
    learner = load_metric_learner(args.model)
    figure = new_figure()
    if not args.paths:
        shown = _shown(args.show, OF_MODELS, "a model, without a recording,")
        PLOTS[shown](learner, ax=figure.subplots())
    else:
        inputs = read_for(learner, args, terminal, need_labels=False)
        if len(inputs) > 1:
            raise DataError(
                f"{' '.join(args.paths)} holds {inputs.words.wholes(len(inputs))}: name one file"
            )
        with inputs.named(), terminal.working("partitioning"):
            _draw(args, learner, inputs, figure)
    save_figure(figure, args.output)
    terminal.note(f"the figure is in {args.output}")
    if terminal.as_json:
        terminal.report({"figure": str(args.output)})
    return 0


def _draw(
    args: argparse.Namespace, learner: MetricLearner, inputs: InputData, figure: Figure
) -> None:
    """A recording with its segments, a table with its clusters, or an image with its parts."""
    (X,), (y,), (name,), (times,) = inputs.Xs, inputs.ys, inputs.names, inputs.times
    K, whole = args.n_clusters, inputs.words.whole
    contiguous, images = inputs.problem.traits.contiguous, takes_images(inputs.problem)
    if args.margins and not contiguous:
        raise SettingsError(f"--margins is for recordings, not {whole}s: leave it out")
    if K == "true" and y is None:
        raise SettingsError("--n-clusters true needs the true labels: give --labels, or a number")
    if contiguous:
        show = _shown(args.show, OF_DATA, f"a {whole}")
        about = {"show": show, "times": times, "margins": args.margins}
        plot_segmentation(learner, X, y, n_clusters=K, ax=figure.subplots(), **about)
    elif images:
        _shown(args.show, (), f"an {whole}")
        _draw_image(learner, X, y, K, name, figure)
        return
    else:
        _shown(args.show, OF_DATA[:1], f"a {whole}")
        plot_clusters(learner, X, y, n_clusters=K, ax=figure.subplots())
    figure.suptitle(name, ha="left", x=0.02)


def _draw_image(
    learner: MetricLearner, image: Any, truth: Any, K: Any, name: str, figure: Figure
) -> None:
    """The image, its learned parts, and the true ones if they are known."""
    if K == "true":
        K = int(np.unique(truth[~unlabelled(truth)]).size)
    (labels,) = learner.predict([image], K)
    panels: dict[str, Any] = {name: None, "learned": labels}
    if truth is not None:
        panels["truth"] = truth
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, (title, parts) in zip(axes, panels.items(), strict=True):
        plot_cut(image, parts, ax=ax)
        ax.set_title(title, loc="left")


def _shown(show: str | None, known: tuple[str, ...], what: str) -> str:
    if show is not None and show not in known:
        way_out = f"--show one of {', '.join(known)}" if len(known) > 1 else "leave out --show"
        raise SettingsError(f"{what} has no {show} to show: {way_out}")
    return show or next(iter(known), "")


def new_figure() -> Figure:
    """A figure that no window will show."""
    module = require("matplotlib.figure", "plot", "plotting")
    figure: Figure = module.Figure(figsize=(9.0, 4.3), layout="constrained")
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the file's name."""
    buffer = io.BytesIO()
    kind = path.suffix[1:].lower()
    figure.savefig(buffer, format=kind, dpi=DPI, bbox_inches="tight")  # squares leave a side empty
    write_atomically(path, buffer.getvalue())
