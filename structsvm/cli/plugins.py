"""``structsvm problems`` and ``structsvm oracles``: what is installed, from whom."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from structsvm.cli.settings import flat
from structsvm.cli.terminal import Terminal, facts
from structsvm.plugins import Plugin, oracles, problems, structured_problems
from structsvm.support.plain import finite


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """List them; those that cannot be used are warnings."""
    groups = {"oracles": oracles()}
    if args.command == "problems":
        groups = {"problems": problems(), "structured_problems": structured_problems()}
    shown: list[Any] = []
    for name, found in groups.items():
        if name == "structured_problems" and found:
            shown.append(Text("\nfor structsvm.StructuredSVM, in Python:\n"))
        shown.append(_table(found))
    terminal.report({name: list(map(_plain, found)) for name, found in groups.items()}, *shown)
    for plugin in itertools.chain(*groups.values()):
        if plugin.error is not None:
            terminal.warn(f"{plugin.error} [{plugin.distribution}]")
    return 0


def _plain(plugin: Plugin) -> Any:
    return finite(asdict(plugin) | {"settings": flat(plugin.settings)})


def _table(found: Sequence[Plugin]) -> Table:
    """A name, and beside it what it is, where it is from and how it can be set."""
    return facts([(plugin.name, _described(plugin)) for plugin in found], "bold")


def _described(plugin: Plugin) -> Text:
    settings = " ".join(f"{k}={v}" for k, v in flat(plugin.settings).items())
    lines = [
        Text("cannot be used", "red") if plugin.error else Text(plugin.summary.replace("`", "")),
        Text(f"{plugin.value} ({plugin.distribution})", "dim"),
        *([Text(settings, "dim")] if settings else []),
    ]
    return Text("\n").join(lines)
