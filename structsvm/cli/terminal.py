"""Where a command prints: what was asked for on stdout, everything else on stderr."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, RenderableType

__all__ = ["Say", "Terminal"]

Say = Callable[[str], None]

SECONDS_UNTIL_FIRST_LINE = 2.0
SECONDS_BETWEEN_LINES = 10.0
"""When progress is told where it cannot be animated."""


@dataclass(frozen=True, eq=False)
class Terminal:
    """The console of one run of a command.

    Parameters
    ----------
    as_json : bool
        Whether the report is JSON, and then the only thing on stdout.
    quiet : bool
        Whether progress and notes are left out; warnings and errors are not.
    """

    as_json: bool = False
    quiet: bool = False
    out: Console = field(default_factory=lambda: Console(highlight=False, markup=False))
    err: Console = field(
        default_factory=lambda: Console(stderr=True, highlight=False, markup=False)
    )

    def report(self, plain: Any, *readable: RenderableType) -> None:
        """Print the result of the command: ``plain`` as JSON, or else what people read."""
        if self.as_json:
            self.out.file.write(json.dumps(plain, indent=2, allow_nan=False) + "\n")
            return
        for part in readable:
            self.out.print(part, soft_wrap=isinstance(part, str))

    def note(self, text: str) -> None:
        """Tell something that helps but is not the result."""
        if not self.quiet:
            self.err.print(text, soft_wrap=True)

    def warn(self, text: str) -> None:
        """Tell something that the user should not miss."""
        self.err.print(f"warning: {text}", style="yellow", soft_wrap=True)

    def error(self, text: str) -> None:
        """Tell why there is no result."""
        self.err.print(f"error: {text}", style="red", soft_wrap=True)

    @contextmanager
    def working(self, task: str) -> Iterator[Say]:
        """Show that something is going on; the function it gives tells how far it has come."""
        if self.quiet:
            yield lambda _: None
        elif self.err.is_terminal:
            with self.err.status(task) as status:
                yield lambda progress: status.update(f"{task}: {progress}")
        else:
            with self._lines(task) as say:
                yield say

    @contextmanager
    def _lines(self, task: str) -> Iterator[Say]:
        """Where nothing can be animated: a line when a task takes long, another now and then."""
        due = time.monotonic() + SECONDS_BETWEEN_LINES
        first = threading.Timer(SECONDS_UNTIL_FIRST_LINE, self.note, (task,))
        first.daemon = True

        def say(progress: str) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + SECONDS_BETWEEN_LINES
                self.note(f"{task}: {progress}")

        first.start()
        try:
            yield say
        finally:
            first.cancel()
