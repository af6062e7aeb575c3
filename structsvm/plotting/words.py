"""Settings and results of a learner in words and plain values."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from structsvm.data import GRAPHS, IMAGES, Words
from structsvm.errors import PluginError
from structsvm.learner import Learner, MetricLearner
from structsvm.learner.feature_weights import (
    heaviest_features,
    metric_of,
    price_ratio,
    scaled_factor,
)
from structsvm.learner.fitted import column_names
from structsvm.partitions import Metric
from structsvm.partitions.plugins import problem_name
from structsvm.support import Floats, counted, finite, flat, settings_in, some_of

LISTED = 12  # the most names of states in a list
SOLUTION = ("n_iter", "oracle_calls", "seconds", "upper", "null", "stationarity")
BOUNDS = ("lower", "gap", "bound")  # fields of a solution with a certified gap

CHOSEN_FOR: dict[str | None, str] = {
    "rows": "made for further rows of the clusters it was learned from, not for new clusters",
    "clusters": "made for new clusters: chosen on held-out clusters",
    "tables": "made for further tables: chosen on held-out tables",
}
"""Which question the settings of a metric of tables were chosen for, by the kind of split."""

MADE = {
    r" psi1$": "psi1 of a column says whether it is above or below its median",
    r" psi2$": "psi2 how far it is from there, either way",
    r" psi[3-9]$": "psi3 and those above follow finer changes of its distribution",
    r" lag [+-]": "lag -2 of a column is its value two samples before, lag +2 two samples after",
    r" mean \d+$": "mean 9 of a column is its mean over the 9 samples around",
    r" spread \d+$": "spread 9 of a column is how much it varies over the 9 samples around",
    r" slope \d+$": "slope 9 of a column is how fast it rises over the 9 samples around",
    r" before_minus_after \d+$": "before_minus_after 9 of a column is its mean over the 9 samples "
    "before less that over the 9 after",
    r"^score ": "the score of a name is how sure a classifier of single samples is of it",
    r"^boundary (co)?sine$": "boundary cosine and sine change where a classifier finds a boundary, "
    "and are constant elsewhere",
    r"^component \d+$": "a component is a combination of all columns, component 0 the one that "
    "varies most",
}
"""The meaning of names of computed features, by patterns that match them."""


def feature_weights(learner: MetricLearner) -> Floats:
    """Return the weight of each feature, (P,); in the untrained metric all are 1.

    The diagonal of :func:`scaled_metric`.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.plotting import feature_weights
    >>> X, y = np.repeat([[0.0, 1.0], [3.0, 1.5]], 20, axis=0), np.repeat([0, 1], 20)
    >>> learner = MetricLearner(metric="diagonal").fit([X, 2 * X], [y, y])
    >>> feature_weights(learner).shape
    (2,)
    """
    return np.asarray(np.sum(scaled_factor(learner) ** 2, axis=0))


def scaled_metric(learner: MetricLearner) -> Floats:
    """Return the metric in units of the untrained one, (P, P), whose diagonal entries are 1.

    Partitions depend on ``B`` and the price of a cluster through ``B / price``, which is returned
    in units of the untrained metric with its best price. Problems without such a price, as
    normalized cuts, have ``B`` in units of the untrained metric.
    """
    components = scaled_factor(learner)
    return np.asarray(components.T @ components)


def is_diagonal(metric: Floats) -> bool:
    """Whether all entries off the diagonal are 0."""
    return not np.any(metric[~np.eye(len(metric), dtype=bool)])


def eigenvalues(learner: MetricLearner) -> Floats:
    """Return the eigenvalues of :func:`scaled_metric`, (P,), the largest first."""
    squares = np.linalg.svd(scaled_factor(learner), compute_uv=False) ** 2
    return np.pad(squares, (0, len(learner.metric_.factor) - squares.size))


def heaviest_directions(learner: Any, n: int) -> tuple[list[str], Floats]:
    """Names and vectors (n, P) of the ``n`` heaviest directions, or of all if the rank is less."""
    if learner.sees is None:  # without a metric, the first columns
        names = column_names(learner)
        return names[:n], np.eye(len(names))[:n]
    directions = metric_of(learner).factor.T
    names = learner.metric_feature_names_
    top = np.argsort(-np.einsum("rp,rp->r", directions, directions), kind="stable")[:n]
    titles = []
    for number, direction in enumerate(directions[top], 1):
        largest = np.argsort(-np.abs(direction), kind="stable")[:2]
        heaviest = ", ".join(names[j] for j in largest)
        alone = np.count_nonzero(direction) == 1
        titles.append(names[largest[0]] if alone else f"direction {number}: {heaviest}")
    return titles, directions[top]


def heaviest_columns(learner: Any, n: int) -> list[int]:
    """Numbers of the ``n`` columns whose features, computed ones included, weigh most."""
    numbers = {name: j for j, name in enumerate(column_names(learner))}
    if learner.sees is None:
        return list(range(min(n, len(numbers))))
    weights = np.zeros(len(numbers))
    for name, weight in zip(learner.metric_feature_names_, feature_weights(learner), strict=True):
        starts = accumulate(re.split(r"(?= )", name))
        matching = [numbers[start] for start in starts if start in numbers]
        weights[matching[-1:]] += weight
    return [int(j) for j in np.argsort(-weights, kind="stable")[:n]]


def made_in_words(learner: Any) -> str:
    """A sentence on the meaning of the names of computed features; "" if there are none."""
    if getattr(learner.inputs_, "features", None) is None:
        return ""
    names = learner.metric_feature_names_
    parts = [words for form, words in MADE.items() if any(re.search(form, name) for name in names)]
    return f"What the names mean: {'; '.join(parts)}." if parts else ""


def spectrum_in_words(learner: MetricLearner) -> str:
    """A sentence on the number of directions, or features, that have half of the metric."""
    values = eigenvalues(learner)
    share = np.cumsum(values) / values.sum()
    half, most = (int(np.searchsorted(share, part - 1e-12)) + 1 for part in (0.5, 0.9))
    if is_diagonal(scaled_metric(learner)):
        weigh = f"{learner.metric_.rank} of {counted(values.size, 'feature')} with a weight"
        return f"{weigh}: half of it all is in {half}, 90 % in {most}"
    return (
        f"rank {learner.metric_.rank} of {values.size}; half of the metric is in "
        f"{counted(half, 'direction')}, 90 % in {most}"
    )


SCALED = {
    "recording": "scaled on each {0}",
    "training": "scaled on the training set",
    "wider": "scaled on each {0} and on the training set, by the wider",
    None: "not scaled",
}


def words_of_training(learner: Learner) -> Words:
    """Nouns for training data; graphs are called images, and averages of samples windows."""
    words = learner.problem_.traits.words
    window = getattr(learner, "columns_", {}).get("window", 1)
    if words.of_graphs:
        return replace(IMAGES, item=GRAPHS.item)
    return words if window == 1 else replace(words, item="window")


def described(learner: Learner) -> dict[str, Any]:
    """A learner as plain values; the features of a metric are sorted by weight."""
    data = learner.training_data_
    problem = learner.problem_
    solution = learner.solution_
    words = problem.traits.words
    name = type(problem).__name__
    with suppress(PluginError):  # a problem without an entry point
        name = problem_name(problem)
    names = (*SOLUTION, *BOUNDS) if problem.traits.convex else SOLUTION
    of_solution = None
    if solution is not None:
        numbers = {field: getattr(solution, field) for field in names}
        of_solution = {"status": solution.status.name, **finite(numbers)}
    return {
        "method": type(learner).__name__,
        "problem": {"name": name, "settings": finite(flat(settings_in(problem)))},
        **(_of_metric(learner) if isinstance(learner.model_, Metric) else {}),
        **({} if learner.classes_ is None else {"states": learner.classes_.tolist()}),
        "n_features": learner.n_features_in_,
        "baselines": list(learner.baselines_),
        "training_data": {
            f"n_{words.whole}s": len(data),
            f"n_{words.item}s": list(data.n_samples),
            f"n_{words.part}s": list(data.n_clusters),
        },
        "question": learner.question_,
        "solution": of_solution,
    }


def _of_metric(learner: Any) -> dict[str, Any]:
    """The entries of :func:`described` that only metrics have."""
    inputs = learner.inputs_
    calibration = learner.calibration_
    learned = learner.is_learned
    own = learner.lam
    priced = learner.metric_.price is not None and not calibration.missing
    lam = float(learner.problem_.traits.lam if own is None else own)
    spectrum = np.linalg.svd(learner.metric_.factor.T, compute_uv=False) ** 2
    return {
        "features": None if inputs.features is None else " ".join(repr(inputs.features).split()),
        "metric": learner.metric,
        "regularizer": str(learner.regularizer) if learned else None,
        "lam": lam if learned else None,
        "standardize": inputs.standardizer.kind,
        "n_metric_features": len(learner.metric_.factor),
        "weights": [{"feature": name, "weight": w} for name, w in heaviest_features(learner)],
        "eigenvalues": spectrum.tolist(),
        "penalty": learner.metric_.price,
        "training_loss": float(calibration.loss) if priced else None,
    }


def facts(learner: Learner, whole: str | None = None) -> dict[str, str]:
    """Settings and results of a learner as short texts, by name."""
    words = words_of_training(learner)
    plain = described(learner)
    words = replace(words, whole=whole or words.whole)
    settings = ", ".join(f"{k} {v}" for k, v in plain["problem"]["settings"].items())
    is_metric = isinstance(learner.model_, Metric)
    solution = learner.solution_
    sentences = {
        "method": "" if is_metric else " ".join(repr(learner).split()),
        "problem": f"{plain['problem']['name']} ({settings})",
        **(_facts_of_metric(learner, plain, words) if is_metric else {}),
        "states": some_of(plain.get("states", ()), LISTED),
        "learned on": training_in_words(learner, words),
        "baselines": ", ".join(learner.baselines_),
        "question": CHOSEN_FOR.get(learner.question_, ""),
        "solver": _solver_of(learner) if is_metric and plain["lam"] is not None else "",
        "solution": "" if solution is None else solution.summary(),
    }
    return {called: fact for called, fact in sentences.items() if fact}


def _facts_of_metric(learner: Any, plain: Mapping[str, Any], words: Words) -> dict[str, str]:
    """The entries of :func:`facts` that only metrics have."""
    size = plain["n_metric_features"]
    columns = plain["n_features"]
    made = "" if size == columns else f" of {counted(columns, 'channel')}"
    scaled = SCALED[plain["standardize"]].format(words.whole)
    metric = [learner.metric, counted(size, "feature") + made, scaled]
    if plain["lam"] is not None:
        metric += [f"regularizer {plain['regularizer']}", f"lam {plain['lam']:g}"]
    price = learner.metric_.price
    return {
        "features": plain["features"],
        "metric": ", ".join(metric),
        "spectrum": spectrum_in_words(learner),
        f"price of a {words.part}": "none" if price is None else f"{price:.6g}",
    }


def _solver_of(learner: Any) -> str:
    return learner.solver if isinstance(learner.solver, str) else type(learner.solver).__name__


def training_in_words(learner: Learner, words: Words | None = None) -> str:
    """The numbers of training instances, their items and parts, in words."""
    data = learner.training_data_
    words = words or words_of_training(learner)

    def span(values: tuple[int, ...], noun: str) -> str:
        low = min(values)
        high = max(values)
        each = f"{low} {noun}s" if low == high else f"{low} to {high} {noun}s"
        return each if len(data) == 1 else f"{each} ({sum(values)} in all)"

    sizes = span(data.n_samples, words.item)
    parts = span(data.n_clusters, words.part)
    return f"{words.wholes(len(data))} of {sizes} and {parts}"


def unit_in_words(learner: MetricLearner) -> str:
    """The unit of the weights of features, in words."""
    if price_ratio(learner) is None:
        return "the untrained metric"
    return f"the price of a {learner.problem_.traits.words.part}"
