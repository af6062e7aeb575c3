"""Settings of dataclasses by name. The help of the command line needs them, and no NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any


def settings_in(value: object) -> dict[str, Any]:
    """The settings of a dataclass by name; none of anything else."""
    if not is_dataclass(value) or isinstance(value, type):
        return {}
    return {field.name: getattr(value, field.name) for field in fields(value) if field.init}


def without_remembered(value: object, state: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of an object but for those that it remembers only to save time."""
    cls = type(value)
    remembered = {name for name in state if isinstance(getattr(cls, name, 0), cached_property)}
    return {name: held for name, held in state.items() if name not in remembered}


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name, those of a group (a dataclass) as ``image.radius``."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        inner = settings_in(value)
        found |= {f"{name}.{k}": v for k, v in flat(inner).items()} if inner else {name: value}
    return found
