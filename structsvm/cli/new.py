"""``structsvm new problem``: the package of a new problem, complete with tests that pass."""

from __future__ import annotations

import argparse
import re
from importlib.resources import files
from pathlib import Path
from string import Template

from structsvm.cli.terminal import Terminal
from structsvm.errors import SettingsError
from structsvm.plugins import problem_names
from structsvm.storage.atomic import unwritable, write_atomically

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
TEMPLATES = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "$module.py": "module.py.txt",
    "tests/test_$module.py": "test.py.txt",
}


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Write the files of a new problem, and say what to do next."""
    if args.name in problem_names():
        raise SettingsError(f"a problem {args.name!r} is installed: choose another name")
    folder = args.output or Path(f"structsvm-{args.name}")
    written = new_problem(args.name, folder)
    terminal.report({"files": [str(path) for path in written]}, *map(str, written))
    terminal.note(f"install and test it:\n  pip install -e '{folder}[test]' && pytest {folder}")
    return 0


def new_problem(name: str, folder: Path) -> list[Path]:
    """Write a distribution with one problem into a new folder."""
    if not NAME.fullmatch(name):
        raise SettingsError(f"a name is lower-case words joined by dashes, got {name!r}")
    reason = unwritable(folder)
    if reason is not None:
        raise SettingsError(f"{folder}: cannot be written: {reason}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(f"{folder} exists: name a new folder")
    words = {
        "name": name,
        "module": f"structsvm_{name.replace('-', '_')}",
        "cls": "".join(word.capitalize() for word in name.split("-")),
    }
    written = []
    for path, template in TEMPLATES.items():
        target = folder / Template(path).substitute(words)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = files("structsvm.cli").joinpath("template", template).read_text(encoding="utf-8")
        write_atomically(target, Template(text).substitute(words).encode())
        written.append(target)
    return written
