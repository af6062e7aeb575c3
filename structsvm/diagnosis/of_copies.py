"""Instances that are not independent of others, or of what was learned from."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy.sparse import coo_array

from structsvm.diagnosis.examined import Examined
from structsvm.diagnosis.findings import Found
from structsvm.evaluation.contrast import MIN_UNITS
from structsvm.support.values import counted, some_of

SHARED_ITEMS = 8  # consecutive items that two instances must share to have a stretch in common

SHARED_PART = 0.1  # a part of the shorter instance from which on an overlap is one


def copies(examined: Examined) -> Found:
    """Instances that are the same, to the last value."""
    places = defaultdict(list)
    for name, number in zip(examined.names, examined.numbers.tolist(), strict=True):
        places[number].append(name)
    same = [names for names in places.values() if len(names) > 1]
    if same:
        n = sum(len(names) - 1 for names in same)
        yield (
            f"{n} of {examined.words.wholes(len(examined.names))} "
            f"{'is a copy of another one' if n == 1 else 'are copies of others'}: "
            f"{some_of([' = '.join(names) for names in same])}",
            f"keep one of each, because a copy counts twice; to weight a {examined.words.whole}, "
            "use sample_weight=",
            {"copies": same},
        )


def leakage(examined: Examined) -> Found:
    """Instances that were learned from, overlap across groups, or are of too few groups."""
    data = examined.learner.training_data_
    N = len(examined.measured)
    groups = examined.groups
    words = examined.words
    whole = examined.words.whole
    seen = [
        examined.names[i] for i, instance in enumerate(examined.measured) if instance.data in data
    ]
    # All of them: these are the instances that were learned from, and nothing is held out.
    if 0 < len(seen) < N:
        yield (
            f"{examined.learner.called} was learned from {len(seen)} of these {words.wholes(N)}: "
            f"{some_of(seen)}",
            "evaluate it on the others alone",
            {"learned_from": seen},
        )
    across = [
        {"first": examined.names[a], "second": examined.names[b], "share": share}
        for (a, b), share in _shared_stretches(examined).items()
        if groups is None or groups[a] != groups[b]
    ]
    if across:
        said = [f"{pair['first']} and {pair['second']}" for pair in across]
        different = " of different groups" if groups is not None else ""
        yield (
            f"stretches of the same values in {counted(len(across), 'pair')} of {whole}s"
            f"{different}: {some_of(said)}",
            f"cut {whole}s that do not overlap, or put overlapping ones in the same group: a "
            "held-out one is not independent of the other",
            {"pairs": across},
        )
    n = MIN_UNITS if groups is None else len(set(map(str, groups)))
    if n < MIN_UNITS:
        yield (
            f"the {words.wholes(N)} are of {counted(n, 'group')}: the gain on further groups "
            f"cannot be estimated from fewer than {MIN_UNITS}",
            "label a little of further groups rather than more of these groups",
            {"groups": n, "needed": MIN_UNITS},
        )


def _shared_stretches(examined: Examined) -> dict[tuple[int, int], float]:
    """The part of the shorter of two instances that is in the other, if it is large."""
    window = SHARED_ITEMS if examined.learner.problem_.traits.contiguous else 1
    Xs = [instance.X for instance in examined.measured]
    N = len(examined.measured)
    owners = np.repeat(np.arange(N), [len(X) for X in Xs])
    last = owners[window - 1 :]
    first = owners[: last.size]
    whole = first == last  # stretches of one sample
    if not whole.any():
        return {}
    rows = np.unique(np.vstack(Xs), axis=0, return_inverse=True)[1].reshape(-1)
    views = np.lib.stride_tricks.sliding_window_view(rows, window)[whole]
    numbers = np.unique(views, axis=0, return_inverse=True)[1].reshape(-1)
    times = coo_array((np.ones(numbers.size), (first[whole], numbers))).tocsr()
    once = (times == 1).astype(np.int64)  # what repeats itself says nothing
    pairs = (once @ once.T).tocoo()
    n = np.bincount(first[whole], minlength=N)
    by_pair = {}
    for a, b, shared in sorted(zip(*pairs.coords, pairs.data, strict=True)):
        share = float(shared / min(n[a], n[b]))
        may_differ = examined.numbers[a] != examined.numbers[b] or examined.groups is not None
        if a < b and may_differ and share >= SHARED_PART:
            by_pair[int(a), int(b)] = share
    return by_pair
