"""``structsvm completion``: what a shell needs to complete the command line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from structsvm.cli.parser import Parser
from structsvm.cli.terminal import Terminal
from structsvm.support.extras import require


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Print the script."""
    shtab = require("shtab", "completion", "shell completion")
    parser: Parser = args.parser
    _complete_files(parser, shtab.FILE)
    script = shtab.complete(parser, shell=args.shell)
    if terminal.as_json:
        terminal.report({"shell": args.shell, "script": script})
    else:
        terminal.out.file.write(f"{script}\n")
    return 0


def _complete_files(parser: argparse.ArgumentParser, files: Any) -> None:
    """Mark every argument that names a file, in all commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, files)
        elif action.type is Path or action.metavar == "PATH":
            action.complete = files  # type: ignore[attr-defined]
