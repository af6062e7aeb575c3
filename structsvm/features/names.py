"""Names of states: a label for each sample, read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.values import label_values, of_one_kind
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError
from structsvm.support.arrays import Floats, Ints
from structsvm.support.plain import counted

Objects = NDArray[np.object_]

UNNAMED = -1


@dataclass(frozen=True, eq=False)
class States:
    """The states of recordings, as numbers."""

    classes: NDArray[Any]
    """Names of the C states, sorted."""
    codes: list[Ints]
    """Number of the state of each sample, -1 where it has no name, (T_i,) each."""

    @classmethod
    def read(cls, ys: Any, Xs: Sequence[Floats], user: str, words: Words = RECORDINGS) -> States:
        """Read a name for each sample of each recording."""
        if ys is None:
            raise DataError(
                f"{user} learns the {words.named}s of {words.item}s by name: give ys, a name for "
                f"each {words.item} of each {words.whole}"
            )
        given = list(ys)
        if len(given) != len(Xs):
            raise DataError(f"{words.wholes(len(Xs))} but {counted(len(given), 'labelling')}")
        vectors = [
            _vector(y, len(X), i, user, words)
            for i, (y, X) in enumerate(zip(given, Xs, strict=True))
        ]
        named = [np.array([not is_missing(name) for name in y.tolist()]) for y in vectors]
        _refuse_mixed(vectors, named, words)
        flat = np.concatenate([y[known] for y, known in zip(vectors, named, strict=True)])
        try:
            classes, inverse = np.unique(of_one_kind(flat), return_inverse=True)
        except TypeError as error:
            raise DataError(
                f"{user} sorts the names of {words.named}s, and these do not compare ({error}): "
                "give text or numbers"
            ) from None
        if classes.size < 2:
            raise DataError(
                f"{user} needs at least 2 {words.named}s, and the labels name {classes.tolist()}"
            )
        codes, start = [], 0
        for known in named:
            code = np.full(known.size, UNNAMED, dtype=np.int64)
            code[known] = inverse[start : start + known.sum()]
            start += int(known.sum())
            codes.append(code)
        return cls(classes, codes)

    @property
    def n_classes(self) -> int:
        """The number of states, C."""
        return int(self.classes.size)

    def occurs(self) -> NDArray[np.bool_]:
        return np.array([np.isin(np.arange(self.n_classes), code) for code in self.codes])


def read_names(ys: Sequence[Any], sizes: Sequence[int], whole: str) -> list[Objects] | None:
    """The name of each item of each sample, None where it has none; None if none has names."""
    vectors = [_labels(y, i, whole) for i, y in enumerate(ys)]
    have = [v is not None and v.shape == (T,) for v, T in zip(vectors, sizes, strict=True)]
    if not any(have):
        return None
    if not all(have):
        i, j = have.index(False), have.index(True)
        raise DataError(
            f"{whole} {i} has breakpoints and {whole} {j} has names of states: breakpoints have no "
            f"names, so give a name for each of the {sizes[i]} samples of {whole} {i} as well"
        )
    found = []
    for vector in vectors:
        names = np.empty(0 if vector is None else vector.size, dtype=object)
        names[:] = [] if vector is None else vector.tolist()
        names[[is_missing(name) for name in names]] = None
        found.append(names)
    return found


def _vector(y: Any, T: int, i: int, user: str, words: Words) -> NDArray[Any]:
    values = _labels(y, i, words.whole)
    if values is None:
        return np.full(T, UNNAMED)
    if values.ndim != 1 or values.size != T:
        raise DataError(
            f"{words.whole} {i} has {words.items(T)} and {values.size} labels: {user} needs a name "
            f"for each {words.item}"
            + (", and breakpoints have no names" if words == RECORDINGS else "")
        )
    return values


def _labels(y: Any, i: int, whole: str) -> NDArray[Any] | None:
    """Labels as an array, text and numbers told apart; None where there are none."""
    labels = getattr(y, "labels", y)  # of PartialLabels
    if labels is None:
        return None
    try:
        return label_values(labels)
    except DataError as error:
        raise DataError(f"{whole} {i}: {error}") from error


def is_missing(name: Any) -> bool:
    if name is None or name is np.ma.masked:
        return True
    if isinstance(name, str):
        return not name.strip()
    if isinstance(name, bool):
        return False
    try:
        return bool(name != name) or name == UNNAMED  # NaN is not itself
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return True


def _refuse_mixed(
    vectors: Sequence[NDArray[Any]], named: Sequence[NDArray[np.bool_]], words: Words
) -> None:
    """Refuse names that cannot be sorted together: text and numbers."""
    first: dict[bool, tuple[int, Any]] = {}
    for i, (y, known) in enumerate(zip(vectors, named, strict=True)):
        for name in y[known].tolist():
            first.setdefault(isinstance(name, str), (i, name))
    if len(first) == 2:
        (i, text), (j, number) = first[True], first[False]
        raise DataError(
            f"{words.whole} {i} has the {words.named} {text!r}, {words.whole} {j} {number!r}: "
            f"names of {words.named}s must be all text or all numbers"
        )
