"""Names that are loaded on first use (PEP 562, SPEC 1), and optional libraries."""

import ast
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from structsvm.errors import MissingExtraError


def lazy(
    package: str,
    file: str,
    rooms: Sequence[str] = (),
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose stub lists its names.

    ``rooms`` are its submodules, and ``renamed`` maps older names to present ones, with a warning.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    home: dict[str, str] = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            home |= {alias.name: str(node.module) for alias in node.names}

    def load(name: str) -> Any:
        if name in rooms:
            return import_module(f"{package}.{name}")
        if name in renamed:
            warnings.warn(
                f"{package}.{name} is called {renamed[name]} now", FutureWarning, stacklevel=2
            )
            return load(renamed[name])
        if name not in home:
            # Python adds a suggestion to the message if it has the name and the object.
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package]
            )
        value = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *rooms})

    return load, names, sorted(home)


def require(module: str, extra: str, purpose: str) -> Any:
    """Import an optional library, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(
            f"{purpose} needs {library}: pip install 'structsvm-partitioning[{extra}]'"
        ) from error
