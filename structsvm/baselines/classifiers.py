"""Classifiers of the regions of images, each item by itself, and of the rows of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from structsvm.data.samples import UNKNOWN, Counts, cluster_counts, label_values
from structsvm.errors import DataError, about, without_warnings
from structsvm.features.frames import States, probabilities_by
from structsvm.features.scores import region_recipe
from structsvm.graphs.graph import FeatureGraph, NodeLabels, node_names
from structsvm.graphs.images import GraphOfImage, as_graph, as_list, named_pixels
from structsvm.messages import nth
from structsvm.partitions.equivalence import EquivalenceMatrix, partition_loss
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import refuse_unlisted
from structsvm.support.tables import each_in_order

USUAL_THRESHOLD = 0.5
"""Of the second of two regions, where nothing says otherwise."""

THRESHOLDS = np.linspace(0.1, 0.9, 33)

PIXELS = 4_000
"""Pixels of all images together that are learned from, about."""


@dataclass(eq=False, repr=False)
class RegionClassifier(BaseEstimator):  # type: ignore[misc]
    """A classifier that names every node of graphs or images.

    A node, such as a superpixel, has the region that is most probable for it; no cut is made. Of
    two regions, the second, by order of names, is where its probability is above a threshold:
    nearest to 0.5 of those within one standard error of the best on held-out images. It needs names
    of regions that mean the same in all images, such as masks, and knows no others.

    Parameters
    ----------
    estimator, relative, n_folds, random_state
        As for :class:`structsvm.features.RegionScores`.
    image : GraphOfImage, optional
        How images become graphs, as ``NormalizedCut(image=)`` has it. With ``nodes="pixels"`` each
        pixel is named, from what is around it at several scales; it is learned from some pixels of
        each image, and the label of each is (H, W).

    Attributes
    ----------
    classes_ : array of shape (C,)
        Names of the regions.
    threshold_ : float
        Of the probability of the second of two regions; 0.5 where nothing can be held out.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.baselines import RegionClassifier
    >>> rng, y = np.random.default_rng(0), np.repeat(["sea", "sky"], 20)
    >>> Xs = [(y == "sky")[:, None] + rng.normal(scale=0.1, size=(40, 1)) for _ in range(4)]
    >>> baseline = RegionClassifier().fit(Xs, [y] * 4)
    >>> baseline.predict_states(Xs[:1])[0][[0, 30]].tolist()
    ['sea', 'sky']
    >>> baseline.predict(Xs[:1])[0][[0, 30]].tolist()
    [0, 1]
    """

    takes_graphs = True
    """Rather than the features of their nodes."""

    estimator: Any = None
    relative: bool = True
    n_folds: int = 5
    random_state: int | None = 0
    image: GraphOfImage | None = None

    def fit(self, Xs: Any, ys: Any, groups: Any = None) -> Self:
        """Learn the classifier, and choose the threshold of two regions.

        Parameters
        ----------
        Xs : list of images (H, W, C), of graphs, or of the features of their nodes (T_i, P)
            Whatever becomes a graph in :class:`~structsvm.NormalizedCut`, but for grey images,
            which need a third axis, (H, W, 1).
        ys : list of label maps (H, W), or of vectors (T_i,) or mappings of the nodes
            Names of regions; None, "" or NaN, and -1 among numbers, where there is none.
        groups : sequence of length N, optional
            Whom or what an image is of.

        Raises
        ------
        SettingsError, DataError
            When a parameter cannot be used, or labels name fewer than two regions.
        LearningError
            When the classifier fails, naming the fold.
        """
        recipe, graphs = region_recipe(self), self._graphs(Xs)
        names = [] if ys is None else list(ys)
        if len(names) == len(graphs):
            names = list(map(node_names, names, graphs))
            if self._names_pixels:  # of each image as many, in folds of about as many images too
                most = max(PIXELS >> (len(graphs) - 1).bit_length(), 1)
                pairs = zip(graphs, names, strict=True)
                parts = [self._some_pixels(graph, y, most) for graph, y in pairs]
                graphs, names = map(list, zip(*parts, strict=True))
        arrays = [graph.X for graph in graphs]
        regions = States.read(names, arrays, recipe.owner, recipe.words)
        self.threshold_ = USUAL_THRESHOLD
        if regions.classes.size == 2:
            held_out, _, self.models_ = recipe.learn(arrays, regions, groups)
            if held_out:
                self.threshold_ = best_threshold(held_out, regions, graphs)
        else:
            self.models_ = [recipe.fit(arrays, regions, groups)]
        self.classes_, self.n_features_in_ = regions.classes, int(arrays[0].shape[1])
        return self

    def predict_proba(self, Xs: Any) -> list[Floats]:
        """Probabilities of the regions ``classes_`` at each node, (T_i, C) each."""
        return probabilities_by(self, [graph.X for graph in self._graphs(Xs)])

    def predict_states(self, Xs: Any, n_clusters: Counts = None) -> list[NDArray[Any]]:
        """Return the name of the region of each node or pixel; ``n_clusters`` as below."""
        return [self.classes_[code] for code in self.predict(Xs, n_clusters)]

    def predict(self, Xs: Any, n_clusters: Counts = None) -> list[Ints]:
        """Return the number in ``classes_`` of the region of each node, (T_i,), or pixel, (H, W).

        Parameters
        ----------
        n_clusters : int or sequence of int, optional
            At most so many regions in each image, the most probable ones.
        """
        graphs = self._graphs(Xs)
        counts = cluster_counts(n_clusters, [graph.n_samples for graph in graphs])
        probabilities = probabilities_by(self, [graph.X for graph in graphs])
        codes = list(map(self._code, probabilities, counts))
        return list(map(FeatureGraph.label_map, graphs, codes)) if self._names_pixels else codes

    def _code(self, p: Floats, K: int | None) -> Ints:
        likely = np.sort(np.argsort(-p.mean(axis=0), kind="stable")[:K])
        if p.shape[1] == 2 and likely.size == 2:
            return (p[:, 1] > self.threshold_).astype(np.int64)
        return np.asarray(likely[p[:, likely].argmax(axis=1)], dtype=np.int64)

    def _graphs(self, Xs: Any) -> list[FeatureGraph]:
        """Graphs; where the features of nodes are given alone, all of these are neighbours."""
        found = []
        for i, x in enumerate(as_list(Xs)):
            with about(nth("graph", i)):
                if isinstance(x, np.ndarray) and x.ndim == 2:
                    graph = FeatureGraph(x)
                else:
                    graph = as_graph(x, None if self._names_pixels else self.image)
            if self._names_pixels and graph.image is not None:
                graph = named_pixels(graph.image)
            found.append(graph)
        return found

    @property
    def _names_pixels(self) -> bool:
        return self.image is not None and self.image.nodes == "pixels"

    def _some_pixels(self, graph: FeatureGraph, y: Any, most: int) -> tuple[FeatureGraph, Any]:
        rng = np.random.default_rng(self.random_state)  # the same ones in all folds
        which = np.sort(rng.choice(graph.n_samples, min(graph.n_samples, most), replace=False))
        return graph.at(which), np.asarray(y)[which]


def best_threshold(
    probabilities: list[Floats], regions: States, graphs: Sequence[FeatureGraph]
) -> float:
    """The best one by the nodes that have names, by how much each stands for."""
    found = []
    for p, code, graph in zip(probabilities, regions.codes, graphs, strict=True):
        known = code != UNKNOWN
        if known.any():
            M = EquivalenceMatrix.from_labels(code[known])
            truth = NodeLabels.of_nodes(M, graph.sizes[known])
            inside = [(p[known, 1] > t).astype(np.int64) for t in THRESHOLDS]
            guesses = map(EquivalenceMatrix.from_labels, inside)
            found.append([partition_loss(truth, guess) for guess in guesses])
    losses, n = np.array(found), len(found)
    excess = losses - losses[:, [int(losses.mean(axis=0).argmin())]]
    error = excess.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(THRESHOLDS.size)
    usable = THRESHOLDS[excess.mean(axis=0) <= error + 1e-12]
    return float(usable[np.abs(usable - USUAL_THRESHOLD).argmin()])


# ---- rows of tables: what to beat where the clusters are known classes

KINDS = {"forest": "forest-classifier", "lda": "lda-classifier", "centroid": "nearest-centroid"}
"""What baselines of each kind are called, in the order of preference."""


@dataclass(eq=False, repr=False)
class RowClassifier(BaseEstimator):  # type: ignore[misc]
    """A classifier that names the class of every row of a table.

    It knows the classes it has learned and no others, so that it says nothing of new clusters. The
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
    >>> baseline.predict([np.array([[0.9], [0.2]])])[0].tolist()
    ['b', 'a']
    """

    kind: str = "lda"

    def fit(self, Xs: Sequence[Floats], ys: Any, groups: Any = None) -> Self:
        """Learn from the rows of tables.

        Parameters
        ----------
        Xs : sequence of arrays of shape (T_i, P)
        ys : sequence of labels, (T_i,) each
        groups : ignored
            Nothing is held out.
        """
        refuse_unlisted("kind", self.kind, tuple(KINDS))
        X = np.vstack(Xs)
        y = np.concatenate([label_values(one) for one in each_in_order(ys, Xs)])
        if len(X) != len(y) or np.unique(y).size < 2:
            raise DataError(
                f"{len(X)} rows with {len(y)} labels of {np.unique(y).size} classes: a classifier "
                "needs one label for each row, and two classes"
            )
        if self.kind == "forest":
            from sklearn.ensemble import RandomForestClassifier  # takes long to import

            classifier: Any = RandomForestClassifier(random_state=0)
        else:
            classifier = LinearDiscriminantAnalysis() if self.kind == "lda" else NearestCentroid()
        # A column that never varies within a class does the nearest centre no harm.
        with without_warnings(UserWarning, beginning="self.within_class_std_dev_"):
            steps = [("scale", StandardScaler()), ("classify", classifier)]
            self.model_ = Pipeline(steps).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, Xs: Sequence[Floats], n_clusters: Counts = None) -> list[NDArray[Any]]:
        """Return the class of every row, (T_i,) for each table, whatever ``n_clusters``."""
        check_is_fitted(self)
        return [self.model_.predict(X) for X in Xs]
