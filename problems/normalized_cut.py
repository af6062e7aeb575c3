"""Normalized cuts: partitions of the nodes of a graph, such as the superpixels of an image."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from structsvm.data import GRAPHS, Instance, checked_names
from structsvm.errors import (
    Code,
    DataError,
    OracleError,
    SettingsError,
    about,
    nth,
    parameter,
    warn,
)
from structsvm.graphs import FeatureGraph, GraphOfImage, NodeLabels, as_graph, node_labels
from structsvm.graphs.labelled_nodes import jaccard_distance, region_rand, teaching
from structsvm.graphs.readers import graphs_as_list
from structsvm.graphs.similarity import Similarity, start_scale
from structsvm.oracles.cut_hinge import NormalizedHinge, PlainHinge, indicators
from structsvm.oracles.normalized_cut import MOST_CLUSTERS, Embedding, constrained_cut
from structsvm.parallel import single_threaded
from structsvm.partitions import (
    UNCONSTRAINED,
    Constraint,
    EquivalenceMatrix,
    Examples,
    Metric,
    Oracle,
    PartitionProblem,
    Traits,
    partition_loss,
)
from structsvm.partitions.comparison import disagreement
from structsvm.partitions.metric import Calibration
from structsvm.partitions.objective import Constraints, Objective, metric_space
from structsvm.partitions.traits import refuse_kappa
from structsvm.problem import Regularizer, SquaredNorm, WeightSpace
from structsvm.problems.cut_risk import CutRisk
from structsvm.support import Floats, refuse_bad_seed, refuse_unlisted, stage

INVISIBLE, COLLAPSE = 0.05, 0.5
"""Values of kappa, for the plain objective: below the first the loss has no effect, and from the
second on the zero metric is the best, because with ``2 kappa >= 1`` M omits the constant vector."""
APPEARANCE_SCALES = 2.0 ** np.arange(-5, 5)
SPATIAL_SCALES = np.append(0.0, APPEARANCE_SCALES)


@dataclass(frozen=True)
class NormalizedCut(PartitionProblem):
    """Cut graphs and images like labelled ones.

    Lajugie et al., section "Spectral clustering and normalized cuts". The similarity of two nodes
    is ``exp(-(x_i - x_j)^T B (x_i - x_j))`` on the edges of the graph, and the metric ``B`` is
    learned such that the cut of least cost is the labelled one. The similarity is not linear in
    the metric, and therefore the objective is not convex: learning finds a local minimum that is
    better than the start, without a certified lower bound. ``lam`` shrinks the metric towards the
    start.

    Instances are images (H, W) or (H, W, C), networkx graphs, pairs (adjacency, features) or
    :class:`~structsvm.graphs.FeatureGraph`; labels are label maps (H, W), vectors (T,), or
    mappings of the nodes of a networkx graph. -1 marks pixels or nodes without a label.

    Parameters
    ----------
    cluster_count : {"known", "unknown"}
        "known": the number of clusters is given when predicting, or else is that of the training
        graphs. "unknown": it is the number of eigenvalues of the normalized similarity above a
        threshold, which is learned.
    objective_kind : {"normalized", "plain"}
        The objective of learning: the normalized cut, as in prediction, or ``Tr(W_B M) / T`` with
        plain equivalence matrices, as in the paper.
    oracle : {"relaxed", "rounded"}
        Search the most violated cut in the spectral relaxation, or among partitions to which its
        solutions are rounded.
    kappa : float, optional
        The weight of the loss. The default is 1, and 0.3 for the plain objective, which needs a
        value from 0.1 to 0.3.
    image : GraphOfImage
        How images are converted to graphs.
    random_state : int
        Seed of K-means.

    Examples
    --------
    >>> from structsvm.problems import NormalizedCut
    >>> NormalizedCut().traits.convex
    False
    """

    needs: ClassVar[Mapping[str, str]] = {
        "decoder": "partition",
        "partition": "calibrate",
        **dict.fromkeys(("training_instance", "loss"), "objective"),
    }

    cluster_count: str = "known"
    objective_kind: str = "normalized"
    oracle: str = "relaxed"
    kappa: float | None = None
    image: GraphOfImage = field(default_factory=GraphOfImage)
    random_state: int = 0

    def __post_init__(self) -> None:
        refuse_unlisted("cluster_count", self.cluster_count, ("known", "unknown"))
        refuse_unlisted("objective_kind", self.objective_kind, ("normalized", "plain"))
        refuse_unlisted("oracle", self.oracle, ("relaxed", "rounded"))
        kappa = self.loss_weight
        plain = self.objective_kind == "plain"
        refuse_kappa(kappa, most=np.inf)
        refuse_bad_seed(self.random_state)
        if plain and self.oracle == "relaxed" and kappa >= COLLAPSE:
            raise SettingsError(
                parameter("kappa", Code(f"{kappa:g}"))
                + f" with the plain objective: from {COLLAPSE} on the best metric is zero, because "
                "the relaxation omits the constant vector; use 0.1 to 0.3, or "
                + parameter("objective_kind", "normalized")
            )
        if plain and kappa < INVISIBLE:
            warn(
                parameter("kappa", Code(f"{kappa:g}"))
                + f" with the plain objective: below {INVISIBLE} the loss has hardly any "
                "influence, and learning may make results worse; use 0.1 to 0.3"
            )

    @property
    def loss_weight(self) -> float:
        """The factor ``kappa`` of the loss, or its default."""
        if self.kappa is not None:
            return self.kappa
        return 1.0 if self.objective_kind == "normalized" else 0.3

    @property
    def traits(self) -> Traits:
        return Traits(
            words=GRAPHS,
            given_k=self.cluster_count == "known",
            learns_price=False,
            kappa=self.loss_weight,
            convex=False,
            standardize=None,
            lam=0.02,
            lams=(0.2, 0.02, 0.002),
            candidates=("untrained", "grid", "diagonal", "full"),
            baselines=("grid",),
            menu="structsvm.model_selection.graphs:Graphs",
        )

    def decoder(self, instance: Instance) -> Oracle:
        """There is none: a normalized cut is no maximum of ``Tr(A M)``."""
        raise OracleError("a normalized cut is no maximum of Tr(A M): see NormalizedCut.partition")

    # ---- what comes in and goes out

    def read(
        self, Xs: Any, feature_names: Sequence[str] | None = None, n_features: int | None = None
    ) -> tuple[list[Instance], list[str] | None]:
        """Graphs with the same features, made once; the instance's ``side`` is the graph."""
        graphs = []
        for i, x in stage("graphs", list(enumerate(graphs_as_list(Xs)))):
            with about(nth("graph", i)):
                graphs.append(as_graph(x, self.image))
        if not graphs:
            raise DataError("no graphs were given: expected a list of graphs or images")
        names = list(graphs[0].features) if feature_names is None else checked_names(feature_names)
        for i, graph in enumerate(graphs):
            if list(graph.features) != names:
                raise DataError(
                    nth("graph", i) + f" has the features {', '.join(graph.features)}, expected "
                    f"{', '.join(names)}: give graphs or images of one kind"
                )
            graph.warn_of_free_cuts(nth("graph", i))
        return [Instance(graph.X, graph) for graph in graphs], names

    def encode(self, y: Any, instance: Instance) -> Any:
        return node_labels(y, instance.side)

    def decode(self, M: EquivalenceMatrix, instance: Instance) -> NDArray[Any]:
        """A label map (H, W) for an image, a vector (T,) for another graph."""
        labels = (M.M if isinstance(M, NodeLabels) else M).labels
        graph: FeatureGraph = instance.side
        return graph.label_map(np.array(labels))

    # ---- prediction

    @single_threaded()
    def partition(
        self,
        instance: Instance,
        metric: Metric,
        n_clusters: int | None = None,
        constraint: Constraint = UNCONSTRAINED,
    ) -> EquivalenceMatrix:
        """Cut a graph into ``n_clusters``, or as many as the metric counts or usually has.

        Labelled nodes, ``constraint.together`` and ``constraint.apart``, keep their label; the
        others get that of the cluster they are cut into (:func:`constrained_cut`).
        """
        K = metric.n_clusters if n_clusters is None and metric.price is None else n_clusters
        if K is None and metric.price is None:
            raise SettingsError(
                "the training graphs had different numbers of clusters: give their number ("
                + parameter("n_clusters")
                + "), or learn for an unknown one ("
                + parameter("cluster_count", "unknown")
                + ")"
            )
        W = Similarity.of(_graph(instance))(metric.factor)
        if constraint.has_links:
            return constrained_cut(W, constraint, K, metric.price, self.random_state)
        embedding = Embedding.of(W, MOST_CLUSTERS if K is None else K)
        if K is None:
            assert metric.price is not None
            K = embedding.n_clusters(metric.price)
        return embedding.partition(K, self.random_state)

    def unit(self, data: Examples) -> float:
        """1, because learning sees features scaled so that the untrained metric is the identity."""
        return 1.0

    def closed_form(self, name: str, data: Examples) -> Floats | None:
        """The scale of each feature at which learning starts, or the paper's baseline "grid".

        That is one scale of appearance and one of position.
        """
        if name == "untrained":
            return np.diag(
                start_scale([_graph(instance) for instance in data.instances], data.weights)
            )
        return self._best_scales(data) if name == "grid" else None

    @single_threaded()
    def _best_scales(self, data: Examples) -> Floats:
        """The factor of the best of 110 pairs of scales (2^-5 to 2^4, position also 0) by loss."""
        pairs = list(zip(data.instances, _labels_of_nodes(data), strict=True))
        spatial = data.instances[0].side.spatial
        places = SPATIAL_SCALES if spatial.any() and not spatial.all() else np.ones(1)
        best = np.eye(spatial.size)
        least = np.inf
        for appearance in stage("scales", APPEARANCE_SCALES.tolist()):
            for place in places:
                scales = np.where(spatial, place, appearance) if places.size > 1 else appearance
                factor = np.diag(np.sqrt(np.broadcast_to(scales, spatial.shape)))
                metric = Metric(factor, None)
                cut = self.partition
                losses = [partition_loss(M, cut(x, metric, M.n_clusters)) for x, M in pairs]
                if (mean := float(np.average(losses, weights=data.weights))) < least:
                    best, least = factor, mean
        return best

    def objective(self, metric: str, n_features: int) -> Objective:
        return CutObjective(self, metric, n_features)

    @single_threaded()
    def calibrate(self, factor: Floats, data: Examples) -> Calibration:
        """The threshold whose numbers of clusters agree best with the truth, by adjusted Rand.

        The loss would often choose one single cluster, which costs K - 1. Between two eigenvalues
        of the training graphs no number changes, so that only their midpoints are tried, for up to
        twice the largest true number of clusters and two.
        """
        truths = _labels_of_nodes(data)
        if self.traits.given_k:
            return Calibration.of_counts(truth.n_clusters for truth in truths)
        if not truths:
            raise DataError(
                "links between nodes do not tell the number of clusters: label some nodes, or "
                "give n_clusters with the partial labels and let the problem say that it is known"
            )
        most = 2 * max(truth.n_clusters for truth in truths) + 2
        embeddings = [Embedding.of(Similarity.of(_graph(x))(factor), most) for x in data.instances]
        values = np.unique(np.concatenate([e.values for e in embeddings]))
        cuts = np.concatenate([[values[0] - 1e-6], (values[1:] + values[:-1]) / 2])
        curves = []
        for embedding, truth in zip(embeddings, truths, strict=True):
            counts_at = [embedding.n_clusters(cut) for cut in cuts]
            by_count = {}
            for K in set(counts_at):
                M = embedding.partition(K, self.random_state)
                by_count[K] = partition_loss(truth, M), region_rand(truth, M)
            curves.append(np.array([by_count[K] for K in counts_at]).T)
        losses, agreement = np.average(curves, axis=0, weights=data.weights)
        return Calibration(cuts, losses, criterion=-agreement, smoothing=0)

    def agreement(self, truth: Any, guess: Any) -> float:
        """Minus the loss, or the adjusted Rand index where the number of clusters is unknown."""
        given_k = self.traits.given_k
        if isinstance(guess, NodeLabels):  # the truth compared with itself
            return 0.0 if given_k else 1.0
        return -partition_loss(truth, guess) if given_k else region_rand(truth, guess)

    def scores(
        self, truth: Any, guess: EquivalenceMatrix, tolerance: int
    ) -> dict[str, float | None]:
        """Scores over pixels if it is a cut of an image; "jaccard" of two true labels alone."""
        return {
            "loss": partition_loss(truth, guess),
            "jaccard": jaccard_distance(truth, guess),
            "adjusted_rand": region_rand(truth, guess),
            "disagreement": disagreement(self, truth, guess),
        }


