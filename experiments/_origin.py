"""Where a figure comes from: the command, the commits, the date and the machine that made it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
USUAL = ROOT / "docs"
DOCS = Path(os.environ.get("STRUCTSVM_PAPER") or USUAL)
"""Where figures and pages are: elsewhere for trial runs, which keep their pieces there, too."""
CODE = ("structsvm", "oracles", "problems", "experiments", "benchmarks", ":!benchmarks/results")
UNKNOWN = "unknown"
"""Outside of a checkout."""
CHANGED = "with changes"

Origin = dict[str, Any]

kept_from: set[str] = set()
"""Commits of the pieces that this run has taken from the cache of an earlier one."""


def origin(earlier: Iterable[str] = ()) -> Origin:
    """Of what this process makes; ``earlier`` are commits of parts that it only passes on."""
    return {
        "command": " ".join([Path(sys.argv[0]).name, *map(_public, sys.argv[1:])]),
        "commits": sorted({commit(), *kept_from, *earlier}),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine(),
    }


def _public(argument: str) -> str:
    """Without the folders of this machine."""
    return "PATH" if Path(argument).is_absolute() else argument


def commits_in(kept: Any) -> set[str]:
    """The commits of the parts of a file, however they are nested."""
    if isinstance(kept, str):
        return {kept}
    parts = kept.values() if isinstance(kept, Mapping) else kept
    return set().union(*map(commits_in, parts))


def commit() -> str:
    """The commit of the checkout, and whether its code has been changed since."""
    try:
        name = _git("rev-parse", "--short=10", "HEAD")
        changed = _git("status", "--porcelain", "--", *CODE)
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN
    return f"{name} {CHANGED}" if changed else name


def is_of_a_commit(name: str) -> bool:
    """Whether a figure can be made again from a commit of this name."""
    return name != UNKNOWN and not name.endswith(CHANGED)


def machine() -> str:
    """Processor, cores, and the versions that numbers depend on; no name of a host."""
    import numpy as np

    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}, numpy {np.__version__}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()
