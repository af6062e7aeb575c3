"""Learning from partial labels: where the alternation starts, and what comes of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import DataError, DataWarning, LearningError, SettingsError
from structsvm.fitting import Learned, Learning, learn, usable_factor
from structsvm.partitions.completing import (
    Known,
    PartialRisk,
    calibrate_partial,
    known_parts,
)
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import DecodingMetric
from structsvm.partitions.problem import PartitionProblem, certified_upper
from structsvm.partitions.start import Start, within_whitening
from structsvm.solvers.alternating import Alternated, alternate
from structsvm.status import Status

__all__ = ["Alternation", "checked", "learn_partial", "of_use"]

Floats = NDArray[np.float64]

STARTS = ("labelled", "pca")
FORMULATIONS = ("complete", "latent")


@dataclass(frozen=True)
class Alternation:
    """How to learn from partial labels; without any of them it does nothing.

    Parameters
    ----------
    start : {"labelled", "pca"}
        The metric that completes the labels first: the one learned from the labelled stretches
        alone, or the principal components (the paper's). Without a labelled stretch that holds a
        change the first is the untrained metric.
    formulation : {"complete", "latent"}
        Measure the loss against the completed labels, as the paper does, or against the first
        completions for good, which makes it the hinge against the best completion (docs/
        weak-labels.md).
    max_rounds : int
        Most times that labels are completed; 0 learns from the labelled stretches alone.
    unlabelled : bool
        Whether recordings of which nothing at all is known are completed too. They measured harmful
        (docs/results.md, "With few labels"), so that they are left out by default.
    """

    start: str = "labelled"
    formulation: str = "complete"
    max_rounds: int = 10
    unlabelled: bool = False

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.start not in STARTS:
            raise SettingsError(f"start must be one of {STARTS}, got {self.start!r}")
        if self.formulation not in FORMULATIONS:
            raise SettingsError(
                f"formulation must be one of {FORMULATIONS}, got {self.formulation!r}"
            )
        if isinstance(self.max_rounds, bool) or self.max_rounds < 0:
            raise SettingsError(f"max_rounds must be >= 0, got {self.max_rounds}")


def learn_partial(
    learning: Learning,
    samples: Sequence[Floats],
    labels: Sequence[Known],
    settings: Alternation,
    held_out: tuple[Sequence[Floats], Sequence[Known]] = ((), ()),
) -> Learned:
    """Learn from standardised samples and what is known of their partitions."""
    parts, truths = known_parts(samples, labels)
    alone = _from_parts(learning, parts, truths, labels)
    if settings.max_rounds == 0:
        if alone is None:
            raise DataError(
                "no labelled stretch has a change, so nothing can be learned from them alone: "
                "let alternation complete the labels (max_rounds > 0)"
            )
        return alone
    if alone is not None and alone.solution.status is Status.INTERRUPTED:
        return alone
    start = _start(learning, samples, labels) if alone is None else alone.start
    problem, w = learning.problem, None if alone is None else alone.solution.w
    task = PartialRisk(
        problem=problem,
        samples=[start(X) for X in samples],
        labels=labels,
        regularizer=learning.regularizer,
        constraints=learning.constraints,
        held_out=([start(X) for X in held_out[0]], held_out[1]),
    )
    if settings.formulation == "latent":
        task.refuse_latent()
    if settings.start == "pca":
        w, first = None, task.complete_with(_principal(task))
    else:
        w = problem.join(problem.identity(), 1.0) if w is None else w
        first = task.complete(w)
    task = task.with_weights_of(first)
    found = alternate(
        task,
        learning.solver,
        first,
        w,
        latent=settings.formulation == "latent",
        max_rounds=settings.max_rounds,
        callback=learning.callback,
        backend=learning.backend,
    )
    return _finish(learning, samples, labels, start, found)


def checked(partition: PartitionProblem, labels: Sequence[Known]) -> list[EquivalenceMatrix] | None:
    """The partitions, if all are known; DataError for labels that teach nothing."""
    truths = [known.truth for known in labels if known.truth is not None]
    if len(truths) == len(labels):
        partition.check_training(truths)
        return truths
    _check_partial(labels)
    return None


def of_use(labels: Sequence[Known], settings: Alternation) -> list[int]:
    """Which recordings to learn from: those of which something is known, or all."""
    if settings.unlabelled:
        return list(range(len(labels)))
    return [i for i, known in enumerate(labels) if known.says_something]


def _check_partial(labels: Sequence[Known]) -> None:
    """Refuse labels that never say that anything changes."""
    if any(known.n_changes or known.constraint.apart for known in labels):
        return
    if any(len(known.constraint.together) > 1 for known in labels):
        return
    raise DataError(
        "no label says that anything changes or differs: label a stretch with a change, or a "
        "region with at least one (-1 marks samples without a label: write classes -1 and 1 as 0 "
        "and 1)"
    )


def _from_parts(
    learning: Learning,
    parts: Sequence[Floats],
    truths: Sequence[EquivalenceMatrix],
    labels: Sequence[Known],
) -> Learned | None:
    """What is learned from everything whose partition is known; None where that is nothing."""
    if all(M.n_clusters == 1 for M in truths) or not all(k.names_clusters for k in labels):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is only where to start
        warnings.simplefilter("ignore", DataWarning)
        try:
            return learn(learning.without_callback(), parts, truths)
        except LearningError:  # too little is labelled: a zero metric
            return None


def _start(learning: Learning, samples: Sequence[Floats], labels: Sequence[Known]) -> Start:
    """The untrained metric, or RCA where there are chunks, and its penalty."""
    partition = learning.problem.partition
    parts, truths = known_parts(samples, labels)
    whitening = None
    if learning.shrinkage is not None and parts:
        whitening = within_whitening(parts, truths, learning.shrinkage)
    Zs = samples if whitening is None else [X @ whitening for X in samples]
    unit = None
    if parts and not partition.contiguous:
        unit = partition.unit(known_parts(Zs, labels)[0], truths)
    if unit is None:
        unit = calibrate_partial(partition, Zs, labels).penalty
    return Start(whitening, unit)


def _principal(task: PartialRisk) -> DecodingMetric:
    """As many principal components (1, 2, 4, ...) as agree best with what is known."""
    partition, samples = task.problem.partition, task.samples
    scatter = sum(X.T @ X for X in (X - X.mean(axis=0) for X in samples))
    vectors = np.linalg.eigh(scatter)[1][:, ::-1]
    best, least = None, np.inf
    for rank in (2**k for k in range(vectors.shape[0].bit_length())):
        factor = vectors[:, :rank]
        calibration = calibrate_partial(partition, [X @ factor for X in samples], task.labels)
        if calibration.merit < least:
            best, least = DecodingMetric(factor, calibration.penalty), calibration.merit
    assert best is not None
    return best


def _finish(
    learning: Learning,
    samples: Sequence[Floats],
    labels: Sequence[Known],
    start: Start,
    found: Alternated,
) -> Learned:
    """The metric of the round that is kept, its penalty calibrated on what is known."""
    partition = learning.problem.partition
    factor = start.restore(usable_factor(learning.problem, found.solution, learning.lam))
    calibration = calibrate_partial(partition, [X @ factor for X in samples], labels)
    identity = np.eye(factor.shape[0])
    untrained = DecodingMetric(identity, calibrate_partial(partition, samples, labels).penalty)
    return Learned(
        factor=factor,
        calibration=calibration,
        solution=found.solution,
        upper=certified_upper(found.risk, found.solution),
        start=start,
        untrained=untrained,
        truths=list(found.labels),
        alternated=found,
    )
