"""The tables of docs/paper.md: what the paper prints beside what we have.

    python experiments/_page.py [.cache/paper/book.json]

They are made from the files of docs/paper, and the times from the book of ``make paper``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from _figures import PAPER, Row, pages, store, stored, write_again
from _origin import DOCS, USUAL, origin
from paper import PARTS
from table2_uci import PRINTED

ROWS: dict[str, tuple[str, ...]] = {
    "paper_table2": ("table2_same_rows", "table2_held_out"),
    "paper_table3": ("table3_horses", "table3_paired"),
    "paper_neuroblastoma": ("neuroblastoma",),
}
"""Tables of the page, and the files that they are made from."""
KINDS = ("ours", "Euclid", "RCA", "Xing")
OURS = {
    "ours": "ours, full",
    "Euclid": "Euclid, z",
    "RCA": "RCA",
    "Xing": "MMC (Xing)",
}
"""What our tables call the columns of the paper's Table 2."""


def table2(same: Sequence[Row], held_out: Sequence[Row]) -> list[Row]:
    """For each method of the paper: printed, and ours in both protocols."""
    halves = {row["table"].split(" ")[0]: row for row in held_out}
    rows: list[Row] = []
    for row in same:
        name = row["table"].split(" ")[0]
        printed = dict(zip(KINDS, PRINTED.get(name, (None,) * 4), strict=True))
        cells: dict[str, Any] = {"table": row["table"]}
        for kind in KINDS:
            cells[f"{kind}: printed"] = printed[kind]
            cells[f"{kind}: same rows"] = row[OURS[kind]]
            cells[f"{kind}: other rows"] = halves.get(name, {}).get(OURS[kind])
        rows.append(cells)
    return rows


HORSES = {"loss": ("loss", 1.54, 1.77, 0.3), "Jaccard": ("Jaccard distance", 0.45, 0.53, 0.11)}
"""Printed: learned, grid, and the standard deviation of their difference."""


def table3(horses: Sequence[Row], differences: Sequence[Row]) -> list[Row]:
    """The paper's own features and objective, at the finer superpixels that there are."""
    ours = [row for row in horses if row["features"] == "colour+position"]
    size = ours[-1]["superpixels"]
    by_metric = {row["metric"]: row for row in ours if row["superpixels"] == size}
    (gained,) = (
        row
        for row in differences
        if row["features"] == "colour+position" and row["superpixels"] == size
    )
    rows: list[Row] = []
    for word, (column, learned, grid, sd) in HORSES.items():
        rows.append(
            {
                "measured by": column,
                "learned: printed": learned,
                "learned, the paper's objective": by_metric["learned, the paper's objective"][
                    column
                ],
                "learned, full": by_metric["learned, full"][column],
                "grid: printed": grid,
                "grid": by_metric["grid"][column],
                "sd of the difference: printed": sd,
                "gained over the grid by learned, full": gained[f"grid: {word} gained"],
            }
        )
    return rows


def neuroblastoma(rows: Sequence[Row]) -> list[Row]:
    """Error rates in the text of the paper."""
    printed = {"mean, penalty only": "12 %", "5 moments, learned, full": "6.9 %"}
    return [
        {
            "method": row["method"],
            "printed": printed.get(row["method"]),
            "wrong regions": row["wrong regions"],
            "error": row["error"],
        }
        for row in rows
    ]


MAKERS: dict[str, Callable[..., list[Row]]] = {
    "paper_table2": table2,
    "paper_table3": table3,
    "paper_neuroblastoma": neuroblastoma,
}


def derive(name: str, sources: Sequence[str]) -> None:
    """Write docs/paper/<name>.json, if all it is made from is there; it is as old as that."""
    if not all((PAPER / f"{source}.json").exists() for source in sources):
        return
    found = [stored(source) for source in sources]
    made = {"command": "_page.py", "machine": "; ".join(sorted({o["machine"] for o, _ in found}))}
    commits = sorted({commit for o, _ in found for commit in o["commits"]})
    made |= {"commits": commits, "date": max(o["date"] for o, _ in found)}
    store(name, made, MAKERS[name](*(rows for _, rows in found)))


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
    for table, files in ROWS.items():
        derive(table, files)
    times(Path(sys.argv[1] if len(sys.argv) > 1 else "no book"))
    for page in pages():
        write_again(page)
