"""The list of public names for the page of the reference: a line for each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ENTRY = re.compile(
    r"^\.\. auto(?P<kind>class|function|data|module):: (?P<target>\S+)\n"
    r"(?:   :exclude-members: (?P<left_out>\S+)\n)?",
    re.MULTILINE,
)
PAGE = re.compile(r"^api/\w+$", re.MULTILINE)
ROLE = re.compile(r":[\w:]+:`~?(?:[^`<]*<)?([^`>]+)>?`")


def api_list(docs: Path) -> str:
    """The pages of the reference in Markdown, each with its names and what they are.

    Parameters
    ----------
    docs : Path
        The folder of the documentation.
    """
    parts = []
    for page in PAGE.findall((docs / "api.md").read_text(encoding="utf-8")):
        text = (docs / f"{page}.md").read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        head = [f"## [{title}]({page}.md)", "", "| name | what it is |", "|---|---|"]
        parts.append("\n".join([*head, *map(_row, _addresses(text))]))
    return "\n\n".join(parts) + "\n"


def _addresses(text: str) -> Iterator[str]:
    """What the directives of a page show."""
    for found in ENTRY.finditer(text):
        if found["kind"] != "module":
            yield found["target"]
            continue
        left_out = (found["left_out"] or "").split(",")
        names = import_module(found["target"]).__all__
        yield from (f"{found['target']}.{name}" for name in names if name not in left_out)


def _row(address: str) -> str:
    room, _, name = address.rpartition(".")
    line = first_sentence(getattr(import_module(room), name)).replace("|", "\\|")
    return f"| {{py:obj}}`{name} <{address}>` | {line} |"


def first_sentence(thing: Any) -> str:
    """The first paragraph of a docstring without marks of markup; other values as they are."""
    is_ours = type(thing).__module__.startswith("structsvm.")
    is_code = inspect.isclass(thing) or inspect.isroutine(thing)
    told = inspect.getdoc(thing) if is_code or is_ours else None
    if not told:
        return f"`{thing!r}`"
    plain = ROLE.sub(
        lambda role: f"`{role[1].rpartition('.')[2]}`", " ".join(told.partition("\n\n")[0].split())
    )
    return plain.replace("``", "`")
