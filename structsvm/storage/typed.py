"""Whether a value that was read from a file is of the type that its field says."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from structsvm.storage.unstored import Unstored

__all__ = ["refuse_strangers"]


def refuse_strangers(cls: type, settings: Mapping[str, Any]) -> None:
    """Check the values for the fields of a dataclass by its annotations.

    Numbers of any kind may stand for floats, and lists for tuples; what an annotation says about
    shapes and elements of arrays is not looked at.

    Raises
    ------
    TypeError
        Naming the field.
    """
    hints = _hints(cls)
    for name, value in settings.items():
        if name in hints and not _suits(value, hints[name]):
            raise TypeError(f"{cls.__name__}.{name} cannot be {value!r}")


@cache
def _hints(cls: type) -> dict[str, Any]:
    try:
        found = get_type_hints(cls)
    except NameError:  # a name that is there for type checkers alone
        return {}
    return {f.name: found[f.name] for f in fields(cls) if f.init}


def _suits(value: Any, hint: Any) -> bool:
    if hint is Any or isinstance(value, Unstored):
        return True
    if hint is None or hint is type(None):
        return value is None
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_suits(value, one) for one in inner)
    if origin is tuple:
        return isinstance(value, tuple | list) and _each_suits(value, inner)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return isinstance(value, tuple | list)
    if isinstance(origin, type):
        return isinstance(value, origin)
    if hint is float:
        return isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    return not isinstance(hint, type) or isinstance(value, hint)


def _each_suits(values: Sequence[Any], inner: tuple[Any, ...]) -> bool:
    if len(inner) == 2 and inner[1] is Ellipsis:
        return all(_suits(value, inner[0]) for value in values)
    pairs = zip(values, inner, strict=False)
    return len(values) == len(inner) and all(_suits(*pair) for pair in pairs)
