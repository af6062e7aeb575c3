"""Settings of dataclasses by name. The help of the command line needs them, and no NumPy."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any


def settings_in(value: object) -> dict[str, Any]:
    """The settings of a dataclass by name; none of anything else."""
    if not is_dataclass(value) or isinstance(value, type):
        return {}
    return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
