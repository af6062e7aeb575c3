"""The menu for graphs and images: baselines and candidates."""

from collections import Counter

import numpy as np

from structsvm.data import unknown_labels
from structsvm.features import Columns, RegionScores, Union
from structsvm.features.scores import FEWEST_SCORED
from structsvm.learner import Menu, Method
from structsvm.learner.methods import QUICK_COST
from structsvm.model_selection.named import learner_named

QUICK_NODES, QUICK_PIXELS = 20_000, 2_000_000
"""Nodes of all graphs up to which a forest is learned in a few seconds, and pixels of all images up
to which they are named as quickly."""


class Graphs(Menu):
    """Methods for the nodes of graphs, and the pixels of images."""

    @property
    def others(self) -> list[Method]:
        """Classifiers of nodes and pixels, if labels are names of regions that graphs share."""
        values = [getattr(y, "labels", y) for y in self.labels]  # of PartialLabels
        vectors = [np.asarray(() if y is None else y) for y in values]
        counts: Counter[object] = Counter()
        for y in vectors:
            counts.update({*y[~unknown_labels(y)].tolist()})
        if sum(n > 1 for n in counts.values()) < 2:
            return []
        instances = self.data.instances
        nodes = sum(instance.n_samples for instance in instances)
        cost = QUICK_COST * nodes / QUICK_NODES
        regions = learner_named("region-forest", self.problem)
        methods = [Method("region-forest", regions, cost)]
        if all(instance.side.image is not None for instance in instances):
            pixels = learner_named("pixel-forest", self.problem)
            n_pixels = sum(instance.side.regions.size for instance in instances)
            methods.append(Method("pixel-forest", pixels, QUICK_COST * n_pixels / QUICK_PIXELS))
        return methods

    @property
    def first(self) -> Method:
        """A classifier of regions where labels are names, because cuts name nothing."""
        quick = [method for method in self.others if method.quick]
        return quick[0] if quick else super().first

    @property
    def candidates(self) -> list[Method]:
        """Metrics; where labels are names that graphs share, also with scores, and the forest."""
        quick = [method for method in self.others if method.quick]
        methods = [*self.named_metrics, *quick]
        if quick and self.features is None and len(self.data) >= FEWEST_SCORED:
            scores = self.scaled(Union(Columns(), RegionScores()))
            # On few images the untrained metric is no worse than the learned one.
            methods[:0] = [
                self.of_metric("scores-untrained", "untrained", features=scores),
                self.of_metric("scores-full", "full", features=scores),
            ]
        return methods
