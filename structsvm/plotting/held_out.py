"""All that a report is about: a learner, what was held out, and what it found there."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import Instance, Words, asked_counts
from structsvm.diagnosis.diagnose import diagnosis_of
from structsvm.diagnosis.findings import Diagnosis, Examined
from structsvm.errors import DataError, DataWarning, without_warnings
from structsvm.evaluation import Evaluation
from structsvm.evaluation.evaluate import evaluate
from structsvm.graphs.label_maps import is_picture, pixels_of
from structsvm.graphs.readers import graphs_as_list
from structsvm.learner import Learner
from structsvm.learner.form import Form

MARGINS = 3_000_000
"""Samples times changes up to which margins are computed: less than half a minute."""
LEVEL = 0.9  # the share of true changes that the ranges of a page hold, about


@dataclass(frozen=True, eq=False)
class ShownOnPage:
    """All that a page shows, before it is made plain."""

    learner: Learner
    evaluation: Evaluation
    images: Sequence[NDArray[Any]]
    """The image of each sample; empty unless all samples are images that are at hand."""
    changes: Sequence[Sequence[Mapping[str, Any]]] = ()
    """The learned segments of each recording, and how sure the change at the start of each is;
    empty where that is not known, or would take long."""

    @property
    def words(self) -> Words:
        return self.evaluation.verdict.evidence.words

    @cached_property
    def diagnosis(self) -> Diagnosis:
        evaluation = self.evaluation
        names = [row.name for row in self.evaluation.instances]
        of_instances = (evaluation.measured, evaluation.labels, None, names, evaluation.prepared)
        return diagnosis_of(self.learner, Examined(self.learner, *of_instances))

    @classmethod
    def of(
        cls,
        learner: Learner,
        Xs: Any,
        ys: Any,
        *,
        evaluation: Evaluation | None = None,
        **given: Any,
    ) -> "ShownOnPage":
        """Partition and score them, unless that was done; parameters as for ``evaluate``."""
        evaluated = evaluation
        if evaluated is None:
            with without_warnings(DataWarning, beginning="the model was learned from"):  # a note
                evaluated = evaluate(learner, Xs, ys, **given)
        changes: list[list[dict[str, Any]]] = []
        instances = evaluated.prepared
        guesses = evaluated.guesses["learned"]
        work = sum(
            x.n_samples * (M.n_clusters - 1) for x, M in zip(instances, guesses, strict=True)
        )
        sure = learner.problem_.traits.contiguous and learner.model_.has_margins
        if sure and work <= MARGINS:
            K = asked_counts(given.get("n_clusters"), evaluated.truths)
            # Warnings were given when they were partitioned; margins are of exact oracles alone.
            with without_warnings(DataWarning), suppress(DataError):
                changes = learner.predict_segments(instances, K, level=_level_of(learner))
        images = _images(Form.given_to(learner, Xs).instances, evaluated.measured)
        if not images:  # a graph may have been made of one
            terms = learner.problem_.traits.words
            evidence = replace(evaluated.verdict.evidence, words=terms)
            evaluated = replace(evaluated, verdict=replace(evaluated.verdict, evidence=evidence))
        return cls(learner, evaluated, images, changes)


def _level_of(learner: Learner) -> float | None:
    """The share of true changes that drawn ranges hold, if the learner has counted enough."""
    rates = getattr(learner, "margin_rates_", None)
    levels = None if rates is None else rates.levels
    return LEVEL if levels is not None and levels.most >= LEVEL else None


def _images(Xs: Any, instances: Sequence[Instance]) -> list[NDArray[Any]]:
    """The images the samples were made of; none where some are graphs already."""
    if any(getattr(instance.side, "regions", None) is None for instance in instances):
        return []
    images = [pixels_of(x) if is_picture(x) else np.asarray(x) for x in graphs_as_list(Xs)]
    pairs = zip(images, instances, strict=True)
    return images if all(x.shape[:2] == s.side.regions.shape for x, s in pairs) else []
