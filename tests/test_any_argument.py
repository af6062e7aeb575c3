"""Whatever is handed to a parameter: our own errors leave, or one that names the parameter.

The parameters are found by their signatures, so that those of tomorrow are tried as well.
"""

import inspect
import warnings
from dataclasses import is_dataclass

import numpy as np
import pytest
from odd_values import ODD, attempt, parameters

import structsvm
from structsvm import (
    Alternation,
    ChangePoint,
    Clustering,
    EquivalenceMatrix,
    MetricLearner,
    MetricLearnerCV,
    NormalizedCut,
    PartialLabels,
    Region,
    regularizers,
)
from structsvm.features import HermiteMoments
from structsvm.graphs import FeatureGraph, GraphOfImage
from structsvm.masters.auto import AutoMaster
from structsvm.masters.base import Master
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.masters.interior import InteriorPointMaster
from structsvm.masters.newton import NewtonMaster
from structsvm.parallel import Auto, Dask, Processes, Serial, Threads
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.sample import Sample
from structsvm.regularizers import Custom, Regularizer, SquaredNorm, Trace
from structsvm.solvers.base import Solver, Stopping
from structsvm.solvers.cccp import CCCP
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.frank_wolfe import BlockFrankWolfe
from structsvm.solvers.quasi_newton import QuasiNewton
from structsvm.solvers.subgradient import ProjectedSubgradient

XS = [np.vstack([np.zeros((4, 2)), np.ones((4, 2))]) + 0.1 * np.eye(8, 2) for _ in range(3)]
YS = [np.arange(8) // 4] * 3
GRAPH = FeatureGraph(XS[0])
SOME = [np.where(np.arange(8) < 6, y, -1) for y in YS]

BRIEF = QuasiNewton(Stopping(max_iter=2))


def cut_learner(**settings):
    """A learner of cuts, unless the settings say otherwise."""
    return MetricLearner(**{"problem": NormalizedCut(), **settings})


NEEDED = {
    Region: {"start": 0, "end": 4, "changes": 1},
    Custom: {"expression": sum},
    regularizers.Separable: {"parts": (SquaredNorm(), Trace())},
    FeatureGraph: {"X": XS[0]},
}
"""What a constructor cannot do without."""

SETTINGS = [
    Alternation,
    ChangePoint,
    Clustering,
    NormalizedCut,
    HermiteMoments,
    PartialLabels,
    Region,
    SquaredNorm,
    Trace,
    Custom,
    regularizers.Separable,
    GraphOfImage,
    FeatureGraph,
    Stopping,
    CuttingPlane,
    BlockFrankWolfe,
    ProjectedSubgradient,
    QuasiNewton,
    CCCP,
    AutoMaster,
    CvxpyMaster,
    InteriorPointMaster,
    NewtonMaster,
    Auto,
    Dask,
    Processes,
    Serial,
    Threads,
]
"""Made at once of their parameters."""

USES = {
    Alternation: lambda made: MetricLearner().fit(XS, SOME, alternation=made),
    NormalizedCut: lambda made: MetricLearner(made, lam=0.1, solver=BRIEF).fit([GRAPH] * 2, YS[:2]),
    PartitionProblem: lambda made: MetricLearner(made).fit(XS, YS),
    Regularizer: lambda made: MetricLearner(
        regularizer=made, solver=CuttingPlane(Stopping(max_iter=2))
    ).fit(XS, YS),
    Solver: lambda made: MetricLearner(solver=made).fit(XS, YS),
    Stopping: lambda made: CuttingPlane(stopping=made),
    Master: lambda made: MetricLearner(solver=CuttingPlane(Stopping(max_iter=2), master=made)).fit(
        XS, YS
    ),
    FeatureGraph: lambda made: cut_learner(lam=0.1, solver=BRIEF).fit([made], YS[:1]),
    HermiteMoments: lambda made: MetricLearner(features=made).fit(XS, YS),
    PartialLabels: lambda made: MetricLearner().fit(XS, [YS[0], YS[1], made]),
    Region: lambda made: MetricLearner().fit(XS, [*YS[:2], PartialLabels(regions=[made])]),
}
"""What is done with those that are made; a region, say, has to suit its recording."""


def cases(subjects):
    """One for each parameter of each subject; the id says which."""
    return [
        pytest.param(subject, name, id=f"{getattr(subject, '__qualname__', subject)}-{name}")
        for subject in subjects
        for name in parameters(subject)
    ]


@pytest.mark.parametrize(("kind", "name"), cases(SETTINGS))
def test_constructors(kind, name):
    """Refused when it is made, or when it is used."""
    needed = NEEDED.get(kind, {})
    for label, value in ODD.items():
        made = attempt(lambda v=value: kind(**{**needed, name: v}), name, value, kind.__name__)
        use = next((use for base, use in USES.items() if isinstance(made, base)), None)
        if use is not None and not callable(value) and label != "huge":  # legal, and long
            attempt(lambda m=made, u=use: u(m), name, value, f"use of {kind.__name__}")


LEARNERS = {"changes": MetricLearner, "chosen": MetricLearnerCV, "cuts": cut_learner}
CLASSES = {"changes": MetricLearner, "chosen": MetricLearnerCV, "cuts": MetricLearner}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, id=f"{kind}-{name}")
        for kind, cls in CLASSES.items()
        for name in parameters(cls)
    ],
)
def test_settings_of_learners(kind, name):
    """Refused when learning begins; those that pass are not learned with to the end."""
    brief = CuttingPlane(Stopping(max_iter=2))
    quick = {"changes": {"solver": brief}, "cuts": {"solver": BRIEF}}
    quick["chosen"] = {"solver": brief, "lams": (0.1,), "candidates": ("untrained", "diagonal")}
    data = ([GRAPH] * 2, YS[:2]) if kind == "cuts" else (XS, YS)
    for label, value in ODD.items():
        if callable(value) and name == "constraints":
            continue  # a function of the user's, whose errors are the user's own
        if label == "huge" and name == "cv":
            continue  # legal, and long
        settings = {**quick[kind], name: value}
        attempt(lambda s=settings: LEARNERS[kind](**s).fit(*data), name, value, kind)


