"""Optional libraries, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from structsvm.errors import MissingExtraError


def require(module: str, extra: str, purpose: str) -> Any:
    """Import an optional library, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(
            f"{purpose} needs {library}: pip install 'structsvm-partitioning[{extra}]'"
        ) from error
