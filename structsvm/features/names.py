"""Names of states: a label for each sample, read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.sample import RECORDINGS, Words
from structsvm.data.samples import label_values, of_one_kind
from structsvm.errors import DataError
from structsvm.support.arrays import Bools, Floats, Ints
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
        labels = [] if ys is None else list(ys)
        if len(labels) != len(Xs):
            raise DataError(
                f"{words.wholes(len(Xs))} but {counted(len(labels), 'labelling')}: {user} learns "
                f"the {words.named}s of {words.item}s by name, so give a name for each"
            )
        vectors, known = [], []
        for i, (y, X) in enumerate(zip(labels, Xs, strict=True)):
            values = _labels(y, i, words.whole)
            values = np.full(len(X), UNNAMED) if values is None else values
            if values.shape != (len(X),):
                raise DataError(
                    f"{words.whole} {i} has {words.items(len(X))} and {values.size} labels: {user} "
                    f"needs a name for each {words.item}; breakpoints have no names"
                )
            known.append(~unnamed(values))
            vectors.append(values[known[-1]])
        kinds = {isinstance(name, str): name for names in vectors for name in names.tolist()}
        if len(kinds) == 2:
            raise DataError(
                f"there are the {words.named}s {kinds[True]!r} and {kinds[False]!r}: names must be "
                "all text or all numbers"
            )
        try:
            names = of_one_kind(np.concatenate(vectors))
            classes, inverse = np.unique(names, return_inverse=True)
        except TypeError as error:
            raise DataError(
                f"{user} sorts {words.named}s, which do not compare ({error}): give text or numbers"
            ) from None
        if classes.size < 2:
            raise DataError(
                f"{user} needs at least 2 {words.named}s, and the labels name {classes.tolist()}"
            )
        codes = np.full(sum(map(len, known)), UNNAMED, dtype=np.int64)
        codes[np.concatenate(known)] = inverse
        return cls(classes, np.split(codes, np.cumsum([len(named) for named in known])[:-1]))

    @property
    def n_classes(self) -> int:
        """The number of states, C."""
        return int(self.classes.size)

    def occurs(self) -> Bools:
        """Whether a state occurs in a recording, (N, C)."""
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
        assert vector is not None
        names = np.array(vector.tolist(), dtype=object)
        names[unnamed(vector)] = None
        found.append(names)
    return found


def unnamed(values: NDArray[Any]) -> Bools:
    return np.array([is_missing(name) for name in values.tolist()], dtype=np.bool_)


def is_missing(name: Any) -> bool:
    if name is None:
        return True
    if isinstance(name, str):
        return not name.strip()
    try:
        return bool(name != name) or name == UNNAMED  # NaN is not itself
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return True


def _labels(y: Any, i: int, whole: str) -> NDArray[Any] | None:
    """Labels as an array, text and numbers told apart; None where there are none."""
    labels = getattr(y, "labels", y)  # of PartialLabels
    if labels is None:
        return None
    try:
        return label_values(labels)
    except DataError as error:
        raise DataError(f"{whole} {i}: {error}") from error
