"""Plain values: as JSON has them, as messages show them, and arrays that nobody writes to."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def counted(n: int, noun: str) -> str:
    """Return a number of things in words: "1 row", "3 rows"."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def some_of(names: Sequence[str], limit: int = 6, between: str = ", ") -> str:
    """Some names, and how many there are where these are not all."""
    shown = between.join(map(str, names[:limit]))
    return shown if len(names) <= limit else f"{shown}{between}... ({len(names)} in all)"


FORMULA = ("=", "+", "-", "@")
"""How a cell begins that a program for sheets computes."""


def cell(value: Any) -> Any:
    """A value as a table has it: a name that a program for sheets would compute is quoted."""
    is_formula = isinstance(value, str) and value.lstrip().startswith(FORMULA)
    return f"'{value}" if is_formula and not is_number_text(value) else value


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = ",") -> str:
    """A table as text, for a program for sheets as well."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    writer.writerows(map(cell, row) for row in (header, *rows))
    return buffer.getvalue()


def uncell(text: str) -> str:
    """The name that :func:`cell` has quoted."""
    return text[1:] if text.startswith("'") and text[1:].lstrip().startswith(FORMULA) else text


def is_number_text(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def finite(value: Any) -> Any:
    """Return plain lists and mappings, with None for infinities and NaN, which JSON lacks."""
    if isinstance(value, dict):
        texts = {name if isinstance(name, str) else repr(name): v for name, v in value.items()}
        return {name: finite(item) for name, item in texts.items()}
    if isinstance(value, set | frozenset):
        return [finite(item) for item in sorted(value, key=repr)]
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array, which itself stays writable."""
    view = array.view()
    view.setflags(write=False)
    return view


def shown(value: object) -> str:
    """A value in an error message: what it is, and the value itself if that is short."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    name, text = type(value).__name__, repr(value)
    kind = f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
    return kind if len(text) > 60 else f"{text} ({kind})"
