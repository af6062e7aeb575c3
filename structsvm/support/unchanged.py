"""Whether something is still what it was, caches apart."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from structsvm.errors import PluginError


def difference(before: Any, now: Any, name: str = "") -> str | None:
    """An attribute that is another one, as ``Oracle.count``, "" if it has no name; None if none."""
    if before is now:
        return None
    if type(before) is not type(now):
        return name
    if isinstance(before, np.ndarray):
        if before.dtype != object:
            same = np.array_equal(before, now, equal_nan=before.dtype.kind in "fc")
            return None if same else name
        if before.shape != now.shape:
            return name
        before, now = before.tolist(), now.tolist()
    state = getattr(before, "__dict__", None)
    if isinstance(before, list | tuple):
        if len(before) != len(now):
            return name
        found = [difference(a, b, name) for a, b in zip(before, now, strict=True)]
    elif isinstance(before, dict):
        if before.keys() != now.keys():
            return name
        found = [difference(value, now[key], name) for key, value in before.items()]
    elif isinstance(state, dict):  # whose later attributes are caches
        kind, later = type(before).__name__, vars(now)
        found = [difference(a, later.get(key), f"{kind}.{key}") for key, a in state.items()]
    else:
        return None if _equal(before, now) else name
    return next((one for one in found if one is not None), None)


def _equal(before: Any, now: Any) -> bool:
    """Of values without attributes; where nothing tells, they are."""
    try:
        if all("__eq__" not in vars(cls) for cls in type(before).__mro__[:-1]):
            return pickle.dumps(before) == pickle.dumps(now)
        return bool(before == now) or before != before  # NaN
    except (TypeError, ValueError, pickle.PicklingError):
        return True


@contextmanager
def nothing_written(method: str) -> Iterator[None]:
    """Name the method that writes to what it was given, which is read-only."""
    try:
        yield
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise PluginError(f"{method} modified its input ({error}): copy before writing") from error
