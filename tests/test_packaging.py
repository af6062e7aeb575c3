"""What a user gets: the contents of sdist and wheel, the wheel in a clean environment, licences."""

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections import Counter
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PACKAGE_FOLDERS = ("structsvm", "oracles", "problems")
SOURCES = (".py", ".pyi")
NOTEBOOK = "01_first_metric_in_ten_minutes.ipynb"
SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg", encoding="utf-8")
VERSION = SETUP["metadata"]["version"]


def run(*command: str, **how: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def tracked_files() -> list[str]:
    """Return what a clone would hold: tracked files that still exist, links as links."""
    names = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    return [name for name in names if name and os.path.lexists(ROOT / name)]


TRACKED = tracked_files()
MODULES = {
    name for name in TRACKED if name.split("/")[0] in PACKAGE_FOLDERS and name.endswith(SOURCES)
}
DATA = {name for name in TRACKED if name.startswith("structsvm/") and not name.endswith(SOURCES)}
DATA -= {"structsvm/oracles", "structsvm/problems"}  # links


@dataclass(frozen=True)
class Built:
    """The two files that a release uploads."""

    sdist: Path
    wheel: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build from a copy of the tracked files: the sdist, and the wheel from that sdist."""
    copy = tmp_path_factory.mktemp("copy")
    out = tmp_path_factory.mktemp("dist")
    for name in TRACKED:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copy))
    (sdist,) = out.glob("*.tar.gz")
    (wheel,) = out.glob("*.whl")
    return Built(sdist, wheel)


@dataclass(frozen=True)
class CleanEnvironment:
    """An environment that holds the wheel and, by a path file, the dependencies of this one."""

    folder: Path

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of the environment in its own folder, far from the checkout."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        program = str(self.folder / ("Scripts" if os.name == "nt" else "bin") / program)
        return run(program, *arguments, cwd=self.folder, env=environment)


@pytest.fixture(scope="module")
def clean(built: Built, tmp_path_factory: pytest.TempPathFactory) -> CleanEnvironment:
    environment = CleanEnvironment(tmp_path_factory.mktemp("clean"))
    venv.create(environment.folder, with_pip=False)
    python = environment.run("python", "-c", "import sys; print(sys.executable)")
    install = ("-m", "pip", "--python", python, "install", "--no-deps", str(built.wheel))
    run(sys.executable, *install)
    # A path file read from another path file is not obeyed, so the editable install of the
    # checkout stays invisible: only the dependencies come through.
    site = environment.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(site) / "dependencies.pth").write_text("\n".join(sorted(paths)), encoding="utf-8")
    _compile_as_before(Path(site))
    return environment


def _compile_as_before(site: Path) -> None:
    """Give the wheel what numba has compiled here, which it takes where the source is the same.

    Without it the demo compiles for half a minute what all other tests have found compiled.
    """
    for name in PACKAGE_FOLDERS:
        ours = site / (name if name == "structsvm" else f"structsvm/{name}")
        for compiled in (ROOT / name).rglob("__pycache__/*.nb?"):
            place = ours / compiled.relative_to(ROOT / name)
            place.parent.mkdir(exist_ok=True)
            shutil.copy(compiled, place)


def test_the_wheel_holds_each_module_once_and_nothing_else(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        files = archive.namelist()
    content = [name for name in files if ".dist-info/" not in name]
    installed = {n if n.startswith("structsvm/") else f"structsvm/{n}" for n in MODULES}
    assert Counter(content) == Counter(installed | DATA)
    assert "structsvm/py.typed" in DATA
    assert any(name.endswith("LICENSE") for name in files)
    assert built.wheel.name == f"structsvm_partitioning-{VERSION}-py3-none-any.whl"


def test_the_sdist_holds_the_source_once(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        members = [m.name.partition("/")[2] for m in archive.getmembers() if not m.isdir()]
    sources = {n for n in members if n.startswith(PACKAGE_FOLDERS) and n.endswith(SOURCES)}
    assert sources == MODULES
    needed = {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "setup.cfg"}
    assert needed | {"tests/conftest.py"} | DATA <= set(members)
    for name in ("oracles", "problems"):
        assert os.readlink(ROOT / "structsvm" / name) == f"../{name}"


def test_the_package_index_would_take_both_files(built: Built) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", str(built.sdist), str(built.wheel))
    run(str(Path(sys.executable).parent / "check-wheel-contents"), str(built.wheel))


def test_the_recipe_requires_what_the_wheel_requires() -> None:
    """Other names than on the package index: cvxpy without its solvers is cvxpy-base."""
    recipe = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    for line in SETUP["options"]["install_requires"].strip().splitlines():
        name, _, least = line.replace(" ", "").partition(">=")
        assert f"- {'cvxpy-base' if name == 'cvxpy' else name} >={least}\n" in recipe
    assert f'version = "{VERSION}"' in recipe
    assert f"version: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_wheel_is_imported_from_its_own_place(clean: CleanEnvironment) -> None:
    modules = "structsvm, structsvm.oracles, structsvm.problems"
    code = f"import {modules}\nfor module in ({modules}): print(module.__file__)"
    for file in clean.run("python", "-c", code).splitlines():
        assert Path(file).resolve().is_relative_to(clean.folder.resolve())
    code = "import importlib.util as u; print(u.find_spec('oracles'), u.find_spec('problems'))"
    assert clean.run("python", "-c", code) == "None None"
    assert VERSION in clean.run("structsvm", "--version")


def test_entry_points_of_the_wheel_load(clean: CleanEnvironment) -> None:
    code = (
        "from importlib.metadata import distribution\n"
        "for point in distribution('structsvm-partitioning').entry_points:\n"
        "    assert callable(point.load())\n"
        "    print(point.group, point.name, point.module)"
    )
    expected = set()
    for group, points in SETUP["options.entry_points"].items():
        lines = [line.split(":")[0].replace("=", " ") for line in points.strip().splitlines()]
        expected |= {" ".join((group, *line.split())) for line in lines}
    assert set(clean.run("python", "-c", code).splitlines()) == expected


def test_the_demo_and_a_notebook_run_without_the_checkout(clean: CleanEnvironment) -> None:
    assert "held-out" in clean.run("structsvm", "demo", "--recordings", "2", "--output", "demo")
    assert list((clean.folder / "demo").iterdir())
    cells = json.loads((ROOT / "notebooks" / NOTEBOOK).read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    (clean.folder / "notebook.py").write_text(code, encoding="utf-8")
    clean.run("python", "notebook.py")


# ---- licences: what is installed along may be used as freely as the project itself

PERMISSIVE = {"0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause"}
PERMISSIVE |= {"BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "PSF-2.0", "Python-2.0"}
PERMISSIVE |= {"Unlicense", "Zlib", "Apache 2.0"}  # the last one is older than expressions
CLASSIFIER = re.compile(
    r"License :: (CC0 1\.0|OSI Approved :: (Apache|BSD|ISC|MIT|Python Software Foundation) )"
)


def required(name: str) -> dict[str, Distribution]:
    """Return the distribution and all that it requires, without extras, by name."""
    found = {}
    open_names = [name]
    while open_names:
        name = re.sub(r"[-_.]+", "-", open_names.pop()).lower()
        if name in found:
            continue
        found[name] = distribution(name)
        needed = map(Requirement, found[name].requires or ())
        plain = (n for n in needed if n.marker is None or n.marker.evaluate({"extra": ""}))
        open_names += [requirement.name for requirement in plain]
    return found


@pytest.mark.parametrize("found", required("structsvm-partitioning").values(), ids=lambda d: d.name)
def test_requirements_have_permissive_licences(found: Distribution) -> None:
    """One of those that an SPDX expression offers, or all of the classifiers without one."""
    said = found.metadata.get("License-Expression")
    for choice in re.split(r"\s+OR\s+", (said or found.metadata.get("License") or "").strip()):
        if all(part.strip(" ()") in PERMISSIVE for part in re.split(r"\s+AND\s+", choice)):
            return
    listed = [c for c in found.metadata.get_all("Classifier", []) if c.startswith("License ::")]
    assert said is None, f"{found.name}: {said}; add it to PERMISSIVE, or do without"
    assert listed, f"{found.name} names no licence"
    assert all(map(CLASSIFIER.match, listed)), f"{found.name}: {listed}"
