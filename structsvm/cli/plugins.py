"""``structsvm problems`` and ``structsvm oracles``: what is installed, from whom."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from structsvm.cli.settings import flat, kinds
from structsvm.cli.terminal import Terminal
from structsvm.plugins import Plugin, oracles
from structsvm.support.plain import finite

__all__ = ["run"]


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """List them; those that cannot be used are warnings."""
    found = kinds() if args.command == "problems" else oracles()
    plain = [finite(asdict(plugin) | {"settings": flat(plugin.settings)}) for plugin in found]
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
            lines.append(
                Text(" ".join(f"{k}={v}" for k, v in flat(plugin.settings).items()), "dim")
            )
        table.add_row(plugin.name, Text("\n").join(lines))
    return table


def _plain(summary: str) -> Text:
    """A line of documentation without its markup."""
    return Text(summary.replace("`", ""))
