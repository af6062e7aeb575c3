"""``structsvm problems`` and ``structsvm oracles``: what is installed, from whom."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from rich.text import Text

from structsvm.cli.settings import flat
from structsvm.cli.terminal import Terminal, facts
from structsvm.plugins import ORACLES, PROBLEMS, STRUCTURED, Plugin, plugins
from structsvm.support.plain import finite


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """List them; those that cannot be used are warnings."""
    groups = {"oracles": plugins(ORACLES)}
    if args.command == "problems":
        groups = {"problems": plugins(PROBLEMS), "structured_problems": plugins(STRUCTURED)}
    plain: dict[str, Any] = {}
    shown: list[Any] = []
    for name, found in groups.items():
        plain[name] = [
            finite(asdict(plugin) | {"settings": flat(plugin.settings)}) for plugin in found
        ]
        if name == "structured_problems" and found:
            shown.append(Text("\nfor structsvm.StructuredSVM, in Python:\n"))
        shown.append(facts([(plugin.name, _described(plugin)) for plugin in found], "bold"))
    terminal.report(plain, *shown)
    for found in groups.values():
        for plugin in found:
            if plugin.error is not None:
                terminal.warn(f"{plugin.error} [{plugin.distribution}]")
    return 0


def _described(plugin: Plugin) -> Any:
    settings = " ".join(f"{k}={v}" for k, v in flat(plugin.settings).items())
    lines = [
        Text("cannot be used", "red") if plugin.error else Text(plugin.summary.replace("`", "")),
        Text(f"{plugin.value} ({plugin.distribution})", "dim"),
        *([Text(settings, "dim")] if settings else []),
    ]
    return Text("\n").join(lines)
