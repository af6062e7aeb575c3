"""Values as JSON has them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["finite"]


def finite(value: Any) -> Any:
    """The same, through lists and mappings, with None for infinities and NaN, which JSON lacks."""
    if isinstance(value, dict):
        texts = {name if isinstance(name, str) else repr(name): v for name, v in value.items()}
        return {name: finite(item) for name, item in texts.items()}
    if isinstance(value, set | frozenset):
        return [finite(item) for item in sorted(value, key=repr)]
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
