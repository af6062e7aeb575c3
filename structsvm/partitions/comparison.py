"""What the metric of a problem is compared with and chosen from, and by which scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from structsvm.data.sample import Sample
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import adjusted_rand_index, covering, margin_f1
from structsvm.partitions.metric import Metric
from structsvm.partitions.traits import NUMBERS, Family, loss_of
from structsvm.support.arrays import Floats
from structsvm.support.contract import Contract, hook, promises

CONSENSUS = "consensus"
"""What the consensus of a learned metric and classifiers is called beside them."""

BLIND = frozenset({"equal-segments", "fixed-times", "one-part", "most-frequent"})
"""Baselines that do not look at samples: nothing pays that is not better than these."""

LEARNED: dict[str, dict[str, Any]] = {
    "diagonal": {"metric": "diagonal", "whiten": None},
    "full": {"metric": "full"},
}
"""Settings of the learned candidates that every problem has."""


@dataclass(frozen=True, eq=False)
class Baseline:
    """A method to compare with that is not a metric: an estimator that is not fitted.

    It has ``fit(Xs, ys, groups=None)`` and ``predict(Xs, n_clusters=None)``, which returns a label
    for each item. ``Xs`` are the samples as measured, (T_i, P) each, ``ys`` their labels as
    :meth:`Learning.item_labels` has them, ``n_clusters`` a number for each sample, for all, or
    None. One that has ``classes_`` and ``predict_states``, too, names what it finds.

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


def named_candidate(name: str) -> Candidate:
    """The candidate that a name stands for in every problem: a learned metric, or a baseline."""
    if name in LEARNED:
        return Candidate(name, settings=LEARNED[name])
    return Candidate(name, baseline=name)


def _is_number(found: Any, *_: Any) -> str:
    return "" if isinstance(found, NUMBERS) and found == found else "a number"


def _are(kind: type, found: Any, *_: Any) -> str:
    fits = isinstance(found, list | tuple) and all(isinstance(one, kind) for one in found)
    return "" if fits else f"a list of {kind.__name__}"


@dataclass(frozen=True)
class Comparison(Contract):
    """How metrics of a problem are compared; subclasses replace what is different.

    Examples
    --------
    >>> from structsvm import EquivalenceMatrix
    >>> from structsvm.partitions import Comparison
    >>> from structsvm.problems import ChangePoint
    >>> truth = EquivalenceMatrix.from_breakpoints([2, 4])
    >>> found = EquivalenceMatrix.from_breakpoints([4])
    >>> Comparison(ChangePoint()).agreement(truth, found)
    -1.0
    """

    problem: Family

    @hook
    def baseline(
        self,
        name: str,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        weights: Floats | None = None,
    ) -> Metric | None:
        """A metric of this problem's own to compare with, by name; None if there is none."""
        return None

    @promises(partial(_are, Baseline))
    def baselines(
        self, samples: Sequence[Sample], labels: Sequence[Any], features: Any = None
    ) -> Sequence[Baseline]:
        """Estimators to compare with that are no metrics, as far as they apply to these labels.

        ``samples`` are as measured, ``labels`` as :meth:`Learning.item_labels` has them, and
        ``features``, not fitted, are what the metric is learned from.
        """
        return ()

    @promises(partial(_are, Candidate))
    def candidates(
        self,
        samples: Sequence[Sample],
        labels: Sequence[Any],
        features: Any = None,
        parts: bool = False,
    ) -> Sequence[Candidate]:
        """What model selection chooses from: by default the candidates that the traits name.

        Parameters are those of :meth:`baselines`; ``parts`` says whether rows, clusters or named
        states are held out rather than samples.
        """
        return [named_candidate(name) for name in self.problem.traits.candidates]

    @promises(_is_number)
    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """What model selection maximises: minus the loss, unless that is easily fooled."""
        return -loss_of(self.problem, truth, guess)

    def disagreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """How much less the agreement is than that of the truth itself."""
        return float(self.agreement(truth, truth) - self.agreement(truth, guess))

    def measure(self, truth: EquivalenceMatrix) -> str:
        """What the disagreement is called."""
        return "loss" if self.agreement(truth, truth) == 0 else "disagreement"

    @promises(dict)
    def scores(
        self, truth: EquivalenceMatrix, guess: EquivalenceMatrix, tolerance: int
    ) -> dict[str, float | None]:
        """Scores by name, None for one that does not apply.

        A predicted change is a hit within ``tolerance`` samples of a true one.
        """
        segments = self.problem.traits.contiguous
        return {
            "loss": loss_of(self.problem, truth, guess),
            "covering": covering(truth, guess),
            "adjusted_rand": adjusted_rand_index(truth, guess),
            "f1": margin_f1(truth, guess, tolerance) if segments else None,
            "disagreement": self.disagreement(truth, guess),
        }
