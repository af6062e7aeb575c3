"""``structsvm show``: what is in a model file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from structsvm.cli.inputs import words_for, words_of_training
from structsvm.cli.settings import flat
from structsvm.cli.terminal import Terminal, facts
from structsvm.diagnosis import diagnose
from structsvm.learner.baselines import other_methods
from structsvm.learner.columns import heaviest_features
from structsvm.learner.files import load_metric_learner
from structsvm.learner.learner import MetricLearner
from structsvm.plotting.words import (
    certificate_in_words,
    question_in_words,
    spectrum_in_words,
    training_in_words,
)
from structsvm.plugins import problem_name
from structsvm.support.plain import counted, finite
from structsvm.support.settings import settings_in
from structsvm.support.tables import ShortTable

TOP = 10
"""Features that are printed; --json has all of them."""
BAR = 24
"""Characters of the longest bar."""
LISTED = 12
"""Names of states that are printed."""
SOLUTION = ("n_iter", "oracle_calls", "seconds")
CERTIFICATE = ("lower", "upper", "null", "gap", "bound")
LOCAL = {"objective": "upper", "start": "null", "stationarity": "stationarity"}
"""What is known of a solution that has no certified gap."""


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Read the model and print it."""
    learner = load_metric_learner(args.model)
    found = diagnose(learner)
    plain = describe(learner, args.model) | found.to_dict()
    findings = [str(found)] if len(found) else []
    terminal.report(plain, _facts(learner, plain), _weights(learner), *findings)
    return 0


def describe(learner: MetricLearner, path: Path) -> dict[str, Any]:
    """A model in plain values; the features by decreasing weight."""
    data, problem, inputs = learner.training_data_, learner.problem_, learner.inputs_
    spectrum = np.linalg.svd(learner.metric_.factor.T, compute_uv=False) ** 2
    words, calibration = problem.traits.words, learner.calibration_
    features = None if inputs.features is None else " ".join(repr(inputs.features).split())
    priced = learner.metric_.price is not None and not calibration.missing
    return {
        "model": str(path),
        "problem": {"name": problem_name(problem), "settings": finite(flat(settings_in(problem)))},
        "features": features,
        "metric": learner.metric,
        "regularizer": str(learner.regularizer),
        "lam": float(problem.traits.lam if learner.lam is None else learner.lam),
        "standardize": inputs.standardizer.kind,
        "n_features": learner.n_features_in_,
        "n_metric_features": len(learner.metric_.factor),
        "weights": [{"feature": name, "weight": w} for name, w in heaviest_features(learner)],
        "eigenvalues": [float(value) for value in spectrum],
        **({} if learner.classes_ is None else {"states": learner.classes_.tolist()}),
        "penalty": learner.metric_.price,
        "training_loss": float(calibration.loss) if priced else None,
        "baselines": list(dict.fromkeys([*learner.baselines_, *other_methods(learner)])),
        "training_data": {
            f"n_{words.whole}s": len(data),
            f"n_{words.item}s": list(data.n_samples),
            f"n_{words.part}s": list(data.n_clusters),
        },
        "question": learner.question_,
        **_solution(learner),
    }


def _solution(learner: MetricLearner) -> dict[str, Any]:
    solution = learner.solution_
    plain = {"status": solution.status.name, "meaning": solution.status.value}
    plain |= {name: getattr(solution, name) for name in SOLUTION}
    if learner.problem_.traits.convex:
        bounds = {name: getattr(solution, name) for name in CERTIFICATE}
        return {"certificate": finite(plain | bounds)}
    local = {name: getattr(solution, field) for name, field in LOCAL.items()}
    return {"solution": finite(plain | local)}


def _facts(learner: MetricLearner, plain: Mapping[str, Any]) -> Table:
    words = words_for(learner.problem_)
    settings = ", ".join(f"{k} {v}" for k, v in plain["problem"]["settings"].items())
    states = plain.get("states", ())
    more = f" and {len(states) - LISTED} more" if len(states) > LISTED else ""
    size, channels = plain["n_metric_features"], plain["n_features"]
    scale = {
        "recording": f"scaled on each {words.whole}",
        "training": "scaled on the training set",
        None: "not scaled",
    }
    made_of = f" made of {counted(channels, 'channel')}" if size != channels else ""
    metric = [
        learner.metric,
        counted(size, "feature") + made_of,
        scale[plain["standardize"]],
        f"regularizer {learner.regularizer}",
        f"lam {plain['lam']:g}",
    ]
    training = training_in_words(learner.training_data_, words_of_training(learner.problem_))
    rows = {
        "problem": f"{plain['problem']['name']} ({settings})",
        "features": plain["features"],
        "metric": ", ".join(metric),
        "spectrum": spectrum_in_words(learner),
        "states": ", ".join(map(str, states[:LISTED])) + more,
        "penalty": _price(learner, plain["training_loss"]),
        "learned on": training,
        "baselines": ", ".join(plain["baselines"]),
        "question": question_in_words(learner),
        "status": learner.solution_.status.value,
        "certificate": certificate_in_words(learner.solution_),
    }
    return facts([(name, value) for name, value in rows.items() if value])


def _price(learner: MetricLearner, loss: float | None) -> str:
    words, price = words_for(learner.problem_), learner.metric_.price
    if price is None:
        usual = learner.metric_.n_clusters
        number = "given when predicting" if usual is None else f"{usual} unless it is given"
        return f"none; the number of {words.part}s is {number}"
    how = "as it was learned, not calibrated" if loss is None else f"training loss {loss:.4g}"
    if not learner.problem_.traits.convex:
        return f"a {words.part} for each eigenvalue from {price:.6g} on, {how}"
    return f"{price:.6g} a {words.part}, {how}"


def _weights(learner: MetricLearner) -> str:
    weights = heaviest_features(learner)
    top = weights[:TOP]
    largest = max((weight for _, weight in top), default=0.0) or 1.0
    title = f"{len(top)} of {len(weights)}, untrained 1"
    bars = ((name, f"{weight:.3g}", "━" * round(BAR * weight / largest)) for name, weight in top)
    return f"\n{ShortTable('', ('feature', 'weight', title), tuple(bars))}\n"
