"""A parametrized test runs what its id says."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent


def parameters(test: ast.FunctionDef) -> set[str]:
    """Return the names that the parametrize decorators of a test hand over."""
    names: set[str] = set()
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("parametrize"):
            given = ast.literal_eval(decorator.args[0])
            names |= set(given.split(",") if isinstance(given, str) else given)
    return {name.strip() for name in names}


def replaced(path: Path) -> Iterator[str]:
    """Yield the parameters that a test file replaces by other values of their kind."""
    for test in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(test, ast.FunctionDef) or not parameters(test):
            continue
        for node in ast.walk(test):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                targets = {ast.unparse(target) for target in node.targets}
                for name in sorted(targets & parameters(test)):
                    yield f"{path.name}:{node.lineno}: {test.name} replaces its parameter {name}"


def test_no_test_replaces_a_parameter_that_its_id_names() -> None:
    assert not [found for path in sorted(TESTS.rglob("test_*.py")) for found in replaced(path)]
