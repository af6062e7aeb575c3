"""Types of arrays, checks of settings, and values in words."""

import difflib
import sys
import unicodedata
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import SettingsError, Text, join, named

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def largest(X: Floats) -> Floats:
    """The largest magnitude in each column, (P,); NaN where there is one."""
    return np.asarray(np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0)))


def largest_of_all(X: Floats) -> float:
    """The largest magnitude; NaN where there is one."""
    return float(np.maximum(X.max(initial=0.0), -X.min(initial=0.0)))


def all_within(X: Floats, bound: float) -> bool:
    """Whether all magnitudes are at most ``bound``; False if a value is NaN."""
    if X.dtype == np.float64 and np.vdot(X, X) <= bound * bound:
        return True
    return largest_of_all(X) <= bound


@dataclass(frozen=True, eq=False)
class Stack:
    """Arrays (T_i, P) stacked in one."""

    rows: Floats  # all rows, (n, P)
    first: Ints  # the first row of each array, and n, (N + 1,)

    @classmethod
    def of(cls, Xs: Sequence[Floats]) -> "Stack":
        """Copies of arrays with the same number of columns."""
        first = offsets([len(X) for X in Xs])
        rows = np.empty((int(first[-1]), Xs[0].shape[1]))  # in C order, whatever theirs is
        np.concatenate(Xs, out=rows)
        return cls(rows, first)

    @property
    def is_sound(self) -> bool:
        """Whether the fields have the right types, and every array has rows."""
        first: object = self.first
        if not (isinstance(first, np.ndarray) and isinstance(self.rows, np.ndarray)):
            return False
        if first.ndim != 1 or first.size < 2 or first.dtype != np.int64:
            return False
        return bool(first[0] == 0 and first[-1] == len(self.rows) and (self.sizes > 0).all())

    @property
    def sizes(self) -> Ints:
        """The number of rows of each array, (N,)."""
        return np.asarray(self.first[1:] - self.first[:-1])  # numpy.diff takes ten times as long

    def __len__(self) -> int:
        return self.first.size - 1

    def array(self, i: int) -> Floats:
        return self.rows[self.first[i] : self.first[i + 1]]

    def arrays(self) -> list[Floats]:
        first = self.first.tolist()
        return [self.rows[a:b] for a, b in pairwise(first)]


def offsets(sizes: Sequence[int] | Ints) -> Ints:
    """The offset of each item in a sequence of items of these sizes, and the total, (N + 1,)."""
    first = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.asarray(sizes, dtype=np.int64).cumsum(out=first[1:])
    return first


REAL = int | float | np.integer | np.floating  # types of real numbers; bool is an int, too
LARGEST_SEED = 2**32 - 1  # the largest seed of scikit-learn and of older generators of numpy


def meant(word: Any, words: Iterable[str]) -> str:
    """The end of a message that suggests the closest known word; "" if none is close."""
    if not isinstance(word, str):
        return ""
    close = difflib.get_close_matches(word.lower().replace("_", "-"), list(words), n=1)
    return f": did you mean {close[0]!r}?" if close else ""


def is_number(value: Any) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, REAL):
        return False
    return not isinstance(value, int) or abs(value) <= sys.float_info.max


def is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_listed(value: Any) -> bool:
    """Whether it is an iterable with an order, which a set has not."""
    return isinstance(value, Iterable) and not isinstance(value, set | frozenset)


def refuse_unless(fits: bool, name: str, wanted: str, value: Any) -> None:
    """Refuse a setting that is not what is wanted."""
    if not fits:
        raise SettingsError(named(name, value) + f" must be {wanted}, got {value!r}")


def refuse_below(least: int, name: str, value: Any) -> None:
    refuse_unless(is_whole(value) and value >= least, name, f"an integer >= {least}", value)


def refuse_bad_seed(value: Any) -> None:
    fits = is_whole(value) and 0 <= value <= LARGEST_SEED
    refuse_unless(fits, "random_state", f"an integer from 0 to {LARGEST_SEED}", value)


def check_n_jobs(value: Any) -> None:
    """Refuse an impossible number of workers; None stands for one worker."""
    fits = value is None or (is_whole(value) and value != 0 and abs(value) <= LARGEST_SEED)
    refuse_unless(fits, "n_jobs", "an integer other than 0 or None", value)


def refuse_unlisted(name: str, value: Any, allowed: Sequence[str | None]) -> None:
    """Refuse a setting that is not one of the allowed names, or None if that is allowed."""
    refuse_unless(among(value, allowed), name, f"one of {allowed}", value)


def among(value: Any, allowed: Container[Any]) -> TypeGuard[str | None]:
    return (value is None or isinstance(value, str)) and value in allowed


def ending_of(path: Any, endings: Sequence[str]) -> str:
    """The ending of a file's name in lower case; a SettingsError if it is none of these."""
    ending = PurePath(path).suffix.lower()
    if ending not in endings:
        raise SettingsError(f"{path}: the name must end with one of {', '.join(endings)}")
    return ending


def counted(n: int, noun: str) -> str:
    """Return a number of things in words: "1 row", "3 rows"."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def two_digits(value: float) -> str:
    """A number in a sentence: 0.12, 3.4, 56, and 123 in place of 1.2e+02."""
    return f"{value:.0f}" if 99.5 <= abs(value) < 1e6 else f"{value:.2g}"


def some_of(names: Sequence[Any], limit: int = 6, between: str = ", ") -> Text:
    """The first names in a list, and their number if there are more."""
    shown = join(names[:limit], between)
    return shown if len(names) <= limit else shown + f"{between}... ({len(names)} in all)"


def listed(names: Sequence[str], limit: int = 12) -> str:
    """The first names in quotes; of more, their number and the last one."""
    shown = ", ".join(map(repr, names[:limit])) or "nothing"
    more = len(names) - limit
    return f"{shown} and {more} more, the last {names[-1]!r}" if more > 0 else shown


def spelled(name: str) -> str:
    """A name in Unicode's form C: file names on a Mac spell ü as u and a combining mark."""
    return unicodedata.normalize("NFC", name)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array, which itself stays writable."""
    view = array.view()
    view.setflags(write=False)
    return view


def shown(value: object) -> str:
    """A value in an error message: its type, and the value itself if that is short."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    name = type(value).__name__
    text = repr(value)
    kind = f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
    return kind if len(text) > 60 else f"{text} ({kind})"
