"""A warning names the line of whoever called, however deep in the package its reason is found."""

import warnings
from collections.abc import Callable
from inspect import currentframe
from pathlib import Path

import numpy as np
import pytest
from cut_cases import planted
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from structsvm import (
    ChangePoint,
    Clustering,
    MetricLearner,
    MetricLearnerCV,
    NormalizedCut,
)
from structsvm.data.sample import Sample
from structsvm.datasets import relevant_changes
from structsvm.errors import DataWarning, VerdictWarning
from structsvm.features import HermiteMoments
from structsvm.graphs import FeatureGraph, from_adjacency
from structsvm.io import arrays_and_labels
from structsvm.solvers.base import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.quasi_newton import QuasiNewton

ROOT = Path(__file__).resolve().parents[1]
METRICS = ("untrained", "rca", "diagonal", "full")
CHOICE = {"candidates": METRICS, "lams": [1.0], "cv": 2, "random_state": 0}
EARLY = CuttingPlane(Stopping(tol=1e-12, max_iter=2))
BRIEF = QuasiNewton(Stopping(tol=1e-12, max_iter=1))

XS, YS = arrays_and_labels(
    relevant_changes(6, n_samples=200, n_features=3, n_relevant=1, jump=2.0, random_state=0)
)
FLAT_XS = [np.column_stack([X, np.ones(len(X))]) for X in XS]
NOISE = [np.random.default_rng(i).normal(size=(200, 3)) for i in range(6)]
STRETCH = np.r_[[-1] * 30, [0] * 5, [1] * 5, [-1] * 40]
SPARSE = [np.roll(STRETCH, shift) for shift in (-25, -14, -3, 0, 6, 11, 19, 24, 28, 29)]
UNTOLD = [np.random.default_rng(i).normal(size=(80, 6)) for i in range(10)]
GRAPHS, NODES = planted(np.random.default_rng(0), n=3, T=20)
APART = from_adjacency(np.kron(np.eye(2), 1 - np.eye(10)), GRAPHS[0].X)
ALIKE = FeatureGraph(np.ones((20, 3)))
CUTS = MetricLearner(NormalizedCut(), lam=0.02).fit(GRAPHS, NODES)

CALLS: dict[str, tuple[type[Warning], Callable[[], object]]] = {
    "fit on one recording": (DataWarning, lambda: MetricLearner().fit(XS[:1], YS[:1])),
    "fit on one recording, its changes those of a distribution": (
        DataWarning,
        lambda: MetricLearner(features=HermiteMoments(2)).fit(XS[:1], YS[:1]),
    ),
    "fit on a constant feature": (DataWarning, lambda: MetricLearner().fit(FLAT_XS, YS)),
    "fit on tables with a constant feature": (
        DataWarning,
        lambda: MetricLearner(Clustering()).fit([X[:60] for X in FLAT_XS], [y[:60] for y in YS]),
    ),
    "fit that ends early": (
        ConvergenceWarning,
        lambda: MetricLearner(solver=EARLY).fit(XS, YS),
    ),
    "fit on labels in part that are not completed": (
        DataWarning,
        lambda: MetricLearner(lam=0.05).fit(UNTOLD, SPARSE),
    ),
    "risk": (DataWarning, lambda: MetricLearner().risk(FLAT_XS, YS)),
    "search of which learning does not pay": (
        VerdictWarning,
        lambda: MetricLearnerCV(**CHOICE).fit(NOISE, YS),
    ),
    "search on a constant feature": (
        DataWarning,
        lambda: MetricLearnerCV(**CHOICE).fit(FLAT_XS, YS),
    ),
    "search that ends early": (
        ConvergenceWarning,
        lambda: MetricLearnerCV(**CHOICE, solver=EARLY).fit(XS, YS),
    ),
    "cross-validation of scikit-learn": (
        ConvergenceWarning,
        lambda: cross_val_score(MetricLearner(solver=EARLY), XS, YS, cv=2),
    ),
    "a pipeline of scikit-learn": (
        DataWarning,
        lambda: make_pipeline(MetricLearner()).fit(XS[:1], YS[:1]),
    ),
    "cut that ends early": (
        ConvergenceWarning,
        lambda: MetricLearner(NormalizedCut(), solver=BRIEF).fit(GRAPHS, NODES),
    ),
    "cut of a graph with one label": (
        DataWarning,
        lambda: MetricLearner(NormalizedCut(), lam=0.02).fit(
            GRAPHS, [*NODES[:2], np.zeros(20, dtype=int)]
        ),
    ),
    "cut of a graph in two pieces": (
        DataWarning,
        lambda: MetricLearner(NormalizedCut(), lam=0.02).fit([*GRAPHS, APART], [*NODES, NODES[0]]),
    ),
    "prediction of a graph in two pieces": (DataWarning, lambda: CUTS.predict([APART], 2)),
    "prediction of a graph whose nodes are alike": (DataWarning, lambda: CUTS.predict([ALIKE], 2)),
    "a problem whose kappa is too small": (
        DataWarning,
        lambda: NormalizedCut(objective_kind="plain", kappa=1e-3),
    ),
    "labels that a problem looks at": (
        DataWarning,
        lambda: ChangePoint().learning.check([ChangePoint().encode(YS[0], Sample(XS[0]))]),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_names_the_line_of_the_call(name: str) -> None:
    category, call = CALLS[name]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    ours = [warning for warning in told if issubclass(warning.category, category)]
    assert ours
    lines = range(call.__code__.co_firstlineno, call.__code__.co_firstlineno + 2)
    for warning in told:
        assert warning.filename == __file__
        assert warning.lineno in lines


def test_each_fit_of_a_program_is_warned_about() -> None:
    """Python shows a warning once for each line: one of the package would silence the next fit."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        first = currentframe().f_lineno + 1
        MetricLearner().fit(XS[:1], YS[:1])
        MetricLearner().fit(XS[1:2], YS[1:2])
    assert [warning.lineno for warning in told] == [first, first + 1]
