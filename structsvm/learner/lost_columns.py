"""Metrics without the columns of a lost sensor, and warnings about columns that are constant."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structsvm.data import Instance, constant_features
from structsvm.errors import SettingsError, warn
from structsvm.learner.columns import warn_of_columns
from structsvm.learner.fitted import Fitted, column_names
from structsvm.partitions import Metric
from structsvm.support import some_of

RELIED_ON = 0.05
"""The share of the weight of a metric from which on constant columns are warned of."""
SPREAD_ENDING = " spread"
"""The ending of the name of a column's deviation in each window; its mean has no ending."""


def without(learner: Fitted, columns: str | Sequence[str]) -> Any:
    """Return a copy of a fitted learner that partitions without some columns, as of a lost sensor.

    It takes instances of the same columns, and does not look at what is in these. Its metric is the
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
    if words.of_graphs:
        raise SettingsError(f"the features of {words.whole}s are no columns that can be lost")
    if not isinstance(learner.model_, Metric):
        raise SettingsError(
            f"a {type(learner).__name__} looks at all columns at once: learn it again without "
            f"{some_of([columns] if isinstance(columns, str) else list(columns))}"
        )
    names = column_names(learner)
    lost = dict[str, None]()
    for pattern in [columns] if isinstance(columns, str) else columns:
        same = {pattern, f"{pattern}{SPREAD_ENDING}"}
        matching = [name for name in names if name in same or fnmatchcase(name, pattern)]
        if not matching:
            raise SettingsError(f"no column is called {pattern!r}, they are {some_of(names, 12)}")
        lost |= dict.fromkeys(matching)
    reduced: Any = copy(learner)
    reduced.model_ = metric_without(learner, lost, learner.model_)
    if not reduced.model_.factor.any():
        raise SettingsError(
            f"no feature is left without {some_of(list(lost))}: scores and components are made of "
            "all columns; learn without these columns, or from the columns themselves"
        )
    reduced.baselines_ = {}
    for name, baseline in learner.baselines_.items():
        if isinstance(baseline.model_, Metric):
            reduced.baselines_[name] = copy(baseline)
            reduced.baselines_[name].model_ = metric_without(learner, lost, baseline.model_)
    reduced.inputs_ = replace(learner.inputs_, scores=None)
    reduced.classes_ = None
    reduced.lost_ = list(lost)
    reduced.__dict__.pop("margin_rates_", None)
    return reduced


def metric_without(learner: Fitted, lost: Collection[str], metric: Any) -> Any:
    """The metric without the features that are made of a column in ``lost``."""
    stage = learner.inputs_.features
    marks = {f"\0{j}\0": name in lost for j, name in enumerate(column_names(learner))}
    made = list(marks) if stage is None else stage.get_feature_names_out(list(marks))
    # A feature that is not named after columns, such as a score, is made of all of them.
    are_lost = [[gone for mark, gone in marks.items() if mark in str(name)] for name in made]
    kept = np.array([bool(columns) and not any(columns) for columns in are_lost])
    factor = np.where(kept[:, None], metric.factor, 0.0)
    price = metric.price
    # The distortion that a cluster saves is a weighted sum over features, and so is its price.
    share = np.sum(factor**2) / (np.sum(metric.factor**2) or 1.0)
    return replace(metric, factor=factor, price=None if price is None else price * share)


def dead_columns(
    learner: Fitted, instances: Sequence[Instance]
) -> list[tuple[tuple[str, ...], list[int], float]]:
    """Columns constant here but were not in training: names, instances, part of the weight."""
    metric = learner.model_
    if not isinstance(metric, Metric):
        return []
    whole = np.sum(metric.factor**2)
    if learner.problem_.traits.words.of_graphs or not whole > 0.0:
        return []  # the weights are zero, or so small that their squares vanish
    names = column_names(learner)
    usual = learner.training_data_.constant
    words = tuple(f"{one}=" for one in getattr(learner, "columns_", {}).get("categories", ()))
    where = defaultdict(list)
    constant = constant_features(instances)
    for i in np.flatnonzero(constant.any(axis=1)).tolist():
        dead = [names[j] for j in np.flatnonzero(constant[i]).tolist() if j not in usual]
        # A category may well be the same throughout, such as the sex of one person.
        dead = [name for name in dead if not name.startswith(words)]
        if dead and instances[i].n_samples > 1:
            where[tuple(dead)].append(i)
    relied_on = []
    for lost, places in where.items():
        left = np.sum(metric_without(learner, lost, metric).factor ** 2) / whole
        # Scores are made of all columns, so that nothing is left without one: no warning.
        if left <= 1 - RELIED_ON and (left or learner.inputs_.features is None):
            relied_on.append((lost, places, 1 - left))
    return relied_on


def warn_of_dead_features(learner: Fitted, instances: Sequence[Instance]) -> None:
    words = learner.problem_.traits.words
    for lost, places, share in dead_columns(learner, instances):
        verb, have = ("is", "has") if len(lost) == 1 else ("are", "have")
        warn(
            some_of([words.numbered(i) for i in places]) + f": {some_of(lost)} {verb} constant, "
            f"which {have} {share:.0%} of the weight of the metric"
        )


def warn_of_new(learner: Fitted, instances: Sequence[Instance]) -> None:
    """Warn of columns of new instances that are constant, or hold codes of missing values."""
    warn_of_dead_features(learner, instances)
    warn_of_columns(
        instances, column_names(learner), learner.problem_.traits.words.seen_in(instances)
    )
