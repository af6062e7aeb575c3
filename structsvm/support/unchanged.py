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
        return _same(self._value, now)

    def changed_attribute(self, now: Any) -> str:
        """Which attribute is another one, such as ``Oracle.count``; empty if that has no name."""
        return _changed_attribute(self._value, now)


def _same(before: Any, now: Any) -> bool:
    if before is now:
        return True
    if type(before) is not type(now):
        return False
    if isinstance(before, np.ndarray):
        return _same_array(before, now)
    if isinstance(before, list | tuple):
        return len(before) == len(now) and all(map(_same, before, now))
    if isinstance(before, dict):
        return before.keys() == now.keys() and all(_same(before[key], now[key]) for key in before)
    state = getattr(before, "__dict__", None)
    if isinstance(state, dict):
        later = vars(now)
        return all(name in later and _same(value, later[name]) for name, value in state.items())
    return _equal(before, now)


def _changed_attribute(before: Any, now: Any) -> str:
    if isinstance(before, tuple):
        found = (_changed_attribute(*pair) for pair in zip(before, now, strict=False))
        return next(filter(None, found), "")
    state = getattr(before, "__dict__", None)
    if type(before) is not type(now) or not isinstance(state, dict):
        return ""
    for name, value in state.items():
        later = vars(now).get(name)
        if not _same(value, later):
            return _changed_attribute(value, later) or f"{type(before).__name__}.{name}"
    return ""


def _same_array(before: Any, now: Any) -> bool:
    if before.dtype == object:
        return before.shape == now.shape and _same(before.tolist(), now.tolist())
    return np.array_equal(before, now, equal_nan=before.dtype.kind in "fc")


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
