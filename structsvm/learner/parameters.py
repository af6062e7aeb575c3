"""The settings of a problem as parameters of the estimator that learns it: ``problem__kappa``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from structsvm.errors import SettingsError
from structsvm.plugins import problem_class, problem_names
from structsvm.support.checks import meant
from structsvm.support.settings import settings_in


class ProblemParameters(BaseEstimator):  # type: ignore[misc]
    """An estimator with a parameter ``problem``, a frozen dataclass.

    ``GridSearchCV`` searches over ``problem__min_length`` as over any parameter. A problem is never
    changed: another setting makes another problem.
    """

    _default_problem: ClassVar[Any] = None
    """What stands for a problem that is None."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; if ``deep``, the settings of the problem as well.

        Raises
        ------
        SettingsError
            When ``deep`` is neither True nor False.
        """
        if not isinstance(deep, bool):
            raise SettingsError(f"deep must be True or False, got {deep!r}")
        found: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            with suppress(SettingsError):  # of a name that stands for nothing, which fit refuses
                found |= _settings(self._given_problem(), "problem")
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
            self.problem = _with(self._given_problem(), own)
        return self

    def _given_problem(self) -> Any:
        return named_problem(self._default_problem if self.problem is None else self.problem)


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
    kind, known = type(value).__name__, settings_in(value)
    inside: dict[str, dict[str, Any]] = {}
    changed: dict[str, Any] = {}
    for path, setting in given.items():
        name, _, rest = path.partition("__")
        if name not in known:
            has = ", ".join(known) or "none"
            raise SettingsError(f"problem: {kind} has no setting {name!r}, it has {has}")
        if rest:
            inside.setdefault(name, {})[rest] = setting
        else:
            changed[name] = setting
    for name, settings in inside.items():
        changed[name] = _with(changed.get(name, known[name]), settings)
    return replace(value, **changed)
