"""Held-out samples with their truths, and what each metric makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.sample import IMAGES, Sample
from structsvm.data.samples import Counts, asked_counts
from structsvm.data.times import TimeAxis
from structsvm.diagnosis import Diagnosis, diagnose_measured
from structsvm.errors import DataError, DataWarning
from structsvm.evaluation.evaluate import Evaluation, compare, time_axes
from structsvm.graphs.convert import as_list
from structsvm.graphs.images import is_picture, pixels_of
from structsvm.learner.columns import is_image
from structsvm.learner.form import Form
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import as_measured
from structsvm.partial_labels.complete import labels_of_each
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.quiet import without_warnings

MARGINS = 3_000_000
"""Samples times changes up to which margins are computed: less than half a minute."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """All that a page shows, before it is made plain."""

    learner: MetricLearner
    images: Sequence[NDArray[Any]]
    """The image of each sample; empty unless all samples are images that are at hand."""
    labels: Sequence[Any]
    """The labels as they were given."""
    measured: Sequence[Sample]
    samples: Sequence[Sample]
    """As the metric sees them."""
    evaluation: Evaluation
    times: Sequence[TimeAxis | None] = ()
    """When the samples of each recording were measured; empty if it is known of none."""
    changes: Sequence[Sequence[Mapping[str, Any]]] = ()
    """How sure each learned change of each recording is; empty where that is not known, or would
    take long."""

    @cached_property
    def diagnosis(self) -> Diagnosis:
        names = [row.name for row in self.evaluation.samples]
        return diagnose_measured(
            self.learner, self.measured, self.labels, names=names, prepared=self.samples
        )

    @classmethod
    def of(
        cls,
        learner: MetricLearner,
        Xs: Any,
        ys: Any,
        names: Sequence[str] | None = None,
        n_clusters: int | str | None = None,
        tolerance: int = 5,
        measured: Sequence[Sample] | None = None,
        times: Sequence[Any] | None = None,
        unseen_states: str = "refuse",
        groups: Any = None,
    ) -> HeldOut:
        """Partition and score them; parameters as for ``report_page``."""
        form = Form.given_to(learner, Xs).told(getattr(learner, "steps_", None))
        Xs, ys, names = form.samples, form.labels(ys), form.names if names is None else names
        groups = None if groups is None else form.in_order(groups, "groups")
        measured = measured or as_measured(learner, Xs)
        images = _images(Xs, measured)
        words = IMAGES if images else learner.problem_.traits.words
        axes = time_axes(form.axes if times is None else times, measured, words)
        samples = learner.inputs_(measured)
        evaluation = compare(
            learner,
            measured,
            samples,
            ys,
            names,
            groups,
            words=words,
            seen=learner.training_data_.count_known([x.data for x in measured]),
            n_clusters=n_clusters,
            tolerance=tolerance,
            unseen_states=unseen_states,
            times=axes,
        )
        labels = labels_of_each(ys, samples, words)
        K = asked_counts(n_clusters, evaluation.truths)
        changes = _changes(learner, samples, evaluation.guesses["learned"], K)
        return cls(learner, images, labels, measured, samples, evaluation, axes, changes)


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
    if not all(map(is_image, samples)):
        return []
    images = [pixels_of(x) if is_picture(x) else np.asarray(x) for x in as_list(Xs)]
    pairs = zip(images, samples, strict=True)
    return images if all(x.shape[:2] == s.side.regions.shape for x, s in pairs) else []
