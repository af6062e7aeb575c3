"""The objective of a metric for normalized cuts, and its convex models."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from structsvm.oracles.cut_hinge import CutHinge, CutPoint
from structsvm.oracles.normalized_cut import Embedding
from structsvm.problem import (
    CompositeRisk,
    Nonnegative,
    Problem,
    Quality,
    RegularizedRisk,
    Regularizer,
    Separation,
    WeightSpace,
    metric_factor,
)
from structsvm.support import Floats


@dataclass(frozen=True, eq=False)
class CutRisk(CompositeRisk):
    """``Omega(B)`` plus the mean hinge loss of labelled graphs."""

    hinges: Sequence[CutHinge]
    space: WeightSpace
    regularizer: Regularizer
    start: Floats
    shares: Floats  # shares of the graphs in the mean, (N,)
    seed: int | None = None
    """Seed of K-means, which rounds violated cuts to partitions; None leaves them relaxed."""

    @property
    def n_instances(self) -> int:
        return len(self.hinges)

    def losses(self, w: Floats) -> tuple[float, Floats]:
        B = self.space.to_metric(w)
        L = metric_factor(B)
        P = self.hinges[0].similarity.X.shape[1]
        total = 0.0
        gradient = np.zeros((P, P))
        for i, hinge in enumerate(self.hinges):
            point = hinge.at(L)
            values, V = point.operator.top(hinge.count)
            value, G = self.at(hinge, point, V, values.sum())
            if self.seed is None or value > 0:
                total += self.shares[i] * value
                gradient += self.shares[i] * G
        return total, self.vector(gradient)

    def model(self, w: Floats, regularizer: Regularizer) -> RegularizedRisk:
        L = metric_factor(self.space.to_metric(w))
        return RegularizedRisk(
            problem=TangentModel(self, w),
            xs=[(hinge, hinge.at(L)) for hinge in self.hinges],
            ys=[Tangent(0.0, np.zeros(w.size))] * len(self.hinges),
            regularizer=regularizer,
            sample_weight=self.shares,
            null=w,
            is_model=True,
        )

    def part(self, which: Sequence[int]) -> "CutRisk":
        hinges = [self.hinges[i] for i in which]
        return replace(self, hinges=hinges, shares=self.shares[list(which)])

    def vector(self, G: Floats) -> Floats:
        """The gradient by the weight, from the gradient (P, P) by the metric."""
        if isinstance(self.space, Nonnegative):
            return np.array(np.diag(G))
        return self.space.from_metric((G + G.T) / 2)

    def matrix(self, w: Floats) -> Floats:
        """A weight, or a difference of two, as a symmetric matrix (P, P)."""
        B = self.space.to_metric(w)
        return np.diag(B) if np.ndim(B) == 1 else np.asarray(B)

    def at(self, hinge: CutHinge, point: CutPoint, V: Floats, score: float) -> tuple[float, Floats]:
        """The loss of a relaxed cut V with this score, or of V rounded, and its gradient (P, P)."""
        if self.seed is None:
            return hinge.constant + score - point.truth, hinge.gradient(point, V)
        d = point.W.degrees
        K = hinge.Y.shape[1]
        if V.shape[1] < K:  # sqrt(d) is not among them
            V = np.column_stack([np.sqrt(d / d.sum()), V])
        M = Embedding(np.ones(K), V, d).partition(K, self.seed)
        return hinge.partition(point, M)


@dataclass(frozen=True, eq=False)
class Tangent:
    """A labelling of the model, whose loss and score are ``offset + <slope, w>``."""

    offset: float
    slope: Floats


@dataclass(frozen=True, eq=False)
class TangentModel(Problem):
    """The structured SVM in which similarities are replaced by their tangents at ``w``.

    A labelling is the tangent that it gives: a cut ``V`` contributes ``Tr(V^T C V) - a`` with ``C``
    and ``a`` linearised, the truth nothing. An instance is a hinge and its value at ``w``.
    """

    risk: CutRisk
    w: Floats

    signed_losses = True

    def weight_space(self) -> WeightSpace:
        return self.risk.space

    def joint_feature(self, x: tuple[CutHinge, CutPoint], y: Tangent) -> Floats:
        return y.slope

    def loss(self, y: Tangent, y_hat: Tangent) -> float:
        return y_hat.offset

    def separate(self, w: Floats, x: tuple[CutHinge, CutPoint], y: Tangent) -> Separation:
        """The tangent of the leading eigenvectors of the linearised operator, which maximise."""
        risk = self.risk
        (hinge, point) = x
        operator = hinge.derivative(point, risk.matrix(w - self.w))
        _, V = operator.top(hinge.count)
        at_w, G = risk.at(hinge, point, V, float(np.sum(V * point.operator.apply(V))))
        quality = Quality.EXACT if risk.seed is None else Quality.HEURISTIC
        slope = risk.vector(G)
        return Separation(Tangent(at_w - float(slope @ self.w), slope), 0.0, quality)

    def predict(self, w: Floats, x: tuple[CutHinge, CutPoint]) -> Tangent:
        raise NotImplementedError
