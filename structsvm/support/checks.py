"""What kind of value a setting is, whatever was handed in: comparing it raises nothing then."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Container, Iterable, Sequence
from pathlib import PurePath
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


def refuse_unless(fits: bool, name: str, wanted: str, value: Any) -> None:
    """Refuse a setting that is not what is wanted."""
    if not fits:
        raise SettingsError(f"{name} must be {wanted}, got {value!r}")


def refuse_below(least: int, name: str, value: Any) -> None:
    refuse_unless(is_whole(value) and value >= least, name, f"an integer >= {least}", value)


def refuse_bad_seed(value: Any) -> None:
    fits = is_whole(value) and 0 <= value <= LARGEST_SEED
    refuse_unless(fits, "random_state", f"an integer from 0 to {LARGEST_SEED}", value)


def check_n_jobs(value: Any) -> None:
    """Check that a number of workers is one; None stands for one worker."""
    fits = value is None or (is_whole(value) and value != 0 and abs(value) <= LARGEST_SEED)
    refuse_unless(fits, "n_jobs", "an integer other than 0 or None", value)


def refuse_unlisted(name: str, value: Any, allowed: Sequence[str | None]) -> None:
    """Check that a setting is one of the names, or None, that it may be."""
    refuse_unless(among(value, allowed), name, f"one of {allowed}", value)


def among(value: Any, allowed: Container[Any]) -> TypeGuard[str | None]:
    return (value is None or isinstance(value, str)) and value in allowed


def ending_of(path: Any, endings: Sequence[str]) -> str:
    """The ending of the name of a file, in lower case, checked to be one of these."""
    ending = PurePath(path).suffix.lower()
    if ending not in endings:
        raise SettingsError(f"{path}: the name must end with one of {', '.join(endings)}")
    return ending
