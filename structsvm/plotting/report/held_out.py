"""Held-out samples with their truths, and what each metric makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.sample import Sample, Words
from structsvm.data.samples import Counts, asked_counts
from structsvm.diagnosis import Diagnosis, diagnose_measured
from structsvm.errors import DataError, DataWarning
from structsvm.evaluation.evaluate import Evaluation, evaluate
from structsvm.graphs.images import as_list, is_picture, pixels_of
from structsvm.learner.form import Form
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.quiet import without_warnings

MARGINS = 3_000_000
"""Samples times changes up to which margins are computed: less than half a minute."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """All that a page shows, before it is made plain."""

    learner: MetricLearner
    evaluation: Evaluation
    images: Sequence[NDArray[Any]]
    """The image of each sample; empty unless all samples are images that are at hand."""
    changes: Sequence[Sequence[Mapping[str, Any]]] = ()
    """How sure each learned change of each recording is; empty where that is not known, or would
    take long."""

    @property
    def words(self) -> Words:
        return self.evaluation.verdict.words

    @cached_property
    def diagnosis(self) -> Diagnosis:
        found, names = self.evaluation, [row.name for row in self.evaluation.samples]
        return diagnose_measured(
            self.learner, found.measured, found.labels, names=names, prepared=found.prepared
        )

    @classmethod
    def of(cls, learner: MetricLearner, Xs: Any, ys: Any, **given: Any) -> HeldOut:
        """Partition and score them; parameters as for ``evaluate``."""
        with without_warnings(DataWarning, beginning="the model was learned from"):  # a note
            found = evaluate(learner, Xs, ys, **given)
        K = asked_counts(given.get("n_clusters"), found.truths)
        changes = _changes(learner, found.prepared, found.guesses["learned"], K)
        images = _images(Form.given_to(learner, Xs).samples, found.measured)
        if not images:  # a graph may have been made of one
            words = learner.problem_.traits.words
            found = replace(found, verdict=replace(found.verdict, words=words))
        return cls(learner, found, images, changes)


def _changes(
    learner: MetricLearner,
    samples: Sequence[Sample],
    found: Sequence[EquivalenceMatrix],
    n_clusters: Counts,
) -> list[list[dict[str, Any]]]:
    work = sum(x.n_samples * (M.n_clusters - 1) for x, M in zip(samples, found, strict=True))
    if not learner.problem_.traits.contiguous or work > MARGINS:
        return []
    try:
        with without_warnings(DataWarning):  # which were given when they were partitioned
            tables = learner.predict_segments(samples, n_clusters)
    except DataError:  # of an oracle that is not exact
        return []
    return [table[1:] for table in tables]


def _images(Xs: Any, samples: Sequence[Sample]) -> list[NDArray[Any]]:
    """The images the samples were made of; none where some are graphs already."""
    if any(getattr(sample.side, "regions", None) is None for sample in samples):
        return []
    images = [pixels_of(x) if is_picture(x) else np.asarray(x) for x in as_list(Xs)]
    pairs = zip(images, samples, strict=True)
    return images if all(x.shape[:2] == s.side.regions.shape for x, s in pairs) else []
