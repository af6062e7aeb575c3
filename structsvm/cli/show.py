"""``structsvm show``, ``diagnose`` and ``plot``: what is in a model, and what makes it poor."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.cli.inputs import InputData, as_typed, read_for, refuse_if, takes_images
from structsvm.cli.predict import check_output
from structsvm.cli.terminal import Terminal, table_of
from structsvm.cli.usage import FIGURES, OF_MODELS
from structsvm.data.samples import unlabelled
from structsvm.diagnosis import diagnose
from structsvm.learner.columns import heaviest_features
from structsvm.learner.files import load_metric_learner
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.plugins import problem_name
from structsvm.plotting import (
    plot_clusters,
    plot_cut,
    plot_gap,
    plot_metric,
    plot_segmentation,
    plot_spectrum,
    plot_weights,
)
from structsvm.plotting.words import facts
from structsvm.status import Status
from structsvm.storage.atomic import write_atomically
from structsvm.support.lazy import require
from structsvm.support.plain import finite
from structsvm.support.settings import flat, settings_in
from structsvm.support.tables import ShortTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOP = 10  # features that are printed; --json has all of them
BAR = 24  # characters of the longest bar
SOLUTION = ("n_iter", "oracle_calls", "seconds", "upper", "null", "stationarity")
BOUNDS = ("lower", "gap", "bound")  # what is known of a solution with a certified gap
DPI = 150
PLOTS: Mapping[str, Any] = {
    "weights": plot_weights,
    "metric": plot_metric,
    "spectrum": plot_spectrum,
    "gap": plot_gap,
}


# ---- a model in words


def run_show(args: argparse.Namespace, terminal: Terminal) -> int:
    """Read the model and print it."""
    learner = load_metric_learner(args.model)
    found = diagnose(learner)
    plain = describe(learner, args.model) | found.to_dict()
    findings = [str(found)] if len(found) else []
    rows = table_of([*facts(learner).items()])
    terminal.report(plain, rows, _weights(learner), *findings)
    return 0


def describe(learner: MetricLearner, path: Path) -> dict[str, Any]:
    """A model in plain values; the features by decreasing weight."""
    data, problem, inputs = learner.training_data_, learner.problem_, learner.inputs_
    spectrum = np.linalg.svd(learner.metric_.factor.T, compute_uv=False) ** 2
    words, calibration, solution = problem.traits.words, learner.calibration_, learner.solution_
    features = None if inputs.features is None else " ".join(repr(inputs.features).split())
    priced = learner.metric_.price is not None and not calibration.missing
    known = (*SOLUTION, *BOUNDS) if problem.traits.convex else SOLUTION
    learned = solution.status is not Status.CLOSED_FORM
    lam = float(problem.traits.lam if learner.lam is None else learner.lam)
    return {
        "model": str(path),
        "problem": {"name": problem_name(problem), "settings": finite(flat(settings_in(problem)))},
        "features": features,
        "metric": learner.metric,
        "regularizer": str(learner.regularizer) if learned else None,
        "lam": lam if learned else None,
        "standardize": inputs.standardizer.kind,
        "n_features": learner.n_features_in_,
        "n_metric_features": len(learner.metric_.factor),
        "weights": [{"feature": name, "weight": w} for name, w in heaviest_features(learner)],
        "eigenvalues": [float(value) for value in spectrum],
        **({} if learner.classes_ is None else {"states": learner.classes_.tolist()}),
        "penalty": learner.metric_.price,
        "training_loss": float(calibration.loss) if priced else None,
        "baselines": list(learner.baselines_),
        "training_data": {
            f"n_{words.whole}s": len(data),
            f"n_{words.item}s": list(data.n_samples),
            f"n_{words.part}s": list(data.n_clusters),
        },
        "question": learner.question_,
        "solution": {
            "status": solution.status.name,
            **finite({name: getattr(solution, name) for name in known}),
        },
    }


def _weights(learner: MetricLearner) -> str:
    weights = heaviest_features(learner)
    top = weights[:TOP]
    largest = max((weight for _, weight in top), default=0.0) or 1.0
    title = f"{len(top)} of {len(weights)}, untrained 1"
    bars = ((name, f"{weight:.3g}", "━" * round(BAR * weight / largest)) for name, weight in top)
    return f"\n{ShortTable('', ('feature', 'weight', title), tuple(bars))}\n"


def run_diagnose(args: argparse.Namespace, terminal: Terminal) -> int:
    """Look at the model, and at the files if there are any, and print what is found."""
    learner = load_metric_learner(args.model)
    found = diagnose(learner)
    if args.paths:
        inputs = read_for(learner, args, terminal, need_labels=True, blanks=True)
        with inputs.named(), terminal.working("looking"):
            found = diagnose(learner, inputs.Xs, inputs.ys, names=inputs.names)
    terminal.report(found.to_dict(), as_typed(str(found), args))
    return 0


# ---- a model, or a sample, as a picture


def run_plot(args: argparse.Namespace, terminal: Terminal) -> int:
    """Draw a model or a sample, and say where the figure is."""
    check_output(args, args.output, FIGURES)
    learner = load_metric_learner(args.model)
    with figure_in(args.output, terminal) as figure:
        if not args.paths:
            PLOTS[args.show or OF_MODELS[0]](learner, ax=figure.subplots())
        else:
            alone = f"--show {args.show} is of a model alone: leave it, or {args.paths[0]}, out"
            refuse_if(args.show, alone)
            inputs = read_for(learner, args, terminal, need_labels=False)
            held = f"{' '.join(args.paths)} holds {inputs.words.wholes(len(inputs))}"
            refuse_if(len(inputs) > 1, f"{held}: name one file")
            with inputs.named(), terminal.working("partitioning"):
                _draw(args, learner, inputs, figure)
    if terminal.as_json:
        terminal.report({"figure": str(args.output)})
    return 0


def _draw(
    args: argparse.Namespace, learner: MetricLearner, inputs: InputData, figure: Figure
) -> None:
    """A recording with its segments, a table with its clusters, or an image with its parts."""
    (X,), (y,), (name,), (times,) = inputs.Xs, inputs.ys, inputs.names, inputs.times
    K, whole, ax = args.n_clusters, inputs.words.whole, figure.subplots()
    contiguous = inputs.problem.traits.contiguous
    unsure = args.margins and not contiguous
    refuse_if(unsure, f"--margins is for recordings, not {whole}s: leave it out")
    missing = K == "true" and y is None
    refuse_if(missing, "--n-clusters true needs the true labels: give --labels, or a number")
    if takes_images(inputs.problem):
        if K == "true":
            K = int(np.unique(y[~unlabelled(y)]).size)
        plot_cut(X, learner.predict([X], K)[0], ax=ax)
    elif contiguous:
        about = {"times": times, "margins": args.margins}
        plot_segmentation(learner, X, y, n_clusters=K, ax=ax, **about)
    else:
        plot_clusters(learner, X, y, n_clusters=K, ax=ax)
    figure.suptitle(name, ha="left", x=0.02)


@contextmanager
def figure_in(path: Path, terminal: Terminal) -> Iterator[Figure]:
    """A figure that no window shows, and that is written in the format of the file's name."""
    module, buffer = require("matplotlib.figure", "plot", "plotting"), io.BytesIO()
    figure: Figure = module.Figure(figsize=(9.0, 4.3), layout="constrained")
    yield figure
    kind = path.suffix[1:].lower()
    figure.savefig(buffer, format=kind, dpi=DPI, bbox_inches="tight")  # squares leave a side empty
    write_atomically(path, buffer.getvalue())
    terminal.note(f"the figure is in {path}")
