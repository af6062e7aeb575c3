"""The page that helps to choose says nothing twice, and of solvers only what was measured."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def section(page: str, title: str) -> str:
    """Return what stands under a heading."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.split(r"^## ", text.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of the rows of a table, its head left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_a_problem_is_one_row() -> None:
    pages = [row[2] for row in rows(section("how-to-choose.md", "The problem"))]
    addresses = [re.search(r"\((.*?)\)", page)[1] for page in pages]
    assert len(addresses) == len(set(addresses))


def test_seconds_and_gaps_of_solvers_are_those_that_were_measured() -> None:
    advice = "\n".join(row[2] for row in rows(section("how-to-choose.md", "The solver")))
    figures = re.findall(r"(?<![\w.])\d+\.\d+|\d+(?= s\b)|\d+(?= seconds)", advice)
    measured = section("solvers.md", "Measured")
    known = set(re.findall(r"(?<![\w.-])\d+(?:\.\d+)?", measured))
    assert len(figures) > 5
    assert set(figures) <= known
