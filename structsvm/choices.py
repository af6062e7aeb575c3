"""What the settings of a learner stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from structsvm.errors import SettingsError
from structsvm.fitting import Learning
from structsvm.parallel import backend_from
from structsvm.partitions.problem import MetricProblem, PartitionProblem
from structsvm.problems.change_point import ChangePoint
from structsvm.regularizers import Regularizer, SquaredNorm, Trace
from structsvm.solvers.auto import solver_from
from structsvm.solvers.base import Stopping
from structsvm.unstored import refuse_unstored

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
    if name not in REGULARIZERS:
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
    if whiten == "auto":
        whiten = partition.shrinkage if metric == "full" else None
    if whiten is None:
        return None
    if isinstance(whiten, bool | str) or not 0 <= whiten <= 1:
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
        When it is none.
    """
    problem = ChangePoint() if problem is None else problem
    if isinstance(problem, type) and issubclass(problem, PartitionProblem):
        raise SettingsError(f"problem is a class: make an instance, {problem.__name__}()")
    if not isinstance(problem, PartitionProblem):
        raise SettingsError(
            f"problem must be a PartitionProblem, got {problem!r}; CutLearner cuts graphs"
        )
    return problem if random_state is None else problem.seeded(random_state)


def learning_from(settings: Mapping[str, Any], n_features: int) -> Learning:
    """What the parameters of a :class:`structsvm.MetricLearner` say, for P features.

    Raises
    ------
    SettingsError
        Naming the parameter, what it was, and the way out.
    """
    refuse_unstored(settings)
    lam, metric = settings["lam"], settings["metric"]
    if not (np.isfinite(lam) and lam > 0):
        raise SettingsError(f"lam must be > 0, got {lam}")
    partition = partition_from(settings["problem"], settings["random_state"])
    problem = MetricProblem(partition, metric, n_features)
    problem.weight_space()  # refuses an unknown metric
    stopping = Stopping(settings["tol"], settings["max_iter"])
    return Learning(
        problem=problem,
        regularizer=problem.regularizer(regularizer_from(settings["regularizer"]), lam),
        lam=lam,
        constraints=settings["constraints"],
        shrinkage=shrinkage_from(settings["whiten"], metric, partition),
        solver=solver_from(settings["solver"], stopping, settings["master"], settings["slack"]),
        backend=backend_from(settings["backend"], settings["n_jobs"]),
        callback=settings["callback"],
    )
