"""Problems and oracles by name: entry points of all distributions, verified when loaded."""

import inspect
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from functools import lru_cache
from importlib import metadata
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from structsvm.errors import PluginError
from structsvm.support import settings_in

if TYPE_CHECKING:
    from structsvm.partitions.problem import PartitionProblem
    from structsvm.problem import Problem

PROBLEMS, ORACLES = "structsvm.problems", "structsvm.oracles"
STRUCTURED = "structsvm.structured_problems"
SOLVERS = "structsvm.solvers"
WHAT = {PROBLEMS: "problem", ORACLES: "oracle", STRUCTURED: "structured problem", SOLVERS: "solver"}


@dataclass(frozen=True)
class Plugin:
    """An entry point, and what is known of its class after loading it."""

    name: str
    value: str  # ``module:class``
    distribution: str  # name and version of the distribution that declares it
    summary: str = ""  # the first line of the class's documentation
    settings: dict[str, Any] = field(default_factory=dict)
    """Default values of the settings by name; None for one that has to be given."""
    error: str | None = None  # why it cannot be used; None if it can


def entry_points(group: str) -> Sequence[EntryPoint]:
    """The entry points of a group, read again when a folder of ``sys.path`` has changed."""
    return _entry_points_in(tuple((folder, _changed(folder)) for folder in sys.path), group)


@lru_cache(maxsize=16)
def _entry_points_in(_path: tuple[tuple[str, int], ...], group: str) -> Sequence[EntryPoint]:
    """The entry points of a group for a path: its folders, and when each has changed."""
    return tuple(metadata.entry_points(group=group))


def _changed(folder: str) -> int:
    """When a file was last added to a folder or removed, in nanoseconds; -1 if it is no folder."""
    try:
        return os.stat(folder or os.curdir).st_mtime_ns
    except OSError:
        return -1


def problem_names() -> list[str]:
    """Names of the problems that the installed distributions declare."""
    return names_in(PROBLEMS)


def names_in(group: str) -> list[str]:
    """Names that the installed distributions declare in a group."""
    return sorted({point.name for point in entry_points(group=group)})


def problem_class(name: str) -> "type[PartitionProblem]":
    """The problem that is declared under a name."""
    cls: type[PartitionProblem] = plugin_class(PROBLEMS, name)
    return cls


def plugin_class(group: str, name: str) -> Any:
    """The class of a name in a group of entry points, or that of a name "module:Class"."""
    if ":" in name:
        return _load(group, EntryPoint(name, name, group))
    what = WHAT[group]
    every = entry_points(group=group)
    points = {point.value: point for point in every if point.name == name}
    if not points:
        names = ", ".join(sorted({point.name for point in every})) or "none"
        raise PluginError(f"no {what} is called {name!r}; installed are {names}")
    if len(points) > 1:
        claims = " and ".join(f"{p.value} of {_distribution(p)}" for p in points.values())
        raise PluginError(f"two distributions declare a {what} {name!r}: {claims}; remove one")
    return _load(group, next(iter(points.values())))


def problem_name(problem: "PartitionProblem | Problem") -> str:
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
    """The plugins of a group by name, with an error for each one that cannot be used."""
    listed = []
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        declared = point.name, point.value, _distribution(point)
        try:
            cls = _load(group, point)
            settings = _settings(cls)
        except PluginError as error:
            listed.append(Plugin(*declared, error=str(error)))
            continue
        summary = (inspect.getdoc(cls) or "").partition("\n")[0]
        if summary.startswith(f"{cls.__name__}("):  # dataclass has written it for want of another
            summary = "It has no docstring."
        listed.append(Plugin(*declared, summary, settings))
    return listed


def setting_groups(cls: Any) -> dict[str, type]:
    """The settings of a class whose default is a group of settings, and the class of the group."""
    return {name: type(value) for name, value in _settings(cls).items() if settings_in(value)}


def _load(group: str, point: EntryPoint) -> Any:
    """The class of an entry point; PluginError if it cannot be used."""
    called = f"{WHAT[group]} {point.name!r} ({point.value})"
    contract = _contract(group)
    try:
        loaded: object = point.load()
    except (Exception, SystemExit) as error:  # a script ends the program when it is imported
        said = f"{type(error).__name__}: {error}"
        raise PluginError(f"{called} cannot be loaded: {said}") from error
    fault = _fault(loaded, contract, needs_fields=group not in (ORACLES, SOLVERS))
    if fault is not None:
        raise PluginError(f"{called}{fault}")
    return loaded


def _fault(loaded: object, contract: type, needs_fields: bool) -> str | None:
    """Why an object is no usable class of a contract, in words; None if it is one."""
    if not (isinstance(loaded, type) and issubclass(loaded, contract)):
        return f" is no {contract.__name__}"
    if missing := sorted(getattr(loaded, "__abstractmethods__", ())):
        return f" lacks {', '.join(missing)}: define them as in {contract.__name__}"
    parameters = getattr(loaded, "__dataclass_params__", None)
    frozen = getattr(parameters, "frozen", False) or not needs_fields
    return None if frozen else " must be a frozen dataclass"


def _contract(group: str) -> type:
    """The base class of the plugins of a group."""
    from structsvm.partitions.oracle import Oracle
    from structsvm.partitions.problem import PartitionProblem
    from structsvm.problem import Problem
    from structsvm.solvers import Solver

    contracts: dict[str, type] = {PROBLEMS: PartitionProblem, ORACLES: Oracle}
    contracts |= {STRUCTURED: Problem, SOLVERS: Solver}
    return contracts[group]


def _settings(cls: Any) -> dict[str, Any]:
    """The default values of the settings of a class; None for one that has to be given."""
    defaults: dict[str, Any] = {}
    for one in fields(cls) if hasattr(cls, "__dataclass_fields__") else ():
        if not one.init:
            continue
        if one.default_factory is MISSING:
            defaults[one.name] = None if one.default is MISSING else one.default
            continue
        try:
            defaults[one.name] = one.default_factory()
        except Exception as error:  # whatever a function of a plugin raises
            said = f"the default of {one.name} raised {type(error).__name__}: {error}"
            raise PluginError(f"{cls.__qualname__}: {said}") from error
    return defaults


def _distribution(point: EntryPoint) -> str:
    """Name and version of the distribution that declares an entry point."""
    return "unknown" if point.dist is None else f"{point.dist.name} {point.dist.version}"
