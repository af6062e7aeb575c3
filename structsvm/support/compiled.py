"""How functions are compiled: kept on disk, without the lock, and as little as will do.

The wrappers through which C and Python call a function take up to a third of its compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Decorate a function that Python calls; the options are those of :func:`numba.njit`."""
    always: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
    decorate: Any = njit(**(always | options))
    return cast(Callable[[Function], Function], decorate)


def inner(**options: Any) -> Callable[[Function], Function]:
    """Decorate a function that compiled ones alone call."""
    return compiled(no_cpython_wrapper=True, **options)
