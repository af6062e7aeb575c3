"""The API reference of the site lists every public name once, and nothing that is not there."""

import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from public_rooms import public_things

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "api"
DIRECTIVE = re.compile(
    r"^\.\. auto(?P<kind>class|function|data|module):: (?P<target>\S+)\n"
    r"(?:   :exclude-members: (?P<left_out>\S+)\n)?",
    re.MULTILINE,
)


def _listed(text: str) -> Iterator[Any]:
    """Yield what the directives of a page show."""
    for found in DIRECTIVE.finditer(text):
        if found["kind"] == "module":
            module = import_module(found["target"])
            left_out = (found["left_out"] or "").split(",")
            for name in module.__all__:
                if name not in left_out:  # imported ones are shown too
                    yield getattr(module, name)
        else:
            room, _, name = found["target"].rpartition(".")
            yield getattr(import_module(room), name)


def test_every_public_name_is_listed_once():
    pages = [page.read_text(encoding="utf-8") for page in sorted(REFERENCE.glob("*.md"))]
    times = Counter(id(value) for page in pages for value in _listed(page))
    things = public_things(constants=True).items()
    wrong = {address: times[id(value)] for address, value in things if times[id(value)] != 1}
    assert not wrong, f"docs/api has to list these once, and does so many times: {wrong}"


def test_the_reference_has_a_line_for_every_public_name(monkeypatch):
    monkeypatch.syspath_prepend(str(REFERENCE.parent))
    text = import_module("api_list").api_list(REFERENCE.parent)
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| {py:obj}")]
    listed = {row[0].partition("<")[2].rpartition(">")[0] for row in rows}
    named = {address.rpartition(".")[2] for address in listed}
    assert {address.rpartition(".")[2] for address in public_things(constants=True)} <= named
    assert all(len(row) >= 2 and row[1].strip(" |.") for row in rows)
    assert ":class:" not in text
    assert text.count("\n## ") + 1 == len(list(REFERENCE.glob("*.md")))


def test_nothing_is_left_out_that_is_not_there():
    for page in sorted(REFERENCE.glob("*.md")):
        for found in DIRECTIVE.finditer(page.read_text(encoding="utf-8")):
            for name in (found["left_out"] or "").split(","):
                assert not name or hasattr(import_module(found["target"]), name), (page.name, name)


@pytest.mark.parametrize("page", sorted(REFERENCE.glob("*.md")), ids=lambda page: page.stem)
def test_every_page_of_the_reference_is_in_its_table_of_contents(page):
    contents = (REFERENCE.parent / "api.md").read_text(encoding="utf-8").splitlines()
    assert contents.count(f"api/{page.stem}") == 1
