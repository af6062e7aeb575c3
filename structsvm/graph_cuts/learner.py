"""The scikit-learn face of learning to cut graphs and images: no algorithm here."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from structsvm import baselines
from structsvm.errors import DataError, SettingsError
from structsvm.graph_cuts.inputs import as_list, counted, encode_all, start_scale, teaching
from structsvm.graph_cuts.metric import CutMetric
from structsvm.graph_cuts.training import Training, counting
from structsvm.graphs.graph import FeatureGraph
from structsvm.graphs.labels import NodeLabels
from structsvm.learner import fitted
from structsvm.learner.routing import DATA_UNDER_OUR_NAMES
from structsvm.learner.training_summary import TrainingSummary
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.problem import metric_space
from structsvm.partitions.samples import Counts, check_weights, cluster_counts
from structsvm.partitions.traits import GRAPHS
from structsvm.problems.normalized_cut import NormalizedCut
from structsvm.solvers.cccp import CCCP
from structsvm.solvers.descent import Callback, Descent
from structsvm.solvers.quasi_newton import QuasiNewton
from structsvm.storage.unstored import refuse_unstored

__all__ = ["CutLearner"]

Floats = NDArray[np.float64]

logger = logging.getLogger("structsvm")


class CutLearner(BaseEstimator):  # type: ignore[misc]
    r"""Learn a metric that makes normalized cuts of graphs or images the labelled ones.

    Minimises over ``B``, in units in which the identity is a sensible start,

    .. math:: \frac{\lambda}{2} |B - I|_F^2 + \frac{1}{N} \sum_{i=1}^N L_i(B)

    with the structured hinge losses ``L_i`` of Lajugie et al., section "Spectral clustering and
    normalized cuts". It is not convex: what is found is a local minimum, better than the start. A
    sibling of :class:`structsvm.MetricLearner` with the same conventions: a similarity that is not
    linear in the metric has no certified bounds, no price of a cluster and no arrays of samples.

    Parameters
    ----------
    problem : NormalizedCut, default ``NormalizedCut()``
    metric : {"full", "diagonal"}
        A full matrix (features and their combinations) or a weight for each feature.
    lam : float or "cv"
        Strength of the regularizer, > 0; "cv" chooses from 0.002, 0.02 and 0.2 by cross-validation
        over the training graphs (0.02 if there is only one).
    solver : {"quasi-newton", "cccp"}
        L-BFGS on a factor of the metric, or convex models solved by cutting planes; both end in the
        same minimum (docs/normalized-cuts.md).
    tol : float
        Of the solver: a gradient for L-BFGS, a relative fall of the objective for CCCP.
    max_iter : int
        Most steps.
    cv : int
        Folds of the cross-validation, at most one for each graph.
    callback : callable, optional
        Called with a :class:`~structsvm.solvers.descent.DescentEntry` after each step.

    Attributes
    ----------
    components_ : array of shape (rank, P)
        ``L^T`` with ``B = L L^T``; ``transform`` is ``X @ components_.T``.
    threshold_ : float or None
        With an unknown number of clusters, as many as there are eigenvalues this large.
    n_clusters_ : int or None
        The number of clusters of all training graphs, None if they differ.
    lam_ : float
    cv_losses_ : dict of float
        Mean held-out loss for each ``lam``, empty if it was given.
    solution_ : Descent
        Weight, objective, status and history.
    baselines_ : dict of CutMetric
        "untrained", where learning started, and after :meth:`fit_baselines` "grid".
    problem_, training_data_ : NormalizedCut, TrainingData
    feature_names_in_ : array of str
    n_features_in_, n_iter_, converged_ : int, int, bool
    """

    __metadata_request__fit = DATA_UNDER_OUR_NAMES
    __metadata_request__score = DATA_UNDER_OUR_NAMES

    def __init__(
        self,
        problem: NormalizedCut | None = None,
        metric: str = "full",
        lam: float | str = "cv",
        *,
        solver: str = "quasi-newton",
        tol: float = 1e-3,
        max_iter: int = 200,
        cv: int = 5,
        callback: Callback | None = None,
    ) -> None:
        self.problem = problem
        self.metric = metric
        self.lam = lam
        self.solver, self.tol, self.max_iter = solver, tol, max_iter
        self.cv = cv
        self.callback = callback

    def fit(self, Xs: Any, ys: Any, *, sample_weight: Any = None) -> CutLearner:
        """Learn from labelled graphs or images.

        Parameters
        ----------
        Xs : list of images (H, W) or (H, W, C), networkx graphs, pairs (adjacency, features) or
            :class:`~structsvm.graphs.FeatureGraph`
        ys : list of label maps (H, W), vectors (T,), or mappings of the nodes of a networkx graph
        sample_weight : array of shape (N,), optional
            How much each graph counts, in all that is measured on the training labels; 2 stands for
            a graph that is there twice, 0 for one that is not.

        Raises
        ------
        DataError, SettingsError
            Naming the graph or the parameter, the value, and the way out.
        """
        problem, solver = self._settings()
        graphs, truths, weights = counted(self._graphs(problem, Xs), ys, sample_weight)
        kept = teaching(graphs, truths)
        for i, graph in enumerate(graphs):
            graph.warn_of_free_cuts(f"graph {i}")
        samples = [(graphs[i], truths[i], float(weights[i])) for i in kept]
        scale = start_scale([graphs[i] for i in kept], weights[kept])
        training = Training(problem, self.metric, solver, scale)
        losses: dict[str, float] = {}
        lam = self.lam
        if isinstance(lam, str):
            lam, losses = training.choose_lam(samples, self.cv)
        metric, solution = training.learn(samples, lam, self.callback)

        untrained = CutMetric(np.diag(scale))
        metric, untrained = (
            counting(problem, m, graphs, truths, weights) for m in (metric, untrained)
        )
        self.components_, self.threshold_ = metric.factor.T, metric.threshold
        self.lam_, self.cv_losses_ = float(lam), losses
        self.solution_: Descent = solution
        self.baselines_ = {"untrained": untrained}
        self.problem_ = problem
        counts = {truth.n_clusters for truth in truths}
        self.n_clusters_ = counts.pop() if len(counts) == 1 else None
        self.training_data_ = TrainingSummary.of([g.X for g in graphs], [t.M for t in truths])
        self.n_features_in_ = graphs[0].n_features
        self.feature_names_in_ = np.array(graphs[0].features, dtype=object)
        self.n_iter_, self.converged_ = solution.n_iter, solution.status.converged
        logger.info("%s", solution.summary())
        if not self.converged_:
            warnings.warn(solution.summary(), ConvergenceWarning, stacklevel=2)
        return self

    def fit_baselines(self, Xs: Any, ys: Any, *, sample_weight: Any = None) -> CutLearner:
        """Tune on the same labels the rival :meth:`fit` has no need of: the paper's grid."""
        graphs, truths, weights = counted(self.graphs(Xs), ys, sample_weight)
        grid = baselines.fit("grid", self.problem_.decoder, graphs, truths, weights=weights)
        self.baselines_["grid"] = counting(self.problem_, grid, graphs, truths, weights)
        return self

    def predict(self, Xs: Any, n_clusters: Counts = None) -> list[NDArray[np.int64]]:
        """Cut graphs: a label map (H, W) for each image, a vector (T,) for each other graph.

        Nodes of networkx graphs are in their order there.

        Parameters
        ----------
        n_clusters : int, or one int per graph, or None
            Exactly so many, none of them empty. None: with an unknown number of clusters, as many
            as the learned threshold counts; otherwise as many as all training graphs had.
        """
        graphs = self.graphs(Xs)
        cuts = self.predict_partitions(graphs, n_clusters)
        return [g.label_map(np.array(M.labels)) for g, M in zip(graphs, cuts, strict=True)]

    def predict_partitions(self, Xs: Any, n_clusters: Counts = None) -> list[EquivalenceMatrix]:
        """Cut graphs: an :class:`EquivalenceMatrix` of the nodes of each."""
        check_is_fitted(self)
        return self.decode_with(CutMetric(self.components_.T, self.threshold_), Xs, n_clusters)

    def decode_with(
        self, metric: CutMetric, Xs: Any, n_clusters: Counts = None
    ) -> list[EquivalenceMatrix]:
        """Cut graphs with another metric, such as one of ``baselines_``."""
        graphs = self.graphs(Xs)
        counts = self._counts(n_clusters, graphs)
        for i, graph in enumerate(graphs):
            graph.warn_of_free_cuts(f"graph {i}")
        decoder = self.problem_.decoder
        return [metric.cut(decoder, g, K) for g, K in zip(graphs, counts, strict=True)]

    def graphs(self, Xs: Any) -> list[FeatureGraph]:
        """The graphs of images or of whatever stands for them, made once, to be used again."""
        check_is_fitted(self)
        graphs = self._graphs(self.problem_, Xs)
        for i, graph in enumerate(graphs):
            if graph.n_features != self.n_features_in_:
                raise DataError(
                    f"graph {i} has {graph.n_features} features ({', '.join(graph.features)}), "
                    f"the model has {self.n_features_in_} ({', '.join(self.feature_names_in_)})"
                )
        return graphs

    def encode(self, Xs: Any, ys: Any) -> list[NodeLabels]:
        """Labels of the nodes and of the pixels, checked."""
        return encode_all(self.graphs(Xs), ys)

    def transform(self, Xs: Any) -> list[Floats]:
        """Features of the nodes in the metric, (T, rank) for each graph."""
        return [graph.X @ self.components_.T for graph in self.graphs(Xs)]

    def score(self, Xs: Any, ys: Any, sample_weight: Any = None) -> float:
        """The mean agreement with the truth over pixels, for model selection: larger is better.

        Minus the loss, 0 being perfect; the adjusted Rand index for an unknown number of clusters.
        """
        graphs = self.graphs(Xs)
        truths = encode_all(graphs, ys)
        known = self.problem_.known_clusters
        counts = [truth.n_clusters for truth in truths] if known else None
        pairs = zip(truths, self.predict_partitions(graphs, counts), strict=True)
        weights = check_weights(sample_weight, len(graphs), GRAPHS)
        agreements = [self.problem_.agreement(t, g) for t, g in pairs]
        return float(np.average(agreements, weights=weights))

    def feature_weights(self) -> Floats:
        """How much each feature counts, (P,); where learning started, all are 1."""
        start = self.baselines_["untrained"].factor
        own, first = (np.einsum("pr,pr->p", L, L) for L in (self.components_.T, start))
        return np.asarray(np.divide(own, first, out=np.zeros_like(own), where=first > 0))

    get_mahalanobis_matrix = fitted.get_mahalanobis_matrix

    def _settings(self) -> tuple[NormalizedCut, QuasiNewton | CCCP]:
        """The parameters, checked."""
        refuse_unstored(self.get_params(deep=False))
        problem = NormalizedCut() if self.problem is None else self.problem
        if not isinstance(problem, NormalizedCut):
            raise SettingsError(
                f"problem must be a NormalizedCut, got {problem!r}; for change-points and tables "
                "use MetricLearner"
            )
        metric_space(self.metric, 1)  # refuses an unknown metric
        lam: Any = self.lam
        if lam != "cv" and (isinstance(lam, str) or not (np.isfinite(lam) and lam > 0)):
            raise SettingsError(f"lam must be 'cv' or > 0, got {lam!r}")
        if self.cv < 2:
            raise SettingsError(f"cv must be at least 2, got {self.cv}")
        solvers = {"quasi-newton": QuasiNewton, "cccp": CCCP}
        if self.solver not in solvers:
            raise SettingsError(f"solver must be one of {sorted(solvers)}, got {self.solver!r}")
        return problem, solvers[self.solver](tol=self.tol, max_iter=self.max_iter)

    def _graphs(self, problem: NormalizedCut, Xs: Any) -> list[FeatureGraph]:
        """Graphs with the same features, checked."""
        graphs = []
        for i, x in enumerate(as_list(Xs)):
            try:
                graphs.append(problem.graph(x))
            except DataError as error:
                raise DataError(f"graph {i}: {error}") from error
        if not graphs:
            raise DataError("no graphs were given: expected a list of graphs or images")
        for i, graph in enumerate(graphs):
            if graph.features != graphs[0].features:
                raise DataError(
                    f"graph {i} has the features {', '.join(graph.features)}, graph 0 has "
                    f"{', '.join(graphs[0].features)}: give images of one kind"
                )
        return graphs

    def _counts(self, n_clusters: Counts, graphs: Sequence[FeatureGraph]) -> list[int | None]:
        """One number of clusters per graph, checked."""
        if n_clusters is None and self.problem_.known_clusters:
            n_clusters = self.n_clusters_
            if n_clusters is None:
                raise SettingsError(
                    "the training graphs had different numbers of clusters: give n_clusters, or "
                    "learn with NormalizedCut(n_clusters='unknown')"
                )
        of_images = all(graph.regions is not None for graph in graphs)
        way_out = " (raise n_segments)" if of_images else ""
        return cluster_counts(n_clusters, [g.n_samples for g in graphs], GRAPHS, way_out)
