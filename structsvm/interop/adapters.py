"""What other libraries take from a learner: distances, breakpoints, frames, files, graphs."""

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import Any

import networkx
import numpy as np
from numpy.typing import ArrayLike

from structsvm.data import full_labels
from structsvm.errors import SettingsError
from structsvm.graphs import FeatureGraph
from structsvm.graphs.similarity import Similarity
from structsvm.learner import MetricLearner
from structsvm.learner.feature_weights import metric_of
from structsvm.learner.preparing import prepare
from structsvm.partitions import EquivalenceMatrix
from structsvm.partitions.equivalence import runs_of
from structsvm.support import Ints, csv_text, data_frame, ending_of, npz, write_atomically


def distance_function(learner: MetricLearner) -> Callable[..., float]:
    """Return the function that computes the distance of two standardised points (P,).

    It takes ``squared=True`` as in metric-learn, and can be given to scikit-learn as ``metric=``.
    It does not change when the learner is fitted again.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import distance_function
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0], [5]], 20, axis=0)
    >>> distance = distance_function(MetricLearner(metric="diagonal").fit([X, -X], [[20, 40]] * 2))
    >>> distance([0.0, 1.0], [0.0, 1.0])
    0.0
    """
    factor = metric_of(learner).factor.copy()

    def distance(u: Any, v: Any, squared: bool = False) -> float:
        projected = np.subtract(u, v, dtype=np.float64) @ factor
        square = float(projected @ projected)
        return square if squared else float(np.sqrt(square))

    return distance


def labels_to_breakpoints(labels: ArrayLike) -> list[int]:
    """Return the sorted segment ends of labels (T,): where the label changes, and T.

    Raises
    ------
    DataError
        If the labels are no vector, or an empty one, or some are missing.

    Examples
    --------
    >>> from structsvm.interop import labels_to_breakpoints
    >>> labels_to_breakpoints(["rest", "rest", "walk", "rest"])
    [2, 3, 4]
    """
    return runs_of(full_labels(labels)).breakpoints


def breakpoints_to_labels(breakpoints: ArrayLike) -> Ints:
    """Return the number of the segment of each sample, from 0, (T,).

    Examples
    --------
    >>> from structsvm.interop import breakpoints_to_labels
    >>> breakpoints_to_labels([2, 5]).tolist()
    [0, 0, 1, 1, 1]
    """
    M = EquivalenceMatrix.from_breakpoints(breakpoints)
    return np.repeat(np.arange(M.n_clusters), M.sizes)


def metric_frame(learner: MetricLearner) -> Any:
    """Return ``B``, (P, P), as a pandas frame with the names of the features on both axes.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import metric_frame
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0], [5]], 20, axis=0)
    >>> metric_frame(MetricLearner(metric="diagonal").fit([X, -X], [[20, 40]] * 2)).shape
    (2, 2)
    """
    metric_of(learner)  # refuses learners without a metric
    names = learner.metric_feature_names_
    return data_frame("pandas", learner.get_mahalanobis_matrix(), names, names)


def export_metric(learner: MetricLearner, path: str | PathLike[str]) -> None:
    """Write the metric into a ``.csv`` or ``.npz`` file.

    A ``.csv`` file is a table of ``B`` with the names of the features in the first row and column.
    A ``.npz`` file has arrays ``metric`` (P, P), ``components`` (rank, P), ``penalty``,
    ``features`` (P,) and, if features are scaled as on the training set, their ``mean`` and
    ``scale`` (P,): ``((X - mean) * scale) @ components.T`` is ``transform(X)``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import export_metric
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0], [5]], 20, axis=0)
    >>> learner = MetricLearner(metric="diagonal").fit([X, -X], [[20, 40]] * 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_metric(learner, Path(folder) / "metric.csv")
    ...     print((Path(folder) / "metric.csv").read_text().splitlines()[0])
    feature,x0,x1
    """
    metric = metric_of(learner)
    names = learner.metric_feature_names_
    B = metric.matrix
    if ending_of(path, (".csv", ".npz")) == ".csv":
        rows = [[name, *row] for name, row in zip(names, B.tolist(), strict=True)]
        write_atomically(path, csv_text(["feature", *names], rows).encode())
        return
    arrays = {
        "metric": B,
        "components": metric.factor.T,
        "penalty": np.asarray(metric.price),
        "features": np.asarray(names),
    }
    scaling = learner.inputs_.standardizer
    if scaling.kind == "training":
        arrays |= {"mean": scaling.mean, "scale": scaling.scale}
    write_atomically(path, npz(arrays))


def weighted_graph(learner: MetricLearner, graph: Any) -> networkx.Graph:
    """Return a graph whose edges have the learned similarity of their ends as ``weight``.

    It can be given to any function of weighted graphs, such as ``skimage.graph.cut_normalized``.
    Weights are in (0, 1]. Unless the input is a networkx graph, nodes are 0 to T - 1, and each has
    an attribute ``labels``, a list of its number.

    Parameters
    ----------
    learner : MetricLearner
        Of graphs, such as one with ``problem=NormalizedCut()``; fitted.
    graph : networkx.Graph, image, (adjacency, features) or FeatureGraph
        As for ``learner.predict``. A networkx graph is copied with everything but its weights; a
        multigraph is reduced to one edge between two nodes.

    Raises
    ------
    SettingsError
        When the learner is not one of graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import weighted_graph
    >>> from structsvm.problems import NormalizedCut
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 6)
    >>> X = np.c_[y + rng.normal(scale=0.1, size=12), rng.normal(size=12)]
    >>> graphs = [(np.ones((12, 12)), X)]
    >>> learner = MetricLearner(NormalizedCut(), metric="diagonal").fit(graphs * 2, [y, y])
    >>> weighted = weighted_graph(learner, graphs[0])
    >>> bool(weighted[0][1]["weight"] > weighted[0][11]["weight"])
    True
    """
    metric = metric_of(learner)
    (instance,) = prepare(learner, [graph])
    if not isinstance(instance.side, FeatureGraph):
        raise SettingsError(
            f"{type(learner.problem_).__name__} has no graphs whose edges could be weighted: learn "
            "with problem=NormalizedCut()"
        )
    with_features = replace(instance.side, X=instance.X)
    similarity = Similarity.of(with_features)(metric.factor).matrix
    if not isinstance(graph, networkx.Graph):
        weighted = networkx.Graph()
        weighted.add_nodes_from(
            (node, {"labels": [node]}) for node in range(with_features.n_samples)
        )
        edges = (
            np.triu_indices(with_features.n_samples, 1)
            if with_features.edges is None
            else with_features.edges
        )
        weighted.add_edges_from(np.transpose(edges).tolist())
    else:  # parallel edges would count twice
        weighted = networkx.Graph(graph) if graph.is_multigraph() else graph.copy()
    pairs = list(weighted.edges())
    place = {
        node: i for i, node in enumerate(with_features.nodes or range(with_features.n_samples))
    }
    i, j = ([place[pair[end]] for pair in pairs] for end in (0, 1))
    weights = np.asarray(similarity[i, j]).ravel().tolist() if pairs else []
    networkx.set_edge_attributes(weighted, dict(zip(pairs, weights, strict=True)), "weight")
    return weighted
