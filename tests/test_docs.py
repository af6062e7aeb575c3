"""The documentation holds: its Python blocks run and its links lead somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

import structsvm

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^```python *\n(.*?)^``` *$", re.DOTALL | re.MULTILINE)
ANY_FENCED = re.compile(r"^```.*?^``` *$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(<?([^)\s>]+)>?[^)]*\)")

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@pages
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run from top to bottom in one namespace, as a reader would run them."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, block in _python_blocks(page.read_text(encoding="utf-8")):
        # The empty lines make a traceback name the line of the page.
        exec(compile("\n" * line + block, str(page), "exec"), namespace)


@pages
def test_links_to_files_exist(page: Path) -> None:
    text = ANY_FENCED.sub("", page.read_text(encoding="utf-8"))
    paths = (unquote(target.split("#")[0]) for target in LINK.findall(text) if "://" not in target)
    missing = [path for path in paths if path and not (page.parent / path).exists()]
    assert not missing, f"{page.name} links to files that do not exist: {missing}"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_every_page_has_its_place_on_the_site(page: Path) -> None:
    listed = set((ROOT / "docs" / "index.md").read_text(encoding="utf-8").split("\n"))
    assert page.stem in listed | {"index"}, f"name {page.stem} in a toctree of docs/index.md"


def test_every_end_of_learning_is_explained() -> None:
    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    missing = [status.name for status in structsvm.Status if f"`{status.name}`" not in page]
    assert not missing, f"docs/trust.md does not say what {missing} mean"


def _python_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield every block fenced as python with the number of lines above it."""
    for match in FENCED.finditer(text):
        yield text.count("\n", 0, match.start(1)), match.group(1)
