"""The contents of a report: a learner, held-out instances, and their evaluation."""

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
"""The most samples times changes for which margins are computed, in less than half a minute."""
LEVEL = 0.9  # about the share of true changes that the ranges on a page hold


@dataclass(frozen=True, eq=False)
class ShownOnPage:
    """A learner, its evaluation, and what else a page shows."""

    learner: Learner
    evaluation: Evaluation
    images: Sequence[NDArray[Any]]
    """The image of each instance; empty unless all instances were given as images."""
    changes: Sequence[Sequence[Mapping[str, Any]]] = ()
    """The learned segments of each recording with margins, as from ``predict_segments``; empty
    if margins are unknown or would take long."""

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
        """Evaluate the learner if there is no evaluation yet; parameters as for ``evaluate``."""
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
        has_margins = learner.problem_.traits.contiguous and learner.model_.has_margins
        if has_margins and work <= MARGINS:
            K = asked_counts(given.get("n_clusters"), evaluated.truths)
            # ``evaluate`` gave these warnings; a DataError says that the oracle is not exact.
            with without_warnings(DataWarning), suppress(DataError):
                changes = learner.predict_segments(instances, K, level=_level_of(learner))
        images = _images(Form.for_learner(learner, Xs).instances, evaluated.measured)
        if not images:  # instances are then called graphs, even if they were made from images
            terms = learner.problem_.traits.words
            evidence = replace(evaluated.verdict.evidence, words=terms)
            evaluated = replace(evaluated, verdict=replace(evaluated.verdict, evidence=evidence))
        return cls(learner, evaluated, images, changes)


def _level_of(learner: Learner) -> float | None:
    """The level for ranges of changes; None if the learner's rates are from too few changes."""
    rates = getattr(learner, "margin_rates_", None)
    levels = None if rates is None else rates.levels
    return LEVEL if levels is not None and levels.most >= LEVEL else None


def _images(Xs: Any, instances: Sequence[Instance]) -> list[NDArray[Any]]:
    """The images that the instances were made from; empty if some were given as graphs."""
    if any(getattr(instance.side, "regions", None) is None for instance in instances):
        return []
    images = [pixels_of(x) if is_picture(x) else np.asarray(x) for x in graphs_as_list(Xs)]
    pairs = zip(images, instances, strict=True)
    return images if all(x.shape[:2] == s.side.regions.shape for x, s in pairs) else []
