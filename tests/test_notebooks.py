"""Notebooks keep the outputs of the code that they show; `make notebooks` runs them."""

import json
import re
from pathlib import Path

import pytest
from stored_outputs import NOTEBOOKS, code_cells, digest, finish, read

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([\w.]+\.ipynb)\)")
OF_A_MACHINE = re.compile(r"/home/|/tmp/|/work/|site-packages|ipykernel_|\\Users\\| at 0x")

notebooks = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@notebooks
def test_outputs_are_those_of_the_code(path: Path) -> None:
    notebook = read(path)
    assert notebook["metadata"].get("outputs_of") == digest(notebook), "make notebooks STORE=1"
    assert any(cell["outputs"] for cell in code_cells(notebook))


@notebooks
def test_outputs_name_nothing_of_the_machine_that_made_them(path: Path) -> None:
    for cell in code_cells(read(path)):
        assert "execution" not in cell["metadata"]
        for output in cell["outputs"]:
            assert output["output_type"] != "error"
            named = OF_A_MACHINE.search(json.dumps(output))
            assert not named, f"{path.name}: {named and named[0]} in an output"


def test_a_changed_cell_is_told_from_the_one_that_ran(tmp_path: Path) -> None:
    warned = ["/tmp/ipykernel_12/345.py:6: DataWarning: constant\n"]
    cell = {"cell_type": "code", "metadata": {"execution": {}}, "source": ["a = 1"]}
    cell["outputs"] = [{"output_type": "stream", "name": "stderr", "text": warned}]
    path = tmp_path / "some.ipynb"
    path.write_text(json.dumps({"cells": [cell], "metadata": {}}), encoding="utf-8")
    finish(path)
    notebook = read(path)
    assert notebook["metadata"]["outputs_of"] == digest(notebook)
    assert notebook["cells"][0]["metadata"] == {}
    assert notebook["cells"][0]["outputs"][0]["text"] == ["line 6: DataWarning: constant\n"]
    notebook["cells"][0]["source"] = ["a = 2"]
    assert notebook["metadata"]["outputs_of"] != digest(notebook)


@notebooks
def test_links_to_other_notebooks_exist(path: Path) -> None:
    text = "".join(
        "".join(cell["source"]) for cell in read(path)["cells"] if cell["cell_type"] == "markdown"
    )
    missing = [name for name in LINK.findall(text) if not (path.parent / name).exists()]
    assert not missing


def test_the_page_of_notebooks_lists_every_notebook() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert [path.name for path in NOTEBOOKS] == re.findall(r"\(\.\./notebooks/([\w.]+)\)", page)
