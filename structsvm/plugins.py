"""Problems by name: entry points of this and of other distributions, verified when loaded."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points

from structsvm.errors import PluginError
from structsvm.partitions.problem import PartitionProblem

__all__ = ["problem_class", "problem_name", "problem_names"]

PROBLEMS = "structsvm.problems"


def problem_names() -> list[str]:
    """Names of the problems that the installed distributions declare."""
    return sorted({point.name for point in entry_points(group=PROBLEMS)})


def problem_class(name: str) -> type[PartitionProblem]:
    """The problem that is declared under a name.

    Raises
    ------
    PluginError
        When there is none, or it is not what a problem has to be.
    """
    for point in entry_points(group=PROBLEMS):
        if point.name == name:
            return _load(point)
    raise PluginError(f"no problem is called {name!r}; installed are {', '.join(problem_names())}")


def problem_name(problem: PartitionProblem) -> str:
    """The name under which the class of a problem is declared.

    Raises
    ------
    PluginError
        When it is not declared anywhere.
    """
    cls = type(problem)
    for point in entry_points(group=PROBLEMS):
        with suppress(PluginError):
            if _load(point) is cls:
                return point.name
    raise PluginError(
        f"{cls.__module__}.{cls.__qualname__} has no name: declare it as an entry point of the "
        f"group {PROBLEMS!r} in the metadata of its distribution"
    )


def _load(point: EntryPoint) -> type[PartitionProblem]:
    try:
        found: object = point.load()
    except (ImportError, AttributeError) as error:
        raise PluginError(f"problem {point.name!r} cannot be loaded: {error}") from error
    if not (isinstance(found, type) and issubclass(found, PartitionProblem)):
        raise PluginError(f"problem {point.name!r} ({point.value}) is no PartitionProblem")
    if not hasattr(found, "__dataclass_fields__"):
        raise PluginError(f"problem {point.name!r} ({point.value}) must be a frozen dataclass")
    return found
