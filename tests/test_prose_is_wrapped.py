"""Pages are wrapped by hand, so that a change of a sentence is a change of a few lines."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```.*?^```|^\$\$.*?\$\$$", re.DOTALL | re.MULTILINE)
WIDTH = 115


def too_long(text: str) -> list[str]:
    """Return the lines of prose that are too long: no tables, pictures, code or formulas."""
    lines = FENCED.sub("", text).splitlines()
    return [line for line in lines if len(line) > WIDTH and not line.startswith(("|", "!", "    "))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_is_wrapped(page):
    assert too_long(page.read_text(encoding="utf-8")) == []


def test_a_long_line_is_found():
    long = "word " * 30
    assert too_long(f"short\n{long}\n| {long}\n```text\n{long}\n```\n") == [long]
