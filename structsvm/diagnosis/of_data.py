"""Columns, copies and labels that make a fit poor."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from sklearn.preprocessing import StandardScaler

from structsvm.data import is_constant
from structsvm.diagnosis.findings import Examined, Flaws
from structsvm.errors import parameter
from structsvm.evaluation import MIN_UNITS
from structsvm.learner.columns import (
    centred_with_scatter,
    changes_in,
    codes_in,
    labels_in,
    scatter_between,
)
from structsvm.partitions.equivalence import runs_of
from structsvm.support import Floats, counted, some_of

DOMINATES = 0.5  # a feature dominates with a larger share of the squared distances,
TIMES_MEDIAN = 10.0  # which is also more than so many times that of the median feature
SPIKY = 0.5  # a feature is spiky if a larger share of its variance is due to few values,
FEW_OF_VALUES = 5e-3  # which are this share of all values
SAME_CORRELATION = 1 - 1e-4  # with a larger correlation two features say the same


def scale(examined: Examined) -> Flaws:
    """A feature that decides alone which partition is best, because of its unit."""
    inputs: Any = examined.learner.inputs_
    if inputs.features is not None and inputs.features.scaled:
        return
    squares = sum(((s.X - s.X.mean(axis=0)) ** 2).sum(axis=0) for s in examined.prepared)
    shares = np.asarray(squares) / max(float(np.sum(squares)), 1e-300)
    largest = int(shares.argmax())
    others = np.delete(shares, largest)
    others = others[others > 0]
    if not others.size or shares[largest] <= max(DOMINATES, TIMES_MEDIAN * np.median(others)):
        return
    name = examined.learner.metric_feature_names_[largest]
    kind = inputs.standardizer.kind
    scaled = "not scaled" if kind is None else "scaled by " + parameter("standardize", kind)
    yield (
        f"feature {name} makes {100 * shares[largest]:.0f} % of the squared distances of the "
        f"untrained metric, {shares[largest] / np.median(others):.2g} times the median of the "
        "others: features are " + scaled + ", and the regularizer assumes features in one unit",
        "learn with "
        + parameter("standardize", "recording")
        + " (or 'training'), or give the feature in another unit",
        {"feature": name, "share": float(shares[largest]), "standardize": kind},
    )


def spikes(examined: Examined) -> Flaws:
    """Columns whose variance is that of a few values."""
    centred = np.vstack([X - np.median(X, axis=0) for X in examined.columns])
    n = int(np.ceil(FEW_OF_VALUES * len(centred)))
    if len(centred) < 2 * n or len(centred) < 100:
        return
    squares = np.sort(centred**2, axis=0)
    total = squares.sum(axis=0)
    top = squares[-n:].sum(axis=0)
    share = np.divide(top, total, out=np.zeros_like(top), where=total > 0)
    spiky = np.flatnonzero(share > SPIKY)
    if spiky.size:
        names = examined.column_names[spiky].tolist()
        yield (
            f"{n} of {len(centred)} {examined.words.item}s {'makes' if n == 1 else 'make'} most of "
            f"the variance of feature {some_of(names)}: standardised, all other values are small",
            "clip or interpolate the outliers, or use ranks or a robust transformation",
            {"shares": dict(zip(names, share[spiky].tolist(), strict=True))},
        )


def codes(examined: Examined) -> Flaws:
    """Numbers that stand for missing values: the same again and again, far from all others."""
    names = examined.column_names.tolist()
    yield from codes_in(examined.measured, names, examined.words.item, examined.names.__getitem__)


def constant(examined: Examined) -> Flaws:
    """Columns that do not vary, in all instances or in many."""
    flat = np.array([is_constant(X) for X in examined.columns])
    N = len(flat)
    times = flat.sum(axis=0)
    often = np.flatnonzero(2 * times >= N)
    if often.size:
        counts = dict(
            zip(examined.column_names[often].tolist(), times[often].tolist(), strict=True)
        )
        said = [f"{name} in {n} of {examined.words.wholes(N)}" for name, n in counts.items()]
        yield (
            f"constant: feature {some_of(said)}",
            "check whether the sensor was off; what never varies has no influence",
            {"constant_in": counts},
        )


def copied_features(examined: Examined) -> Flaws:
    """Pairs of columns that always move together."""
    Z = np.vstack([StandardScaler().fit_transform(X) for X in examined.columns])
    with np.errstate(invalid="ignore"):  # columns that are always constant have no correlation
        correlation = np.nan_to_num(np.atleast_2d(np.corrcoef(Z, rowvar=False)))
    pairs = examined.column_names[
        np.argwhere(np.triu(np.abs(correlation) > SAME_CORRELATION, 1))
    ].tolist()
    # indicators of two categories of one column always move together
    pairs = [pair for pair in pairs if len({name.partition("=")[:2] for name in pair}) > 1]
    if pairs:
        yield (
            f"always move together: {some_of([' and '.join(pair) for pair in pairs])}; one may "
            "take the weight of both",
            "leave out one of each pair, or do not interpret which of them has the weight",
            {"pairs": pairs},
        )


SHARED_ITEMS = 8  # consecutive items that two instances must share to have a stretch in common
SHARED_PART = 0.1  # the least share of the shorter instance that is an overlap


def copies(examined: Examined) -> Flaws:
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


def leakage(examined: Examined) -> Flaws:
    """Instances that were learned from, overlap across groups, or are of too few groups."""
    data = examined.learner.training_data_
    N = len(examined.measured)
    groups = examined.groups
    words = examined.words
    whole = examined.words.whole
    seen = [
        examined.names[i] for i, instance in enumerate(examined.measured) if instance.data in data
    ]
    # If all of them were learned from, they are the training instances: that is no finding.
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
    """For each pair of instances the share of the shorter one that is in the other, if large."""
    window = SHARED_ITEMS if examined.learner.problem_.traits.contiguous else 1
    Xs = [instance.X for instance in examined.measured]
    N = len(examined.measured)
    owners = np.repeat(np.arange(N), [len(X) for X in Xs])
    last = owners[window - 1 :]
    first = owners[: last.size]
    whole = first == last  # windows that lie in one instance
    if not whole.any():
        return {}
    rows = np.unique(np.vstack(Xs), axis=0, return_inverse=True)[1].reshape(-1)
    views = np.lib.stride_tricks.sliding_window_view(rows, window)[whole]
    numbers = np.unique(views, axis=0, return_inverse=True)[1].reshape(-1)
    times = coo_array((np.ones(numbers.size), (first[whole], numbers))).tocsr()
    once = (times == 1).astype(np.int64)  # windows that an instance repeats say nothing
    pairs = (once @ once.T).tocoo()
    n = np.bincount(first[whole], minlength=N)
    by_pair = {}
    for a, b, shared in sorted(zip(*pairs.coords, pairs.data, strict=True)):
        share = float(shared / min(n[a], n[b]))
        may_differ = examined.numbers[a] != examined.numbers[b] or examined.groups is not None
        if a < b and may_differ and share >= SHARED_PART:
            by_pair[int(a), int(b)] = share
    return by_pair


ROTATIONS = 39  # wrong labels at other places, to compare the labels with
BY_CHANCE = 0.05  # if a larger share of wrong labels does as well, the labels explain nothing
FEWEST_TO_EXCHANGE = 4  # different labellings, at least, that are exchanged between recordings
FINE = 100  # samples to which labels are scaled to see whether they differ


def unrelated_labels(examined: Examined) -> Flaws:
    """Labels that explain no feature better than wrong labels do, moved or of other instances."""
    if not examined.known:
        return
    rng = np.random.default_rng(0)
    contiguous = examined.learner.problem_.traits.contiguous
    arrays = [examined.prepared[i].X for i, _ in examined.known]
    labels: list[Any] = [truth.labels for _, truth in examined.known]

    def moved() -> list[Any]:
        if not contiguous:
            return [rng.permutation(y) for y in labels]
        return [_scaled(np.roll(y, int(rng.integers(1, y.size))), y.size) for y in labels]

    def exchanged() -> list[Any]:
        order = rng.permutation(len(labels))
        of_another = np.roll(order, 1)[np.argsort(order)]
        return [_scaled(labels[k], len(X)) for k, X in zip(of_another, arrays, strict=True)]

    where = "shifted in time" if contiguous else f"in another order of {examined.words.item}s"
    others = {f"the same labels {where}": moved}
    different = {_scaled(y, FINE).tobytes() for y in labels}
    if contiguous and len(different) >= max(FEWEST_TO_EXCHANGE, len(labels) / 2):
        others[f"the labels of other {examined.words.whole}s, scaled to its length,"] = exchanged
    scattered = [centred_with_scatter(X) for X in arrays]
    own_shares = _shares(scattered, labels)
    for wrong_labels, draw in others.items():
        wrong_shares = np.array([_shares(scattered, draw()) for _ in range(ROTATIONS)])
        centre = wrong_shares.mean(axis=0)
        spread = wrong_shares.std(axis=0) + 1e-12
        score = float(((own_shares - centre) / spread).max())
        beaten = float(np.mean(((wrong_shares - centre) / spread).max(axis=1) >= score))
        if beaten > BY_CHANCE:
            yield (
                f"no feature differs between the labelled {examined.words.part}s more than by "
                f"chance: {wrong_labels} do as well in {100 * beaten:.0f} % of {ROTATIONS} trials",
                "check that labels and samples belong together and start at the same time, or use "
                "features that show the changes (docs/features.md)",
                {"chance": beaten, "explained": float(own_shares.max())},
            )
            return


def _shares(scattered: Sequence[tuple[Floats, Floats]], labels: Sequence[Any]) -> Floats:
    """The mean over instances of the share of scatter of each feature between the parts, (P,)."""
    shares = []
    for (Z, whole), y in zip(scattered, labels, strict=True):
        between = scatter_between(Z, y)
        shares.append(np.divide(between, whole, out=np.zeros_like(between), where=whole > 0))
    return np.asarray(np.mean(shares, axis=0))


def _scaled(labels: Any, T: int) -> Any:
    """Segments of a recording, numbered in their order and scaled to T samples."""
    labels = labels[np.arange(T) * labels.size // T]
    return runs_of(labels).labels


def labels_among_features(examined: Examined) -> Flaws:
    """Columns that hold the labels: they do not vary within any labelled part."""
    parts = [(examined.columns[i], M) for i, M in examined.known]
    for holding in (labels_in, changes_in):
        yield from holding(parts, examined.column_names.tolist(), examined.words)
