"""``structsvm completion``: what a shell needs to complete the command line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from structsvm.cli.parser import Parser, report_options
from structsvm.cli.terminal import Terminal
from structsvm.support.extras import require

__all__ = ["add_parser"]

SHELLS = ("bash", "zsh", "fish")

EPILOG = """\
examples:
  structsvm completion bash > ~/.local/share/bash-completion/completions/structsvm
  structsvm completion zsh > ~/.zfunc/_structsvm      # a folder of $fpath
  structsvm completion fish > ~/.config/fish/completions/structsvm.fish

Takes effect in new shells. Problems of plugins that are installed later need it once more.
"""


def add_parser(commands: Any) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "completion",
        help="print what completes command lines in a shell",
        description="Print the script that completes structsvm's commands, options and files.",
        epilog=EPILOG,
        parents=[report_options()],
    )
    parser.set_defaults(run=run)
    parser.add_argument("shell", choices=SHELLS, help="the shell")


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
