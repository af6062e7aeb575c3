"""Notebooks are kept without outputs, and a page lists them; `make notebooks` runs them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LINK = re.compile(r"\]\(([\w.]+\.ipynb)\)")

notebooks = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text(encoding="utf-8"))["cells"])


@notebooks
def test_outputs_are_stripped(path: Path) -> None:
    for cell in cells(path):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], f"run .venv/bin/nbstripout {path.name}"
            assert cell["execution_count"] is None


@notebooks
def test_links_to_other_notebooks(path: Path) -> None:
    text = "".join(
        "".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "markdown"
    )
    missing = [name for name in LINK.findall(text) if not (path.parent / name).exists()]
    assert not missing


def test_the_page_lists_every_notebook() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert [path.name for path in NOTEBOOKS] == re.findall(r"\(\.\./notebooks/([\w.]+)\)", page)
