"""Printed numbers are those of docs/paper/*.json: tables are written from them, and checked.

    .venv/bin/python -m experiments._figures            # write all tables again, after a merge
    .venv/bin/python -m experiments._figures --check    # as `make check` does

A page shows the file NAME.json between the comments ``begin NAME`` and ``end NAME``; the page of
measurements, which nobody writes by hand, shows all files that no other page shows. On CHECKED
pages every decimal number of a paragraph, or of a table written by hand, is in a table of its own
section, of a section that the paragraph or table links to, or of measurements that this one links
to, so that a reader finds its source where the check does. Beside a link to another site stand the
numbers of that site. Settings and versions are code: `lam=0.3`.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from experiments._origin import DOCS, ROOT, USUAL, Origin, is_of_a_commit
from structsvm.support.whole_files import write_atomically

PAPER = DOCS / "paper"
MEASUREMENTS = "measurements.md"
KEYS = {"command", "commits", "date", "machine"}

FOLDER = ROOT / "experiments"
BENCHMARKS = ROOT / "benchmarks"

Row = Mapping[str, Any]

BLOCK = re.compile(r"<!-- begin (\S+) -->\n(.*?)<!-- end \1 -->", re.DOTALL)
NUMBER = r"[+-]?\d+(?:\.\d+)?"
SECTION = re.compile(r"^(?=## )", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^ *```.*?^ *```|`[^`]*`|<!--.*?-->", re.DOTALL | re.MULTILINE)
DECIMAL = re.compile(r"(?<![\w.])(?<!Python )(?<!arXiv:)\d+\.\d+(?!\.?\d)")
CHECKED = (
    "README.md",
    "results.md",
    "how-to-choose.md",
    "model-selection.md",
    "features.md",
    "clustering.md",
    "normalized-cuts.md",
    "change-points.md",
    "weak-labels.md",
    "trust.md",
    "examples.md",
    "cli.md",
)
"""Pages all of whose decimal numbers have a source."""


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
    return f"*`{origin['command']}`, commit {', '.join(origin['commits'])}; {origin['date']}.*"


def measurements(docs: Path = DOCS) -> str:
    """The page of the files that no other page shows, with what their studies say of them."""
    others = [page for page in pages(docs) if page.name != MEASUREMENTS]
    shown = {
        found[1] for found in chain.from_iterable(BLOCK.finditer(_content(page)) for page in others)
    }
    folder = docs / "paper"
    studies: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text())
        if path.stem not in shown and "rows" in content:  # others are parts that tables are made of
            study = content["origin"]["command"].partition(" ")[0]
            studies.setdefault(study, []).append(path.stem)
    parts = [
        "# Measurements",
        "All tables that no other page shows, by the study that made them. This page is made of "
        "the files `docs/paper/*.json` and of what each study says of itself; [the "
        "results](results.md) say what follows.",
    ]
    for study, of_study in sorted(studies.items()):
        for number, name in enumerate(of_study):
            parts += [f"## {name}", *([] if number else _about(study)), _framed(name, folder)]
    return "\n\n".join(parts) + "\n"


def _about(study: str) -> list[str]:
    """What a study says of itself; nothing of one that is settled and in the history only."""
    found = sorted([*FOLDER.rglob(study), *BENCHMARKS.glob(study)])
    about = ast.get_docstring(ast.parse(_content(found[0]))) if found else None
    return [about] if about else []


def _content(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def write_pages(docs: Path = DOCS) -> None:
    """Write every table of every page from its file, and the page of the others."""
    for page in pages(docs):
        write_again(page, docs / "paper")
    write_atomically(docs / MEASUREMENTS, measurements(docs).encode())


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
    if page.name == MEASUREMENTS and content != measurements(page.parent):
        yield f"{page.name} is not what the files and the studies say: write it again"
    if page.name in CHECKED:
        yield from (f"{page.name}: {fault}" for fault in _without_source(page, content))


def _without_source(page: Path, content: str) -> Iterator[str]:
    """Decimal numbers that are in no table of their section, nor of one that it links to."""
    for section in SECTION.split(content):
        text = CODE.sub("", BLOCK.sub("", section))
        sources = [_numbers_of_link(page, link) for link in LINK.findall(text)]
        known = _numbers_of_tables([text for _, text in BLOCK.findall(section)]).union(*sources)
        for paragraph in re.split(r"\n\s*\n|\n(?=- )", text):
            if "](https://" in paragraph:
                continue
            for number in DECIMAL.findall(LINK.sub("", paragraph)):
                if not _is_among(number, known):
                    start = " ".join(paragraph.split())[:60]
                    yield f"{number} is in no table of its section or of its links: {start} ..."


def _numbers_of_link(page: Path, link: str) -> set[float]:
    """The numbers of the tables of the section that a link names, and of measurements it names."""
    file, _, anchor = link.partition("#")
    target = page.parent / file if file else page
    if target.suffix != ".md" or not anchor:
        return set()
    sections = SECTION.split(target.read_text(encoding="utf-8"))
    sections += list(chain.from_iterable(re.split(r"\n(?=### )", section) for section in sections))
    named = [section for section in sections if _anchor(section) == anchor]
    known = _numbers_of_tables(named)
    if target.name != MEASUREMENTS:
        tables = [one for one in LINK.findall("\n".join(named)) if one.startswith(MEASUREMENTS)]
        known = known.union(*(_numbers_of_link(target, one) for one in tables))
    return known


def _anchor(section: str) -> str:
    """The name under which a section is linked to."""
    title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", section.partition("\n")[0]).lstrip("# ").lower()
    return re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-")


def _numbers_of_tables(texts: Sequence[str]) -> set[float]:
    rows = list(chain.from_iterable(re.findall(r"^\|.*$", text, re.MULTILINE) for text in texts))
    return {
        float(number) for number in chain.from_iterable(re.findall(NUMBER, row) for row in rows)
    }


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


def _is_among(printed: str, numbers: set[float]) -> bool:
    """Whether it is one of the numbers with so many digits, or its absolute value."""
    digits = len(printed.partition(".")[2])
    return any(f"{abs(number):.{digits}f}" == printed for number in numbers)


def all_faults() -> list[str]:
    """Of every page and every file."""
    of_pages = list(chain.from_iterable(faults(page) for page in pages()))
    return [
        *of_pages,
        *chain.from_iterable(faults_of_file(path) for path in sorted(PAPER.glob("*.json"))),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and fail at a fault")
    if parser.parse_args().check:
        raise SystemExit("\n".join(all_faults()) or 0)
    write_pages()
