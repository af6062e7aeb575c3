"""Where a command prints: what was asked for on stdout, everything else on stderr."""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

from structsvm.errors import printable
from structsvm.support.progress import Watcher, seconds_apart, watching

SECONDS_UNTIL_FIRST_LINE = 2.0
SECONDS_BETWEEN_LINES = 10.0
"""When progress is told where it cannot be animated."""
SHOWN = 3
"""Warnings of a kind, which differ in names and numbers alone, that are shown one by one."""
SECONDS_UNTIL_ESTIMATE = 1.0
"""What is measured before the time left is guessed."""
PART_UNTIL_ESTIMATE = 0.01
"""Of the whole: of less, what it takes to begin would be told as hours."""


@dataclass(frozen=True, eq=False)
class Terminal:
    """The console of one run of a command."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    out: Console = field(
        default_factory=lambda: safe_console(highlight=False, markup=False, emoji=False)
    )
    err: Console = field(
        default_factory=lambda: safe_console(
            stderr=True, highlight=False, markup=False, emoji=False
        )
    )
    _shown: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    """How many warnings of each kind have been shown one by one."""
    _held: dict[str, list[str]] = field(default_factory=dict, init=False, repr=False)
    """Those of each kind that have not been told yet."""

    def report(self, plain: Any, *readable: RenderableType) -> None:
        """Print the result of the command: ``plain`` as JSON, or else what people read."""
        self.warn_of_the_rest()
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
        self.warn_of_the_rest()
        if not self.quiet:
            self.err.print(printable(text), soft_wrap=True)

    def warn(self, text: str) -> None:
        """Tell something that the user should not miss; of many of a kind, the first ones now."""
        kind = _kind(text)
        shown = self._shown.get(kind, 0)
        if self.verbose or shown < SHOWN:
            self._shown[kind] = shown + 1
            self._warn(text)
        else:
            self._held.setdefault(kind, []).append(text)

    def warn_of_the_rest(self) -> None:
        """Tell how many warnings have not been shown, also in a thread that tells progress."""
        for kind in list(self._held):
            held = self._held.pop(kind, [])
            if len(held) == 1:
                self._warn(held[0])
            elif held:
                self._warn(
                    f"{len(held)} more of this kind, the last one: {held[-1]} (--verbose shows all)"
                )

    def _warn(self, text: str) -> None:
        self.err.print(f"warning: {printable(text)}", style="yellow", soft_wrap=True)

    def error(self, text: str) -> None:
        """Tell why there is no result."""
        self.warn_of_the_rest()
        self.err.print(f"error: {printable(text)}", style="red", soft_wrap=True)

    @contextmanager
    def working(self, task: str, left: Callable[[float], str] | None = None) -> Iterator[None]:
        """Show that something is going on, how far it has come, and how long it will take."""
        left = Clock().left if left is None else left
        if self.quiet:
            yield
        elif self.err.is_terminal:
            with (
                self.err.status(Text(_spelled_out(task))) as status,
                watching(_timed(task, status.update, left)),
            ):
                yield
        else:
            with self._lines(task) as show, watching(_timed(task, show, left)):
                yield

    @contextmanager
    def _lines(self, task: str) -> Iterator[Callable[[Text], None]]:
        """Where nothing can be animated: a line when a task takes long, another now and then."""
        latest, due = Text(task), time.monotonic() + SECONDS_BETWEEN_LINES

        def show(line: Text) -> None:
            nonlocal latest, due
            latest = line
            if time.monotonic() >= due:
                due = time.monotonic() + SECONDS_BETWEEN_LINES
                self.note(str(line))

        first = threading.Timer(SECONDS_UNTIL_FIRST_LINE, lambda: self.note(str(latest)))
        first.daemon = True
        first.start()
        try:
            yield show
        finally:
            first.cancel()
            first.join()  # its line is not printed among those of what comes next


def _kind(text: str) -> str:
    """A warning without the name it begins with, without details, and without numbers."""
    what = text.split(": ")[:2][-1]
    return re.sub(r"\d+", "#", what)


def safe_console(**settings: Any) -> Console:
    """A console on which names of files, features and labels cannot command the terminal."""
    console = Console(**settings)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = WIDE
    console.push_render_hook(_WithoutControls())
    return console


WIDE = 1_000
"""Columns of what is no terminal, such as a file, unless COLUMNS is set: tables are as wide as what
is in them."""
CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"
}
"""How control characters are shown: an escape sequence in a name is read and not obeyed."""


def _spelled_out(text: str) -> str:
    return text.translate(CONTROLS)


class _WithoutControls(RenderHook):
    """Spells out the control characters of all that is printed; colours come after it."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_SpelledOut(renderable) for renderable in renderables]


@dataclass(frozen=True)
class _SpelledOut:
    """Something to print, its control characters as text."""

    inner: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self.inner, options):
            if segment.control:
                yield segment
            else:
                yield Segment(_spelled_out(segment.text), segment.style)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self.inner)


def _timed(task: str, show: Callable[[Text], None], left: Callable[[float], str]) -> Watcher:
    """A watcher that shows a task, what is being done, and how much longer that takes."""

    def watch(words: str, part: float) -> None:
        innermost = words.rpartition(": ")[2]
        doing = task if innermost == task else f"{task}: {innermost}"
        show(Text(_spelled_out(", ".join(filter(None, [doing, left(part)])))))

    return watch


class Clock:
    """How much longer something takes, by how long its part so far has taken."""

    def __init__(self) -> None:
        self._latest = math.inf

    def left(self, part: float) -> str:
        """In words, once it can be told; a part that shrinks begins something new."""
        now = time.monotonic() - seconds_apart()
        if part < self._latest:
            self._started, self._first = now, part
        self._latest = part
        elapsed, done = now - self._started, part - self._first
        if done < PART_UNTIL_ESTIMATE or elapsed < SECONDS_UNTIL_ESTIMATE:
            return ""
        return f"about {_duration(elapsed * (1.0 - part) / done)} left"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(round(seconds), 1)} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"
