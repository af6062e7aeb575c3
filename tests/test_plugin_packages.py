"""Plugins of other distributions, installed and run through their entry points."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from structsvm.cli import main

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "plugin-circular"
LONG = 300  # seconds after which a subprocess is stuck


RUN_ALL = """
import contextlib, io, json, sys
from structsvm.cli import main

outputs = []
for line in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        code = main(line)
    if code:
        sys.exit(f"{line} ended with {code}")
    outputs.append(output.getvalue())
print(json.dumps(outputs))
"""
"""Several command lines in one process, which imports the libraries once."""


@dataclass(frozen=True)
class Installed:
    """A distribution in a folder of its own, which only these subprocesses see."""

    source: Path
    target: Path

    @classmethod
    def of(cls, source: Path, folder: Path) -> "Installed":
        copy, target = folder / "source", folder / "site"
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.egg-info", "build"))
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        run([*pip, "--no-build-isolation", "--target", target, copy], folder)
        return cls(copy, target)

    def python(self, *arguments: object, cwd: Path | None = None) -> str:
        paths = [str(self.target), os.environ.get("PYTHONPATH", "")]
        path = os.pathsep.join(filter(None, paths))
        environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "250"}
        return run([sys.executable, *arguments], cwd or self.source, environment)

    def commands(self, *lines: list[str], cwd: Path | None = None) -> list[str]:
        """What command lines of structsvm print, run one after the other."""
        output = self.python("-c", RUN_ALL, json.dumps(lines), cwd=cwd)
        found: list[str] = json.loads(output)
        return found

    def run_its_tests(self) -> str:
        options = ["-q", "-W", "error", "-p", "no:cacheprovider", "--import-mode=importlib"]
        return self.python("-m", "pytest", *options, "tests")


def run(command: list[object], cwd: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def circular(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed.of(EXAMPLE, tmp_path_factory.mktemp("circular"))


def test_the_tests_of_the_example_pass(circular: Installed) -> None:
    assert " passed" in circular.run_its_tests()


def test_the_tests_of_the_example_with_side_information_pass(tmp_path: Path) -> None:
    tree = Installed.of(ROOT / "examples" / "plugin-tree", tmp_path)
    assert " passed" in tree.run_its_tests()


def test_the_example_is_listed_like_our_own(circular: Installed) -> None:
    kinds = ("problems", "oracles")
    lines = [[kind, *more] for more in (["--json"], []) for kind in kinds]
    said = circular.commands(*lines)
    for kind, listed, shown in zip(kinds, said[:2], said[2:], strict=True):
        (own,) = (plugin for plugin in json.loads(listed)[kind] if plugin["name"] == "circular")
        assert own["distribution"] == "structsvm-circular 0.1.0"
        assert own["error"] is None
        assert "structsvm-circular 0.1.0" in shown


@pytest.fixture(scope="module")
def learned(
    circular: Installed, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[str]]:
    """A folder with what was learned from files there, and what the commands printed."""
    tmp_path = tmp_path_factory.mktemp("learned")
    rng = np.random.default_rng(0)
    for i in range(4):
        y = np.zeros(30, dtype=int)
        y[8 + i : 20 + i] = 1
        X = np.column_stack([2.0 * y, np.zeros(30)]) + rng.normal(size=(30, 2)) * [0.3, 2.0]
        rows = "".join(f"{a},{b},{k}\n" for (a, b), k in zip(X, y, strict=True))
        (tmp_path / f"{i}.csv").write_text("shape,noise,label\n" + rows)
    fit = ["fit", "circular", "0.csv", "1.csv", "2.csv", "-o", "m.structsvm"]
    predict = ["predict", "m.structsvm", "3.csv"]
    return tmp_path, circular.commands(
        [*fit, "--metric", "diagonal", "--quiet"],
        ["show", "m.structsvm", "--json"],
        ["evaluate", "m.structsvm", "3.csv", "--json"],
        [*predict, "--n-clusters", "2", "--json"],
        [*predict, "-o", "out", "-q"],
        cwd=tmp_path,
    )


def test_the_example_learns_from_files_and_predicts(learned: tuple[Path, list[str]]) -> None:
    folder, (_, shown, scores, found, _) = learned
    assert json.loads(shown)["problem"] == {"name": "circular", "settings": {}}
    assert json.loads(shown)["weights"][0]["feature"] == "shape"
    assert json.loads(scores)["learned"]["loss"] < 0.5
    (recording,) = json.loads(found)["recordings"]
    assert recording["n_clusters"] == 2
    assert recording["labels"][0] == recording["labels"][-1] == 0
    written = (folder / "out" / "3_segments.csv").read_text().split()
    assert len(written) == 31
    assert {row.rpartition(",")[2] for row in written[1:]} == {"0", "1"}


def test_a_model_of_a_plugin_that_is_gone_says_so(learned: tuple[Path, list[str]]) -> None:
    gone = subprocess.run(
        [sys.executable, "-m", "structsvm", "show", "m.structsvm"],
        cwd=learned[0],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert gone.returncode == 1
    assert "no problem is called 'circular'; installed are change-point" in gone.stderr


def test_a_new_problem_passes_its_own_tests(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "new"
    assert main(["new", "problem", "tree-cuts", "-o", str(folder), "--quiet"]) == 0
    assert capsys.readouterr().out.split()[-1].endswith("test_structsvm_tree_cuts.py")
    new = Installed.of(folder, tmp_path)
    assert "3 passed" in new.run_its_tests()
    found = json.loads(*new.commands(["problems", "--json"]))["problems"]
    assert ("tree-cuts", "structsvm-tree-cuts 0.1.0") in {
        (plugin["name"], plugin["distribution"]) for plugin in found
    }
