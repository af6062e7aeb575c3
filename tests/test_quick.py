"""`make quick` is what one runs while working: what it leaves out is there, every room is in."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import structsvm

ROOT = Path(__file__).resolve().parents[1]
LINES = (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines()
SLOW = [line for line in LINES if not line.startswith("#")]
SCRIPTS = {"__init__", "__main__"}


def rooms() -> set[str]:
    """Return the parts of structsvm, `oracles` and `problems` by their links."""
    found = {path.stem for path in (ROOT / "structsvm").glob("*.py")}
    found |= {path.parent.name for path in (ROOT / "structsvm").glob("*/__init__.py")}
    return found - SCRIPTS


def imported_rooms(path: Path) -> Iterator[str]:
    """Return the parts that a test module imports itself, by whatever name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "structsvm" and rest:
                shown = getattr(structsvm, rest, None) if "." not in rest else None
                yield getattr(shown, "__module__", name).split(".")[1]


def test_the_rooms_are_found() -> None:
    assert {"oracles", "problems", "learner", "cli", "weights"} <= rooms()


def test_every_room_has_quick_tests() -> None:
    quick = [
        path
        for path in (ROOT / "tests").rglob("*.py")
        if path.relative_to(ROOT).as_posix() not in SLOW
    ]
    missing = rooms().difference(*(imported_rooms(path) for path in quick))
    assert not missing, f"no test that `make quick` runs imports {sorted(missing)}"


@pytest.mark.parametrize("line", SLOW)
def test_what_is_called_slow_is_there(line: str) -> None:
    file, *names = line.split("::")
    found = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    for name in names:
        (inner,) = (
            n for n in found if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == name
        )
        found = inner.body


def test_the_list_is_sorted() -> None:
    assert sorted(set(SLOW)) == SLOW
