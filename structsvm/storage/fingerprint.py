"""Knowing data and settings again, in another process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from structsvm.support.settings import without_remembered


def fingerprint(value: Any) -> str:
    """The first digits of a SHA-256 of what a value holds, the same in every process."""
    digest = hashlib.sha256()
    _update(digest, value, ())
    return digest.hexdigest()[:16]


def _update(digest: Any, value: Any, inside: tuple[int, ...]) -> None:
    if id(value) in inside:
        digest.update(b"itself")
        return
    inside = (*inside, id(value))
    digest.update(f"<{type(value).__module__}.{type(value).__qualname__}".encode())
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif value is None or isinstance(
        value, bool | int | float | complex | str | bytes | np.generic
    ):
        digest.update(repr(value).encode())
    else:
        for part in _parts(value):
            _update(digest, part, inside)
    digest.update(b">")


def _parts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, set | frozenset):
        return sorted(fingerprint(item) for item in value)
    if isinstance(value, list | tuple | np.ndarray):
        return value
    if isinstance(value, ModuleType):
        return [value.__name__]
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, value.co_consts
    is_estimator = hasattr(value, "get_params")  # which has learned more than its settings
    if is_dataclass(value) and not isinstance(value, type) and not is_estimator:
        counted = [f for f in fields(value) if f.init and f.metadata.get("fingerprint", True)]
        return [getattr(value, field.name) for field in counted]
    code = getattr(value, "__code__", None)
    if code is not None:  # a function
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        owner = getattr(value, "__self__", None)  # of a method
        return code, value.__defaults__, value.__kwdefaults__, cells, owner
    if isinstance(value, type) or not hasattr(value, "__dict__") or callable(value):
        name = getattr(value, "__qualname__", None)
        if name is not None:  # a class, or a function written in C
            return [f"{value.__module__}.{name}", getattr(value, "__self__", None)]
    try:
        reduced = value.__reduce_ex__(4)
    except TypeError:  # locks and the like, which are known by their type alone
        return []
    if isinstance(reduced, str):
        return [reduced]
    parts = [part for part in reduced if not hasattr(part, "__next__")]
    return [
        dict(sorted(without_remembered(value, part).items())) if isinstance(part, dict) else part
        for part in parts
    ]
