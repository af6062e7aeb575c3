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
from structsvm.learner.files import load_metric_learner
from structsvm.learner.learner import MetricLearner
from structsvm.learner.weights import heaviest_features
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

BAR = 24
"""Characters of the longest bar."""
LISTED = 12
"""Names of states that are printed."""


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Read the model and print it."""
    learner = load_metric_learner(args.model)
    found = diagnose(learner)
    plain = describe(learner, args.model) | found.to_dict()
    said = [str(found)] if len(found) else []
    terminal.report(plain, _facts(learner, plain), _weights(learner, args.top), *said)
    return 0


def describe(learner: MetricLearner, path: Path) -> dict[str, Any]:
    """A model in plain values; the features by decreasing weight."""
    data, problem, inputs = learner.training_data_, learner.problem_, learner.inputs_
    spectrum = np.linalg.svd(learner.metric_.factor.T, compute_uv=False) ** 2
    words = problem.traits.words
    features = None if inputs.features is None else " ".join(repr(inputs.features).split())
    return {
        "model": str(path),
        "problem": {"name": problem_name(problem), "settings": finite(flat(settings_in(problem)))},
        "features": features,
        "metric": learner.metric,
        "regularizer": str(learner.regularizer),
        "lam": _lam(learner),
        "standardize": inputs.standardizer.kind,
        "n_features": learner.n_features_in_,
        "n_metric_features": len(learner.metric_.factor),
        "weights": [{"feature": name, "weight": w} for name, w in heaviest_features(learner)],
        "eigenvalues": [float(value) for value in spectrum],
        **({} if learner.classes_ is None else {"states": learner.classes_.tolist()}),
        "penalty": learner.metric_.price,
        "training_loss": _training_loss(learner),
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
    plain = {
        "status": solution.status.name,
        "meaning": solution.status.value,
        "n_iter": solution.n_iter,
        "oracle_calls": solution.oracle_calls,
        "seconds": solution.seconds,
    }
    if not learner.problem_.traits.convex:
        local = {
            "objective": solution.upper,
            "start": solution.null,
            "stationarity": solution.stationarity,
        }
        return {"solution": finite(plain | local)}
    bounds = {
        "lower": solution.lower,
        "upper": solution.upper,
        "null": solution.null,
        "gap": solution.gap,
        "bound": solution.bound,
    }
    return {"certificate": finite(plain | bounds)}


def _lam(learner: MetricLearner) -> float:
    """The strength of the regularizer, that of the problem if none was given."""
    return float(learner.problem_.traits.lam if learner.lam is None else learner.lam)


def _training_loss(learner: MetricLearner) -> float | None:
    """The loss at the calibrated price; None where none was calibrated."""
    calibration = learner.calibration_
    if learner.metric_.price is None or calibration.missing:
        return None
    return float(calibration.loss)


def _facts(learner: MetricLearner, plain: Mapping[str, Any]) -> Table:
    words = words_for(learner.problem_)
    settings = ", ".join(f"{k} {v}" for k, v in plain["problem"]["settings"].items())
    scale = {
        "recording": f"scaled on each {words.whole}",
        "training": "scaled on the training set",
        None: "not scaled",
    }
    rows = {
        "problem": f"{plain['problem']['name']} ({settings})",
        "features": plain["features"],
        "metric": f"{learner.metric}, {_features(learner)}, "
        f"{scale[plain['standardize']]}, regularizer {learner.regularizer}, lam {plain['lam']:g}",
        "spectrum": spectrum_in_words(learner),
        **_states(learner),
        "penalty": _price(learner),
        "learned on": training_in_words(
            learner.training_data_, words_of_training(learner.problem_)
        ),
        "baselines": ", ".join(plain["baselines"]),
        "question": question_in_words(learner),
        "status": learner.solution_.status.value,
        "certificate": certificate_in_words(learner.solution_),
    }
    return facts([(name, value) for name, value in rows.items() if value])


def _states(learner: MetricLearner) -> dict[str, str]:
    """The names of the states that the model knows, as far as a line has room."""
    states = [] if learner.classes_ is None else [str(name) for name in learner.classes_]
    if not states:
        return {}
    more = f" and {len(states) - LISTED} more" if len(states) > LISTED else ""
    return {"states": ", ".join(states[:LISTED]) + more}


def _price(learner: MetricLearner) -> str:
    words, price = words_for(learner.problem_), learner.metric_.price
    if price is None:
        usual = learner.metric_.n_clusters
        number = "given when predicting" if usual is None else f"{usual} unless it is given"
        return f"none; the number of {words.part}s is {number}"
    loss = _training_loss(learner)
    how = "as it was learned, not calibrated" if loss is None else f"training loss {loss:.4g}"
    if not learner.problem_.traits.convex:
        return f"a {words.part} for each eigenvalue from {price:.6g} on, {how}"
    return f"{price:.6g} a {words.part}, {how}"


def _features(learner: MetricLearner) -> str:
    size, given = len(learner.metric_.factor), learner.n_features_in_
    made = f" made of {counted(given, 'channel')}" if size != given else ""
    return f"{counted(size, 'feature')}{made}"


def _weights(learner: MetricLearner, n: int) -> str:
    weights = heaviest_features(learner)
    top = weights[:n]
    largest = max((weight for _, weight in top), default=0.0) or 1.0
    title = f"{len(top)} of {len(weights)}, untrained 1"
    bars = ((name, f"{weight:.3g}", "━" * round(BAR * weight / largest)) for name, weight in top)
    return f"\n{ShortTable('', ('feature', 'weight', title), tuple(bars))}\n"
