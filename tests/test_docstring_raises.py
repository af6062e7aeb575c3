"""A public function that raises says so, read from the source by ast."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_public_function_that_raises_has_a_section_raises() -> None:
    silent = [
        f"{path.relative_to(ROOT)}:{function.lineno}: {name}"
        for path in _sources()
        for name, function in _public(ast.parse(path.read_text(encoding="utf-8")).body)
        if _raises(function.body) and not _has_section(ast.get_docstring(function) or "")
    ]
    assert not silent, "\n  ".join(["they raise and have no Raises section:", *silent])


def test_raising_is_told_from_what_an_inner_function_raises() -> None:
    inner = ast.parse("def f():\n    def g():\n        raise ValueError\n    return g").body[0]
    outer = ast.parse(
        "def f(x):\n    for y in x:\n        if y:\n            raise ValueError"
    ).body[0]
    assert not _raises(inner.body)
    assert _raises(outer.body)


def test_a_section_is_a_heading_and_not_a_word() -> None:
    assert _has_section("One.\n\nRaises\n------\nDataError\n    If.")
    assert not _has_section("Raises DataError.")


def _sources() -> list[Path]:
    # rglob does not follow the links structsvm/oracles and structsvm/problems.
    paths = [
        path
        for room in ("structsvm", "oracles", "problems")
        for path in sorted((ROOT / room).rglob("*.py"))
    ]
    assert len(paths) > 100
    return paths


def _public(body: list[ast.stmt], owner: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of a module and the methods of its classes, private ones left out."""
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _public(node.body, f"{owner}{node.name}.")
        else:
            yield f"{owner}{node.name}", node


def _raises(body: list[ast.stmt]) -> bool:
    """Tell whether there is a ``raise``, but for those of functions and classes inside."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise):
            return True
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _has_section(docstring: str) -> bool:
    lines = [line.strip() for line in docstring.splitlines()]
    return ("Raises", "------") in pairwise(lines)
