"""Values given for each recording or table: its weight, its group, its number of clusters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from structsvm.data.checks import one_each, refuse_hidden, refuse_no_array, refuse_other_shape
from structsvm.data.labels import label_values, missing_labels, numbered
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError, SettingsError, about
from structsvm.support import Floats, Ints, is_whole

Counts = int | Sequence[int | None] | None
"""A number of clusters for every instance, one for each, or none given."""


def check_weights(sample_weight: Any, n: int, words: Words = RECORDINGS) -> Floats:
    """A weight for each of n recordings, scaled so that the largest is 1; 1 by default."""
    if sample_weight is None:
        return np.ones(n)
    refuse_hidden(sample_weight, "sample_weight")
    weights = np.asarray(sample_weight, dtype=np.float64)
    refuse_other_shape(weights, n, words.whole, "sample_weight")
    wrong = ~((weights >= 0) & (weights < np.inf))
    if wrong.any():
        raise DataError(
            "sample_weight of "
            + words.numbered(wrong.argmax())
            + f" is {weights[wrong.argmax()]}: give a finite number, 0 to leave it out"
        )
    if not weights.any():
        raise DataError(f"every sample_weight is 0: no {words.whole} is left to learn from")
    return np.asarray(weights / weights.max())


def units_of(groups: Any, N: int, words: Words = RECORDINGS) -> tuple[list[Any], Ints]:
    """Return the names of the groups, and the number of the group of each instance, (N,)."""
    if groups is None:
        return list(range(N)), np.arange(N)
    refuse_no_array(groups, "groups")
    with about("groups"):
        values = label_values(groups if hasattr(groups, "__array__") else list(groups))
    refuse_other_shape(values, N, words.whole, "groups")
    missing = np.flatnonzero(missing_labels(values))
    if missing.size:
        raise DataError(
            "the group of "
            + words.numbered(missing[0])
            + f" is missing ({missing.size} in all): give one for each, and a separate one to a "
            f"{words.whole} without a group"
        )
    names, units = numbered(values, "groups")
    return names.tolist(), units


def asked_counts(asked: Counts | str, truths: Sequence[Any] | None) -> Counts:
    """Replace "true" by the number of clusters of each truth; return anything else as it is."""
    if not isinstance(asked, str):
        return asked
    if asked != "true" or truths is None:
        raise SettingsError(
            f"n_clusters must be an integer, None or 'true', which needs the true labels, got "
            f"{asked!r}"
        )
    return [truth.n_clusters for truth in truths]


def cluster_counts(
    n_clusters: Counts, sizes: Sequence[int], words: Words = RECORDINGS
) -> list[int | None]:
    """A number of clusters for each instance, at most its size; None where it is not given."""
    if n_clusters is None:
        return [None] * len(sizes)
    numbers: Any = n_clusters
    numbers = [numbers] * len(sizes) if np.ndim(numbers) == 0 else numbers
    counts = one_each(numbers, len(sizes), words, "number", f" of {words.part}s")
    for i, (T, K) in enumerate(zip(sizes, counts, strict=True)):
        if K is not None and not (is_whole(K) and 1 <= K <= T):
            finer = f" ({words.finer})" if words.finer else ""
            raise DataError(
                words.numbered(i)
                + f" has {words.items(T)}: it cannot have {K!r} {words.part}s{finer}"
            )
    return [None if K is None else int(K) for K in counts]
