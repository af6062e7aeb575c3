"""The metrics to choose from, and how each does on recordings it was not tuned on."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from structsvm import baselines
from structsvm.errors import DataWarning, LearningError, MasterError, SettingsError
from structsvm.learner import MetricLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import DecodingMetric
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.problem import PartitionProblem, disagreement
from structsvm.partitions.samples import Standardizer

__all__ = ["BASELINES", "CANDIDATES", "Candidate", "Labelled", "Trial", "menu", "try_on"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Baseline = Callable[[Oracle, Sequence[Floats], Sequence[EquivalenceMatrix]], DecodingMetric]

BASELINES: dict[str, Baseline] = {"untrained": baselines.untrained, "rca": baselines.rca}
LEARNED = ("diagonal", "full")
CANDIDATES = (*BASELINES, *LEARNED)
"""The simplest first. A larger menu measured worse."""


@dataclass(frozen=True)
class Candidate:
    """One of the metrics to choose from."""

    name: str
    """One of :data:`CANDIDATES`."""
    lam: float | None = None
    """Strength of the regularizer; None for a metric that has none."""

    @property
    def is_learned(self) -> bool:
        """Whether structured learning makes it."""
        return self.lam is not None

    def __str__(self) -> str:
        """The name and ``lam``, for people."""
        name = "RCA" if self.name == "rca" else self.name
        return name if self.lam is None else f"{name}, lam={self.lam:g}"


@dataclass(frozen=True, eq=False)
class Labelled:
    """Recordings with their labels, checked."""

    arrays: Sequence[Floats]
    truths: Sequence[EquivalenceMatrix]
    problem: PartitionProblem

    def __len__(self) -> int:
        """N."""
        return len(self.arrays)

    def at(self, which: Ints) -> Labelled:
        """Some of them."""
        return Labelled(
            [self.arrays[i] for i in which], [self.truths[i] for i in which], self.problem
        )

    @property
    def labels(self) -> list[Ints]:
        """A label for each sample of each recording, as :meth:`MetricLearner.fit` takes them."""
        return [self.problem.decode(truth) for truth in self.truths]


@dataclass(frozen=True, eq=False)
class Trial:
    """What became of a candidate that was tuned on some recordings and tried on others."""

    losses: Floats
    """Of each held-out recording, (n, 2): segmented by the penalty, and with K given; NaN if the
    candidate failed. See :func:`structsvm.partitions.problem.disagreement`."""
    seconds: float
    """To learn and to calibrate."""
    converged: bool = True
    failure: str = ""
    """Why there is no metric."""


def menu(names: Sequence[str], lams: Sequence[float]) -> list[Candidate]:
    """The candidates of these names, the simplest first; a larger ``lam`` is simpler.

    Raises
    ------
    SettingsError
        When a name is unknown, or there is nothing to compare.
    """
    unknown = [name for name in names if name not in CANDIDATES]
    if unknown or isinstance(names, str):
        raise SettingsError(f"candidates must be among {CANDIDATES}, got {names!r}")
    if "untrained" not in names or not set(names) & set(LEARNED):
        raise SettingsError(
            "candidates must name 'untrained', which the others have to beat, and at least one of "
            f"{LEARNED}, got {tuple(names)!r}"
        )
    if not len(lams) or not all(np.isfinite(lam) and lam > 0 for lam in lams):
        raise SettingsError(f"lams must be one or more numbers > 0, got {lams!r}")
    path = sorted({float(lam) for lam in lams}, reverse=True)
    fixed = [Candidate(name) for name in BASELINES if name in names]
    return fixed + [Candidate(name, lam) for name in LEARNED if name in names for lam in path]


def try_on(template: MetricLearner, candidate: Candidate, train: Labelled, test: Labelled) -> Trial:
    """Tune a candidate on some recordings, penalty included, and segment others with it.

    Parameters
    ----------
    template : MetricLearner
        Unfitted; all settings but the kind of metric and ``lam``.
    """
    start = time.perf_counter()
    try:
        standardizer, metric, converged = _tuned(template, candidate, train)
    except (LearningError, MasterError) as error:
        nothing = np.full((len(test), 2), np.nan)
        return Trial(nothing, time.perf_counter() - start, failure=str(error))
    seconds = time.perf_counter() - start
    losses, problem = np.empty((len(test), 2)), test.problem
    for i, (X, truth) in enumerate(zip(test.arrays, test.truths, strict=True)):
        Z = standardizer(X)
        for column, K in enumerate((None, truth.n_clusters)):
            guess = metric.decode(problem.decoder, Z, K)
            losses[i, column] = disagreement(problem, truth, guess)
    return Trial(losses, seconds, converged)


def _tuned(
    template: MetricLearner, candidate: Candidate, train: Labelled
) -> tuple[Standardizer, DecodingMetric, bool]:
    """The standardisation, the metric, and whether the solver reached its tolerance."""
    if not candidate.is_learned:
        standardizer = Standardizer.fit(template.standardize, train.arrays, train.problem)
        samples = [standardizer(X) for X in train.arrays]
        metric = BASELINES[candidate.name](train.problem.decoder, samples, train.truths)
        return standardizer, metric, True
    learner = clone(template).set_params(metric=candidate.name, lam=candidate.lam)
    with warnings.catch_warnings():
        # One recording in a fold, or a feature that is constant there, is told once for all.
        warnings.simplefilter("ignore", DataWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(train.arrays, train.labels)
    metric = DecodingMetric(learner.components_.T, learner.penalty_)
    return learner.standardizer_, metric, learner.converged_
