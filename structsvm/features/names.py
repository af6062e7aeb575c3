"""Names of states: a label for each sample, read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.sample import RECORDINGS, Words
from structsvm.data.samples import (
    UNKNOWN,
    label_values,
    labels_of_items,
    numbered,
    one_each,
    unknown_labels,
)
from structsvm.errors import DataError, about
from structsvm.support.arrays import Floats, Ints

Objects = NDArray[np.object_]


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
        way_out = (
            f": {user} learns the {words.named}s of {words.item}s by name, so give a name for each"
        )
        vectors = []
        for i, (y, X) in enumerate(
            zip(one_each(ys, len(Xs), words, way_out=way_out), Xs, strict=True)
        ):
            labels = getattr(y, "labels", y)  # of PartialLabels
            with about(f"{words.whole} {i}"):
                values = label_values(np.full(len(X), UNKNOWN) if labels is None else labels)
            if values.shape != (len(X),):
                raise DataError(
                    f"{words.whole} {i} has {words.items(len(X))} and {values.size} labels: {user} "
                    f"needs a name for each {words.item}; breakpoints have no names"
                )
            vectors.append(values)
        known = np.concatenate([~unknown_labels(values) for values in vectors])
        if len({values.dtype.kind for values in vectors}) > 1:  # which numpy would take for text
            vectors = [values.astype(object) for values in vectors]
        classes, inverse = numbered(np.concatenate(vectors)[known], f"the {words.named}s")
        if classes.size < 2:
            raise DataError(
                f"{user} needs at least 2 {words.named}s, and the labels name {classes.tolist()}"
            )
        codes = np.full(known.size, UNKNOWN, dtype=np.int64)
        codes[known] = inverse
        return cls(classes, np.split(codes, np.cumsum([len(X) for X in Xs])[:-1]))


def read_names(ys: Sequence[Any], sizes: Sequence[int], whole: str) -> list[Objects] | None:
    """The name of each item of each sample, None where it has none; None if none has names."""
    vectors = []
    for i, (y, T) in enumerate(zip(ys, sizes, strict=True)):
        with about(f"{whole} {i}"):
            vectors.append(labels_of_items(y, T))
    have = [values is not None for values in vectors]
    if not any(have):
        return None
    if not all(have):
        i, j = have.index(False), have.index(True)
        raise DataError(
            f"{whole} {i} has breakpoints and {whole} {j} has names of states: breakpoints have no "
            f"names, so give a name for each of the {sizes[i]} samples of {whole} {i} as well"
        )
    found = []
    for values in vectors:
        assert values is not None
        names = np.array(values.tolist(), dtype=object)
        names[unknown_labels(values)] = None
        found.append(names)
    return found
