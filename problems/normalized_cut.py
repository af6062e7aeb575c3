"""Normalized cuts: partitions of the nodes of a graph, such as the superpixels of an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataWarning, OracleError, SettingsError, warn
from structsvm.graphs.convert import as_graph
from structsvm.graphs.graph import FeatureGraph
from structsvm.graphs.images import GraphOfImage
from structsvm.graphs.labels import NodeLabels, region_loss, region_rand
from structsvm.graphs.similarity import Similarity
from structsvm.oracles._spectra.cut_hinge import CutHinge, NormalizedHinge, PlainHinge, Point
from structsvm.oracles.normalized_cut import CutDecoder, Embedding
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import metric_factor
from structsvm.problem import RegularizedRisk, Separation, SignedProblem
from structsvm.regularizers import Regularizer
from structsvm.solvers.descent import CompositeRisk
from structsvm.status import Quality
from structsvm.support.checks import among, is_positive, refuse_bad_seed
from structsvm.weights import Nonnegative, WeightSpace

__all__ = ["CutModel", "CutRisk", "NormalizedCut", "Tangent"]

Floats = NDArray[np.float64]

INVISIBLE, COLLAPSE = 0.05, 0.5
"""Margins of the plain objective below which the loss is invisible, and from which on the zero
metric is the best: with ``2 kappa >= 1`` the constant vector leaves M."""


@dataclass(frozen=True)
class NormalizedCut:
    """Cut graphs as labelled ones are: image segmentation, communities with features.

    Lajugie et al., section "Spectral clustering and normalized cuts". The similarity of two nodes
    is ``exp(-(x_i - x_j)^T B (x_i - x_j))`` on the edges of the graph, and a metric ``B`` is
    learned such that the cut of least cost is the labelled one. :class:`structsvm.CutLearner`
    learns it.

    Parameters
    ----------
    n_clusters : {"known", "unknown"}
        Whether the number of clusters is given when predicting, or counted: the eigenvalues of the
        normalized similarity above a threshold that is learned.
    objective : {"normalized", "plain"}
        What learning looks at: the normalized cut, as prediction does, or ``Tr(W_B M) / T`` with
        plain equivalence matrices, as the paper does.
    oracle : {"relaxed", "rounded"}
        Most violated cuts: those of the spectral relaxation, or partitions they are rounded to.
    margin : float, optional
        ``kappa``, the weight of the loss; 1 by default, 0.3 for the plain objective, where only
        0.1 to 0.3 are of use.
    decoding : {"normalized", "plain"}
        What prediction maximises.
    rounding : {"kmeans", "qr"}
        Of more than two clusters.
    nodes, n_segments, compactness, edges, radius, features
        How images become graphs, see :class:`structsvm.graphs.GraphOfImage`.
    random_state : int
        Seed of K-means and of the folds of cross-validation.
    """

    n_clusters: str = "known"
    objective: str = "normalized"
    oracle: str = "relaxed"
    margin: float | None = None
    decoding: str = "normalized"
    rounding: str = "kmeans"
    nodes: str = "superpixels"
    n_segments: int = 150
    compactness: float = 10.0
    edges: str = "all"
    radius: float = 5.0
    features: str = "all"
    random_state: int = 0

    def __post_init__(self) -> None:
        """Check the settings."""
        choices = {
            "n_clusters": ("known", "unknown"),
            "objective": ("normalized", "plain"),
            "oracle": ("relaxed", "rounded"),
            "decoding": ("normalized", "plain"),
            "rounding": ("kmeans", "qr"),
        }
        for name, allowed in choices.items():
            if not among(getattr(self, name), allowed):
                raise SettingsError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}")
        _ = self.image_settings  # which checks its own
        if not is_positive(self.kappa):
            raise SettingsError(f"margin must be > 0, got {self.margin!r}")
        refuse_bad_seed(self.random_state)
        if self.objective == "plain" and self.oracle == "relaxed" and self.kappa >= COLLAPSE:
            raise SettingsError(
                f"margin={self.kappa:g} with the plain objective: from {COLLAPSE} on the best "
                "metric is zero, because the relaxation drops the constant vector; use 0.1 to 0.3, "
                "or objective='normalized'"
            )
        if self.objective == "plain" and self.kappa < INVISIBLE:
            warn(
                f"margin={self.kappa:g} with the plain objective: below {INVISIBLE} learning "
                "hardly sees the loss and may do worse than no learning; use 0.1 to 0.3",
                DataWarning,
            )

    @property
    def kappa(self) -> float:
        """The margin, or its default."""
        if self.margin is not None:
            return self.margin
        return 1.0 if self.objective == "normalized" else 0.3

    @property
    def known_clusters(self) -> bool:
        """Whether the number of clusters is given."""
        return self.n_clusters == "known"

    @property
    def image_settings(self) -> GraphOfImage:
        """How images become graphs."""
        return GraphOfImage(
            self.nodes, self.n_segments, self.compactness, self.edges, self.radius, self.features
        )

    @property
    def decoder(self) -> CutDecoder:
        """Spectral relaxation and rounding."""
        return CutDecoder(
            self.decoding == "normalized", self.rounding, random_state=self.random_state
        )

    def seeded(self, random_state: int) -> NormalizedCut:
        """The same with another seed."""
        return replace(self, random_state=random_state)

    def agreement(self, truth: NodeLabels, guess: EquivalenceMatrix) -> float:
        """What model selection maximises: minus the loss, or the adjusted Rand index.

        The index where the number of clusters is unknown: one single cluster has a loss of K - 1,
        less than most cuts of an image into two.
        """
        return -region_loss(truth, guess) if self.known_clusters else region_rand(truth, guess)

    def graph(self, x: Any) -> FeatureGraph:
        """A graph from whatever stands for one; raises DataError."""
        return as_graph(x, self.image_settings)

    def hinge(self, graph: FeatureGraph, truth: NodeLabels, scale: Floats) -> CutHinge:
        """A training sample, its features multiplied by ``scale`` (P,)."""
        similarity = Similarity.of(graph, scale)
        Y = np.eye(truth.M.n_clusters)[truth.M.labels]
        kind = NormalizedHinge if self.objective == "normalized" else PlainHinge
        return kind(similarity, Y, self.kappa)


@dataclass(frozen=True, eq=False)
class CutRisk(CompositeRisk):
    """``Omega(B)`` plus the mean hinge loss of labelled graphs."""

    hinges: Sequence[CutHinge]
    space: WeightSpace
    regularizer: Regularizer
    decoder: CutDecoder | None = None
    """Rounds the most violated cuts to partitions; None leaves them relaxed."""
    weights: Floats | None = None
    """Of the graphs in the mean, (N,); None for all alike."""
    _starts: dict[int, Floats] = field(default_factory=dict, init=False, repr=False)
    """Where Lanczos begins: at the eigenvectors it found last."""

    def losses(self, w: Floats) -> tuple[float, Floats]:
        """Mean hinge loss and its gradient."""
        B = self.space.to_metric(w)
        L = metric_factor(B)
        total, gradient = 0.0, np.zeros((self.order, self.order))
        for i, hinge in enumerate(self.hinges):
            try:
                value, G = self._loss(i, hinge, hinge.at(L))
            except OracleError as error:
                error.add_note(f"while cutting sample {i}")
                raise
            total += self.shares[i] * value
            gradient += self.shares[i] * G
        return total, self.vector(gradient)

    def model(self, w: Floats, regularizer: Regularizer) -> RegularizedRisk:
        """The convex risk around ``w``."""
        L = metric_factor(self.space.to_metric(w))
        return RegularizedRisk(
            problem=CutModel(self),
            xs=[_Sample(hinge, hinge.at(L), w) for hinge in self.hinges],
            ys=[Tangent(0.0, np.zeros(w.size))] * len(self.hinges),
            regularizer=regularizer,
            sample_weight=self.shares,
            null=w,
            is_model=True,
        )

    @property
    def shares(self) -> Floats:
        """The weights, their sum being 1."""
        weights = np.ones(len(self.hinges)) if self.weights is None else self.weights
        return np.asarray(weights / weights.sum())

    @property
    def order(self) -> int:
        """P."""
        return int(self.hinges[0].similarity.X.shape[1])

    def vector(self, G: Floats) -> Floats:
        """A symmetric matrix (P, P) as a gradient with respect to the weight."""
        if isinstance(self.space, Nonnegative):
            return np.array(np.diag(G))
        return self.space.from_metric((G + G.T) / 2)

    def matrix(self, w: Floats) -> Floats:
        """A weight, or a difference of two, as a symmetric matrix (P, P)."""
        B = self.space.to_metric(w)
        return np.diag(B) if np.ndim(B) == 1 else np.asarray(B)

    def rounded(self, point: Point, hinge: CutHinge, V: Floats) -> tuple[float, Floats]:
        """Value and gradient of the partition that a relaxed cut is rounded to."""
        assert self.decoder is not None
        d, K = point.W.degrees, hinge.Y.shape[1]
        if V.shape[1] < K:  # sqrt(d) is not among them
            V = np.column_stack([np.sqrt(d / d.sum()), V])
        M = self.decoder.partition(Embedding(np.ones(K), V, d), K)
        return hinge.partition(point, M)

    def _loss(self, i: int, hinge: CutHinge, point: Point) -> tuple[float, Floats]:
        values, V = point.operator.top(hinge.count, self._starts.get(i))
        self._starts[i] = V.sum(axis=1)
        if self.decoder is None:
            return hinge.constant + values.sum() - point.truth, hinge.gradient(point, V)
        value, G = self.rounded(point, hinge, V)
        return (value, G) if value > 0 else (0.0, np.zeros_like(G))


@dataclass(frozen=True, eq=False)
class _Sample:
    """A training graph seen from one metric."""

    hinge: CutHinge
    point: Point
    w: Floats


@dataclass(frozen=True, eq=False)
class Tangent:
    """A labelling of the model: what it contributes is affine in the weight."""

    offset: float
    slope: Floats


@dataclass(frozen=True, eq=False)
class CutModel(SignedProblem):
    """The structured SVM that is left when similarities are replaced by their tangents.

    Labellings are known by the tangents they give: a cut ``V`` contributes
    ``Tr(V^T C V) - a`` with ``C`` and ``a`` linearised, the true labelling nothing.
    """

    risk: CutRisk

    @property
    def signed_losses(self) -> bool:
        """An offset is of either sign."""
        return True

    def weight_space(self) -> WeightSpace:
        """That of the metric."""
        return self.risk.space

    def joint_feature(self, x: _Sample, y: Tangent) -> Floats:
        """The slope."""
        return y.slope

    def loss(self, y: Tangent, y_hat: Tangent) -> float:
        """The offset, in which the loss is."""
        return y_hat.offset

    def separate(self, w: Floats, x: _Sample, y: Tangent) -> Separation:
        """The leading eigenvectors of the linearised operator: the maximum of the model."""
        risk, hinge, point = self.risk, x.hinge, x.point
        operator = hinge.derivative(point, risk.matrix(w - x.w))
        _, V = operator.top(hinge.count)
        if risk.decoder is None:
            at_w = hinge.constant + float(np.sum(V * point.operator.apply(V))) - point.truth
            G, quality = hinge.gradient(point, V), Quality.EXACT
        else:
            at_w, G = risk.rounded(point, hinge, V)
            quality = Quality.HEURISTIC
        slope = risk.vector(G)
        return Separation(Tangent(at_w - float(slope @ x.w), slope), 0.0, quality)

    def predict(self, w: Floats, x: _Sample) -> Tangent:
        """A model of training samples predicts nothing."""
        raise OracleError("a model of training samples predicts nothing: use CutLearner.predict")
