"""The table of docs/theory.md names code that is there."""

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "theory.md"
ROWS = re.findall(
    r"\| `([\w.]+)` in `([\w.]+)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
)
NAMES = [f"structsvm.{module}.{name}" for name, module in ROWS]


def look_up(name: str) -> object:
    """Import as much of a dotted name as is a module, and take the rest as attributes."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[n:]:
            found = getattr(found, attribute)
        return found
    raise AssertionError(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_table_is_there(name: str) -> None:
    assert look_up(name) is not None


def test_every_row_names_code() -> None:
    table = PAGE.read_text(encoding="utf-8").split("## Equation to code")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len(rows) == len(NAMES) + 2 >= 20


def test_a_wrong_name_is_found() -> None:
    with pytest.raises(AttributeError):
        look_up("structsvm.partitions.losses.no_such_loss")
