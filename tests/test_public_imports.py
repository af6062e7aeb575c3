"""What people read imports public names, at most one level deep."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from public_rooms import ROOMS

ROOT = Path(__file__).resolve().parents[1]
FENCED = re.compile(r"^```(?:python|py) *\n(.*?)^``` *$", re.DOTALL | re.MULTILINE)

OTHERS = ("errors", "model_selection", "plugins", "problem", "solution", "status", "weights")
"""Rooms of the generic structured SVM, of its errors and results, and of choosing and plugins."""
PUBLIC = {*ROOMS, *(f"structsvm.{room}" for room in OTHERS)}

PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "notebooks").glob("*.ipynb")),
    *sorted((ROOT / "examples").rglob("*.py")),
]


def sources(page: Path) -> Iterator[str]:
    """Yield the Python of a page, block by block."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        yield from FENCED.findall(text)
    elif page.suffix == ".ipynb":
        for cell in json.loads(text)["cells"]:
            if cell["cell_type"] == "code":
                lines = "".join(cell["source"]).splitlines()
                yield "\n".join(line for line in lines if not line.startswith(("%", "!")))
    else:
        yield text


def imported(source: str) -> Iterator[tuple[str, str]]:
    """Yield what a text imports of the project: the module, and the name or ""."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if _is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
            yield from ((str(node.module), alias.name) for alias in node.names)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "structsvm"


def deep(source: str) -> list[str]:
    """Return what is imported from elsewhere than the rooms for users."""
    found = [f"{module}: {name}" for module, name in imported(source) if module not in PUBLIC]
    return sorted(set(found))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_imports_at_most_one_level_deep(page):
    found = [name for source in sources(page) for name in deep(source)]
    assert not found, f"{page.name} imports {found}: import from the room, or make it public there"


def test_the_scaffold_imports_at_most_one_level_deep():
    folder = ROOT / "structsvm" / "cli" / "template"
    templates = [path.read_text(encoding="utf-8") for path in folder.glob("*.py.txt")]
    written = [text.replace("$module", "module").replace("$cls", "Cls") for text in templates]
    assert len(written) >= 2
    assert [deep(text) for text in written] == [[]] * len(written)
