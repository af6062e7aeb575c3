"""Problems and oracles by name: entry points of all distributions, verified when loaded."""

from __future__ import annotations

import inspect
import os
import sys
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, fields
from functools import lru_cache
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints
from typing import TYPE_CHECKING, Any

from structsvm.errors import PluginError
from structsvm.support.contract import missing_definitions
from structsvm.support.settings import settings_in

if TYPE_CHECKING:
    from structsvm.partitions.oracle import Oracle
    from structsvm.partitions.problem import PartitionProblem
    from structsvm.problem import Problem

PROBLEMS, ORACLES = "structsvm.problems", "structsvm.oracles"
STRUCTURED = "structsvm.structured_problems"
WHAT = {PROBLEMS: "problem", ORACLES: "oracle", STRUCTURED: "structured problem"}


@dataclass(frozen=True)
class Plugin:
    """What an entry point declares, and what came of loading it."""

    name: str
    value: str
    """``module:class``."""
    distribution: str
    """Name and version of the distribution that declares it."""
    summary: str
    """The first line of the class's documentation."""
    settings: dict[str, Any]
    """Names and default values, None for one that has to be given."""
    error: str | None = None
    """Why it cannot be used; None if it can."""


def problem_names() -> list[str]:
    """Names of the problems that the installed distributions declare."""
    return _names(PROBLEMS)


def problem_class(name: str) -> type[PartitionProblem]:
    """The problem that is declared under a name."""
    found: type[PartitionProblem] = plugin_class(PROBLEMS, name)
    return found


def oracle_class(name: str) -> type[Oracle]:
    """The oracle that is declared under a name."""
    found: type[Oracle] = plugin_class(ORACLES, name)
    return found


def plugin_class(group: str, name: str) -> Any:
    """The class that is declared under a name in a group of entry points."""
    what = WHAT[group]
    points = {point.value: point for point in entry_points(group=group) if point.name == name}
    if not points:
        known = ", ".join(_names(group)) or "none"
        raise PluginError(f"no {what} is called {name!r}; installed are {known}")
    if len(points) > 1:
        claims = " and ".join(f"{p.value} of {_distribution(p)}" for p in points.values())
        raise PluginError(f"two distributions declare a {what} {name!r}: {claims}; remove one")
    return _load(group, next(iter(points.values())))


def problem_name(problem: PartitionProblem | Problem) -> str:
    """The name under which the class of a problem is declared."""
    cls = type(problem)
    group = PROBLEMS if issubclass(cls, _contract(PROBLEMS)) else STRUCTURED
    for point in entry_points(group=group):
        with suppress(PluginError):
            if _load(group, point) is cls:
                return point.name
    raise PluginError(
        f"{cls.__module__}.{cls.__qualname__} has no name: declare it as an entry point of the "
        f"group {group!r} in the metadata of its distribution"
    )


def plugins(group: str) -> list[Plugin]:
    """Everything declared in a group, by name; what cannot be used says why."""
    points = sorted(entry_points(group=group), key=lambda point: (point.name, point.value))
    return [_described(group, point) for point in points]


def entry_points(group: str) -> EntryPoints:
    """The entry points of a group, which are looked for again where something is installed."""
    return _declared(group, tuple((place, _time_of(place)) for place in sys.path))


@lru_cache(maxsize=len(WHAT))
def _declared(group: str, _places: tuple[tuple[str, int], ...]) -> EntryPoints:
    return metadata.entry_points(group=group)


def _time_of(place: str) -> int:
    """When a folder was changed, as by an installation; 0 for what is none."""
    try:
        return os.stat(place or os.curdir).st_mtime_ns
    except (OSError, TypeError, ValueError):
        return 0


def _names(group: str) -> list[str]:
    return sorted({point.name for point in entry_points(group=group)})


def _load(group: str, point: EntryPoint) -> Any:
    """The class of an entry point, if it can be used."""
    called, contract = f"{WHAT[group]} {point.name!r} ({point.value})", _contract(group)
    try:
        found: object = point.load()
    except (Exception, SystemExit) as error:  # a script ends the program when it is imported
        said = f"{type(error).__name__}: {error}"
        raise PluginError(f"{called} cannot be loaded: {said}") from error
    if not (isinstance(found, type) and issubclass(found, contract)):
        raise PluginError(f"{called} is no {contract.__name__}")
    missing = missing_definitions(found)
    if missing:
        raise PluginError(f"{called}: {missing}")
    parameters = getattr(found, "__dataclass_params__", None)
    if group != ORACLES and (parameters is None or not parameters.frozen):
        raise PluginError(f"{called} must be a frozen dataclass")
    return found


def _contract(group: str) -> type:
    from structsvm.partitions.oracle import Oracle
    from structsvm.partitions.problem import PartitionProblem
    from structsvm.problem import Problem

    return {PROBLEMS: PartitionProblem, ORACLES: Oracle, STRUCTURED: Problem}[group]


def _described(group: str, point: EntryPoint) -> Plugin:
    try:
        cls = _load(group, point)
        settings = _settings(cls)
    except PluginError as error:
        return Plugin(point.name, point.value, _distribution(point), "", {}, str(error))
    summary = (inspect.getdoc(cls) or "").partition("\n")[0]
    if summary.startswith(f"{cls.__name__}("):  # dataclass has written it for want of another
        summary = "It has no docstring."
    return Plugin(point.name, point.value, _distribution(point), summary, settings)


def _settings(cls: Any) -> dict[str, Any]:
    if not hasattr(cls, "__dataclass_fields__"):
        return {}
    return {field.name: _default(cls, field) for field in fields(cls) if field.init}


def setting_groups(cls: Any) -> dict[str, type]:
    """The settings that are groups of settings, dataclasses by default, and their classes."""
    return {name: type(value) for name, value in _settings(cls).items() if settings_in(value)}


def _default(cls: type, field: Field[Any]) -> Any:
    """The value of a setting that is not given; None for one that has to be given."""
    if field.default_factory is MISSING:
        return None if field.default is MISSING else field.default
    try:
        return field.default_factory()
    except Exception as error:  # whatever a function of a plugin raises
        said = f"the default of {field.name} raised {type(error).__name__}: {error}"
        raise PluginError(f"{cls.__qualname__}: {said}") from error


def _distribution(point: EntryPoint) -> str:
    return "unknown" if point.dist is None else f"{point.dist.name} {point.dist.version}"