@dataclass(frozen=True)
class CutObjective(Objective):
    """Learning a metric for normalized cuts, in units in which the identity is the start."""

    problem: NormalizedCut
    metric: str  # "diagonal" or "full"
    n_features: int

    def weight_space(self) -> WeightSpace:
        return metric_space(self.metric, self.n_features)

    def regularizer(self, regularizer: Regularizer, lam: float) -> Regularizer:
        """``lam / 2 |B - I|_F^2`` for a squared norm without a center; any other times ``lam``."""
        if isinstance(regularizer, SquaredNorm) and not np.any(regularizer.center):
            return replace(regularizer.scaled(lam), center=1.0)
        return regularizer.scaled(lam)

    def risk(
        self, data: Examples, regularizer: Regularizer, constraints: Constraints = None
    ) -> CutRisk:
        """The mean hinge loss of the graphs with more than one label, and Omega."""
        if constraints is not None:
            raise SettingsError("constraints are for convex objectives: normalized cuts take none")
        truths = _labels_of_nodes(data)
        weights = data.weights
        graphs = [_graph(instance) for instance in data.instances]
        chosen = teaching(truths)
        kappa = self.problem.loss_weight
        normalized = self.problem.objective_kind == "normalized"
        kind = NormalizedHinge if normalized else PlainHinge
        return CutRisk(
            hinges=[kind(Similarity.of(graphs[i]), indicators(truths[i].M), kappa) for i in chosen],
            space=self.weight_space(),
            regularizer=regularizer,
            start=self.weight_space().identity(),
            seed=self.problem.random_state if self.problem.oracle == "rounded" else None,
            shares=weights[chosen] / weights[chosen].sum(),
        )


def _labels_of_nodes(data: Examples) -> list[NodeLabels]:
    """The true labels of each graph; made of the partition of nodes where pixels have no labels."""
    pairs: Any = zip(data.instances, data.truths, strict=True)
    return [
        y if isinstance(y, NodeLabels) else NodeLabels.of_nodes(y, x.side.sizes) for x, y in pairs
    ]


def _graph(instance: Instance) -> FeatureGraph:
    """The graph of an instance, with the features of the instance, which may be transformed."""
    graph: FeatureGraph = instance.side
    return graph if instance.X is graph.X else replace(graph, X=instance.X)
