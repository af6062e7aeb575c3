"""``structsvm show``: what is in a model file."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

from structsvm.cli import cuts
from structsvm.cli.parser import positive, report_options
from structsvm.cli.terminal import Terminal
from structsvm.fitted import feature_names, n_metric_features
from structsvm.graph_cuts.learner import CutLearner
from structsvm.learner.learner import MetricLearner
from structsvm.persistence import load
from structsvm.plugins import problem_name
from structsvm.support.plain import finite
from structsvm.views.words import (
    certificate_in_words,
    feature_weights,
    spectrum_in_words,
    training_in_words,
)

__all__ = ["add_parser", "describe"]

EPILOG = """\
examples:
  structsvm show my.structsvm --top 20
  structsvm show my.structsvm --json
"""

BAR = 24
"""Characters of the longest bar."""


def add_parser(commands: Any) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "show",
        help="tell what a model has learned",
        description="Tell what a model has learned: which features count, and how sure that is.",
        epilog=EPILOG,
        parents=[report_options()],
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file")
    parser.add_argument(
        "--top", type=positive, default=10, metavar="N", help="features to list (default: 10)"
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Read the model and print it."""
    learner = load(args.model)
    if isinstance(learner, CutLearner):
        return cuts.show(args, terminal, learner)
    terminal.report(describe(learner, args.model), _facts(learner), _weights(learner, args.top))
    return 0


def describe(learner: MetricLearner, path: Path) -> dict[str, Any]:
    """A model in plain values; the features by decreasing weight."""
    solution, data = learner.solution_, learner.training_data_
    weights, names = feature_weights(learner), feature_names(learner)
    spectrum = np.linalg.svd(learner.components_, compute_uv=False) ** 2
    settings = finite(asdict(learner.problem_))  # type: ignore[call-overload]
    return {
        "model": str(path),
        "problem": {"name": problem_name(learner.problem_), "settings": settings},
        "metric": learner.metric,
        "regularizer": str(learner.regularizer),
        "lam": float(learner.lam),
        "standardize": learner.standardize,
        "n_features": learner.n_features_in_,
        "n_metric_features": n_metric_features(learner),
        "weights": [
            {"feature": names[j], "weight": float(weights[j])}
            for j in np.argsort(-weights, kind="stable")
        ],
        "eigenvalues": [float(value) for value in spectrum],
        "penalty": learner.penalty_,
        "training_loss": None if learner.calibration_.missing else learner.calibration_.loss,
        "training_data": {
            "n_recordings": len(data),
            "n_samples": list(data.n_samples),
            "n_segments": list(data.n_clusters),
            "location": list(data.location),
            "scale": list(data.scale),
        },
        "certificate": {
            "status": solution.status.name,
            "meaning": solution.status.value,
            "lower": finite(solution.lower),
            "upper": finite(solution.upper),
            "null": solution.null,
            "gap": finite(solution.gap),
            "bound": solution.bound,
            "n_iter": solution.n_iter,
            "oracle_calls": solution.oracle_calls,
            "seconds": solution.seconds,
        },
    }


def _facts(learner: MetricLearner) -> Table:
    table = Table.grid(padding=(0, 2))
    settings = ", ".join(f"{k} {v}" for k, v in asdict(learner.problem_).items())  # type: ignore[call-overload]
    words = learner.problem_.words
    scale = {"recording": f"on each {words.whole}", "training": "on the training set", None: "not"}
    rows = {
        "problem": f"{problem_name(learner.problem_)} ({settings})",
        "metric": f"{learner.metric}, {_features(learner)}, scaled "
        f"{scale[learner.standardize]}, regularizer {learner.regularizer}, lam {learner.lam:g}",
        "spectrum": spectrum_in_words(learner),
        "penalty": f"{learner.penalty_:.6g} a {words.part}, "
        + (
            "as it was learned, not calibrated"
            if learner.calibration_.missing
            else f"training loss {learner.calibration_.loss:.4g}"
        ),
        "learned on": training_in_words(learner.training_data_, words),
        "status": learner.solution_.status.value,
        "certificate": certificate_in_words(learner.solution_),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _features(learner: MetricLearner) -> str:
    """How many features the metric weighs, and of how many channels the problem makes them."""
    size, given = n_metric_features(learner), learner.n_features_in_
    return f"{size} features" + (f" made of {given} channels" if size != given else "")


def _weights(learner: MetricLearner, n: int) -> Table:
    weights, names = feature_weights(learner), feature_names(learner)
    top = np.argsort(-weights, kind="stable")[:n]
    largest = max(float(weights[top].max(initial=0.0)), 1e-300)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("feature")
    table.add_column("weight", justify="right")
    table.add_column(f"{top.size} of {weights.size}, untrained 1")
    for j in top:
        bar = "━" * round(BAR * weights[j] / largest)
        table.add_row(names[j], f"{weights[j]:.3g}", bar)
    return table
