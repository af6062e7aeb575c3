"""What a learned metric is compared with and chosen from, as problems declare it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CONSENSUS = "consensus"
"""What the consensus of a learned metric and classifiers is called beside them."""

BLIND = frozenset({"equal-segments", "fixed-times", "one-part", "most-frequent"})
"""Baselines that do not look at samples: nothing pays that is not better than these."""


@dataclass(frozen=True, eq=False)
class Baseline:
    """A method to compare with that is not a metric: an estimator that is not fitted.

    It has ``fit(Xs, ys, groups=None)`` and ``predict(Xs, n_clusters=None)``, which returns one
    label for each item of each sample. ``Xs`` are the features of the samples as they were
    measured, (T_i, P) each, ``ys`` their labels as :meth:`PartitionProblem.item_labels` has them,
    and ``n_clusters`` a number for each sample, for all, or None. One that has ``classes_`` and
    ``predict_states``, with the same parameters, names what it finds: the names are its labels.

    Examples
    --------
    >>> from structsvm.partitions import Baseline
    >>> from structsvm.baselines import FrameClassifier
    >>> Baseline("frame-logistic", FrameClassifier("logistic")).quick
    True
    """

    name: str
    """Key of ``baselines_``, of tables and of JSON; sentences may call it otherwise."""
    estimator: Any
    quick: bool = True
    """Whether it takes so little time that it is fitted unless it is left out."""


def names_states(baseline: Any) -> bool:
    return getattr(baseline, "classes_", None) is not None and hasattr(baseline, "predict_states")


@dataclass(frozen=True, eq=False)
class Candidate:
    """A candidate of model selection: learned, a baseline, or joint.

    Examples
    --------
    >>> from structsvm.features import Lags
    >>> from structsvm.partitions import Candidate
    >>> str(Candidate("lags-full", 0.2, settings={"metric": "full", "features": Lags()}))
    'lags-full, lam=0.2'
    >>> Candidate("rca", baseline="rca").is_learned
    False
    """

    name: str
    lam: float | None = None
    """Strength of the regularizer; None stands for each of those of the search, or for none where
    nothing is learned."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What it has in place of the settings of the search, by name as in
    :class:`structsvm.MetricLearner`; for a baseline, settings of
    :func:`structsvm.baselines.metrics.fit`, and ``features`` and ``standardize``."""
    lams: tuple[float, ...] = ()
    """Strengths to choose from in place of those of the search; none for the latter."""
    baseline: str | Baseline | None = None
    """What it is if nothing is learned: a metric, by its name in
    :func:`structsvm.baselines.metrics.fit`, or a :class:`Baseline` that is no metric."""
    joins: tuple[tuple[str, ...], ...] = ()
    """Names of baselines in groups: it is the consensus of the best learned candidate and of the
    best baseline of each group, if it is joint. See :class:`structsvm.baselines.Consensus`."""
    joins_metrics: tuple[tuple[str, ...], ...] = ()
    """Names of learned candidates in groups: it joins the best of each group that is tried, too."""

    @property
    def is_learned(self) -> bool:
        """Whether structured learning makes it."""
        return self.baseline is None and not self.joins

    @property
    def tuned(self) -> str | None:
        """The name of the metric that it is, if that is only tuned."""
        return self.baseline if isinstance(self.baseline, str) else None

    @property
    def estimator(self) -> Baseline | None:
        """The baseline that it is, if that is no metric."""
        return self.baseline if isinstance(self.baseline, Baseline) else None

    def __str__(self) -> str:
        name = "RCA" if self.name == "rca" else self.name
        return name if self.lam is None else f"{name}, lam={self.lam:g}"

    @property
    def kind(self) -> str:
        """Its name where it is learned; "" where it needs no structured learning."""
        return self.name if self.is_learned else ""


LEARNED: dict[str, dict[str, Any]] = {
    "diagonal": {"metric": "diagonal", "whiten": None},
    "full": {"metric": "full"},
}
"""Settings of the learned candidates that every problem has."""


def named_candidate(name: str) -> Candidate:
    """The candidate that a name stands for in every problem: a learned metric, or a baseline."""
    if name in LEARNED:
        return Candidate(name, settings=LEARNED[name])
    return Candidate(name, baseline=name)
