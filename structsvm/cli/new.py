"""``structsvm new problem``: the package of a new problem."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from structsvm.cli.parser import report_options
from structsvm.cli.scaffold import new_problem
from structsvm.cli.terminal import Terminal
from structsvm.errors import SettingsError
from structsvm.plugins import problem_names

__all__ = ["add_parser"]

EPILOG = """\
example:
  structsvm new problem tree-cuts

Writes a package that can be installed and whose tests pass; then make it yours.
"""


def add_parser(commands: Any) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "new",
        help="write the package of a new problem",
        description="Write the package of a new problem.",
        epilog=EPILOG,
        parents=[report_options()],
    )
    parser.set_defaults(run=run)
    parser.add_argument("kind", choices=("problem",), help="what to write")
    parser.add_argument("name", metavar="NAME", help="lower-case words joined by dashes")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="new folder (default: structsvm-NAME)"
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Write it, and say what to do next."""
    if args.name in problem_names():
        raise SettingsError(f"a problem {args.name!r} is installed: choose another name")
    folder = args.output or Path(f"structsvm-{args.name}")
    files = new_problem(args.name, folder)
    terminal.report({"files": [str(path) for path in files]}, *map(str, files))
    terminal.note(f"try it:\n  pip install -e '{folder}[test]' && pytest {folder}")
    return 0
