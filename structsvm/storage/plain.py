"""Values as JSON has them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["finite"]


def finite(value: Any) -> Any:
    """The same, through lists and mappings, with None for infinities and NaN, which JSON lacks."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
