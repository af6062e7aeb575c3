"""What a user gets: the contents of sdist and wheel, and the wheel in a clean environment."""

import configparser
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE_FOLDERS = ("structsvm", "oracles", "problems")
SOURCES = (".py", ".pyi")

NOTEBOOK = "01_first_metric_in_ten_minutes.ipynb"

SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg", encoding="utf-8")
VERSION = SETUP["metadata"]["version"]


@dataclass(frozen=True)
class Built:
    """The two files that a release uploads, and the tracked files they were built from."""

    sdist: Path
    wheel: Path
    tracked: frozenset[str]

    def wheel_files(self) -> list[str]:
        with zipfile.ZipFile(self.wheel) as archive:
            return archive.namelist()

    def sdist_files(self) -> list[str]:
        with tarfile.open(self.sdist) as archive:
            members = [m.name.partition("/")[2] for m in archive.getmembers() if not m.isdir()]
        return [name for name in members if name]

    def data(self) -> set[str]:
        """Return what a package reads besides modules: every other tracked file in it."""
        inside = {name for name in self.tracked if name.startswith("structsvm/")}
        links = {"structsvm/oracles", "structsvm/problems"}
        return {name for name in inside - links if not name.endswith(SOURCES)}

    def modules(self) -> set[str]:
        """Return the tracked modules at the place where the wheel installs them."""
        return {_installed(name) for name in self.tracked if _is_module(name)}


@dataclass(frozen=True)
class CleanEnvironment:
    """An environment that holds the wheel and, by a path file, the dependencies of this one."""

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of the environment in its own folder, far from the checkout."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        done = subprocess.run(
            [self.bin / program, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build from a copy of the tracked files: the sdist, and the wheel from that sdist."""
    tracked = _tracked_files()
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in tracked:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copy))
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return Built(sdist, wheel, frozenset(tracked))


@pytest.fixture(scope="module")
def clean(built: Built, tmp_path_factory: pytest.TempPathFactory) -> CleanEnvironment:
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False)
    environment = CleanEnvironment(folder)
    python = str(environment.bin / "python")
    _run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", str(built.wheel))
    # A path file read from another path file is not obeyed, so the editable install of the
    # checkout stays invisible: only the dependencies come through.
    site = environment.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(site) / "dependencies.pth").write_text("\n".join(sorted(paths)), encoding="utf-8")
    return environment


def test_links_are_relative_and_tracked() -> None:
    for name in ("oracles", "problems"):
        assert f"structsvm/{name}" in _tracked_files()
        assert os.readlink(ROOT / "structsvm" / name) == f"../{name}"


def test_wheel_holds_each_module_once_and_nothing_else(built: Built) -> None:
    files = built.wheel_files()
    repeated = [name for name, count in Counter(files).items() if count > 1]
    assert not repeated
    content = {name for name in files if ".dist-info/" not in name}
    data = {name for name in content if not name.endswith(SOURCES)}
    assert content - data == built.modules()
    assert data == built.data()
    assert "structsvm/py.typed" in data


def test_wheel_metadata(built: Built) -> None:
    files = built.wheel_files()
    assert any(name.endswith("LICENSE") for name in files)
    assert built.wheel.name == f"structsvm_partitioning-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(built.wheel) as archive:
        (name,) = (n for n in files if n.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
    assert "License-Expression: BSD-3-Clause" in metadata
    assert "Requires-Python: >=3.11" in metadata
    assert "Description-Content-Type: text/markdown" in metadata


def test_the_package_index_would_take_both_files(built: Built) -> None:
    _run(sys.executable, "-m", "twine", "check", "--strict", str(built.sdist), str(built.wheel))
    _run(str(Path(sys.executable).parent / "check-wheel-contents"), str(built.wheel))


def test_the_recipe_requires_what_the_wheel_requires() -> None:
    """Other names than on the package index: cvxpy without its solvers is cvxpy-base."""
    recipe = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    required = {line.replace(" ", "") for line in _lines(SETUP["options"]["install_requires"])}
    for line in required:
        name, _, least = line.partition(">=")
        assert f"- {'cvxpy-base' if name == 'cvxpy' else name} >={least}\n" in recipe
    assert f'version = "{VERSION}"' in recipe
    assert f"version: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_sdist_holds_the_source_once(built: Built) -> None:
    files = built.sdist_files()
    sources = {name for name in built.tracked if _is_module(name)}
    assert {name for name in files if name.startswith(PACKAGE_FOLDERS) and _is_module(name)} == (
        sources
    )
    needed = {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "setup.cfg"}
    assert needed | {"tests/conftest.py"} | built.data() <= set(files)


def test_wheel_imports_from_its_own_place(clean: CleanEnvironment) -> None:
    modules = "structsvm, structsvm.oracles, structsvm.problems"
    code = f"import {modules}\nfor module in ({modules}): print(module.__file__)"
    for file in clean.run("python", "-c", code).splitlines():
        assert Path(file).resolve().is_relative_to(clean.folder.resolve())


def test_bare_names_stay_free(clean: CleanEnvironment) -> None:
    code = "import importlib.util as u; print(u.find_spec('oracles'), u.find_spec('problems'))"
    assert clean.run("python", "-c", code) == "None None"


def test_command_prints_its_version(clean: CleanEnvironment) -> None:
    assert VERSION in clean.run("structsvm", "--version")
    assert VERSION in clean.run("python", "-m", "structsvm", "--version")


def test_entry_points_load(clean: CleanEnvironment) -> None:
    code = (
        "from importlib.metadata import distribution\n"
        "for point in distribution('structsvm-partitioning').entry_points:\n"
        "    assert callable(point.load())\n"
        "    print(point.group, point.name, point.module)"
    )
    declared = SETUP["options.entry_points"]
    lines = clean.run("python", "-c", code).splitlines()
    expected = {
        f"{group} {' '.join(line.split(':')[0].replace('=', ' ').split())}"
        for group, points in declared.items()
        for line in points.strip().splitlines()
    }
    assert set(lines) == expected


def test_the_demo_and_a_notebook_run_without_the_checkout(clean: CleanEnvironment) -> None:
    assert "held-out" in clean.run("structsvm", "demo", "--output", "demo")
    assert list((clean.folder / "demo").iterdir())
    cells = json.loads((ROOT / "notebooks" / NOTEBOOK).read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    (clean.folder / "notebook.py").write_text(code, encoding="utf-8")
    clean.run("python", "notebook.py")


def _tracked_files() -> list[str]:
    """Return what a clone would hold: tracked files that still exist, links as links."""
    names = _run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    return [name for name in names if name and os.path.lexists(ROOT / name)]


def _lines(text: str) -> list[str]:
    return text.strip().splitlines()


def _is_module(name: str) -> bool:
    return name.startswith(tuple(f"{f}/" for f in PACKAGE_FOLDERS)) and name.endswith(SOURCES)


def _installed(name: str) -> str:
    return name if name.startswith("structsvm/") else f"structsvm/{name}"


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
