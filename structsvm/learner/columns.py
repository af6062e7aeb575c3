"""Columns that decide a result by what they are: codes of missing values, labels, dead sensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.data.constant import constant_features, is_constant, values_of_columns
from structsvm.data.deferred import Data, arrays_among, as_read, map_arrays, take_rows
from structsvm.data.missing import filled
from structsvm.data.sample import Sample
from structsvm.data.words import GRAPHS, IMAGES, Words
from structsvm.errors import SettingsError, warn
from structsvm.graphs.labelled_nodes import NodeLabels
from structsvm.messages import parameter
from structsvm.partial_labels import Known
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Metric
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import some_of

RELIED_ON = 0.05
"""A share of the weight of a metric from which on columns that are constant are named."""
FAR = 10.0
"""How many ranges of the other values a value is away from them that is none."""
VARIED = 5
"""Different values that the others have at least: a switch or a class has no codes."""
EXPLAINED = 1 - 1e-9
"""A share of the variance from which on a feature is constant within the labelled parts."""
FEW = 1000
"""Rows that tell what most of a column are."""
MET = 0.5
"""A share of the changes that a column has to mark, and of the samples that may be beside them."""


class Fitted(Protocol):
    """What a fitted learner has, as far as it is asked here."""

    problem_: PartitionProblem
    inputs_: Any
    model_: Any
    n_features_in_: int
    baselines_: dict[str, Any]
    training_data_: Any
    classes_: NDArray[Any] | None


class FittedMetric(Fitted, Protocol):
    """What one has whose model is a metric."""

    @property
    def metric_(self) -> Metric: ...

    metric_feature_names_: list[str]


def words_of(problem: PartitionProblem, samples: Sequence[Sample]) -> Words:
    """What messages call samples; graphs that were made of images are images."""
    regions = [getattr(x.side, "regions", None) for x in samples]
    return problem.traits.words if any(one is None for one in regions) else IMAGES


def partition_of(truth: EquivalenceMatrix | NodeLabels) -> EquivalenceMatrix:
    """The partition of the items, where the truth is one of what they are made of."""
    return truth.M if isinstance(truth, NodeLabels) else truth


def column_names(learner: Fitted) -> list[str]:
    names = getattr(learner, "feature_names_in_", None)
    return [f"x{j}" for j in range(learner.n_features_in_)] if names is None else list(names)


# ---- columns that are lost where a metric is used, and features that say nothing there


SPREAD = " spread"
"""How the name of the deviation of a column in each window ends; its mean has its name."""


def without(learner: Fitted, columns: str | Sequence[str]) -> Any:
    """Return a copy of a fitted learner that partitions without some columns, as of a lost sensor.

    It takes samples of the same columns, and does not look at what is in these. Its metric is the
    block of the features that are made of the others, and a segment or cluster costs there what it
    did times the share of the weights that is left. It has no classifiers, and names no states.

    Parameters
    ----------
    learner : MetricLearner
    columns : str or sequence of str
        Names of columns, or patterns such as "watch*". Spreads of a column go with it.

    Raises
    ------
    SettingsError
        For an unknown column, for a learner that has no metric, or if no feature is left, as where
        all are scores of classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import without
    >>> Xs = [np.repeat([[0.0, 1.0], [3.0, 2.0]], 50, axis=0)] * 2
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, [[50, 100]] * 2)
    >>> without(learner, "x1").predict_breakpoints([X * [1.0, 0.0] for X in Xs])
    [[50, 100], [50, 100]]
    """
    check_is_fitted(learner)
    words = learner.problem_.traits.words
    if words in (GRAPHS, IMAGES):
        raise SettingsError(f"the features of {words.whole}s are no columns that can be lost")
    if not isinstance(learner.model_, Metric):
        raise SettingsError(
            f"a {type(learner).__name__} looks at all columns at once: learn it again without "
            f"{some_of([columns] if isinstance(columns, str) else list(columns))}"
        )
    known = column_names(learner)
    lost = dict[str, None]()
    for pattern in [columns] if isinstance(columns, str) else columns:
        same = {pattern, f"{pattern}{SPREAD}"}
        these = [name for name in known if name in same or fnmatchcase(name, pattern)]
        if not these:
            raise SettingsError(f"no column is called {pattern!r}, they are {some_of(known, 12)}")
        lost |= dict.fromkeys(these)
    found: Any = copy(learner)
    found.model_ = metric_without(learner, lost, learner.model_)
    if not found.model_.factor.any():
        raise SettingsError(
            f"no feature is left without {some_of(list(lost))}: scores and components are made of "
            "all columns; learn without these columns, or from the columns themselves"
        )
    found.baselines_ = {}
    for name, one in learner.baselines_.items():
        if isinstance(one.model_, Metric):
            found.baselines_[name] = copy(one)
            found.baselines_[name].model_ = metric_without(learner, lost, one.model_)
    found.inputs_ = replace(learner.inputs_, scores=None)
    found.classes_ = None
    found.lost_ = list(lost)
    found.__dict__.pop("margin_rates_", None)
    return found


def metric_without(learner: Fitted, lost: Collection[str], metric: Any) -> Any:
    """The block of a metric of the features that are made of other columns."""
    stage = learner.inputs_.features
    marks = {f"\0{j}\0": name in lost for j, name in enumerate(column_names(learner))}
    made = list(marks) if stage is None else stage.get_feature_names_out(list(marks))
    # What is not called after the columns, such as a score, is made of all of them.
    of = [[gone for mark, gone in marks.items() if mark in str(name)] for name in made]
    kept = np.array([bool(those) and not any(those) for those in of])
    factor = np.where(kept[:, None], metric.factor, 0.0)
    price = metric.price
    # What a cluster saves is a weighted sum over features of one scale: so is what it costs.
    share = np.sum(factor**2) / (np.sum(metric.factor**2) or 1.0)
    return replace(metric, factor=factor, price=None if price is None else price * share)


def dead_columns(
    learner: Fitted, samples: Sequence[Sample], seen: Floats | None = None
) -> list[tuple[tuple[str, ...], list[int], float]]:
    """Columns that the metric relies on, constant as never before; where, and what they weigh."""
    metric = learner.model_
    if not isinstance(metric, Metric):
        return []
    whole = np.sum(metric.factor**2)
    if learner.problem_.traits.words in (GRAPHS, IMAGES) or not whole > 0.0:
        return []  # or so small that their squares vanish
    # Whatever is constant stays so where it is standardised.
    data = [as_read(sample.data) for sample in samples]
    names = column_names(learner)
    usual = learner.training_data_.constant
    words = tuple(f"{one}=" for one in getattr(learner, "columns_", {}).get("categories", ()))
    where = defaultdict(list)
    constant = constant_features(data, seen)
    for i in np.flatnonzero(constant.any(axis=1)).tolist():
        dead = [names[j] for j in np.flatnonzero(constant[i]).tolist() if j not in usual]
        dead = [name for name in dead if not name.startswith(words)]  # all may be of one sex
        if dead and samples[i].n_samples > 1:
            where[tuple(dead)].append(i)
    found = []
    for lost, places in where.items():
        left = np.sum(metric_without(learner, lost, metric).factor ** 2) / whole
        # Of scores, each of which is made of all columns, nothing is said.
        if left <= 1 - RELIED_ON and (left or learner.inputs_.features is None):
            found.append((lost, places, 1 - left))
    return found


def warn_of_dead_features(
    learner: Fitted, samples: Sequence[Sample], seen: Floats | None = None
) -> None:
    words = learner.problem_.traits.words
    for lost, places, share in dead_columns(learner, samples, seen):
        verb, have = ("is", "has") if len(lost) == 1 else ("are", "have")
        warn(
            some_of([words.numbered(i) for i in places]) + f": {some_of(lost)} {verb} constant, "
            f"which {have} {share:.0%} of the weight of the metric",
        )


def warn_of_new(learner: Fitted, samples: Sequence[Sample]) -> None:
    """DataWarning for columns of new samples that are dead, or hold codes of missing values."""
    arrays = arrays_among([sample.data for sample in samples])
    seen = None
    if len(arrays) == len(samples):
        seen = values_of_columns("looking at columns", arrays)
    warn_of_dead_features(learner, samples, seen)
    warn_of_columns(samples, column_names(learner), words_of(learner.problem_, samples), (), seen)


# ---- codes of missing values, and labels among the columns


Said = tuple[str, str, dict[str, Any]]
"""What columns are, what to do about it, and the names and numbers behind the sentence."""


def codes_in(
    Xs: Sequence[Data],
    names: Sequence[str],
    item: str,
    called: Callable[[int], str],
    seen: Floats | None = None,
) -> Iterator[Said]:
    """Numbers that stand for missing values: the same again and again, far from all others."""
    if seen is None:  # (N, 4, P)
        seen = values_of_columns("looking for codes", Xs)
    low = seen.min(axis=(0, 1))
    high = seen.max(axis=(0, 1))
    suspects: list[tuple[int, float]] = []
    for end in (low, high):
        away = np.abs(seen - end)
        # All others are far from a code, and near each other: a value in between is none of them.
        between = (away > 0) & (away <= FAR / (FAR + 1) * (high - low))
        columns = np.flatnonzero((low < high) & ~between.any(axis=(0, 1))).tolist()
        suspects += [(j, float(end[j])) for j in columns]
    if not suspects:
        return
    parts = map_arrays("looking at codes", _beside, Xs, [suspects] * len(Xs))
    codes = []
    values = defaultdict(list)
    for (j, value), beside in sorted(zip(suspects, zip(*parts, strict=True), strict=True)):
        items, ends, few = zip(*beside, strict=True)
        others = np.concatenate(ends)
        times = [len(each) for each in items]
        is_far = others.size and np.abs(others - value).min() > FAR * np.ptp(others)
        if sum(times) > 1 and is_far and len(set().union(*few)) >= VARIED:
            i = int(np.flatnonzero(times)[0])
            where = f"the first is {item} {items[i][0]} of " + called(i)
            codes.append(f"{names[j]} is {value:.6g} in {sum(times)} {item}s (" + where + ")")
            values[names[j]].append(value)
    if codes:
        yield (
            some_of(codes, 3) + ", far from all other values, which it outweighs",
            "if it stands for a missing value, leave these cells blank (NaN), and use "
            + parameter("missing", "interpolate")
            + " or 'mask'",
            {"codes": dict(values)},
        )


def _beside(X: Floats, codes: Sequence[tuple[int, float]]) -> list[tuple[Ints, Floats, set[float]]]:
    """Where each code is in its column; the ends of the other values, and some of these."""
    X = filled(X)
    found = []
    for j, value in codes:
        is_code = X[:, j] == value
        others = X[~is_code, j]
        ends = np.array([others.min(), others.max()]) if others.size else others
        found.append((np.flatnonzero(is_code), ends, set(others[:1000].tolist())))
    return found


def divided(truths: Sequence[Any]) -> list[tuple[int, EquivalenceMatrix]]:
    """Numbers and partitions of the samples of which some items are together and some are not."""
    found = [(i, partition_of(truth)) for i, truth in enumerate(truths) if truth is not None]
    return [(i, M) for i, M in found if 1 < M.n_clusters < M.n_samples]


Part = tuple[Data, EquivalenceMatrix]
"""Items of a sample whose partition is known, and it."""


def labelled_parts(samples: Sequence[Sample], labels: Sequence[Any]) -> list[Part]:
    """The samples of which some items are together and some are not, or what is known of them."""
    found = [(samples[i].data, M) for i, M in divided([_truth_of(known) for known in labels])]
    for sample, known in zip(samples, labels, strict=True):
        if _truth_of(known) is None:
            pieces = [(r, M) for r, M in zip(*known.part, strict=True) if 1 < M.n_clusters < r.size]
            found += [(take_rows(sample.data, rows), M) for rows, M in pieces]
    return found


def _truth_of(labels: Any) -> Any:
    return labels.truth if isinstance(labels, Known) else labels


def labels_in(parts: Sequence[Part], names: Sequence[str], words: Words) -> Iterator[Said]:
    """Columns that hold the labels: constant within each labelled part, and not between them."""
    if not parts:
        return
    arrays = [X for X, _ in parts]
    labels = [M.labels for _, M in parts]
    shares = np.array(map_arrays("looking for labels", explained, arrays, labels))
    all_of_it = (shares[:, 0] >= EXPLAINED * shares[:, 1]) & (shares[:, 1] > 0)
    found = [names[j] for j in np.flatnonzero(all_of_it.all(axis=0)).tolist()]
    if found:
        yield (
            f"{some_of(found)}: constant within every labelled {words.part} and not between them, "
            "which decides the result",
            f"leave out what was made of the labels, which new {words.whole}s do not have",
            {"features": found},
        )


def explained(X: Floats, labels: Any) -> Floats:
    """The scatter of each feature between the parts, and in all, (2, P)."""
    X = filled(X)
    Z = X - X.mean(axis=0)
    sizes = np.maximum(np.bincount(labels), 1)
    between = np.array([(np.bincount(labels, z) ** 2 / sizes).sum() for z in Z.T])
    return np.stack([between, np.where(is_constant(X), 0.0, (Z**2).sum(axis=0))])


def changes_in(parts: Sequence[Part], names: Sequence[str], words: Words) -> Iterator[Said]:
    """Columns that hold the changes: another value than elsewhere beside them alone."""
    known = [(X, M.boundaries[1:-1]) for X, M in parts if M.is_contiguous]
    if not known:
        return
    arrays = [X for X, _ in known]
    changes = [at for _, at in known]
    counts = np.sum(map_arrays("looking for changes", _beside_changes, arrays, changes), axis=0)
    marks, hits, met, n_changes, nearby, n = counts
    # Where the samples beside changes are few, nothing is there alone by chance.
    is_told = (marks == hits) & (marks > 1) & (met >= MET * n_changes) & (nearby <= MET * n)
    found = [names[j] for j in np.flatnonzero(is_told).tolist()]
    if found:
        yield (
            f"{some_of(found)}: another value than elsewhere only where the labels change, which "
            "decides the result",
            f"leave out what was made of the labels, which new {words.whole}s do not have",
            {"features": found},
        )


def _beside_changes(X: Floats, changes: Ints) -> Floats:
    """Of each column the samples that are not as most; how many of them are beside changes.

    And the changes that have one, all of these, the samples beside them, and all samples, (6, P).
    """
    X = filled(X)
    usual = np.median(X[:: len(X) // FEW + 1], axis=0)
    marks = usual != X
    near = np.unique(np.concatenate([changes - 1, changes]))
    met = (marks[changes - 1] | marks[changes]).sum(axis=0)
    alike = np.ones(X.shape[1])
    counts = (changes.size * alike, near.size * alike, len(X) * alike)
    return np.stack([marks.sum(axis=0), marks[near].sum(axis=0), met, *counts])


def warn_of_columns(
    samples: Sequence[Sample],
    names: Sequence[str],
    words: Words,
    parts: Sequence[Part] = (),
    seen: Floats | None = None,
) -> None:
    """DataWarning for columns that decide the result: codes of missing values, and labels."""
    Xs = [sample.data for sample in samples]
    found = list(codes_in(Xs, names, words.item, words.numbered, seen))
    told = [*labels_in(parts, names, words), *changes_in(parts, names, words)]
    found += [one for one in told if len(one[2]["features"]) < len(names)]
    for what, remedy, _ in found:
        warn(what + ": " + remedy)


# ---- how much each feature counts in a learned metric, against the untrained one


def metric_of(learner: Any) -> Metric:
    """The metric of a fitted learner; refused if what it learned is none."""
    check_is_fitted(learner)
    model = getattr(learner, "model_", None)
    if not isinstance(model, Metric):
        raise SettingsError(
            f"a {type(learner).__name__} learns no metric, which this is about: give a "
            "MetricLearner"
        )
    return model


def scaled_factor(learner: FittedMetric) -> Floats:
    """``L^T``, (rank, P), in units of the untrained metric, where that is ``I``."""
    metric = metric_of(learner)
    ratio = price_ratio(learner)
    start = learner.baselines_["untrained"].metric_.factor
    scale = np.sqrt(np.einsum("pr,pr->p", start, start))
    scale[scale == 0] = 1.0  # a feature without influence, in the learned metric as well
    return np.asarray(metric.factor.T / scale * np.sqrt(1.0 if ratio is None else ratio))


def price_ratio(learner: FittedMetric) -> float | None:
    """The price of the untrained metric over that of the learned one, if they are in its units."""
    learned = metric_of(learner).price
    untrained = learner.baselines_["untrained"].metric_.price
    if not learner.problem_.traits.convex or untrained is None or learned is None:
        return None
    return float(untrained / learned)


def heaviest_features(learner: FittedMetric) -> list[tuple[str, float]]:
    """Names and weights of the features, the heaviest first; in the untrained metric all are 1."""
    weights = np.sum(scaled_factor(learner) ** 2, axis=0)
    names = learner.metric_feature_names_
    return [(names[j], float(weights[j])) for j in np.argsort(-weights, kind="stable").tolist()]
