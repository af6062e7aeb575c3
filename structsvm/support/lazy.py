"""Packages whose names are loaded on first use (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

__all__ = ["lazy"]


def lazy(
    package: str, home: Mapping[str, str], rooms: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """What a package assigns to ``__getattr__``, ``__dir__`` and ``__all__``.

    Type checkers do not run this, and read the imports under ``TYPE_CHECKING`` instead.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    home : mapping of str to str
        The module of each public name.
    rooms : sequence of str
        Packages and modules inside of it that are attributes without being imported.

    Examples
    --------
    >>> from structsvm.support.lazy import lazy
    >>> load, _, public = lazy("structsvm.support", {"stage": "structsvm.support.progress"})
    >>> public, load("stage").__name__
    (['stage'], 'stage')
    """

    def load(name: str) -> Any:
        if name in rooms:
            return import_module(f"{package}.{name}")
        if name not in home:
            # With what was looked for, and where, Python says what was probably meant.
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package]
            )
        value = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *rooms})

    return load, names, sorted(home)
