"""Where a command prints: what was asked for on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from structsvm.errors import printable
from structsvm.support.progress import watching

SECONDS_UNTIL_FIRST_LINE, SECONDS_BETWEEN_LINES = 2.0, 10.0
"""When progress is told where it cannot be animated."""
SHOWN = 3  # warnings that differ in names and numbers alone and are shown one by one
WIDE = 1_000  # columns of what is no terminal, such as a file, unless COLUMNS is set


def console(**settings: Any) -> Console:
    """A console that takes text as it is, and is as wide as what is printed if it is a file."""
    console = Console(highlight=False, markup=False, emoji=False, **settings)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = WIDE
    return console


@dataclass(frozen=True, eq=False)
class Terminal:
    """The console of one run of a command."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    out: Console = field(default_factory=console)
    err: Console = field(default_factory=lambda: console(stderr=True))
    _warnings: dict[str, list[str]] = field(default_factory=dict, init=False)
    """The warnings of each kind."""

    def report(self, plain: Any, *readable: RenderableType) -> None:
        """Print the result of the command: ``plain`` as JSON, or else what people read."""
        if self.as_json:
            self.out.file.write(json.dumps(plain, indent=2, allow_nan=False) + "\n")
            return
        for part in readable:
            if isinstance(part, str):
                self.out.print(printable(part), soft_wrap=True)
            else:
                self.out.print(part)

    def note(self, text: str) -> None:
        """Tell something that helps but is not the result."""
        if not self.quiet:
            self.err.print(printable(text), soft_wrap=True)

    def warn(self, text: str) -> None:
        """Tell something that the user should not miss; of many of a kind, the first ones."""
        # The kind is the text without the name it begins with, without details and numbers.
        kind = re.sub(r"\d", "", text.split(": ")[:2][-1])
        alike = self._warnings.setdefault(kind, [])
        alike.append(text)
        if self.verbose or len(alike) <= SHOWN:
            self._warn(text)

    def count_warnings(self) -> None:
        """Tell how many warnings have not been shown."""
        for alike in self._warnings.values():
            more = len(alike) - SHOWN
            if more > 0 and not self.verbose:
                self._warn(
                    f"{more} more of this kind, the last one: {alike[-1]} (--verbose shows all)"
                )

    def _warn(self, text: str) -> None:
        self.err.print(f"warning: {printable(text)}", style="yellow", soft_wrap=True)

    def error(self, text: str) -> None:
        """Tell why there is no result."""
        self.err.print(f"error: {printable(text)}", style="red", soft_wrap=True)

    @contextmanager
    def working(self, task: str) -> Iterator[None]:
        """Show that something is going on, how far it has come, and how long it will take."""
        if self.quiet:
            yield
        elif self.err.is_terminal:
            words = TextColumn("{task.description}", markup=False)
            columns = (SpinnerColumn(), words, BarColumn(20), TimeRemainingColumn())
            with Progress(*columns, console=self.err, transient=True) as progress:
                bar = progress.add_task(printable(task), total=None)  # until the work says how far

                def move(words: str, part: float) -> None:
                    description = printable(_doing(task, words))
                    progress.update(bar, description=description, total=1.0, completed=part)

                with watching(move):
                    yield
        else:
            due = time.monotonic() + SECONDS_UNTIL_FIRST_LINE

            def tell(words: str, part: float) -> None:
                nonlocal due
                if time.monotonic() >= due:
                    due = time.monotonic() + SECONDS_BETWEEN_LINES
                    self.note(f"{_doing(task, words)}, {part:.0%}")

            with watching(tell):
                yield


def facts(rows: Sequence[tuple[str, str | Text]], style: str = "") -> Table:
    """Names, and beside them what is said of them, which may take several lines."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style=style, no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(printable(name), value if isinstance(value, Text) else printable(value))
    return table


def _doing(task: str, words: str) -> str:
    innermost = words.rpartition(": ")[2]
    return task if innermost == task else f"{task}: {innermost}"
