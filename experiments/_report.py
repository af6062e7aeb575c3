"""Where results go: one json and one table each, and the block of docs/results.md that shows it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("STRUCTSVM_DATA") or ROOT.parent / "shared" / "data")
RESULTS = ROOT / "docs" / "results.md"
PAPER = ROOT / "docs" / "paper"

Row = Mapping[str, Any]


def publish(name: str, rows: Sequence[Row]) -> None:
    """Print ``rows``, write docs/paper/<name>.json and the block <name> of docs/results.md."""
    PAPER.mkdir(parents=True, exist_ok=True)
    (PAPER / f"{name}.json").write_text(json.dumps(list(rows), indent=1) + "\n")
    columns = list(rows[0])
    table = Table(title=name)
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(_text(row[column]) for column in columns))
    Console().print(table)
    _replace_block(name, _markdown(columns, rows))


def _markdown(columns: Sequence[str], rows: Sequence[Row]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    lines += ["| " + " | ".join(_text(row[column]) for column in columns) + " |" for row in rows]
    return "\n".join(lines)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _replace_block(name: str, content: str) -> None:
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    page = RESULTS.read_text()
    if begin not in page:
        raise SystemExit(f"docs/results.md has no place for {name}: add {begin} and {end}")
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    RESULTS.write_text(pattern.sub(lambda _: f"{begin}\n{content}\n{end}", page))
