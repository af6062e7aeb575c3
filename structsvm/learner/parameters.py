"""The parameter ``problem`` of estimators, and the settings of a problem by name."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

from sklearn.base import BaseEstimator

from structsvm.errors import SettingsError
from structsvm.partitions import PartitionProblem, Traits
from structsvm.partitions.plugins import problem_class, problem_names
from structsvm.problems import ChangePoint
from structsvm.support import meant, raise_wrong, refuse_bad_seed, settings_in


def problem_from(problem: Any, random_state: int | None) -> PartitionProblem:
    problem = named_problem(problem)
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


class ProblemParameters(BaseEstimator):  # type: ignore[misc]
    """An estimator with a ``problem``, a frozen dataclass whose settings are parameters, too."""

    problem: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params: dict[str, Any] = super().get_params(deep=deep)
        with suppress(SettingsError):  # fit refuses a name that no problem has
            params |= _settings(named_problem(self.problem), "problem") if deep else {}
        return params

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
            self.problem = _with(named_problem(self.problem), own)
        return self


def named_problem(problem: Any) -> Any:
    """The problem of a name, with default settings; change points for None."""
    if not isinstance(problem, str):
        return ChangePoint() if problem is None else problem
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
    settings: dict[str, Any] = {}
    for setting, inner in settings_in(value).items():
        path = f"{name}__{setting}"
        settings |= {path: inner, **_settings(inner, path)}
    return settings


def _with(value: Any, settings: Mapping[str, Any]) -> Any:
    """A dataclass with other settings, by name; ``a__b`` is the setting b of its setting a."""
    current = settings_in(value)
    inside = dict[str, dict[str, Any]]()
    changed: dict[str, Any] = {}
    for path, setting in settings.items():
        name, _, rest = path.partition("__")
        if name not in current:
            has = ", ".join(current) or "none"
            raise SettingsError(
                f"problem: {type(value).__name__} has no setting {name!r}, it has {has}"
            )
        if rest:
            inside.setdefault(name, {})[rest] = setting
        else:
            changed[name] = setting
    for name, settings in inside.items():
        changed[name] = _with(changed.get(name, current[name]), settings)
    return replace(value, **changed)
