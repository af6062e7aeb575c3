"""What kind of value a setting is, whatever was handed in: comparing it raises nothing then."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Container, Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np

from structsvm.errors import SettingsError

REAL = int | float | np.integer | np.floating
"""What holds a real number, but for truth values."""

LARGEST_SEED = 2**32 - 1
"""What scikit-learn and the older generators of numpy take at most."""


def meant(word: Any, known: Iterable[str]) -> str:
    """Which known word was probably meant, to be put behind a message; "" if none is close."""
    if not isinstance(word, str):
        return ""
    close = difflib.get_close_matches(word.lower().replace("_", "-"), list(known), n=1)
    return f": did you mean {close[0]!r}?" if close else ""


def is_number(value: Any) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, REAL):
        return False
    return not isinstance(value, int) or abs(value) <= sys.float_info.max


def is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def refuse_below(least: int, name: str, value: Any) -> None:
    """Check that a setting is an integer that is large enough."""
    if not (is_whole(value) and value >= least):
        raise SettingsError(f"{name} must be an integer >= {least}, got {value!r}")


def refuse_bad_seed(value: Any) -> None:
    """Check that a ``random_state`` seeds a generator."""
    if not (is_whole(value) and 0 <= value <= LARGEST_SEED):
        raise SettingsError(
            f"random_state must be an integer from 0 to {LARGEST_SEED}, got {value!r}"
        )


def check_n_jobs(value: Any) -> None:
    """Check that a number of workers is one; None stands for one worker."""
    if value is not None and not (is_whole(value) and value and abs(value) <= LARGEST_SEED):
        raise SettingsError(f"n_jobs must be an integer other than 0 or None, got {value!r}")


def refuse_unlisted(name: str, value: Any, allowed: Sequence[str | None]) -> None:
    """Check that a setting is one of the names, or None, that it may be."""
    if not among(value, allowed):
        raise SettingsError(f"{name} must be one of {allowed}, got {value!r}")


def among(value: Any, allowed: Container[Any]) -> TypeGuard[str | None]:
    return (value is None or isinstance(value, str)) and value in allowed
