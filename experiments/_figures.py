"""Printed numbers are those of docs/paper/*.json: tables are written from them, and checked.

    .venv/bin/python experiments/_figures.py            # write all tables again, after a merge
    .venv/bin/python experiments/_figures.py --check    # as `make check` does

A page shows the file NAME.json between the comments ``begin NAME`` and ``end NAME``. Numbers of a
paragraph are tied to cells by a comment below it, with a line for each number: the number as it is
printed, the name of the file, the first cells of the row, and the column::

    With a full metric the loss is 2.71.
    <!-- numbers
    2.71: har_spsw; learned, full; loss, K unknown
    -->

The printed number may be a pair of a cell, as in "2.71 ± 0.12", "5.11 / 4.89" and "0.15 to 0.44".
A table written by hand is tied in the same way, by a comment below it without an empty line.

On CHECKED pages, a decimal number in the text that is not tied has to be in a table of its section,
and one in a table written by hand has to be tied, so that none is left behind when an experiment is
run again. Those that no experiment makes, such as settings, versions, times of a benchmark and what
a paper prints, are in a line "given: 0.3 1.77" of such a comment.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from _origin import DOCS, ROOT, USUAL, Origin, is_of_a_commit

from structsvm.storage.atomic import write_atomically

PAPER = DOCS / "paper"
KEYS = {"command", "commits", "date", "machine"}

Row = Mapping[str, Any]

BLOCK = re.compile(r"<!-- begin (\S+) -->\n(.*?)<!-- end \1 -->", re.DOTALL)
GIVEN = "given: "
NUMBER = r"[+-]?\d+(?:\.\d+)?"
TIED = re.compile(r"^ *<!-- numbers\n(.*?)^ *-->", re.DOTALL | re.MULTILINE)
LINE = re.compile(rf"^ *({NUMBER}(?: (?:±|\+-|/|to) {NUMBER})?): (.+)$")
IN_TEXT = re.compile(r"<!-- [^>\n]*?;[^>]*? -->")
BY_HAND = re.compile(r"((?:^\|.*\n)+)(<!-- numbers\n(?:.*\n)*?-->)?", re.MULTILINE)
"""A table, and the comment that ties its numbers."""
SECTION = re.compile(r"^(?=## )", re.MULTILINE)
IN_LINE = r"`[^`]*`|\]\([^)]*\)"
"""Code, and targets of links."""
NOT_PROSE = re.compile(
    rf"^ *```.*?^ *```|<!--.*?-->|{IN_LINE}|^\|[^\n]*$", re.DOTALL | re.MULTILINE
)
"""Blocks of code, comments, code in a line, targets of links, tables."""
DECIMAL = re.compile(r"(?<![\w.])(?<!Python )(?<!arXiv:)\d+\.\d+(?!\.?\d)")
CHECKED = (
    "README.md",
    "paper.md",
    "results.md",
    "peers.md",
    "how-to-choose.md",
    "model-selection.md",
    "features.md",
    "clustering.md",
    "normalized-cuts.md",
    "change-points.md",
    "why-not-a-classifier.md",
    "weak-labels.md",
    "trust.md",
    "gallery.md",
    "anchors.md",
    "cli.md",
)
"""Pages all of whose decimal numbers are tied, or in tables that are written from files."""


def pages(docs: Path = DOCS) -> list[Path]:
    """Those on which figures may be printed."""
    first = [ROOT / "README.md"] if docs == USUAL else []
    return [*first, *sorted(docs.glob("*.md"))]


def stored(name: str, folder: Path = PAPER) -> tuple[Origin, list[Row]]:
    """The origin and the rows of a figure."""
    content = json.loads((folder / f"{name}.json").read_text())
    return content["origin"], content["rows"]


def store(name: str, origin: Origin, rows: Sequence[Row], folder: Path = PAPER) -> None:
    """Write docs/paper/<name>.json."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"origin": origin, "rows": list(rows)}
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


def block(name: str, folder: Path = PAPER) -> str:
    """What a page shows of a figure: its table, and where it comes from."""
    if not (folder / f"{name}.json").exists():
        return "*Not run.*\n"
    origin, rows = stored(name, folder)
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    lines += ["| " + " | ".join(text(row[column]) for column in columns) + " |" for row in rows]
    return "\n".join([*lines, "", _made(origin)]) + "\n"


def text(value: Any) -> str:
    """A cell."""
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _made(origin: Origin) -> str:
    return f"*Commit {', '.join(origin['commits'])}; {origin['date']}.*"


def write_again(page: Path, folder: Path = PAPER) -> None:
    """Write every table of a page from its file; those without one stay as they are."""

    def again(found: re.Match[str]) -> str:
        here = (folder / f"{found[1]}.json").exists()
        return _framed(found[1], folder) if here else found[0]

    before = page.read_text(encoding="utf-8")
    after = BLOCK.sub(again, before)
    if after != before:
        write_atomically(page, after.encode())


def _framed(name: str, folder: Path) -> str:
    return f"<!-- begin {name} -->\n{block(name, folder)}<!-- end {name} -->"


