"""Whatever is handed to a public function: our own errors, or one that names the parameter."""

import inspect

import numpy as np
import pytest
from odd_values import ODD, attempt, parameters

import structsvm
from structsvm import (
    MetricLearner,
    compare_solvers,
    diagnose,
    evaluate,
    evaluate_rows,
    evaluate_states,
    load,
    margin_rates,
    save,
    suggest_labels,
    weight_stability,
)
from structsvm.datasets import digits_recordings, relevant_changes
from structsvm.interop import breakpoints_to_labels, labels_to_breakpoints
from structsvm.io import arrays_and_labels, find_recordings, read_recording, read_recordings
from structsvm.plotting import feature_weights, report_page
from structsvm.problems import Clustering

XS, YS = arrays_and_labels(
    relevant_changes(3, n_samples=200, n_features=2, n_relevant=1, random_state=0)
)
FITTED = MetricLearner(metric="diagonal").fit(XS, YS)
TABLE = np.vstack([np.zeros((6, 2)), np.ones((6, 2))]) + 0.1 * np.arange(24).reshape(12, 2) % 0.3
ROWS = np.arange(12) // 6
CLUSTERED = MetricLearner(Clustering()).fit([TABLE], [ROWS])

USUAL = {
    diagnose: {"learner": FITTED, "Xs": XS, "ys": YS},
    evaluate: {"learner": FITTED, "Xs": XS, "ys": YS},
    evaluate_rows: {"learner": CLUSTERED, "X": TABLE, "y": ROWS},
    report_page: {"learner": FITTED, "Xs": XS[:1], "ys": YS[:1]},
    feature_weights: {"learner": FITTED},
    suggest_labels: {"learner": FITTED, "Xs": XS, "length": 20},
    save: {"learner": FITTED, "path": "m"},
    load: {"path": "m"},
    read_recording: {"path": "w.csv"},
    read_recordings: {"paths": "w.csv"},
    find_recordings: {"paths": "w.csv"},
    labels_to_breakpoints: {"labels": [0, 0, 1]},
    breakpoints_to_labels: {"breakpoints": [2, 3]},
    relevant_changes: {"n_recordings": 1},
    digits_recordings: {"n_recordings": 1},
    arrays_and_labels: {"recordings": []},
}
"""What each is called with, but for the parameter that is tried."""

LONG = (compare_solvers, evaluate_states, margin_rates, weight_stability)
"""Those that learn many times, or want names of states."""
WARNED = pytest.mark.filterwarnings("ignore")


@WARNED
@pytest.mark.parametrize(
    ("function", "name"),
    [
        pytest.param(function, name, id=f"{function.__name__}-{name}")
        for function in USUAL
        for name in parameters(function)
    ],
)
def test_functions(function, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(FITTED, "m")
    (tmp_path / "w.csv").write_text("a,b,label\n1,2,0\n3,4,1\n", encoding="utf-8")
    for label, value in ODD.items():
        if label == "huge" and name.startswith("n_"):
            continue  # legal, and long
        given = {**USUAL[function], name: value}
        attempt(lambda g=given: function(**g), name, value, function.__name__)


def test_every_function_of_the_package_is_tried():
    functions = {
        getattr(structsvm, name)
        for name in structsvm.__all__
        if inspect.isfunction(getattr(structsvm, name))
    }
    assert functions <= {*USUAL, *LONG}
