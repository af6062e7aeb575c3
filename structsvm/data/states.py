"""The named states of the samples of recordings, as labels give them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.checks import one_each
from structsvm.data.labels import UNKNOWN, label_values, labels_of_items, numbered, unknown_labels
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError, about, nth
from structsvm.support import Floats, Ints

Objects = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class States:
    """The states of the samples of recordings, as numbers of their names."""

    classes: NDArray[Any]  # names of the C states, sorted
    codes: list[Ints]  # number of the state of each sample, -1 where it has no name, (T_i,) each

    @classmethod
    def read(cls, ys: Any, Xs: Sequence[Floats], user: str, words: Words = RECORDINGS) -> "States":
        """Read a name for each sample of each recording, or the mark of an unknown one."""
        way_out = (
            f": {user} learns the {words.named}s of {words.item}s by name, so give a name for each"
        )
        vectors = []
        for i, (y, X) in enumerate(
            zip(one_each(ys, len(Xs), words, way_out=way_out), Xs, strict=True)
        ):
            labels = getattr(y, "labels", y)  # of PartialLabels
            with about(words.numbered(i)):
                values = label_values(np.full(len(X), UNKNOWN) if labels is None else labels)
            if values.shape != (len(X),):
                raise DataError(
                    words.numbered(i)
                    + f" has {words.items(len(X))} and {values.size} labels: {user} "
                    f"needs a name for each {words.item}; breakpoints have no names"
                )
            vectors.append(values)
        is_named = np.concatenate([~unknown_labels(values) for values in vectors])
        if len({values.dtype.kind for values in vectors}) > 1:  # which numpy would take for text
            vectors = [values.astype(object) for values in vectors]
        classes, inverse = numbered(np.concatenate(vectors)[is_named], f"the {words.named}s")
        if classes.size < 2:
            raise DataError(
                f"{user} needs at least 2 {words.named}s, and the labels name {classes.tolist()}"
            )
        codes = np.full(is_named.size, UNKNOWN, dtype=np.int64)
        codes[is_named] = inverse
        return cls(classes, np.split(codes, np.cumsum([len(X) for X in Xs])[:-1]))


def read_names(ys: Sequence[Any], sizes: Sequence[int], whole: str) -> list[Objects] | None:
    """The name of each item of each instance, or None; None if no instance has names."""
    vectors = []
    for i, (y, T) in enumerate(zip(ys, sizes, strict=True)):
        with about(nth(whole, i)):
            vectors.append(labels_of_items(y, T))
    named = [values for values in vectors if values is not None]
    if named and len(named) < len(vectors):
        are_named = [values is not None for values in vectors]
        i = are_named.index(False)
        j = are_named.index(True)
        raise DataError(
            nth(whole, i)
            + " has breakpoints and "
            + nth(whole, j)
            + " has names of states: breakpoints have no names, so give a name for each of the "
            f"{sizes[i]} samples of " + nth(whole, i) + " as well"
        )
    all_names = []
    for values in named:
        names = np.array(values.tolist(), dtype=object)
        names[unknown_labels(values)] = None
        all_names.append(names)
    return all_names or None
