"""``structsvm problems`` lists plugins; ``structsvm new`` writes the package of one."""

import re
from argparse import Namespace
from dataclasses import asdict
from importlib.resources import files
from itertools import chain
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from structsvm.cli.terminal import Terminal
from structsvm.errors import SettingsError
from structsvm.partitions.plugins import (
    ORACLES,
    PROBLEMS,
    SOLVERS,
    STRUCTURED,
    Plugin,
    names_in,
    plugins,
    problem_names,
)
from structsvm.support import finite, flat, unwritable, write_atomically

GROUPS = {
    PROBLEMS: ("problems", "problems\n"),
    STRUCTURED: ("structured_problems", "\nproblems for structsvm.StructuredSVM, in Python\n"),
    ORACLES: ("oracles", "\noracles\n"),
    SOLVERS: ("solvers", "\nsolvers, for structsvm compare\n"),
}
"""The groups of entry points that are listed, with their names in JSON and their titles."""
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
TEMPLATES = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "$module.py": "$kind.py.txt",
    "tests/test_$module.py": "${kind}_test.py.txt",
}


class Kind(NamedTuple):
    """The words in the templates of a package, for a kind of plugin."""

    group: str | None  # the group of its entry point, if it has one
    about: str
    use: str
    how: str


KINDS = {
    "problem": Kind(
        PROBLEMS,
        "A partitioning problem for structsvm.",
        "    structsvm problems\n    structsvm fit $name recordings/ -o my.structsvm\n",
        "`$module.py` declares which segments are allowed. The test calls\n"
        "`structsvm.testing.check_problem`, which compares the search with all segmentations of\n"
        "short recordings; run it after every change of the rule.",
    ),
    "labelling": Kind(
        STRUCTURED,
        "A structured problem for structsvm.",
        "    structsvm problems\n",
        "`$module.py` has the joint features, the loss and both searches; `StructuredSVM($cls())`\n"
        "learns the weights. The test calls `structsvm.testing.check_problem`, which compares the\n"
        "searches with all labellings of an instance; run it after every change.",
    ),
    "cuts": Kind(
        None,
        "A convex function for cvxpy, known by an oracle.",
        "",
        "`$module.py` has the oracle, and `least_risk(losses, n_worst)` is a program with it, for\n"
        "`solve(method='cutting-plane')`. The tests call `structsvm.testing.check_atom`, which\n"
        "asks the oracle at random points, and compare the minimum with that of the full program;\n"
        "run them after every change.",
    ),
}
"""The kinds of plugins that ``new`` writes a package of."""


def run_problems(_: Namespace, terminal: Terminal) -> int:
    """List problems and oracles; those that cannot be used are warnings."""
    plain: dict[str, Any] = {}
    shown = []
    for group, (name, title) in GROUPS.items():
        entries = plugins(group)
        plain[name] = [finite(asdict(one) | {"settings": flat(one.settings)}) for one in entries]
        if entries:
            shown += [
                title,
                terminal.beside(list(chain.from_iterable(_rows(one) for one in entries))),
            ]
    terminal.report(plain, *shown)
    for plugin in chain.from_iterable(plugins(group) for group in GROUPS):
        if plugin.error is not None:
            terminal.warn(f"{plugin.error} [{plugin.distribution}]")
    return 0


def _rows(plugin: Plugin) -> list[tuple[str, str]]:
    """The name of a plugin, and lines about it."""
    summary = "cannot be used" if plugin.error else plugin.summary.replace("`", "")
    settings = " ".join(f"{k}={v}" for k, v in flat(plugin.settings).items())
    rows = [(plugin.name, summary), ("", f"{plugin.value} ({plugin.distribution})")]
    return [*rows, ("", settings)] if settings else rows


def run_new(args: Namespace, terminal: Terminal) -> int:
    """Write the package of a new plugin, and say what to do next."""
    name = args.name
    folder = args.output or Path(f"structsvm-{args.name}")
    kind = KINDS[args.kind]
    taken = {*problem_names(), *names_in(STRUCTURED)} if kind.group else ()
    if name in taken:
        raise SettingsError(f"a problem {name!r} is installed: choose another name")
    if not NAME.fullmatch(name):
        raise SettingsError(f"a name is lower-case words joined by dashes, got {name!r}")
    reason = unwritable(folder)
    if reason:
        raise SettingsError(f"{folder}: cannot be written: {reason}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(f"{folder} exists: name a new folder")
    words = {
        "kind": args.kind,
        "name": name,
        "module": f"structsvm_{name.replace('-', '_')}",
        "cls": "".join(word.capitalize() for word in name.split("-")),
    }
    entry = f'\n[project.entry-points."{kind.group}"]\n$name = "$module:$cls"\n'
    texts = {"about": kind.about, "use": kind.use, "how": kind.how}
    texts["entry_point"] = entry if kind.group else ""
    words |= {key: Template(text).substitute(words) for key, text in texts.items()}
    written = []
    for path, named in TEMPLATES.items():
        template = Template(named).substitute(words)
        target = folder / Template(path).substitute(words)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = files("structsvm.cli").joinpath("template", template).read_text(encoding="utf-8")
        write_atomically(target, Template(text).substitute(words).encode())
        written.append(str(target))
    terminal.report({"files": written}, *written)
    terminal.note(f"install and test it:\n  pip install -e '{folder}[test]' && pytest {folder}")
    return 0
