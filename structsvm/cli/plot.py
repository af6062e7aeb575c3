"""``structsvm plot``: a picture of a partition, or of what the metric looks at."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.cli.inputs import Given, read_for
from structsvm.cli.outputs import check_output
from structsvm.cli.terminal import Terminal
from structsvm.cli.usage import FIGURES, OF_DATA, OF_MODELS
from structsvm.data.words import IMAGES
from structsvm.errors import DataError, SettingsError
from structsvm.learner.files import load_metric_learner
from structsvm.learner.learner import MetricLearner
from structsvm.partial_labels.labels import unlabelled
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
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
DRAWN: dict[str, Callable[..., Axes]] = {
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
    if args.paths is None:
        DRAWN[_shown(args.show, OF_MODELS, "a model, without a recording,")](
            learner, ax=figure.subplots()
        )
    else:
        whole, args.paths = args.paths, [args.paths]
        given = read_for(learner, args, terminal, need_labels=False)
        if len(given) > 1:
            raise DataError(f"{whole} holds {given.words.wholes(len(given))}: name one file")
        with given.named(), terminal.working("partitioning"):
            _draw(args, learner, given, figure)
    save_figure(figure, args.output)
    terminal.note(f"the figure is in {args.output}")
    if terminal.as_json:
        terminal.report({"figure": str(args.output)})
    return 0


def _draw(args: argparse.Namespace, learner: MetricLearner, given: Given, figure: Figure) -> None:
    """A recording with its segments, a table with its clusters, or an image with its parts."""
    (X,), (y,), (name,) = given.Xs, given.ys, given.names
    K, whole = args.n_clusters, given.words.whole
    if args.margins and not learner.problem_.traits.contiguous:
        raise SettingsError(f"--margins is for recordings, not {whole}s: leave it out")
    if K == "true" and y is None:
        raise SettingsError("--n-clusters true needs the true labels: give --labels, or a number")
    of_whole = () if given.words is IMAGES else ("components",)
    if learner.problem_.traits.contiguous:
        show = _shown(args.show, OF_DATA, f"a {whole}")
        (times,), ax = given.times, figure.subplots()
        plot_segmentation(
            learner, X, y, n_clusters=K, show=show, times=times, margins=args.margins, ax=ax
        )
    elif args.show not in (None, *of_whole):
        raise SettingsError(f"{_a(whole)} has no {args.show} to show: leave out --show")
    elif given.words is IMAGES:
        _draw_image(learner, X, y, K, name, figure)
        return
    else:
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


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _shown(asked: str | None, known: tuple[str, ...], what: str) -> str:
    if asked is None:
        return known[0]
    if asked not in known:
        raise SettingsError(f"{what} has no {asked} to show: --show one of {', '.join(known)}")
    return asked


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
