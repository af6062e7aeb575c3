"""Pages that show a file show what is in it."""

import re
from pathlib import Path

import pytest

from structsvm.partitions.problem import PartitionProblem

ROOT = Path(__file__).resolve().parents[1]
INCLUDED = re.compile(r"<!-- include: (\S+) -->\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FOUND = [
    (page, path, text)
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for path, text in INCLUDED.findall(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("page", "path", "text"), FOUND, ids=[path for _, path, _ in FOUND])
def test_the_text_is_that_of_the_file(page: Path, path: str, text: str) -> None:
    assert text == (ROOT / path).read_text(encoding="utf-8"), f"{page.name}: copy {path} again"


def test_every_definition_of_a_problem_is_explained() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    missing = [name for name in PartitionProblem.__abstractmethods__ if f"`{name}`" not in page]
    assert not missing, f"docs/plugins.md does not mention {missing}"
