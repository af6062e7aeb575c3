"""What the parameters of a learner stand for, checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from structsvm.data.samples import STANDARDIZE
from structsvm.errors import SettingsError, refuse
from structsvm.features import RecordingTransformer
from structsvm.parallel import Backend, backend_from
from structsvm.partitions.learning import Traits
from structsvm.partitions.plugins import problem_class, problem_names
from structsvm.partitions.problem import PartitionProblem
from structsvm.problem import Outline
from structsvm.problems.change_point import ChangePoint
from structsvm.regularizers import Regularizer, SquaredNorm, Trace, check_lam
from structsvm.solvers.auto import solver_from
from structsvm.solvers.base import Solver
from structsvm.storage.codec import refuse_unstored
from structsvm.support.checks import is_number, meant, refuse_bad_seed, refuse_unlisted
from structsvm.support.contract import raise_wrong, settings_in

CLOSED_FORM, CLOSED_FORMS = "closed-form", ("olda", "rca")
USUAL = {"regularizer": "squared", "lam": None, "whiten": None, "solver": None, "constraints": None}
"""Values, beside "auto", of the parameters that say nothing about a metric in closed form."""

REGULARIZERS: dict[str, Regularizer] = {"squared": SquaredNorm(), "trace": Trace()}


@dataclass(frozen=True, eq=False)
class Settings:
    """How to learn, whatever the data."""

    problem: PartitionProblem
    metric: str
    """The cone of the metric: "full" or "diagonal"."""
    closed_form: str | None
    """The name of the metric in :mod:`structsvm.baselines.metrics`, if nothing is learned."""
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

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Settings:
        refuse_unstored(parameters)
        problem = problem_from(parameters["problem"], parameters["random_state"])
        traits, metric, features = problem.traits, parameters["metric"], parameters["features"]
        refuse_unlisted("metric", metric, ("full", "diagonal", CLOSED_FORM))
        closed_form = None
        if metric == CLOSED_FORM:
            closed_form, metric = closed_form_of(problem, parameters), "full"
        standardize = parameters["standardize"]
        if not (features is None or isinstance(features, RecordingTransformer)):
            raise SettingsError(
                "features must be a transformer of structsvm.features or None, got "
                f"{features!r}: Rows(...) takes those of scikit-learn"
            )
        if standardize == "auto":
            standardize = None if features is not None and features.scaled else traits.standardize
        refuse_unlisted("standardize", standardize, ("auto", *STANDARDIZE))
        whiten = parameters["whiten"]
        if whiten == "auto":
            whiten = traits.shrinkage if metric == "full" and closed_form is None else None
        refuse(
            SettingsError,
            (
                whiten is not None and not (is_number(whiten) and 0 <= whiten <= 1),
                f"whiten must be 'auto', None or a shrinkage in [0, 1], got {whiten!r}",
            ),
            (
                whiten is not None and metric == "diagonal",
                "whitening mixes the features, and a diagonal metric weights each one alone: use "
                "metric='full' or whiten=None",
            ),
        )
        lam = traits.lam if parameters["lam"] is None else parameters["lam"]
        check_lam(lam)
        regularizer = regularizer_from(parameters["regularizer"])
        settings = cls(
            problem=problem,
            metric=metric,
            closed_form=closed_form,
            regularizer=regularizer,
            lam=float(lam),
            features=features,
            standardize=standardize,
            shrinkage=None if whiten is None else float(whiten),
            solver=solver_from(parameters["solver"], convex=traits.convex),
            constraints=parameters["constraints"],
            backend=backend_from(parameters["backend"], parameters["n_jobs"]),
        )
        center: Any = getattr(regularizer, "center", 0.0)
        settings.check(max(1, len(center)) if np.ndim(center) else 1, 1)
        return settings

    def check(self, n_features: int, n_samples: int) -> None:
        """Refuse a solver that does not suit the objective of so many features and samples."""
        objective = self.problem.learning.objective(self.metric, n_features)
        space, omega = objective.weight_space(), objective.regularizer(self.regularizer, self.lam)
        convex = self.problem.traits.convex
        self.solver.check(Outline(space, omega, self.constraints, n_samples, convex))


def closed_form_of(problem: PartitionProblem, parameters: Mapping[str, Any]) -> str:
    """The name of the closed form for a problem: OLDA for segments, RCA for clusters."""
    known = [name for name in CLOSED_FORMS if name in problem.traits.baselines]
    idle = [k for k, usual in USUAL.items() if parameters[k] not in ("auto", usual)]
    refuse(
        SettingsError,
        (
            not known,
            f"metric='{CLOSED_FORM}' is for complete recordings and tables: learn a metric of "
            f"{problem!r}",
        ),
        (
            idle,
            f"metric='{CLOSED_FORM}' minimises no objective, so that {', '.join(idle)} does "
            "nothing: leave it out",
        ),
    )
    return known[0]


def problem_from(problem: Any, random_state: int | None) -> PartitionProblem:
    """The problem, change-points by default, with its seed."""
    problem = named_problem(ChangePoint() if problem is None else problem)
    if not isinstance(problem, PartitionProblem):
        raise SettingsError(
            f"problem must be a PartitionProblem such as ChangePoint(), got {problem!r}"
            + (f": make an instance, {problem.__name__}()" if isinstance(problem, type) else "")
        )
    traits: object = problem.traits
    if not isinstance(traits, Traits):
        raise_wrong(problem, "traits", traits, "an instance of Traits")
    if random_state is not None:
        refuse_bad_seed(random_state)
    if random_state is None or "random_state" not in settings_in(problem):
        return problem
    return replace(problem, random_state=int(random_state))  # type: ignore[type-var]


def regularizer_from(name: str | Regularizer) -> Regularizer:
    if isinstance(name, Regularizer):
        return name
    if name not in REGULARIZERS:
        raise SettingsError(
            f"regularizer must be one of {sorted(REGULARIZERS)} or a Regularizer, got {name!r}"
            f"{meant(name, REGULARIZERS)}"
        )
    return REGULARIZERS[name]


class ProblemParameters(BaseEstimator):  # type: ignore[misc]
    """An estimator with a parameter ``problem``, a frozen dataclass whose settings are searched."""

    problem: Any
    _default_problem: ClassVar[Any] = None
    """What stands for a problem that is None."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; if ``deep``, the settings of the problem as well."""
        found: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            with suppress(SettingsError):  # of a name that stands for nothing, which fit refuses
                found |= _settings(
                    named_problem(self._default_problem if self.problem is None else self.problem),
                    "problem",
                )
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters, settings of the problem among them, as in scikit-learn.

        Raises
        ------
        SettingsError
            When the problem has no such setting, or does not take the value.
        """
        mark = "problem__"
        own = {name.removeprefix(mark): v for name, v in params.items() if name.startswith(mark)}
        super().set_params(**{name: v for name, v in params.items() if not name.startswith(mark)})
        if own:
            self.problem = _with(
                named_problem(self._default_problem if self.problem is None else self.problem), own
            )
        return self


def named_problem(problem: Any) -> Any:
    """The problem of a name, with its usual settings; anything else as it is."""
    if not isinstance(problem, str):
        return problem
    names = problem_names()
    if problem not in names:
        raise SettingsError(
            f"problem must be a PartitionProblem such as ChangePoint(), or one of "
            f"{', '.join(names)}, got {problem!r}{meant(problem, names)}"
        )
    try:
        return problem_class(problem)()
    except TypeError as error:
        raise SettingsError(
            f"problem {problem!r} needs settings, make an instance: {error}"
        ) from error


def _settings(value: Any, name: str) -> dict[str, Any]:
    """The settings of a dataclass by name, those of dataclasses inside of it as well."""
    found: dict[str, Any] = {}
    for setting, inner in settings_in(value).items():
        path = f"{name}__{setting}"
        found |= {path: inner, **_settings(inner, path)}
    return found


def _with(value: Any, given: Mapping[str, Any]) -> Any:
    """A dataclass with other settings, by name; ``a__b`` is the setting b of its setting a."""
    known, inside = settings_in(value), dict[str, dict[str, Any]]()
    changed: dict[str, Any] = {}
    for path, setting in given.items():
        name, _, rest = path.partition("__")
        if name not in known:
            has = ", ".join(known) or "none"
            raise SettingsError(
                f"problem: {type(value).__name__} has no setting {name!r}, it has {has}"
            )
        if rest:
            inside.setdefault(name, {})[rest] = setting
        else:
            changed[name] = setting
    for name, settings in inside.items():
        changed[name] = _with(changed.get(name, known[name]), settings)
    return replace(value, **changed)
