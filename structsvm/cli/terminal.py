"""Where a command prints, and how it spells the parameters and recordings that messages name."""

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
    """The words of one run of a command; without options, those of Python."""

    def __init__(self, options: Callable[[], Mapping[str, str]] = dict) -> None:
        self._options = options
        self._named: list[tuple[str, Sequence[str]]] = []
        """What recordings are called in messages, and the place of each; the last ones count."""

    @cached_property
    def options(self) -> Mapping[str, str]:
        """How each parameter begins as an option: ``--lam `` or ``--set solver.tol=``."""
        return self._options()

    def __call__(self, message: str) -> str:
        """A message in the words of the command line."""
        return "".join(map(self.part, Text(message).parts))

    def part(self, part: Part) -> str:
        if isinstance(part, Parameter):
            return self._option(part)
        if isinstance(part, Wording):
            return self(part.of_files)
        return str(self.place(part))

    @contextmanager
    def naming(self, noun: str, places: Sequence[str]) -> Iterator[None]:
        """Call recordings by their places, also in errors that leave the block."""
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
"""When progress is told where it cannot be animated."""
SHOWN_WARNINGS = 3  # warnings that differ in names and numbers alone and are shown one by one
WIDTH_OF_FILES = 1_000  # columns of what is no terminal, such as a file, unless COLUMNS is set


def console(**settings: Any) -> Console:
    """A console that takes text as it is, and is as wide as what is printed if it is a file."""
    console = Console(highlight=False, markup=False, emoji=False, **settings)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = WIDTH_OF_FILES
    return console


@dataclass(frozen=True, eq=False)
class Terminal:
    """The console of one run of a command."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    out: Console = field(default_factory=console)
    err: Console = field(default_factory=lambda: console(stderr=True))
    spelling: Spelling = field(default_factory=Spelling)  # how messages are spelled
    _warnings: dict[Any, list[str]] = field(default_factory=dict, init=False)
    """The warnings of each kind."""
    parts: list[Any] | None = None
    """The results of a command that is run for each of several parts of its input."""

    def report(self, plain: Any, *readable: str) -> None:
        """Print the result of the command: ``plain`` as JSON, or else what people read."""
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
        """Tell something that helps but is not the result."""
        if not self.quiet:
            self._print(text)

    def warn(self, message: str, kind: Any = None) -> None:
        """Tell once what the user should not miss; of many of a kind, the first ones."""
        text = self.spelling(message)
        alike = self._warnings.setdefault(text if kind is None else kind, [])
        if text not in alike:
            alike.append(text)
            if self.verbose or len(alike) <= SHOWN_WARNINGS:
                self._print(f"warning: {text}", "yellow")

    def count_warnings(self) -> None:
        """Tell how many warnings have not been shown."""
        for alike in self._warnings.values():
            more = len(alike) - SHOWN_WARNINGS
            if more > 0 and not self.verbose:
                last = f"{more} more of this kind, the last one: {alike[-1]}"
                self._print(f"warning: {last} (--verbose shows all)", "yellow")

    def error(self, text: str) -> None:
        """Tell why there is no result."""
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
        """Show how far the work has come, and how long it will take, until ``end`` at most.

        How long all that follows takes at most, if there is an end, is told in place of how long
        this takes ``at_most``.

        What is being done is told in words for ever smaller parts of it: ``levels`` are shown.
        """
        if self.quiet:
            yield
            return
        live = self.err.is_terminal
        start = time.monotonic()
        due = start + SECONDS_UNTIL_FIRST_LINE
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(20))
        progress = Progress(*columns, console=self.err, transient=True, disable=not live)
        bar = progress.add_task(printable(task), total=None)  # until the work says how far

        def tell(words: str, part: float) -> None:
            nonlocal due
            now = time.monotonic()
            shown = ", ".join(dict.fromkeys(words.split(": ")[levels]))
            doing = printable(task if shown == task else f"{task}: {shown}")
            if now - start >= SECONDS_UNTIL_FIRST_LINE and part > 0 and now < end:
                is_bound = at_most and end < math.inf
                left = end - now if is_bound else min((now - start) * (1 - part) / part, end - now)
                told = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min"
                doing += f", {'at most' if is_bound else 'about'} {told} left"
            progress.update(bar, description=doing, total=1.0, completed=part)
            if not live and now >= due:
                due = now + SECONDS_BETWEEN_LINES
                self.note(f"{doing}, {part:.0%}")

        with progress if live else nullcontext(), watching(tell):
            yield
