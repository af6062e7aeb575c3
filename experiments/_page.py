"""The times of the experiments of the paper, and all tables written into the pages.

    python -m experiments._page [.cache/paper/book.json]

The tables are those of the files of docs/paper, and the times from the book of ``make paper``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from experiments._figures import PAPER, Row, store, stored, write_pages
from experiments._origin import DOCS, USUAL, origin
from experiments.paper.run import PARTS


def times(book: Path) -> None:
    """How long each part took, as far as the book or the last run knows."""
    known = json.loads(book.read_text()) if book.exists() else {}
    before: dict[str, Row] = {}
    if (PAPER / "paper_runs.json").exists():
        before = {row["command"]: row for row in stored("paper_runs")[1]}
    rows: list[Row] = []
    quick = DOCS != USUAL
    for part in PARTS:
        if quick and part.quick is None:
            continue
        command = " ".join((part.quick if quick else None) or part.command)
        run = known.get(part.name, {})
        done = {}
        if run.get("done"):
            done = {"minutes": run["seconds"] / 60, "of processor": run["cpu"] / 60}
        usual = {"minutes": None, "of processor": None}
        last = {key: before.get(command, usual)[key] for key in usual}
        first = {"paper": part.shown, "command": command, "size": part.sizes, "seeds": part.seeds}
        if quick:
            first |= {"size": "small", "seeds": "1"}
        rows.append(first | last | done)
    if all(row["minutes"] is not None for row in rows):
        total = {key: sum(row[key] for row in rows) for key in ("minutes", "of processor")}
        all_of_it = {"paper": "all", "command": "make paper", "size": None, "seeds": None}
        rows.append(all_of_it | total)
    if (PAPER / "paper_runs.json").exists() and rows == stored("paper_runs")[1]:
        return
    store("paper_runs", origin(), rows)


if __name__ == "__main__":
    times(Path(sys.argv[1] if len(sys.argv) > 1 else "no book"))
    write_pages()
