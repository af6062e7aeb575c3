"""What the API reference shows says which errors it raises, read from the source by ast."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from public_rooms import public_things

THINGS = public_things()


@pytest.mark.parametrize("address", THINGS)
def test_a_public_function_that_raises_has_a_section_raises(address):
    silent = [
        name for name, function in _functions(address, THINGS[address]) if _is_silent(function)
    ]
    assert not silent, f"they raise and have no section Raises: {silent}"


def _functions(address: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """A function, or the methods that a class defines itself and does not keep to itself."""
    if inspect.isclass(thing):
        for name, value in vars(thing).items():
            if inspect.isfunction(value) and not name.startswith("_"):
                yield f"{address}.{name}", value
    elif inspect.isfunction(thing):
        yield address, thing


def _is_silent(function: Any) -> bool:
    if not inspect.unwrap(function).__module__.startswith("structsvm"):
        return False
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    raises = any(isinstance(statement, ast.Raise) for statement in ast.walk(node))
    return raises and "Raises\n------\n" not in inspect.cleandoc(function.__doc__ or "")
