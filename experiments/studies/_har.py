"""What experiments with classifiers on the activities of har_spsw.py share: methods and losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._report import Row
from structsvm import EquivalenceMatrix, MetricLearner, StateSegmenter
from structsvm.baselines import BoundaryClassifier, FrameClassifier
from structsvm.evaluation.contrast import Contrast
from structsvm.features import Lags, StateScores, Union
from structsvm.interop import labels_to_breakpoints
from structsvm.io import Recording
from structsvm.partitions.losses import partition_loss

Floats = NDArray[np.float64]
Method = Callable[[str | None], Any]
"""Makes a model, not fitted, given how recordings are standardised."""

CHANGES, STATES = "change points", "names of states"

OLDA = "OLDA"
OLDA_ON_LAGS = "OLDA on lags"
METRIC = "metric, full"
METRIC_ON_LAGS = "metric on lags, full"
METRIC_ON_SCORES = "metric on lags and state scores, diagonal"
BOUNDARIES = "boundary classifier, boosting"
SEGMENTER = "segmenter of states"
LOGISTIC = "frame classifier, logistic"
BOOSTING = "frame classifier, boosting"


def scored(standardize: str | None, estimator: str | None = None) -> Union:
    """Lags, and scores of the states."""
    return Union(Lags(), StateScores(estimator, standardize=standardize))


METHODS: dict[str, tuple[str, Method]] = {
    OLDA: (CHANGES, lambda s: MetricLearner(metric="olda", standardize=s)),
    OLDA_ON_LAGS: (
        CHANGES,
        lambda s: MetricLearner(metric="olda", features=Lags(), standardize=s),
    ),
    "metric, diagonal": (CHANGES, lambda s: MetricLearner(metric="diagonal", standardize=s)),
    METRIC: (CHANGES, lambda s: MetricLearner(standardize=s)),
    "metric on lags, diagonal": (
        CHANGES,
        lambda s: MetricLearner(metric="diagonal", features=Lags(), standardize=s),
    ),
    METRIC_ON_LAGS: (CHANGES, lambda s: MetricLearner(features=Lags(), standardize=s)),
    BOUNDARIES: (CHANGES, lambda s: BoundaryClassifier(standardize=s)),
    METRIC_ON_SCORES: (
        STATES,
        lambda s: MetricLearner(metric="diagonal", features=scored(s), standardize=s),
    ),
    SEGMENTER: (STATES, lambda s: StateSegmenter(standardize=s and "both")),
    LOGISTIC: (STATES, lambda s: FrameClassifier("logistic", Lags(), standardize=s)),
    BOOSTING: (STATES, lambda s: FrameClassifier(features=Lags(), standardize=s)),
}
"""What each learns from, and how it is made."""


def person(name: str) -> str:
    """Whom a recording is of."""
    return name[:3]


def segmentations(
    model: Any,
    Xs: Sequence[Floats],
    ys: Sequence[Any],
    names: Sequence[str],
    test: Sequence[Floats],
) -> list[EquivalenceMatrix]:
    """Those of the test recordings, K unknown, after learning from the others.

    What learns from labels is cross-fitted by person, or by recording where all are of one person.
    """
    people = [person(name) for name in names]
    model.fit(Xs, ys, groups=people if len(set(people)) > 1 else None)
    return [EquivalenceMatrix.from_breakpoints(ends) for ends in model.predict_breakpoints(test)]


def truth(y: Any) -> EquivalenceMatrix:
    """The segmentation that names of states stand for."""
    return EquivalenceMatrix.from_breakpoints(labels_to_breakpoints(y))


def losses(test: Sequence[Recording], guesses: Sequence[EquivalenceMatrix]) -> list[float]:
    """The loss of each test recording."""
    return [partition_loss(truth(r.y), M) for r, M in zip(test, guesses, strict=True)]


def difference(
    losses_of: Mapping[str, Floats], ours: str, rival: str, test: Sequence[Recording]
) -> str:
    """Loss of ours less that of a rival, with its 95 % interval, people being independent."""
    gap = losses_of[ours] - losses_of[rival]
    if not gap.any():
        return "the same"
    units = np.unique([person(r.name) for r in test], return_inverse=True)[1]
    found = Contrast.of(rival, gap, units)
    return f"{found.mean:+.2f} ({found.low:+.2f} to {found.high:+.2f})"


def paired_rows(
    pairs: Sequence[tuple[str, str]],
    losses_of: Mapping[str, Mapping[str, Floats]],
    test: Sequence[Recording],
) -> list[Row]:
    """A row for each pair of methods, with their difference in each column."""
    return [
        {
            "loss of": ours,
            "less that of": rival,
            **{column: difference(of, ours, rival, test) for column, of in losses_of.items()},
        }
        for ours, rival in pairs
    ]


def mean_and_error(values: Sequence[float] | Floats) -> str:
    """The mean and, of several values, its standard error."""
    if len(values) < 2:
        return f"{np.mean(values):.2f}"
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.2f}"
