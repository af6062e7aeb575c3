"""What samples tell, next to the learner: features and labels that make a fit poor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.data.copies import contents
from structsvm.data.sample import Sample
from structsvm.data.samples import is_constant
from structsvm.data.words import Words
from structsvm.diagnosis.findings import Found
from structsvm.evaluation.contrast import MIN_UNITS
from structsvm.learner.columns import codes_in, column_names, explained, labels_in
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats, Ints
from structsvm.support.plain import some_of

DOMINATES = 0.5
"""A share of the squared distances, of one feature out of several."""
TIMES = 10.0
"""And how much larger it is than that of the median feature."""
SPIKY = 0.5
"""A share of the variance of a feature that is due to its few largest values."""
FEW_VALUES = 5e-3
"""How many of the values are few."""
SAME = 1 - 1e-4
"""A correlation from which on two features say the same."""
ROTATIONS = 39
"""Labels at other places, to compare the labelled places with."""
BY_CHANCE = 0.05
"""A share of these that do as well from which on labels explain nothing."""
FEWEST_TO_EXCHANGE = 4
"""Different labellings that can be exchanged often enough to compare with."""
WINDOW = 8
"""Consecutive items that two samples must share to have a stretch in common."""
SHARED = 0.1
"""A part of the shorter sample from which on an overlap is one."""
FINE = 100
"""Samples to which recordings are scaled to see whether their labels differ."""


@dataclass(frozen=True, eq=False)
class Examined:
    """Samples that were given to look at, as they were measured and as the metric sees them."""

    learner: MetricLearner
    words: Words
    names: Sequence[str]
    """What the samples are called."""
    measured: Sequence[Sample]
    prepared: Sequence[Sample]
    unscaled: Sequence[Floats]
    """The features that the metric sees, not standardised, (T_i, P)."""
    truths: Sequence[EquivalenceMatrix | None]
    """None where they are not known, or only in part."""
    groups: Sequence[Any] | None

    @property
    def known(self) -> list[tuple[Floats, EquivalenceMatrix]]:
        """Features and partition of the samples whose partition is known and has several parts."""
        pairs = zip(self.unscaled, self.truths, strict=True)
        return [
            (X, truth)
            for X, truth in pairs
            if truth is not None and truth.labels is not None and 1 < truth.n_clusters < len(X)
        ]

    @property
    def features(self) -> list[str]:
        """The names of the features that the metric sees."""
        return self.learner.metric_feature_names_

    def called(self, columns: Any) -> list[str]:
        """The names of some of the features."""
        return [self.features[j] for j in np.asarray(columns).tolist()]


def scale(given: Examined) -> Found:
    """A feature that decides alone which partition is best, because of its unit."""
    features = given.learner.inputs_.features
    if features is not None and features.scaled:
        return
    squares = sum(((s.X - s.X.mean(axis=0)) ** 2).sum(axis=0) for s in given.prepared)
    shares = np.asarray(squares) / max(float(np.sum(squares)), 1e-300)
    largest = int(shares.argmax())
    others = np.delete(shares, largest)
    others = others[others > 0]
    if not others.size or shares[largest] <= max(DOMINATES, TIMES * np.median(others)):
        return
    name = given.features[largest]
    kind = given.learner.inputs_.standardizer.kind
    whole = given.words.whole
    why = {
        None: "features are not scaled",
        "training": f"it varies more within these {whole}s than in training",
    }.get(kind, f"features are scaled on each {whole}")
    yield (
        f"feature {name} makes {100 * shares[largest]:.0f} % of the squared distances of the "
        f"untrained metric, {shares[largest] / np.median(others):.2g} times the median of the "
        f"others: {why}, and the regularizer assumes features in one unit",
        "learn with standardize='recording' (or 'training'), or give the feature in another unit",
        {"feature": name, "share": float(shares[largest]), "standardize": kind},
    )


def constant(given: Examined) -> Found:
    """Features that do not vary, in all samples or in many."""
    flat = np.array([is_constant(X) for X in given.unscaled])
    share, n, words = flat.mean(axis=0), len(flat), given.words
    always = np.flatnonzero(share == 1)
    often = np.flatnonzero((share >= 0.5) & (share < 1))
    if always.size:
        names = given.called(always)
        yield (
            f"constant in every {words.whole}, so without influence: feature {some_of(names)}",
            "leave them out, or check the sensor"
            if len(names) > 1
            else "leave it out, or check the sensor",
            {"features": names},
        )
    if often.size:
        names = given.called(often)
        counts = {name: int(flat[:, j].sum()) for name, j in zip(names, often, strict=True)}
        yield (
            f"constant in at least half of the {words.wholes(n)}: feature {some_of(names)}",
            f"check whether the sensor was off; the weight rests on the other {words.whole}s",
            {"constant_in": counts},
        )


def spikes(given: Examined) -> Found:
    """Features whose variance is that of a few values."""
    centred = np.vstack([X - np.median(X, axis=0) for X in given.unscaled])
    n = int(np.ceil(FEW_VALUES * len(centred)))
    if len(centred) < 2 * n or len(centred) < 100:
        return
    squares = np.sort(centred**2, axis=0)
    total = squares.sum(axis=0)
    top = squares[-n:].sum(axis=0)
    share = np.divide(top, total, out=np.zeros_like(top), where=total > 0)
    found = np.flatnonzero(share > SPIKY)
    if found.size:
        names = given.called(found)
        yield (
            f"{n} of {len(centred)} {given.words.item}s {'makes' if n == 1 else 'make'} most of "
            f"the variance of feature {some_of(names)}: standardised, all other values are small",
            "clip or interpolate the outliers, or use ranks or a robust transformation",
            {"shares": {given.features[j]: float(share[j]) for j in found.tolist()}},
        )


def codes(given: Examined) -> Found:
    """Numbers that stand for missing values: the same again and again, far from all others."""
    found = codes_in([sample.data for sample in given.measured])
    if not found:
        return
    names, item = column_names(given.learner), given.words.item
    told = [
        f"{names[code.column]} is {code.value:.6g} in {code.times} {item}s (the first is {item} "
        f"{code.item} of {given.names[code.sample]})"
        for code in found
    ]
    values: dict[str, list[float]] = {}
    for code in found:
        values.setdefault(names[code.column], []).append(code.value)
    yield (
        f"{some_of(told, 3)}, far from all other values",
        "if it stands for a missing value, leave these cells blank (NaN in Python), and use "
        "missing='interpolate' or 'mask'",
        {"codes": values},
    )


def copied_features(given: Examined) -> Found:
    """Features that say the same as others."""
    P = len(given.features)
    if P < 2:
        return
    second: Floats = np.zeros((P, P))
    for X in given.unscaled:
        Z = X - X.mean(axis=0)
        deviation = np.sqrt((Z**2).mean(axis=0))
        Z = np.divide(Z, deviation, out=np.zeros_like(Z), where=~is_constant(X))
        second += Z.T @ Z
    deviation = np.sqrt(np.diag(second))
    scaled = np.outer(deviation, deviation)
    correlation = np.divide(second, scaled, out=np.zeros_like(second), where=scaled > 0)
    pairs = np.argwhere(np.triu(np.abs(correlation) > SAME, 1)).tolist()
    if not pairs:
        return
    said = [f"{given.features[a]} and {given.features[b]}" for a, b in pairs]
    yield (
        f"always move together: {some_of(said)}; one may take the weight of both",
        "leave out one of each pair, or do not interpret which of them has the weight",
        {"pairs": [[given.features[a], given.features[b]] for a, b in pairs]},
    )


def copies(given: Examined) -> Found:
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
    yield (
        f"{extra} of {given.words.wholes(len(given.names))} "
        f"{'is a copy of another one' if extra == 1 else 'are copies of others'}: "
        f"{some_of([' = '.join(names) for names in same])}",
        f"keep one of each, because a copy counts twice; to weight a {whole}, use sample_weight=",
        {"copies": same},
    )


def leakage(given: Examined) -> Found:
    yield from _seen(given)
    yield from _overlaps(given)
    if given.groups is not None:
        yield from _few_groups(given)


def _seen(given: Examined) -> Found:
    data, N = given.learner.training_data_, len(given.measured)
    seen = [
        name
        for name, sample in zip(given.names, given.measured, strict=True)
        if sample.data in data
    ]
    if not seen or len(seen) == N:
        return  # all of them: these are the samples that were learned from, and nothing is held out
    yield (
        f"the metric was learned from {len(seen)} of these {given.words.wholes(N)}: "
        f"{some_of(seen)}",
        "evaluate the metric on the others alone",
        {"learned_from": seen},
    )


def _overlaps(given: Examined) -> Found:
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
    yield (
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


def _few_groups(given: Examined) -> Found:
    assert given.groups is not None
    n = len({str(group) for group in given.groups})
    if n >= MIN_UNITS:
        return
    yield (
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


def _runs(Xs: list[Floats], window: int) -> list[Ints]:
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


def labels_among_features(given: Examined) -> Found:
    """Features that hold the labels: they do not vary within any labelled part."""
    known = given.known
    if not known:
        return
    found = labels_in([X for X, _ in known], [truth for _, truth in known])
    if found.size:
        names = given.called(found)
        yield (
            f"constant within every labelled {given.words.part} and changing between them: "
            f"feature {some_of(names)}",
            "leave it out if it was computed from the labels, which new samples do not have",
            {"features": names},
        )


def unrelated_labels(given: Examined) -> Found:
    """Labels that explain no feature better than others, which belong to none of the samples."""
    known = given.known
    if not known:
        return
    rng, contiguous = np.random.default_rng(0), given.learner.problem_.traits.contiguous
    labels = [truth.labels for _, truth in known]
    here = _shares(known, labels)
    part, whole = given.words.part, given.words.whole
    others: dict[str, Callable[[], list[Any]]] = {
        "the same labels shifted in time"
        if contiguous
        else f"the same labels in another order of {given.words.item}s": lambda: [
            _moved(y, rng, contiguous) for y in labels
        ]
    }
    different = {_scaled(y, FINE).tobytes() for y in labels}
    if contiguous and len(different) >= max(FEWEST_TO_EXCHANGE, len(known) / 2):
        others[f"the labels of other {whole}s, scaled to its length,"] = lambda: [
            _scaled(labels[k], len(known[i][0])) for i, k in enumerate(_exchanged(len(labels), rng))
        ]
    for where, draw in others.items():
        elsewhere = np.array([_shares(known, draw()) for _ in range(ROTATIONS)])
        centre, spread = elsewhere.mean(axis=0), elsewhere.std(axis=0) + 1e-12
        score = float(((here - centre) / spread).max())
        beaten = float(np.mean(((elsewhere - centre) / spread).max(axis=1) >= score))
        if beaten > BY_CHANCE:
            yield (
                f"no feature differs between the labelled {part}s more than by chance: {where} do "
                f"as well in {100 * beaten:.0f} % of {ROTATIONS} trials",
                "check that labels and samples belong together and start at the same time, or use "
                "features that show the changes (docs/features.md)",
                {"chance": beaten, "explained": float(here.max())},
            )
            return


def _shares(known: Sequence[tuple[Floats, EquivalenceMatrix]], labels: Sequence[Any]) -> Floats:
    """The mean share of the scatter of each feature that is between the parts, (P,)."""
    found = [explained(X, y) for (X, _), y in zip(known, labels, strict=True)]
    shares = [np.divide(b, t, out=np.zeros_like(b), where=t > 0) for b, t in found]
    return np.asarray(np.mean(shares, axis=0))


def _moved(labels: Any, rng: np.random.Generator, contiguous: bool) -> Any:
    if not contiguous:
        return rng.permutation(labels)
    moved = np.roll(labels, int(rng.integers(1, labels.size)))
    return np.cumsum(np.r_[0, moved[1:] != moved[:-1]])


def _exchanged(n: int, rng: np.random.Generator) -> Ints:
    """Whose labels each of n recordings is given: those of another one, (n,)."""
    order = rng.permutation(n)
    found = np.empty(n, dtype=np.int64)
    found[order] = np.roll(order, 1)
    return found


def _scaled(labels: Any, T: int) -> Any:
    """Segments of a recording, scaled to T samples."""
    found = labels[np.arange(T) * labels.size // T]
    return np.cumsum(np.r_[0, found[1:] != found[:-1]])
