"""Where results go: one json and one table each, and the block of the page that shows it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments._figures import PAPER, Row, store, stored, text, write_pages
from experiments._origin import DOCS, ROOT, USUAL, origin

__all__ = ["PAPER", "ROOT", "SHARED", "Row", "publish", "publish_some", "stored"]

SHARED = Path(os.environ.get("STRUCTSVM_DATA") or ROOT.parent / "shared" / "data")


def publish(name: str, rows: Sequence[Row], earlier: Iterable[str] = ()) -> None:
    """Print ``rows``, write docs/paper/<name>.json and the page that shows it.

    ``earlier`` names the commits of rows that were measured before and are only passed on. A quick
    run writes nothing into docs/: its figures are those of a small version.
    """
    table = Table(title=name)
    for column in rows[0]:
        table.add_column(column)
    for row in rows:
        table.add_row(*(text(value) for value in row.values()))
    Console().print(table)
    if "--quick" in sys.argv and DOCS == USUAL:
        return
    store(name, origin(earlier), rows)
    write_pages()


def publish_some(name: str, rows: Sequence[Row], key: str) -> None:
    """Publish rows, with those of other sets that were published before; ``key`` tells sets."""
    earlier, before = stored(name) if (PAPER / f"{name}.json").exists() else (origin(), [])
    merged = {row[key]: row for row in [*before, *rows]}
    publish(name, list(merged.values()), earlier["commits"] if len(merged) > len(rows) else ())
