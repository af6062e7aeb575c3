"""What the parameters of a learner stand for, checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.data.samples import STANDARDIZE
from structsvm.errors import SettingsError
from structsvm.features import RecordingTransformer
from structsvm.learner.parameters import named_problem
from structsvm.parallel import Backend, backend_from
from structsvm.partitions.objective import Objective, metric_space
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.traits import Traits
from structsvm.problem import Outline
from structsvm.problems.change_point import ChangePoint
from structsvm.regularizers import Regularizer, SquaredNorm, Trace, check_lam
from structsvm.solution import HistoryEntry
from structsvm.solvers.auto import solver_from
from structsvm.solvers.base import Solver
from structsvm.storage.codec import refuse_unstored
from structsvm.support.checks import among, is_number, meant, refuse_bad_seed
from structsvm.support.contract import raise_wrong

REGULARIZERS: dict[str, Regularizer] = {"squared": SquaredNorm(), "trace": Trace()}


@dataclass(frozen=True, eq=False)
class Settings:
    """How to learn, whatever the data."""

    problem: PartitionProblem
    metric: str
    regularizer: Regularizer
    """The regularizer before it is weighted by ``lam``."""
    lam: float
    features: RecordingTransformer | None
    standardize: str | None
    shrinkage: float | None
    """Shrinkage of the whitening; None for no whitening."""
    solver: Solver
    constraints: Callable[[Any], list[Any]] | None
    backend: Backend
    callback: Callable[[HistoryEntry], None] | None = None

    @classmethod
    def of(
        cls,
        parameters: Mapping[str, Any],
        callback: Callable[[HistoryEntry], None] | None = None,
    ) -> Settings:
        """Read the parameters of a :class:`structsvm.MetricLearner`."""
        refuse_unstored(parameters)
        refuse_no_function("constraints", parameters["constraints"])
        refuse_no_function("callback", callback)
        problem = problem_from(parameters["problem"], parameters["random_state"])
        traits, metric = problem.traits, parameters["metric"]
        metric_space(metric, 1)  # refuses an unknown metric
        features = _features_from(parameters["features"])
        usual = None if features is not None and features.scaled else traits.standardize
        settings = cls(
            problem=problem,
            metric=metric,
            regularizer=regularizer_from(parameters["regularizer"]),
            lam=_lam_from(parameters["lam"], traits.lam),
            features=features,
            standardize=_standardize_from(parameters["standardize"], usual),
            shrinkage=_shrinkage_from(parameters["whiten"], metric, traits.shrinkage),
            solver=solver_from(parameters["solver"], convex=traits.convex),
            constraints=parameters["constraints"],
            backend=backend_from(parameters["backend"], parameters["n_jobs"]),
            callback=callback,
        )
        settings.check(_some_features(settings.regularizer), 1)
        return settings

    def check(self, n_features: int, n_samples: int) -> None:
        """Raise SettingsError if the solver does not suit."""
        objective = self.objective(n_features)
        self.solver.check(
            Outline(
                objective.weight_space(),
                self.weighted(objective),
                self.constraints,
                n_samples,
                self.problem.traits.convex,
            )
        )

    def objective(self, n_features: int) -> Objective:
        return self.problem.learning.objective(self.metric, n_features)

    def weighted(self, objective: Objective) -> Regularizer:
        """Omega, times what ``lam`` stands for."""
        return objective.regularizer(self.regularizer, self.lam)

    @property
    def scaled_as_training(self) -> Settings:
        kind = "training" if self.standardize == "recording" else self.standardize
        return replace(self, standardize=kind)

    def without_callback(self) -> Settings:
        """Return the same settings for a preparation that reports nothing."""
        return replace(self, callback=None)


def problem_from(problem: Any, random_state: int | None) -> PartitionProblem:
    """The problem, change-points by default, with its seed."""
    problem = named_problem(ChangePoint() if problem is None else problem)
    if not isinstance(problem, PartitionProblem):
        way_out = f"make an instance, {problem.__name__}()" if isinstance(problem, type) else ""
        raise SettingsError(
            f"problem must be a PartitionProblem such as ChangePoint(), got {problem!r}"
            + (f": {way_out}" if way_out else "")
        )
    traits: object = problem.traits
    if not isinstance(traits, Traits):
        raise_wrong(problem, "traits", traits, "an instance of Traits")
    if random_state is None:
        return problem
    refuse_bad_seed(random_state)
    if "random_state" not in getattr(problem, "__dataclass_fields__", {}):
        return problem
    return replace(problem, random_state=int(random_state))  # type: ignore[type-var]


def _some_features(regularizer: Regularizer) -> int:
    """A number of features for which there is this regularizer: that of its center, or one."""
    center: Any = getattr(regularizer, "center", 0.0)
    return max(1, len(center)) if np.ndim(center) else 1


def _lam_from(lam: Any, usual: float) -> float:
    if lam is None:
        return usual
    check_lam(lam)
    return float(lam)


def refuse_no_function(name: str, function: Any) -> None:
    """Check that a parameter is a function or None."""
    if function is not None and not callable(function):
        raise SettingsError(f"{name} must be a function or None, got {function!r}")


def regularizer_from(name: str | Regularizer) -> Regularizer:
    """A regularizer itself, or the one of a name."""
    if isinstance(name, Regularizer):
        return name
    if not isinstance(name, str) or name not in REGULARIZERS:
        raise SettingsError(
            f"regularizer must be one of {sorted(REGULARIZERS)} or a Regularizer, got {name!r}"
            f"{meant(name, REGULARIZERS)}"
        )
    return REGULARIZERS[name]


def _features_from(features: Any) -> RecordingTransformer | None:
    if features is None or isinstance(features, RecordingTransformer):
        return features
    way_out = ""
    if isinstance(features, type):
        way_out = f": make an instance, {features.__name__}()"
    elif hasattr(features, "transform"):
        way_out = (
            f": give Rows({features!r}) if it transforms rows, as those of scikit-learn do, "
            "Series(...) if it transforms a series, OfWindows(...) if it describes each of a "
            "collection of series"
        )
    raise SettingsError(
        f"features must be a transformer of structsvm.features or None, got {features!r}{way_out}"
    )


def _standardize_from(standardize: Any, usual: str | None) -> str | None:
    if isinstance(standardize, str) and standardize == "auto":
        return usual
    if not among(standardize, STANDARDIZE):
        raise SettingsError(
            f"standardize must be 'auto' or one of {STANDARDIZE}, got {standardize!r}"
        )
    return str(standardize) if standardize is not None else None


def _shrinkage_from(whiten: Any, metric: str, usual: float | None) -> float | None:
    if isinstance(whiten, str) and whiten == "auto":
        whiten = usual if metric == "full" else None
    if whiten is None:
        return None
    if not is_number(whiten) or not 0 <= whiten <= 1:
        raise SettingsError(f"whiten must be 'auto', None or a shrinkage in [0, 1], got {whiten!r}")
    if metric == "diagonal":
        raise SettingsError(
            "whitening mixes the features, and a diagonal metric weights each one alone: use "
            "metric='full' or whiten=None"
        )
    return float(whiten)
