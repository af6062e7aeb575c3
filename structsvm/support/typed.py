"""Values against annotations: arguments of public functions, and fields that a file fills."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from inspect import signature
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np

from structsvm.errors import SettingsError

P = ParamSpec("P")
R = TypeVar("R")


def refuse_other_types(function: Callable[P, R]) -> Callable[P, R]:
    """Let a public function refuse arguments that its annotations rule out, by their names."""
    parameters = signature(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        hints = _hints(function)
        for name, value in parameters.bind(*args, **kwargs).arguments.items():
            if name in hints and not suits(value, hints[name]):
                told = str(parameters.parameters[name].annotation).replace(" | ", " or ")
                chosen = ": give its best_estimator_" if hasattr(value, "best_estimator_") else ""
                raise SettingsError(f"{name} must be {told}, got {value!r}{chosen}")
        return function(*args, **kwargs)

    return checked


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations that can be evaluated, by name of the parameter."""
    names = getattr(function, "__globals__", {})
    found = {}
    for name, text in function.__annotations__.items():
        try:
            found[name] = eval(text, names) if isinstance(text, str) else text
        except NameError:  # there for type checkers alone
            continue
    return found


def suits(value: Any, hint: Any) -> bool:
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(suits(value, one) for one in inner)
    if origin is tuple:
        return isinstance(value, tuple | list) and _each_suits(value, inner)
    if origin is Callable or hint is Callable:
        return callable(value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    if isinstance(origin, type) and issubclass(origin, Iterable) and origin is not np.ndarray:
        return _is_iterable_of(value, inner[0] if inner else Any)
    if isinstance(origin, type):
        return isinstance(value, origin)
    numbers = {float: Real, int: Integral, bool: bool | np.bool_}
    if hint in numbers:
        truth = isinstance(value, bool | np.bool_)
        return isinstance(value, numbers[hint]) and (hint is bool or not truth)
    if getattr(hint, "_is_protocol", False):
        return all(hasattr(value, name) for name in _members(hint))
    return not isinstance(hint, type) or isinstance(value, hint)


def _is_iterable_of(value: Any, hint: Any) -> bool:
    if isinstance(value, str | bytes) or not np.iterable(value):
        return False
    return not isinstance(value, list | tuple | np.ndarray) or all(suits(x, hint) for x in value)


@cache
def _members(protocol: type) -> frozenset[str]:
    found = [
        {*vars(base), *getattr(base, "__annotations__", {})}
        for base in protocol.__mro__
        if getattr(base, "_is_protocol", False)
    ]
    return frozenset(name for names in found for name in names if not name.startswith("_"))


def _each_suits(values: Any, inner: tuple[Any, ...]) -> bool:
    if len(inner) == 2 and inner[1] is Ellipsis:
        return all(suits(value, inner[0]) for value in values)
    return len(values) == len(inner) and all(map(suits, values, inner))