@pytest.fixture(scope="module")
def fitted():
    """One learner of each kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = ("untrained", "diagonal")
        return {
            "changes": MetricLearner(metric="diagonal").fit(XS, YS),
            "chosen": MetricLearnerCV(candidates=few, lams=(0.1,), cv=3).fit(XS, YS),
            "cuts": cut_learner(lam=0.1).fit([GRAPH] * 2, YS[:2]),
        }


def public_methods(kind):
    """Those the package itself defines; scikit-learn's are its own affair."""
    return [
        method
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and method.__module__.startswith("structsvm")
    ]


METHODS = [
    pytest.param(kind, method, name, id=f"{kind}.{method.__name__}-{name}")
    for kind, cls in CLASSES.items()
    for method in public_methods(cls)
    for name in parameters(method)
    if name not in ("learner", "detector")
]


@pytest.mark.parametrize(("kind", "method", "name"), METHODS)
def test_methods_of_learners(fitted, kind, method, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # "spam" is the name of a file for some
    learner = fitted[kind]
    cut = kind == "cuts"
    usual = {
        "Xs": [GRAPH] if cut else XS[:1],
        "ys": YS[:1],
        "pairs": np.zeros((1, 2, 2)),
        "metric": next(iter(learner.baselines_.values())),
        "sample_weight": None,
        "rival": next(iter(learner.rivals_), "none"),
    }
    if method.__name__ == "fit":
        usual |= {"Xs": [GRAPH] * 2 if cut else XS, "ys": YS[:2] if cut else YS}
    given = {p: usual[p] for p in parameters(method) if p in usual}
    for value in ODD.values():
        target = (
            structsvm.MetricLearner(metric="diagonal", solver=CuttingPlane(Stopping(max_iter=2)))
            if (method.__name__ == "fit" and kind == "changes")
            else learner
        )
        if callable(value) and name in ("callback", "when_learned"):
            continue  # a function of the user's, whose errors are the user's own
        arguments = {**given, name: value}
        what = f"{kind}.{method.__name__}"
        attempt(lambda t=target, a=arguments: method(t, **a), name, value, what)


PROBLEMS = [ChangePoint(), Clustering(), NormalizedCut()]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: type(p).__name__)
def test_labels_of_problems(problem):
    for value in ODD.values():
        attempt(lambda v=value: problem.encode(v, Sample(XS[0], GRAPH)), "y", value, "encode")
        Xs = [GRAPH] * 3 if isinstance(problem, NormalizedCut) else XS
        attempt(lambda v=value, x=Xs: MetricLearner(problem).fit(x, [*YS[:2], v]), "ys", value, "")


@pytest.mark.parametrize("name", ["from_labels", "from_breakpoints", "from_factor"])
def test_partitions(name):
    make = getattr(EquivalenceMatrix, name)
    for label, value in ODD.items():
        if label != "huge":
            attempt(lambda v=value: make(v), parameters(make)[0], value, name)


@pytest.mark.parametrize("name", parameters(PartialLabels.constraint))
def test_what_partial_labels_allow(name):
    labels = PartialLabels(labels=[0, 0, -1, 1], regions=[(1, 4, "1+")])
    for value in ODD.values():
        given = {"n_samples": 4, "contiguous": True, name: value}
        attempt(lambda g=given: labels.constraint(**g), name, value, "constraint")


def test_every_public_class_of_settings_is_tried():
    public = {getattr(structsvm, name) for name in structsvm.__all__ if name[0].isupper()}
    made = {kind for kind in public if is_dataclass(kind) and "__post_init__" in vars(kind)}
    assert made <= set(SETTINGS)
    families = Solver.__subclasses__()
    assert families
    solvers = {kind for family in families for kind in family.__subclasses__()}
    assert {kind for kind in solvers if "structsvm" in kind.__module__} <= set(SETTINGS)
