"""``structsvm problems`` and ``structsvm oracles``: what is installed, from whom."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from structsvm.cli.parser import report_options
from structsvm.cli.terminal import Terminal
from structsvm.plugins import Plugin, oracles, problems

__all__ = ["add_parser"]

EPILOG = """\
examples:
  structsvm problems
  structsvm oracles --json

Any installed distribution adds its own by an entry point; structsvm new problem NAME writes one.
"""

KINDS = {
    "problems": ("list the problems that can be learned", problems),
    "oracles": ("list the separation oracles", oracles),
}


def add_parser(commands: Any) -> None:
    """Declare both commands."""
    for kind, (title, _) in KINDS.items():
        parser = commands.add_parser(
            kind,
            help=title,
            description=f"{title.capitalize()}, of this and of other distributions.",
            epilog=EPILOG,
            parents=[report_options()],
        )
        parser.set_defaults(run=run)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """List them; those that cannot be used are warnings."""
    _, find = KINDS[args.command]
    found = find()
    plain = [asdict(plugin) for plugin in found]
    terminal.report({args.command: plain}, _table(found))
    for plugin in found:
        if plugin.error is not None:
            terminal.warn(f"{plugin.error} [{plugin.distribution}]")
    return 0


def _table(found: Sequence[Plugin]) -> Table:
    """A name, and beside it what it is, where it is from and how it can be set."""
    table = Table.grid(padding=(0, 3))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for plugin in found:
        origin = Text(f"{plugin.value} ({plugin.distribution})", "dim")
        state = Text("cannot be used", "red") if plugin.error else _plain(plugin.summary)
        lines = [state, origin]
        if plugin.settings:
            lines.append(Text(" ".join(f"{k}={v}" for k, v in plugin.settings.items()), "dim"))
        table.add_row(plugin.name, Text("\n").join(lines))
    return table


def _plain(summary: str) -> Text:
    """A line of documentation without its markup."""
    return Text(summary.replace("`", ""))
