"""Samples that are not independent: copies, overlaps, and what was learned from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from structsvm.data.copies import contents
from structsvm.diagnosis.findings import Finding
from structsvm.diagnosis.samples import Examined
from structsvm.evaluation.contrast import MIN_UNITS
from structsvm.support.arrays import Ints
from structsvm.support.plain import some_of

WINDOW = 8
"""Consecutive items that two samples must share to have a stretch in common."""
SHARED = 0.1
"""A part of the shorter sample from which on an overlap is one."""


def copies(given: Examined) -> Iterator[Finding]:
    """Samples that are the same, to the last value."""
    numbers = contents([sample.data for sample in given.measured])
    places = defaultdict(list)
    for name, number in zip(given.names, numbers.tolist(), strict=True):
        places[number].append(name)
    same = [names for names in places.values() if len(names) > 1]
    if not same:
        return
    extra = sum(len(names) - 1 for names in same)
    whole = given.words.whole
    yield Finding(
        "copies",
        f"{extra} of {given.words.wholes(len(given.names))} "
        f"{'is a copy of another one' if extra == 1 else 'are copies of others'}: "
        f"{some_of([' = '.join(names) for names in same])}",
        f"keep one of each, because a copy counts twice; to weight a {whole}, use sample_weight=",
        {"copies": same},
    )


def leakage(given: Examined) -> Iterator[Finding]:
    yield from _seen(given)
    yield from _overlaps(given)
    if given.groups is not None:
        yield from _few_groups(given)


def _seen(given: Examined) -> Iterator[Finding]:
    data, N = given.learner.training_data_, len(given.measured)
    seen = [
        name
        for name, sample in zip(given.names, given.measured, strict=True)
        if sample.data in data
    ]
    if not seen or len(seen) == N:
        return  # all of them: these are the samples that were learned from, and nothing is held out
    yield Finding(
        "leakage",
        f"the metric was learned from {len(seen)} of these {given.words.wholes(N)}: "
        f"{some_of(seen)}",
        "evaluate the metric on the others alone",
        {"learned_from": seen},
    )


def _overlaps(given: Examined) -> Iterator[Finding]:
    """Samples that have stretches in common, across groups where groups are given."""
    shares = _shared_stretches(given)
    groups = given.groups
    across = {
        pair: share
        for pair, share in shares.items()
        if groups is None or groups[pair[0]] != groups[pair[1]]
    }
    if not across:
        return
    said = [f"{given.names[a]} and {given.names[b]}" for a, b in across]
    whole, n = given.words.whole, len(across)
    pairs = f"1 pair of {whole}s shares" if n == 1 else f"{n} pairs of {whole}s share"
    different = " of different groups" if groups is not None else ""
    yield Finding(
        "leakage",
        f"{pairs}{different} stretches of the same values: {some_of(said)}",
        f"cut {whole}s that do not overlap, or put overlapping ones in the same group: a held-out "
        "one is not independent of the other",
        {
            "pairs": [
                {"first": given.names[a], "second": given.names[b], "share": share}
                for (a, b), share in across.items()
            ]
        },
    )


def _few_groups(given: Examined) -> Iterator[Finding]:
    assert given.groups is not None
    n = len({str(group) for group in given.groups})
    if n >= MIN_UNITS:
        return
    yield Finding(
        "leakage",
        f"the {given.words.wholes(len(given.names))} are of {n} group{'' if n == 1 else 's'}: the "
        f"gain on further groups cannot be estimated from fewer than {MIN_UNITS}",
        "label a little of further groups rather than more of these groups",
        {"groups": n, "needed": MIN_UNITS},
    )


def _shared_stretches(given: Examined) -> dict[tuple[int, int], float]:
    window = WINDOW if given.learner.problem_.traits.contiguous else 1
    numbers = contents([sample.data for sample in given.measured])
    runs = _runs([sample.X for sample in given.measured], window)
    owners = defaultdict(list)
    for i, own in enumerate(runs):
        values, counts = np.unique(own, return_counts=True)
        for value in values[counts == 1].tolist():
            owners[value].append(i)
    shared: dict[tuple[int, int], int] = defaultdict(int)
    for places in owners.values():
        for a, b in ((a, b) for k, a in enumerate(places) for b in places[k + 1 :]):
            if numbers[a] != numbers[b] or given.groups is not None:
                shared[a, b] += 1
    found = {
        pair: n / max(1, min(runs[pair[0]].size, runs[pair[1]].size))
        for pair, n in sorted(shared.items())
    }
    return {pair: share for pair, share in found.items() if share >= SHARED}


def _runs(Xs: list[NDArray[np.float64]], window: int) -> list[Ints]:
    """A number for each ``window`` consecutive rows of each, the same for the same values."""
    ends = np.cumsum([len(X) for X in Xs])[:-1]
    rows = np.unique(np.vstack(Xs), axis=0, return_inverse=True)[1].reshape(-1)
    ids = np.split(rows.astype(np.int64), ends)
    if window == 1:
        return ids
    views = [
        np.lib.stride_tricks.sliding_window_view(own, window)
        if own.size >= window
        else np.empty((0, window), dtype=np.int64)
        for own in ids
    ]
    numbers = np.unique(np.vstack(views), axis=0, return_inverse=True)[1].reshape(-1)
    return np.split(numbers.astype(np.int64), np.cumsum([len(view) for view in views])[:-1])
