"""How files are read: as it was typed now, or when the model was learned."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from structsvm.cli.settings import texts
from structsvm.errors import SettingsError
from structsvm.io import with_labels
from structsvm.io.cleaning import NOT_BETWEEN
from structsvm.io.options import FileOptions
from structsvm.support.checks import meant

OPTIONS = ("label_column", "labels", "time_column", "recording_column", "ignore", "missing")
"""Parameters of reading that have an option of their own."""
OF_COMMANDS = (
    *("path", "recordings", "need_labels", "blanks", "max_bytes", "optional", "in_order"),
)
"""Parameters of reading that commands give themselves."""
COLUMNS = ("label_column", "time_column", "recording_column")
ONCE = ("labels", "ignore", "features", "chunk_column", "subject", "tier", "annotator")
"""What is about the files of one command, and no other ones of the model."""
SEVERAL: dict[str, Callable[[str], Sequence[Any]]] = {
    "features": lambda text: text.split(","),
    "missing_labels": lambda text: text.split(","),
    "skip_lines": lambda text: line_numbers(text),
}
"""Parameters that are several values, which commas separate."""


@cache
def parameters_of_files() -> tuple[str, ...]:
    of_files = [one.name for one in fields(FileOptions)]
    found = [*OPTIONS, *of_files, *inspect.signature(with_labels).parameters]
    return tuple(name for name in dict.fromkeys(found) if name not in OF_COMMANDS)


@dataclass(frozen=True)
class Reading:
    """Parameters of reading by name."""

    typed: Mapping[str, Any]
    known: Mapping[str, Any] = field(default_factory=dict)
    """Those of the model."""

    @classmethod
    def of(cls, args: argparse.Namespace, learner: Any = None) -> Reading:
        """The parameters that were typed, and those of the model."""
        own = {name: getattr(args, name, None) for name in OPTIONS}
        typed = {name: value for name, value in own.items() if value is not None}
        known = [name for name in parameters_of_files() if name not in OPTIONS]
        for name, text in texts(args, "files").items():
            if name not in known:
                raise SettingsError(
                    f"--set files.{name}: reading has no such parameter, it has "
                    f"{', '.join(known)}{meant(name, known)}"
                )
            typed[name] = SEVERAL[name](text) if name in SEVERAL else text
        return cls(typed, getattr(learner, "columns_", {}))

    def __getitem__(self, name: str) -> Any:
        """A parameter, None if nobody has said it."""
        return self.typed.get(name, self.known.get(name))

    @property
    def remembered(self) -> dict[str, Any]:
        return {name: value for name, value in self.typed.items() if name not in ONCE}

    @property
    def of_labels(self) -> dict[str, Any]:
        own = inspect.signature(with_labels).parameters
        return {name: self[name] for name in own if name not in OF_COMMANDS}

    def options(
        self, *, need_labels: bool = True, blanks: bool = False, in_order: bool = True
    ) -> FileOptions:
        """How files are read for a command."""
        missing = self["missing"] or "error"
        if missing != "error" and not in_order:
            raise SettingsError(
                f"--missing {missing} is for recordings: rows of a table are in no order, so that "
                f"no value is between two others; {NOT_BETWEEN}"
            )
        own = {one.name: self[one.name] for one in fields(FileOptions)}
        optional = [
            self.known[name] for name in COLUMNS if name in self.known and name not in self.typed
        ]
        return FileOptions(
            **{name: value for name, value in own.items() if value is not None}
            | {
                "need_labels": need_labels,
                "blanks": blanks,
                "in_order": in_order,
                "optional": frozenset(optional),
            }
        )


def line_numbers(text: str) -> list[int]:
    """Read numbers of lines, ``1-3,5``; 0 alone stands for none."""
    lines: list[int] = []
    for part in text.split(",") if text.strip() not in ("", "0") else ():
        found = re.fullmatch(r"\s*([1-9]\d{0,5})(?:-([1-9]\d{0,5}))?\s*", part)
        if not found or int(found[2] or found[1]) < int(found[1]):
            raise SettingsError(
                f"lines to skip are numbers from 1 on, such as 2 or 1-3,5, got {text!r}"
            )
        lines += range(int(found[1]), int(found[2] or found[1]) + 1)
    return lines
