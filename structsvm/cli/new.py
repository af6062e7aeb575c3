"""``structsvm new problem``: the package of a new problem."""

from __future__ import annotations

import argparse
from pathlib import Path

from structsvm.cli.scaffold import new_problem
from structsvm.cli.terminal import Terminal
from structsvm.errors import SettingsError
from structsvm.plugins import problem_names


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Write the files of a new problem, and say what to do next."""
    if args.name in problem_names():
        raise SettingsError(f"a problem {args.name!r} is installed: choose another name")
    folder = args.output or Path(f"structsvm-{args.name}")
    files = new_problem(args.name, folder)
    terminal.report({"files": [str(path) for path in files]}, *map(str, files))
    terminal.note(f"install and test it:\n  pip install -e '{folder}[test]' && pytest {folder}")
    return 0
