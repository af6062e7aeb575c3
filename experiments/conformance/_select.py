"""Which tests of others apply to our objects, and why the others do not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest


def leave_out(config: Any, items: list[Any], patterns: list[str]) -> None:
    """Deselect the tests whose names match one of the patterns: they are not about our objects."""
    left_out = [item for item in items if any(re.search(p, _name(item)) for p in patterns)]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def skip(items: list[Any], reasons: Mapping[str, str]) -> None:
    """Skip those that match a pattern, with its reason; one that matches none is an error."""
    unused = set(reasons)
    for item in items:
        for pattern, reason in reasons.items():
            if re.search(pattern, _name(item)):
                item.add_marker(pytest.mark.skip(reason=reason))
                unused.discard(pattern)
                break
    if unused:
        raise pytest.UsageError(f"no test matches {sorted(unused)}")


def _name(item: Any) -> str:
    return str(item.nodeid.split("::", 1)[1])
