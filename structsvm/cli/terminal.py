"""The terminal of a command, and how messages there name parameters and recordings."""

import json
import math
import os
import shlex
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from structsvm.errors import Numbered, Parameter, Part, StructSVMError, Text, Wording, printable
from structsvm.support import watching


class Spelling:
    """Renders messages for one run of a command: parameters as options, recordings as files."""

    def __init__(self, options: Callable[[], Mapping[str, str]] = dict) -> None:
        self._options = options
        self._named: list[tuple[str, Sequence[str]]] = []
        """The noun and the places of recordings, of each nested block; the last pair counts."""

    @cached_property
    def options(self) -> Mapping[str, str]:
        """How each parameter begins as an option: ``--lam `` or ``--set solver.tol=``."""
        return self._options()

    def __call__(self, message: str) -> str:
        """A message as the command line renders it."""
        return "".join(map(self.part, Text(message).parts))

    def part(self, part: Part) -> str:
        """A part of a message as text."""
        if isinstance(part, Parameter):
            return self._option(part)
        if isinstance(part, Wording):
            return self(part.of_files)
        return str(self.place(part))

    @contextmanager
    def naming(self, noun: str, places: Sequence[str]) -> Iterator[None]:
        """Render the numbers of recordings as their places, also in errors that leave the block."""
        self._named.append((noun, places))
        try:
            yield
        except StructSVMError as error:
            error.change(self.place)
            raise
        finally:
            self._named.pop()

    def place(self, part: Part) -> Part:
        """The place of a recording; anything else as it is."""
        if not self._named or not isinstance(part, Numbered):
            return part
        noun, places = self._named[-1]
        is_known = part.noun == noun and part.number < len(places)
        return places[part.number] if is_known else part

    def _option(self, parameter: Parameter) -> str:
        """A parameter as an option with its value, shell quoted."""
        option = self.options.get(parameter.name)
        if option is None:
            return str(parameter)
        if parameter.is_named_alone:
            return option.rstrip(" =")
        value = parameter.value
        texts = list(map(str, value if isinstance(value, list | tuple) else [value]))
        if option.endswith("="):
            return option + ("VALUE" if parameter.is_open else shlex.quote(",".join(texts)))
        if parameter.is_open:
            return option.rstrip()
        return " ".join(f"{option}{shlex.quote(text)}" for text in texts)


SECONDS_UNTIL_FIRST_LINE, SECONDS_BETWEEN_LINES = 2.0, 10.0
"""When lines of progress are printed, if stderr is no terminal."""
SHOWN_WARNINGS = 3  # of warnings that differ in names and numbers alone, so many are shown
WIDTH_OF_FILES = 1_000  # columns of output that goes to no terminal, unless COLUMNS is set


def console(**settings: Any) -> Console:
    """A console without markup, which does not wrap lines unless it is a terminal."""
    console = Console(highlight=False, markup=False, emoji=False, **settings)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = WIDTH_OF_FILES
    return console


@dataclass(frozen=True, eq=False)
class Terminal:
    """Where one run of a command prints its results, notes, warnings and progress."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    out: Console = field(default_factory=console)
    err: Console = field(default_factory=lambda: console(stderr=True))
    spelling: Spelling = field(default_factory=Spelling)  # how messages are spelled
    _warnings: dict[Any, list[str]] = field(default_factory=dict, init=False)
    """The different warnings of each kind."""
    parts: list[Any] | None = None
    """Where results are kept, in place of printing them as JSON, if they are parts of another."""

    def report(self, plain: Any, *readable: str) -> None:
        """Print the result of the command: ``plain`` as JSON, or else the ``readable`` texts."""
        if self.parts is not None:
            self.parts.append(plain)
        elif self.as_json:
            self.out.file.write(json.dumps(plain, indent=2, allow_nan=False) + "\n")
        for text in () if self.as_json else readable:
            self.out.print(printable(text), soft_wrap=True)

    def beside(self, rows: Sequence[tuple[str, str]]) -> str:
        """Two columns: names, and their descriptions, which may take several lines."""
        start = max(len(printable(name)) for name, _ in rows) + 2
        shape: Any = {"width": max(self.out.width, 2 * start), "subsequent_indent": " " * start}
        return "\n".join(
            textwrap.fill(f"{printable(name):<{start}}{printable(said)}", **shape)
            for name, said in rows
        )

    def note(self, text: str) -> None:
        """Print something helpful that is not the result."""
        if not self.quiet:
            self._print(text)

    def warn(self, message: str, kind: Any = None) -> None:
        """Print a warning once; of many warnings of a kind, only the first ones."""
        text = self.spelling(message)
        alike = self._warnings.setdefault(text if kind is None else kind, [])
        if text not in alike:
            alike.append(text)
            if self.verbose or len(alike) <= SHOWN_WARNINGS:
                self._print(f"warning: {text}", "yellow")

    def count_warnings(self) -> None:
        """Print how many warnings have not been shown."""
        for alike in self._warnings.values():
            more = len(alike) - SHOWN_WARNINGS
            if more > 0 and not self.verbose:
                last = f"{more} more of this kind, the last one: {alike[-1]}"
                self._print(f"warning: {last} (--verbose shows all)", "yellow")

    def error(self, text: str) -> None:
        """Print why there is no result."""
        self._print("error: " + text, "red")

    def _print(self, text: str, style: str | None = None) -> None:
        self.err.print(printable(self.spelling(text)), style=style, soft_wrap=True)

    @contextmanager
    def working(
        self,
        task: str,
        end: float = math.inf,
        levels: slice = slice(-1, None),
        at_most: bool = False,
    ) -> Iterator[None]:
        """Show how far the work in the block has come, and how long it will take, until ``end``.

        With ``at_most`` the time until ``end`` is shown in place of an estimate. Work tells its
        title, then those of ever smaller parts of it, of which ``levels`` are shown.
        """
        if self.quiet:
            yield
            return
        live = self.err.is_terminal
        start = time.monotonic()
        due = start + SECONDS_UNTIL_FIRST_LINE
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(20))
        progress = Progress(*columns, console=self.err, transient=True, disable=not live)
        bar = progress.add_task(printable(task), total=None)  # unknown until the work tells it

        def tell(words: str, part: float) -> None:
            nonlocal due
            now = time.monotonic()
            shown = ", ".join(dict.fromkeys(words.split(": ")[levels]))
            doing = printable(task if shown == task else f"{task}: {shown}")
            if now - start >= SECONDS_UNTIL_FIRST_LINE and part > 0 and now < end:
                is_bound = at_most and end < math.inf
                estimate = (now - start) * (1 - part) / part
                left = end - now if is_bound else min(estimate, end - now)
                duration = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min"
                doing += f", {'at most' if is_bound else 'about'} {duration} left"
            progress.update(bar, description=doing, total=1.0, completed=part)
            if not live and now >= due:
                due = now + SECONDS_BETWEEN_LINES
                self.note(f"{doing}, {part:.0%}")

        with progress if live else nullcontext(), watching(tell):
            yield
