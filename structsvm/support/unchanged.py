"""Whether something is still what it was, caches apart."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from structsvm.errors import PluginError


class Snapshot:
    """A deep copy, to compare with later."""

    def __init__(self, value: Any) -> None:
        self._value = copy.deepcopy(value)

    def still_holds(self, now: Any) -> bool:
        return _difference(self._value, now) is None

    def changed_attribute(self, now: Any) -> str:
        """Which attribute is another one, such as ``Oracle.count``; empty if that has no name."""
        return _difference(self._value, now) or ""


def _difference(before: Any, now: Any, name: str = "") -> str | None:
    """The name of an attribute that is another one; None if all is the same."""
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
        found = [_difference(a, b, name) for a, b in zip(before, now, strict=True)]
    elif isinstance(before, dict):
        if before.keys() != now.keys():
            return name
        found = [_difference(value, now[key], name) for key, value in before.items()]
    elif isinstance(state, dict):  # whose later attributes are caches
        kind, later = type(before).__name__, vars(now)
        found = [_difference(a, later.get(key), f"{kind}.{key}") for key, a in state.items()]
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
