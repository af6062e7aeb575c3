"""Classifiers that name items one by one: rows of tables, pixels of images, nodes of graphs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from structsvm.data import UNKNOWN, Instance, States, label_values
from structsvm.errors import DataError, without_warnings
from structsvm.features.frames import FrameModel, mean_probabilities
from structsvm.features.scores import region_recipe
from structsvm.graphs import FeatureGraph, GraphOfImage, NodeLabels
from structsvm.graphs.images import named_pixels
from structsvm.graphs.labelled_nodes import node_names
from structsvm.learner import AsMeasured, Learned, Learner, Stage, TrainingSet
from structsvm.learner.learner import How
from structsvm.learner.training_set import learn_in_memory
from structsvm.partitions import (
    Constraint,
    EquivalenceMatrix,
    Found,
    Model,
    PartitionProblem,
    partition_loss,
)
from structsvm.support import Floats, Interrupts, Ints, refuse_unlisted

NAMES_BY_KIND = {
    "forest": "forest-classifier",
    "lda": "lda-classifier",
    "centroid": "nearest-centroid",
}
"""The name of the baseline of each kind, in the order of preference."""

N_TREES = 100  # of a forest, the default of scikit-learn


@dataclass(eq=False, repr=False)
class RowClassifier(Learner):
    """A classifier that names the class of every row of a table.

    It knows the classes it has learned and no others, so that it cannot find new clusters. The
    rows of all tables are scaled together, as on the training rows.

    Parameters
    ----------
    kind : {"lda", "centroid", "forest"}
        Linear discriminant analysis as a classifier, the nearest centre of a class, or a random
        forest.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Labels of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.baselines import RowClassifier
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> baseline = RowClassifier("centroid").fit([X], [["a", "a", "b", "b"]])
    >>> baseline.predict_states([np.array([[0.9], [0.2]])])[0].tolist()
    ['b', 'a']
    """

    kind: str = "lda"

    problem: PartitionProblem | str | None = "clustering"

    called = "the classifier of rows"

    def suits(self, problem: PartitionProblem) -> bool:
        """Whether the problem is one of tables."""
        traits = problem.traits
        return not traits.contiguous and not traits.words.of_graphs

    def _learn(self, data: TrainingSet, how: How) -> Learned:
        return learn_in_memory(data, type(self).__name__, self._learn_in)[1]

    def _learn_in(self, data: TrainingSet) -> Learned:
        refuse_unlisted("kind", self.kind, tuple(NAMES_BY_KIND))
        X = np.vstack([instance.X for instance in data.instances])
        y = np.concatenate([label_values(one) for one in data.item_labels])
        if len(X) != len(y) or np.unique(y).size < 2:
            raise DataError(
                f"{len(X)} rows with {len(y)} labels of {np.unique(y).size} classes: a classifier "
                "needs one label for each row, and two classes"
            )
        if self.kind == "forest":
            from sklearn.ensemble import RandomForestClassifier  # takes long to import

            classifier: Any = RandomForestClassifier(N_TREES, random_state=0)
        else:
            classifier = LinearDiscriminantAnalysis() if self.kind == "lda" else NearestCentroid()
        # NearestCentroid warns of columns that are constant within classes, which do no harm.
        with without_warnings(UserWarning, beginning="self.within_class_std_dev_"):
            steps = [("scale", StandardScaler()), ("classify", classifier)]
            fitted = Pipeline(steps).fit(X, y)
        self.classes_ = fitted.classes_
        return Learned(AsMeasured(), Classes(fitted))


@dataclass(frozen=True, eq=False)
class Classes(Model):
    """The class of each row, whatever the number of clusters that is asked for."""

    classifier: Any  # the fitted classifier of scikit-learn

    def partition(self, problem: Any, instance: Instance, constraint: Constraint) -> Found:
        """The rows of each class."""
        codes = np.searchsorted(self.classifier.classes_, self.classifier.predict(instance.X))
        return Found.of(EquivalenceMatrix.from_labels(codes), codes)


USUAL_THRESHOLD = 0.5  # of the probability of the second of two regions
THRESHOLDS = np.linspace(0.1, 0.9, 33)
PIXELS = 4_000  # about how many pixels of all images together are learned from


@dataclass(eq=False, repr=False)
class RegionClassifier(Learner):
    """A classifier that names every node of graphs or images.

    A node, such as a superpixel, gets its most probable region; no cut is made. With two regions, a
    node is in the second, by order of names, if its probability is above a threshold: the threshold
    nearest to 0.5 of those within one standard error of the best one on held-out images. Names of
    regions must mean the same in all images, as in masks, and no other names are predicted.

    Parameters
    ----------
    estimator, relative, n_folds, random_state
        As for :class:`structsvm.features.RegionScores`.
    image : GraphOfImage, optional
        With ``nodes="pixels"`` each pixel of an image is named by features of its neighbourhood at
        several scales, learned from some pixels of each image. Otherwise the setting of the problem
        says how images become graphs.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Names of the regions.
    threshold_ : float
        Threshold of the probability of the second of two regions; 0.5 if none can be held out.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.baselines import RegionClassifier
    >>> from structsvm.graphs import FeatureGraph
    >>> rng, y = np.random.default_rng(0), np.repeat(["sea", "sky"], 20)
    >>> arrays = [(y == "sky")[:, None] + rng.normal(scale=0.1, size=(40, 1)) for _ in range(4)]
    >>> Xs = [FeatureGraph(X) for X in arrays]
    >>> baseline = RegionClassifier().fit(Xs, [y] * 4)
    >>> baseline.predict_states(Xs[:1])[0][[0, 30]].tolist()
    ['sea', 'sky']
    >>> baseline.predict(Xs[:1])[0][[0, 30]].tolist()
    [0, 1]
    """

    estimator: Any = None
    relative: bool = True
    n_folds: int = 5
    random_state: int | None = 0
    image: GraphOfImage | None = None
    problem: PartitionProblem | str | None = "normalized-cut"

    called = "the classifier of regions"

    def suits(self, problem: PartitionProblem) -> bool:
        """Whether the problem is one of graphs or images."""
        return problem.traits.words.of_graphs

    def _learn(self, data: TrainingSet, how: How) -> Learned:
        with Interrupts() as interrupts, interrupts.released():
            return learn_in_memory(data, type(self).__name__, self._learn_in)[1]

    def _learn_in(self, data: TrainingSet) -> Learned:
        recipe = region_recipe(self)
        seeing = SeenNodes(self._names_pixels)
        graphs = [seeing.graph_of(instance) for instance in data.instances]
        labels = [getattr(y, "labels", y) for y in data.given]  # PartialLabels have labels
        names = list(map(node_names, labels, graphs))
        if self._names_pixels:  # a number per image that hardly depends on the size of a fold
            most = max(PIXELS >> (len(graphs) - 1).bit_length(), 1)
            pairs = zip(graphs, names, strict=True)
            parts = [self._some_pixels(graph, y, most) for graph, y in pairs]
            graphs, names = map(list, zip(*parts, strict=True))
        arrays = [graph.X for graph in graphs]
        regions = States.read(names, arrays, recipe.owner, recipe.words)
        self.threshold_ = USUAL_THRESHOLD
        if regions.classes.size == 2:
            held_out, _, self.models_ = recipe.learn(arrays, regions, data.groups)
            if held_out:
                self.threshold_ = best_threshold(held_out, regions, graphs)
        else:
            self.models_ = [recipe.fit(arrays, regions, data.groups)]
        self.classes_ = regions.classes
        stage = replace(seeing, models=self.models_, classes=regions.classes, owner=recipe.owner)
        return Learned(stage, Regions(self.threshold_))

    @property
    def _names_pixels(self) -> bool:
        return self.image is not None and self.image.nodes == "pixels"

    def _some_pixels(self, graph: FeatureGraph, y: Any, most: int) -> tuple[FeatureGraph, Any]:
        """At most ``most`` pixels drawn at random, the same ones in all folds, and their names."""
        rng = np.random.default_rng(self.random_state)
        which = np.sort(rng.choice(graph.n_samples, min(graph.n_samples, most), replace=False))
        return graph.at(which), np.asarray(y)[which]


@dataclass(frozen=True, eq=False)
class SeenNodes(Stage):
    """The stage that gives each node, or pixel of an image, the probabilities of the regions."""

    of_pixels: bool
    models: Sequence[FrameModel] = ()
    classes: NDArray[Any] | None = None
    owner: str = ""

    @property
    def states(self) -> NDArray[Any] | None:
        """Names of the regions; None if pixels are named, because nodes then have no states."""
        return None if self.of_pixels else self.classes

    def with_features(self, instances: Sequence[Instance]) -> Sequence[Instance]:
        graphs = [self.graph_of(instance) for instance in instances]
        probabilities = mean_probabilities(self.models, [graph.X for graph in graphs], self.owner)
        if self.of_pixels:  # pixels of one block of a large image share its probabilities
            pairs = zip(probabilities, graphs, strict=True)
            probabilities = [
                p if graph.regions is None else p[graph.regions.ravel()] for p, graph in pairs
            ]
        return [
            replace(instance, states=p)
            for instance, p in zip(instances, probabilities, strict=True)
        ]

    def graph_of(self, instance: Instance) -> FeatureGraph:
        """The graph of an instance, or of all pixels of its image; arrays make complete graphs."""
        graph = (
            instance.side if isinstance(instance.side, FeatureGraph) else FeatureGraph(instance.X)
        )
        if not self.of_pixels or graph.image is None:
            return graph
        return named_pixels(graph.image)


@dataclass(frozen=True)
class Regions(Model):
    """The most probable region of each node."""

    threshold: float  # of the probability of the second of two regions

    def partition(self, problem: Any, instance: Instance, constraint: Constraint) -> Found:
        """The nodes, or pixels, of each region; of the K most probable regions if K is given."""
        code = self._code(np.asarray(instance.states), constraint.n_clusters)
        return Found.of(EquivalenceMatrix.from_labels(code), code)

    def _code(self, p: Floats, K: int | None) -> Ints:
        likely = np.sort(np.argsort(-p.mean(axis=0), kind="stable")[:K])
        if p.shape[1] == 2 and likely.size == 2:
            return (p[:, 1] > self.threshold).astype(np.int64)
        return np.asarray(likely[p[:, likely].argmax(axis=1)], dtype=np.int64)


def best_threshold(
    probabilities: list[Floats], regions: States, graphs: Sequence[FeatureGraph]
) -> float:
    """The threshold of :class:`RegionClassifier`, by losses on nodes with names and their sizes."""
    by_threshold = []
    for p, code, graph in zip(probabilities, regions.codes, graphs, strict=True):
        is_named = code != UNKNOWN
        if is_named.any():
            M = EquivalenceMatrix.from_labels(code[is_named])
            truth = NodeLabels.of_nodes(M, graph.sizes[is_named])
            inside = [(p[is_named, 1] > t).astype(np.int64) for t in THRESHOLDS]
            guesses = map(EquivalenceMatrix.from_labels, inside)
            by_threshold.append([partition_loss(truth, guess) for guess in guesses])
    losses = np.array(by_threshold)
    n = len(by_threshold)
    excess = losses - losses[:, [int(losses.mean(axis=0).argmin())]]
    error = excess.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(THRESHOLDS.size)
    usable = THRESHOLDS[excess.mean(axis=0) <= error + 1e-12]
    return float(usable[np.abs(usable - USUAL_THRESHOLD).argmin()])
