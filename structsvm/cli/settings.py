"""The settings of a problem as they are typed: ``--set NAME=VALUE``, for whatever problem it is."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from structsvm.errors import SettingsError
from structsvm.plugins import Declared, problem_class

__all__ = ["assignment", "problem_with"]


def assignment(text: str) -> tuple[str, str]:
    """``NAME=VALUE`` as a pair; dashes in names may stand for underscores."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return name.replace("-", "_"), value


def problem_with(name: str, given: Mapping[str, Any]) -> Declared:
    """The problem of a name with the settings that were given, texts as their fields have them."""
    cls = problem_class(name)
    known = {field.name: field for field in fields(cls) if field.init}  # type: ignore[arg-type]
    for setting in given:
        if setting not in known:
            has = ", ".join(known) or "none"
            raise SettingsError(f"problem {name} has no setting {setting!r}, it has {has}")
    for setting, field in known.items():
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and setting not in given:
            raise SettingsError(f"problem {name} needs a setting: give --set {setting}=VALUE")
    return cls(**{setting: _value(known[setting], value) for setting, value in given.items()})


def _value(field: Field[Any], value: Any) -> Any:
    """A text as the value it stands for, by the type its field declares."""
    if not isinstance(value, str):
        return value
    declared = field.type if isinstance(field.type, str) else _written(field.type)
    kinds = [kind.strip() for kind in _UNION.split(declared)]
    if "None" in kinds and value.lower() == "none":
        return None
    for kind, read in (("bool", _truth), ("int", int), ("float", float)):
        if kind in kinds:
            try:
                return read(value)
            except ValueError:
                continue
    for kind in kinds:
        name = kind.partition("[")[0].rpartition(".")[2]
        if name in COLLECTIONS and (found := _collection(value, COLLECTIONS[name])) is not None:
            return found
    if "str" in kinds:
        return value
    raise SettingsError(f"{field.name} must be {declared}, got {value!r}")


_UNION = re.compile(r"\|(?![^\[]*\])")
"""What is between the types of a union, and not inside brackets."""


COLLECTIONS: dict[str, type] = {
    "tuple": tuple,
    "Tuple": tuple,
    "Sequence": tuple,
    "list": list,
    "List": list,
    "dict": dict,
    "Dict": dict,
    "Mapping": dict,
    "set": set,
    "Set": frozenset,
    "frozenset": frozenset,
}
"""What is made of a text that is written as Python writes it, by the type that is declared."""


def _written(kind: Any) -> str:
    """A type as it is written in a program."""
    return kind.__name__ if type(kind) is type else str(kind)


def _collection(text: str, kind: type) -> Any:
    """A tuple, list, set or mapping; None for a text that is none. Names and calls are not read."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if kind is dict:
        return value if isinstance(value, dict) else None
    return kind(value) if isinstance(value, tuple | list | set) else None


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"
