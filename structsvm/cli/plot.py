"""``structsvm plot``: a picture of a recording's segmentations, or of the weights."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structsvm.cli import cuts
from structsvm.cli.inputs import check_labels, read_for
from structsvm.cli.outputs import check_output
from structsvm.cli.parser import count_option, file_options, force_option, report_options
from structsvm.cli.terminal import Terminal
from structsvm.errors import DataError, SettingsError
from structsvm.graph_cuts.learner import CutLearner
from structsvm.persistence import load
from structsvm.plotting import (
    plot_clusters,
    plot_cut_weights,
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

__all__ = ["add_parser", "new_figure", "save_figure"]

FORMATS = (".png", ".pdf", ".svg", ".jpg")
DPI = 150
OF_RECORDINGS = ("components", "features")
OF_MODELS: dict[str, Callable[..., Axes]] = {
    "weights": plot_weights,
    "metric": plot_metric,
    "spectrum": plot_spectrum,
    "gap": plot_gap,
}

EPILOG = """\
examples:
  structsvm plot my.structsvm new.csv -o segments.png
  structsvm plot my.structsvm new.csv --show features -o features.png
  structsvm plot my.structsvm -o weights.pdf
  structsvm plot my.structsvm --show metric -o metric.png
"""


def add_parser(commands: Any) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "plot",
        help="draw a recording's segmentations, or what the metric looks at",
        description="Draw the segmentations of one recording; without one, what was learned.",
        epilog=EPILOG,
        parents=[file_options(), report_options()],
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file")
    parser.add_argument("paths", nargs="?", metavar="PATH", help="one recording")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FIG",
        required=True,
        help=f"file to write: {', '.join(FORMATS)}",
    )
    parser.add_argument(
        "--show",
        choices=(*OF_RECORDINGS, *OF_MODELS),
        help="of a recording: its directions in the metric (the default), or its features of "
        "largest weight; of a model: its largest weights (the default), its matrix, its "
        "eigenvalues, or the certified gap while it was learned (for normalized-cut, which has "
        "no gap, the objective). Images and tables are drawn without --show",
    )
    force_option(parser)
    count_option(parser)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Draw, and say where."""
    check_output(args, args.output, FORMATS)
    learner = load(args.model)
    figure = new_figure()
    show = _what_to_show(args.show, args.paths is not None)
    if args.paths is None:
        cut = isinstance(learner, CutLearner) and show == "weights"
        draw = plot_cut_weights if cut else OF_MODELS[show]
        draw(learner, ax=figure.subplots())
    elif isinstance(learner, CutLearner):
        if args.show is not None:
            raise SettingsError(f"an image has no {args.show} to show: leave out --show")
        cuts.draw(args, learner, figure, terminal)
    else:
        found = read_for(learner, args, terminal, need_labels=False)
        if len(found) > 1:
            held = learner.problem_.words.wholes(len(found))
            raise DataError(f"{args.paths} holds {held}: name one file")
        (recording,) = found
        if recording.y is not None:
            check_labels([recording], learner.problem_)
        X, y, K = recording.X, recording.y, args.n_segments
        if learner.problem_.contiguous:
            plot_segmentation(learner, X, y, n_segments=K, show=show, ax=figure.subplots())
        elif args.show == "features":
            raise SettingsError(
                f"a {learner.problem_.words.whole} is drawn in its directions in the metric, "
                "coloured by cluster: leave out --show features"
            )
        else:
            plot_clusters(learner, X, y, n_clusters=K, ax=figure.subplots())
        figure.suptitle(recording.name, ha="left", x=0.02)
    save_figure(figure, args.output)
    terminal.note(f"the figure is in {args.output}")
    if terminal.as_json:
        terminal.report({"figure": str(args.output)})
    return 0


def _what_to_show(asked: str | None, of_recording: bool) -> str:
    """What was asked for, or the first of what there is."""
    known = tuple(OF_RECORDINGS if of_recording else OF_MODELS)
    if asked is None:
        return known[0]
    if asked not in known:
        what = "a recording" if of_recording else "a model, without a recording,"
        raise SettingsError(f"{what} has no {asked} to show: --show one of {', '.join(known)}")
    return asked


def new_figure(height: float = 4.3) -> Figure:
    """A figure that no window will show."""
    module = require("matplotlib.figure", "plot", "plotting")
    figure: Figure = module.Figure(figsize=(9.0, height), layout="constrained")
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the file's name."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=DPI)
    write_atomically(path, buffer.getvalue())
