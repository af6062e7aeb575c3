"""Samples that were given to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structsvm.data.checks import one_each
from structsvm.data.copies import contents
from structsvm.data.instance import Instance
from structsvm.data.missing import filled
from structsvm.learner.columns import divided
from structsvm.learner.fitted import column_names, words_of
from structsvm.learner.learner import Learner
from structsvm.training_labels import labels_of_each, read_labels


class Examined:
    """Samples that were given to look at, as they were measured and as the metric sees them."""

    def __init__(
        self,
        learner: Learner,
        measured: Sequence[Instance],
        ys: Any,
        groups: Any = None,
        names: Sequence[str] | None = None,
        prepared: Sequence[Instance] | None = None,
    ) -> None:
        N = len(measured)
        self.words = words_of(learner.problem_, measured)
        self.learner = learner
        self.measured = measured
        self.has_labels = ys is not None
        self.groups = None if groups is None else one_each(groups, N, self.words, "group")
        called = map(str, range(N)) if names is None else names
        self.names = one_each(called, N, self.words, "name")
        prepared = learner.inputs_(measured) if prepared is None else prepared
        self.prepared = [instance.with_features(filled(instance.X)) for instance in prepared]
        problem = learner.problem_
        labels = []
        if ys is not None:
            each = labels_of_each(ys, prepared, problem.traits.words)
            labels = read_labels(problem, prepared, each)
        self.known = divided([known.truth for known in labels])
        # As measured, without gaps: what is made of these has copies and constants of its own.
        self.columns = [filled(instance.X) for instance in measured]
        self.column_names = np.array(column_names(learner), dtype=object)
        self.numbers = contents([instance.data for instance in measured])  # the same for copies
