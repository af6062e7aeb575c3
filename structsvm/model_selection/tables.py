"""The menu for tables: baselines and candidates, by whether rows or clusters are held out."""

from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from structsvm.baselines.row_classifier import NAMES_BY_KIND
from structsvm.data import label_values, missing_labels, unlabelled
from structsvm.features import Rows
from structsvm.learner import Menu, Method
from structsvm.learner.training_set import CLUSTERS, ROWS
from structsvm.model_selection.candidates import CENTRED
from structsvm.model_selection.named import learner_named

PARTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("rca", "rca", {}),
    ("centred", "full", {"whiten": 0.5, "lams": (100.0, 10.0, 1.0), "regularizer": CENTRED}),
    ("untrained", "untrained", {}),
    ("rca-plain", "rca", {"whiten": 1e-3}),
    ("lda", "lda", {}),
    ("diagonal", "diagonal", {"lams": (1.0, 0.1)}),
    ("diagonal-centred", "diagonal", {"lams": (10.0,), "regularizer": CENTRED}),
    ("full-unwhitened", "full", {"whiten": None, "lams": (0.1,)}),
    ("full", "full", {"whiten": 0.5, "lams": (1.0, 0.1)}),
    ("full-whitened", "full", {"whiten": 0.05, "lams": (0.1,)}),
    ("centred-fifth", "full", {"whiten": 0.2, "lams": (1.0, 0.1), "regularizer": CENTRED}),
    ("centred-whitened", "full", {"whiten": 0.05, "lams": (10.0, 1.0), "regularizer": CENTRED}),
)
"""Name, kind and settings of metrics to choose from where rows or clusters of a table are held out,
in the order of preference. Few clusters do not tell metrics apart, and what is learned from them
seldom beats RCA on others; of the learned ones, a metric that is shrunk to RCA is the least
risk."""

KERNELS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("kernel", {"whiten": 0.5, "lams": (1.0, 0.1)}),
    ("kernel-fifth", {"whiten": 0.2, "lams": (0.1,)}),
    ("kernel-centred", {"whiten": 0.5, "lams": (10.0, 1.0), "regularizer": CENTRED}),
)
"""Full metrics of similarities to some rows, for clusters that no metric of the columns separates.
Their features depend on the table."""

LANDMARKS = 100
"""Rows to which similarities are measured, at most."""
ROWS_PER_LANDMARK = 5
"""Rows of the table for each of these, at least."""
FEWEST_ROWS = 100
"""Rows of the table from which on similarities are in the menu."""

WIDER = "wider"
"""How tables of new clusters are scaled: divided by their own deviation, or by that of training,
columns that hardly vary in the new clusters, or in the labelled ones, would count too much."""


class Tables(Menu):
    """Methods for the rows of tables."""

    def scale(self, standardize: Any) -> Any:
        return WIDER if standardize == "auto" and self.question == CLUSTERS else standardize

    @property
    def others(self) -> list[Method]:
        """The classifiers that apply to fully labelled tables with the same clusters."""
        classes = set()
        for y in self.labels:
            values = label_values(y if np.iterable(y) else ())  # PartialLabels are no sequence
            if values.ndim != 1 or (missing_labels(values) | unlabelled(values)).any():
                return []
            classes.add(frozenset(values.tolist()))
        if len(classes) != 1 or len(next(iter(classes))) < 2:
            return []
        return [
            Method(name, learner_named(name, self.problem), 0.2) for name in NAMES_BY_KIND.values()
        ]

    @property
    def first(self) -> Method:
        """A classifier of rows if further rows of the same clusters are held out."""
        others = self.others if self.question == ROWS else []
        return others[0] if others else super().first

    @property
    def candidates(self) -> list[Method]:
        """Metrics that differ in kind, whitening and what they shrink to; classifiers; kernels.

        No single one is best for further rows and for new clusters alike (docs/clustering.md): the
        default is a classifier for the former, which finds nothing new, and else RCA.
        """
        if self.question is None:
            return self.named_metrics
        metrics = [self.of_metric(name, kind, **settings) for name, kind, settings in PARTS]
        # For further rows of known clusters, "full" learns more than a metric that shrinks to RCA.
        is_of_rows = self.question == ROWS
        metrics.sort(key=lambda method: is_of_rows and method.name != "full")
        rows = sum(instance.n_samples for instance in self.data.instances)
        others = [] if self.question == CLUSTERS else self.others
        if self.features is not None or rows < FEWEST_ROWS:
            return [*others, *metrics]
        # The similarities exp(-d^2 / (4 P)) to rows drawn at random, decorrelated.
        similarity = Nystroem(
            gamma=1 / (4 * self.data.n_features),
            n_components=min(LANDMARKS, rows // ROWS_PER_LANDMARK),
            random_state=getattr(self.problem, "random_state", 0),
        )
        stage = Rows(Pipeline([("scale", StandardScaler()), ("kernel", similarity)]))
        stage = self.scaled(stage)
        kernels = [
            self.of_metric(name, "full", features=stage, **settings) for name, settings in KERNELS
        ]
        return [*others, *metrics, *kernels]
