"""What the settings of a learner stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structsvm.errors import SettingsError
from structsvm.learner.fitting import FitPlan
from structsvm.parallel import backend_from
from structsvm.partitions.problem import MetricProblem, PartitionProblem
from structsvm.problems.change_point import ChangePoint
from structsvm.regularizers import Regularizer, SquaredNorm, Trace, check_lam
from structsvm.solvers.auto import solver_from
from structsvm.solvers.base import Stopping
from structsvm.storage.unstored import refuse_unstored
from structsvm.support.checks import is_number, refuse_bad_seed
from structsvm.weak import Alternation

__all__ = [
    "REGULARIZERS",
    "learning_from",
    "partition_from",
    "regularizer_from",
    "shrinkage_from",
]

REGULARIZERS: dict[str, Regularizer] = {"squared": SquaredNorm(), "trace": Trace()}


def regularizer_from(name: str | Regularizer) -> Regularizer:
    """A regularizer itself, or the one of a name.

    Raises
    ------
    SettingsError
        When none has that name; the message lists those there are.
    """
    if isinstance(name, Regularizer):
        return name
    if not isinstance(name, str) or name not in REGULARIZERS:
        raise SettingsError(
            f"regularizer must be one of {sorted(REGULARIZERS)} or a Regularizer, got {name!r}"
        )
    return REGULARIZERS[name]


def shrinkage_from(
    whiten: str | float | None, metric: str, partition: PartitionProblem
) -> float | None:
    """The shrinkage of the whitening, None for none.

    Raises
    ------
    SettingsError
        When it is not in [0, 1], or the metric is diagonal.
    """
    if isinstance(whiten, str) and whiten == "auto":
        whiten = partition.shrinkage if metric == "full" else None
    if whiten is None:
        return None
    if not is_number(whiten) or not 0 <= whiten <= 1:
        raise SettingsError(f"whiten must be 'auto', None or a shrinkage in [0, 1], got {whiten!r}")
    if metric == "diagonal":
        raise SettingsError(
            "whitening mixes the features, and a diagonal metric weighs each by itself: use "
            "metric='full' or whiten=None"
        )
    return float(whiten)


def partition_from(problem: Any, random_state: int | None) -> PartitionProblem:
    """The problem, change-points by default, with its seed.

    Raises
    ------
    SettingsError
        When it is none, or the seed is none.
    """
    problem = ChangePoint() if problem is None else problem
    if isinstance(problem, type) and issubclass(problem, PartitionProblem):
        raise SettingsError(f"problem is a class: make an instance, {problem.__name__}()")
    if not isinstance(problem, PartitionProblem):
        raise SettingsError(
            f"problem must be a PartitionProblem, got {problem!r}; CutLearner cuts graphs"
        )
    if random_state is None:
        return problem
    refuse_bad_seed(random_state)
    return problem.seeded(int(random_state))


def learning_from(settings: Mapping[str, Any], n_features: int) -> FitPlan:
    """What the parameters of a :class:`structsvm.MetricLearner` say, for P features.

    Raises
    ------
    SettingsError
        Naming the parameter, what it was, and the way out.
    """
    refuse_unstored(settings)
    lam, metric = settings["lam"], settings["metric"]
    check_lam(lam)
    for name in ("constraints", "callback"):
        if settings[name] is not None and not callable(settings[name]):
            raise SettingsError(f"{name} must be a function or None, got {settings[name]!r}")
    alternation = settings["alternation"]
    if alternation is not None and not isinstance(alternation, Alternation):
        raise SettingsError(f"alternation must be an Alternation or None, got {alternation!r}")
    partition = partition_from(settings["problem"], settings["random_state"])
    problem = MetricProblem(partition, metric, n_features)
    problem.weight_space()  # refuses an unknown metric
    stopping = Stopping(settings["tol"], settings["max_iter"])
    return FitPlan(
        problem=problem,
        regularizer=problem.regularizer(regularizer_from(settings["regularizer"]), lam),
        lam=lam,
        constraints=settings["constraints"],
        shrinkage=shrinkage_from(settings["whiten"], metric, partition),
        solver=solver_from(settings["solver"], stopping, settings["master"], settings["slack"]),
        backend=backend_from(settings["backend"], settings["n_jobs"]),
        callback=settings["callback"],
    )
