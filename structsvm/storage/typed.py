"""Whether a value that was read from a file is of the type that its field says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_type_hints

from structsvm.storage.unstored import Unstored
from structsvm.support.typed import suits


def refuse_strangers(cls: type, settings: Mapping[str, Any]) -> None:
    """Check the values for the fields of a dataclass by its annotations."""
    hints = _hints(cls)
    for name, value in settings.items():
        stored = not isinstance(value, Unstored)
        if stored and name in hints and not suits(value, hints[name]):
            raise TypeError(f"{cls.__name__}.{name} cannot be {value!r}")


@cache
def _hints(cls: type) -> dict[str, Any]:
    try:
        found = get_type_hints(cls)
    except NameError:  # a name that is there for type checkers alone
        return {}
    return {f.name: found[f.name] for f in fields(cls) if f.init}