def faults(page: Path, folder: Path = PAPER) -> Iterator[str]:
    """What a page prints and its files do not have."""
    content = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(content):
        if not (folder / f"{found[1]}.json").exists():
            yield f"{page.name}: there is no docs/paper/{found[1]}.json"
        elif found[0] != _framed(found[1], folder):
            yield f"{page.name}: the table {found[1]} is not that of docs/paper/{found[1]}.json"
    if page.name in CHECKED:
        for section in SECTION.split(content):
            yield from (f"{page.name}: {fault}" for fault in _left_behind(section))
    content = BLOCK.sub("", content)
    if page.name in CHECKED:
        yield from (f"{page.name}: no file has the row {row}" for row in _untied_rows(content))
    yield from (f"{page.name}: {mark} is no comment below" for mark in IN_TEXT.findall(content))
    for found in TIED.finditer(content):
        paragraph = re.split(r"\n\s*\n|-->", content[: found.start()])[-1]
        for line in found[1].splitlines():
            yield from (
                f"{page.name}: {fault}" for fault in _faults_of_line(line, paragraph, folder)
            )


def _left_behind(section: str) -> Iterator[str]:
    """Decimal numbers of the text that neither a table of the section nor a tie has."""
    rows = re.findall(r"^\|.*$", section, re.MULTILINE)
    known = _decimals("\n".join(rows)).union(*map(_printed, TIED.findall(section)))
    for paragraph in re.split(r"\n\s*\n", NOT_PROSE.sub("", section)):
        for number in DECIMAL.findall(paragraph):
            if number not in known:
                start = " ".join(paragraph.split())[:60]
                yield f"{number} is tied to nothing and in no table of its section: {start} ..."


def _untied_rows(content: str) -> Iterator[str]:
    """Rows written by hand with a number that the comment below their table does not tie."""
    for table, tie in BY_HAND.findall(content):
        for row in table.splitlines():
            if not set(DECIMAL.findall(re.sub(IN_LINE, "", row))) <= _printed(tie):
                yield row


def _printed(tie: str) -> set[str]:
    """The numbers that a comment ties or gives."""
    lines = [line.strip().removeprefix(GIVEN) for line in tie.splitlines()]
    return _decimals("\n".join(line.partition(": ")[0] for line in lines))


def _decimals(content: str) -> set[str]:
    return set(re.findall(r"\d+\.\d+", content))


def _faults_of_line(line: str, paragraph: str, folder: Path) -> Iterator[str]:
    """What is wrong with one number that is tied to a cell."""
    if line.strip().startswith(GIVEN):
        return
    parts = LINE.match(line)
    if parts is None:
        yield f"no number in front of {line.strip()!r}"
        return
    printed, mark = parts.groups()
    if not re.search(rf"(?<![\d.]){re.escape(printed)}(?!\.?\d)", " ".join(paragraph.split())):
        yield f"the paragraph above does not print {printed}"
    cell = _cell(mark, folder)
    if cell is None:
        yield f"docs/paper has no cell {mark!r}"
    elif not _shows(cell, printed):
        yield f"{printed} is printed where {mark!r} is {text(cell)}"


def faults_of_file(path: Path) -> Iterator[str]:
    """What a file does not say about where it comes from."""
    content = json.loads(path.read_text())
    found = content.get("origin") if isinstance(content, dict) else None
    if found is None:
        yield f"{path.name} does not say where it comes from"
    elif set(found) != KEYS or not all(found.values()):
        yield f"{path.name} has to name {sorted(KEYS)}, and has {found}"
    elif not all(map(is_of_a_commit, found["commits"])):
        yield f"{path.name} is not of commits alone: {found['commits']}"


def _cell(mark: str, folder: Path) -> Any:
    """The value that a mark names, None if there is none."""
    name, *labels, column = (" ".join(part.split()) for part in mark.split(";"))
    if not (folder / f"{name}.json").exists():
        return None
    for row in stored(name, folder)[1]:
        if [text(value) for value in list(row.values())[: len(labels)]] == labels:
            return row.get(column)
    return None


def _shows(cell: Any, printed: str) -> bool:
    """Whether a cell has all numbers of what is printed."""
    numbers = [cell] if isinstance(cell, float) else [*map(float, re.findall(NUMBER, str(cell)))]
    return all(_is_among(number, numbers) for number in re.findall(NUMBER, printed))


def _is_among(printed: str, numbers: Sequence[float]) -> bool:
    """Whether it is one of the numbers with so many digits; without a sign, its absolute value."""
    digits = len(printed.partition(".")[2])
    signed = printed[0] in "+-"
    return any(
        f"{number if signed else abs(number):.{digits}f}" == printed.lstrip("+")
        for number in numbers
    )


def all_faults() -> list[str]:
    """Of every page and every file."""
    of_pages = [fault for page in pages() for fault in faults(page)]
    return [*of_pages, *(f for path in sorted(PAPER.glob("*.json")) for f in faults_of_file(path))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and fail at a fault")
    if parser.parse_args().check:
        raise SystemExit("\n".join(all_faults()) or 0)
    for page in pages():
        write_again(page)
