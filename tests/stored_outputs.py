"""Outputs that notebooks keep, and the code that they are of; run it after the notebooks."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

FILE_OF_CELL = re.compile(r"\S*ipykernel_\d+[/\\]\d+\.py:")
NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def digest(notebook: dict[str, Any]) -> str:
    """Of the code of a notebook."""
    code = ["".join(cell["source"]) for cell in code_cells(notebook)]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()[:16]


def finish(path: Path) -> None:
    """After a run: what is of this kernel goes, the digest of the code that ran comes."""
    notebook = read(path)
    for cell in notebook["cells"]:
        cell["metadata"].pop("execution", None)
        for output in cell.get("outputs", ()):
            if "text" in output:
                output["text"] = [FILE_OF_CELL.sub("line ", line) for line in output["text"]]
    notebook["metadata"]["language_info"] = {"name": "python"}
    notebook["metadata"]["outputs_of"] = digest(notebook)
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    for path in NOTEBOOKS:
        finish(path)
