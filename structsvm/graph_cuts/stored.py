"""A fitted CutLearner as plain values and arrays, for model files."""

from __future__ import annotations

from dataclasses import asdict, astuple, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.graph_cuts.learner import CutLearner
from structsvm.graph_cuts.metric import CutMetric
from structsvm.learner.training_summary import TrainingSummary
from structsvm.problems.normalized_cut import NormalizedCut
from structsvm.solvers.descent import Descent, DescentEntry
from structsvm.status import Status

__all__ = ["arrays", "header", "learner"]

SCALARS = ("threshold_", "n_clusters_", "lam_", "cv_losses_", "n_features_in_")


def header(fitted: CutLearner) -> dict[str, Any]:
    """What is no array; the estimator's settings but for the callback, a function, included."""
    parameters = fitted.get_params(deep=False)
    del parameters["problem"], parameters["callback"]
    solution = fitted.solution_
    plain = {field.name: getattr(solution, field.name) for field in fields(solution)}
    del plain["w"]
    return {
        "cut": asdict(fitted.problem_),
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "fitted": {name: _plain(getattr(fitted, name)) for name in SCALARS},
        "features": fitted.feature_names_in_.tolist(),
        "baselines": {name: rival.threshold for name, rival in fitted.baselines_.items()},
        "training_data": asdict(fitted.training_data_),
        "solution": plain
        | {
            "status": solution.status.name,
            "history": [astuple(entry) for entry in solution.history],
        },
    }


def arrays(fitted: CutLearner) -> dict[str, NDArray[Any]]:
    """The metric, its rivals and the weight."""
    rivals = {f"baseline.{name}": rival.factor for name, rival in fitted.baselines_.items()}
    return {"components": fitted.components_, "solution.w": fitted.solution_.w, **rivals}


def learner(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> CutLearner:
    """The inverse of :func:`header` and :func:`arrays`."""
    problem = NormalizedCut(**header["cut"])
    found = CutLearner(problem, **header["parameters"])
    found.problem_ = problem
    for name in SCALARS:
        setattr(found, name, header["fitted"][name])
    found.components_ = arrays["components"]
    found.feature_names_in_ = np.array(header["features"], dtype=object)
    found.baselines_ = {
        name: CutMetric(arrays[f"baseline.{name}"], threshold)
        for name, threshold in header["baselines"].items()
    }
    found.training_data_ = TrainingSummary.from_plain(header["training_data"])
    plain = dict(header["solution"])
    status = Status[plain.pop("status")]
    history = tuple(DescentEntry(*row) for row in plain.pop("history"))
    found.solution_ = Descent(w=arrays["solution.w"], status=status, history=history, **plain)
    found.n_iter_, found.converged_ = found.solution_.n_iter, status.converged
    return found


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
