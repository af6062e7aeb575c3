"""Columns that decide a result by what they are: codes of missing values, and the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structsvm.data.gaps import filled
from structsvm.data.sample import Sample
from structsvm.data.samples import is_constant
from structsvm.data.words import GRAPHS, IMAGES, Words
from structsvm.errors import DataWarning, warn
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats, Ints
from structsvm.support.plain import some_of

FAR = 10.0
"""How many ranges of the other values a value is away from them that is none."""
VARIED = 5
"""Different values that the others have at least: a switch or a class has no codes."""
EXPLAINED = 1 - 1e-9
"""A share of the variance from which on a feature is constant within the labelled parts."""


def column_names(learner: Any) -> list[str]:
    """The names of the columns of samples as they are measured."""
    names = getattr(learner, "feature_names_in_", None)
    return [f"x{j}" for j in range(learner.n_features_in_)] if names is None else list(names)


class Code(NamedTuple):
    """A number that stands for missing values: the same again and again, far from all others."""

    column: int
    value: float
    times: int
    sample: int
    item: int
    """Where it is first."""


def codes_in(Xs: Sequence[Floats]) -> list[Code]:
    """Values that are the same again and again, and far from all others of their column."""
    first = np.cumsum([0, *map(len, Xs)])
    low, high = np.min([X.min(axis=0) for X in Xs], axis=0), np.max([X.max(axis=0) for X in Xs], 0)
    found = []
    for j, ends in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        column = np.concatenate([X[:, j] for X in Xs])
        for value in sorted(set(ends)):
            is_code = column == value
            others = column[~is_code]
            count = int(is_code.sum())
            if count < 2 or not others.size:
                continue
            is_far = np.abs(others - value).min() > FAR * np.ptp(others)
            if is_far and np.unique(others[:1000]).size >= VARIED:
                row = int(is_code.argmax())
                i = int(np.searchsorted(first, row, side="right")) - 1
                found.append(Code(j, value, count, i, row - int(first[i])))
    return found


def labels_in(known: Sequence[tuple[Floats, EquivalenceMatrix]]) -> Ints:
    """Columns that hold the labels: constant within each labelled part, and not between them."""
    if not known:
        return np.empty(0, dtype=np.int64)
    shares = np.array([explained(X, truth.labels) for X, truth in known])
    all_of_it = (shares[:, 0] >= EXPLAINED * shares[:, 1]) & (shares[:, 1] > 0)
    return np.flatnonzero(all_of_it.all(axis=0))


def explained(X: Floats, labels: Any) -> Floats:
    """The scatter of each feature between the parts, and in all, (2, P)."""
    Z = X - X.mean(axis=0)
    K = int(labels.max()) + 1
    sizes = np.bincount(labels, minlength=K)
    sums = np.array([np.bincount(labels, Z[:, j], minlength=K) for j in range(Z.shape[1])]).T
    between = (sums**2 / np.maximum(sizes, 1)[:, None]).sum(axis=0)
    total = (Z**2).sum(axis=0)
    return np.stack([between, np.where(is_constant(X), 0.0, total)])


def warn_of_codes(samples: Sequence[Sample], names: Sequence[str], words: Words) -> None:
    """DataWarning for numbers that stand for missing values and decide the distances."""
    if words in (GRAPHS, IMAGES) or any(sample.is_deferred for sample in samples):
        return
    said = [
        f"{names[code.column]} is {code.value:.6g} in {code.times} {words.item}s (the first is "
        f"{words.item} {code.item} of {words.whole} {code.sample})"
        for code in codes_in([filled(sample.X) for sample in samples])
    ]
    if said:
        warn(
            f"{some_of(said, 3)}, far from all other values, which it outweighs: if it stands for "
            "a missing value, leave these cells blank (NaN), and use missing='interpolate' or "
            "'mask'",
            DataWarning,
        )


def warn_of_labels(
    samples: Sequence[Sample],
    truths: Sequence[EquivalenceMatrix],
    names: Sequence[str],
    words: Words,
) -> None:
    """DataWarning for columns beside others that hold the labels, which new samples do not have."""
    if words in (GRAPHS, IMAGES) or any(sample.is_deferred for sample in samples):
        return
    known = [
        (filled(sample.X), M)
        for sample, M in zip(samples, truths, strict=True)
        if M.labels is not None and 1 < M.n_clusters < sample.n_samples
    ]
    found = labels_in(known)
    if found.size and found.size < len(names):
        verb, it = ("is", "it was") if found.size == 1 else ("are", "they were")
        warn(
            f"{some_of([names[j] for j in found.tolist()])} {verb} constant within every labelled "
            f"{words.part} and not between them, which decides the result: leave it out if {it} "
            f"made of the labels, which new {words.whole}s do not have",
            DataWarning,
        )
