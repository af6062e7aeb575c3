"""The structured hinge loss of segmentations in closed form, by duality of linear programming.

A segmentation of T samples is a path from 0 to T whose edges ``(s, t)`` are its segments, and both
its score and its loss are sums over them. The best path is a linear program; its dual has a
potential for each of the T + 1 boundaries,

    minimise v_T - v_0   subject to   v_t - v_s >= a_st  for every segment (s, t),

which is a convex program in the weight as well, because every ``a_st`` is affine in it. No oracle
and no cuts: the loss is the value of one linear program with a constraint for each of the
T (T + 1) / 2 segments.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.reductions.dcp2cone.canonicalizers import CANON_METHODS

from structsvm.data.sample import has_gaps
from structsvm.errors import DataError, SettingsError
from structsvm.modeling.atoms import ConvexAtom
from structsvm.modeling.hinge import risk_and_weights
from structsvm.oracles.allowed_segments import rule_says
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import SECOND_MOMENT
from structsvm.partitions.losses import partition_loss
from structsvm.support.arrays import Floats, Ints
from structsvm.support.plain import shown

MOST_NUMBERS = 50_000_000
"""Slopes of all segments together, 400 MB of them."""


def segmentation_hinge(
    problem: Any, Xs: Any, ys: Any, weight: Any, *, sample_weight: Any = None
) -> cp.Expression:
    """The structured hinge losses of recordings, as an expression for any solver of cvxpy.

    The same number as :class:`StructuredHinge` with the same arguments, convex and nonnegative, by
    linear programs with a potential for each boundary in place of an oracle. A recording takes a
    constraint for each of its T (T + 1) / 2 segments (times K if the number of segments is known):
    for short recordings, and to check oracles by.

    Parameters
    ----------
    problem : ChangePoint
        Or another :class:`~structsvm.problems.SegmentProblem` whose score and loss are sums over
        segments, as those of ``ChangePoint`` are.
    Xs, ys, weight, sample_weight
        As for :class:`StructuredHinge`; the weight is affine.

    Raises
    ------
    DataError, SettingsError
        When samples or labels cannot be used, a recording is too long, the problem has no such
        form, or the weight has another shape.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import numpy as np
    >>> from structsvm.modeling import segmentation_hinge
    >>> from structsvm.problems import ChangePoint
    >>> X, y = np.array([[0.0, 1.0], [0.1, -1.0], [2.0, 1.0], [2.1, -1.0]]), [2, 4]
    >>> b, price = cp.Variable(2, nonneg=True), cp.Variable(nonneg=True)
    >>> hinge = segmentation_hinge(ChangePoint(), [X], [y], [b, price])
    >>> ridge = 0.01 * cp.sum_squares(b) + 0.01 * cp.square(price)
    >>> value = cp.Problem(cp.Minimize(ridge + hinge)).solve(solver="CLARABEL")
    >>> bool(b.value[0] > 10 * b.value[1])
    True
    """
    has_rules = callable(getattr(problem, "allows", None))
    if not has_rules or (problem.feature_map, problem.loss) != (SECOND_MOMENT, partition_loss):
        raise SettingsError(
            f"problem is {shown(problem)}: give ChangePoint(), or another SegmentProblem whose "
            "feature map and loss are those of ChangePoint, which are sums over segments"
        )
    risk, (B, *prices) = risk_and_weights(
        problem, Xs, ys, weight, sample_weight, "segmentation_hinge"
    )
    if not any(truth.n_clusters > 1 for truth in risk.ys):
        raise DataError("no recording has a change, in units of which losses are: label one")
    if not all(part.is_affine() for part in (B, *prices)):
        raise SettingsError("the weight must be affine: it takes part with both signs")
    price = cp.sum(prices[0]) if prices else float(not problem.traits.given_k)
    hinges = [
        omega * _hinge(problem, i, x.X, truth, B, price)
        for i, (x, truth, omega) in enumerate(
            zip(risk.xs, risk.ys, risk.sample_weight, strict=True)
        )
    ]
    total: cp.Expression = sum(hinges[1:], start=hinges[0])
    return total


def _hinge(
    problem: Any, i: int, X: Floats, truth: EquivalenceMatrix, B: cp.Expression, price: Any
) -> cp.Expression:
    T, kappa, given_k = truth.n_samples, problem.traits.kappa, problem.traits.given_k
    # Starts and ends of all segments that the problem allows, in the order of their ends.
    every = np.arange(T)
    allowed = [every[:t][rule_says(problem.allows, every[:t], t, T)] for t in range(1, T + 1)]
    starts = np.concatenate(allowed)
    ends = np.repeat(every + 1, [found.size for found in allowed])
    numbers = starts.size * (B.size + 1)
    if numbers > MOST_NUMBERS:
        raise DataError(
            f"recording {i}: {T} samples have {starts.size} segments with {B.size} slopes each, "
            f"{numbers} numbers: cut it, or use StructuredHinge, which needs no list of segments"
        )
    if B.ndim == 2 and has_gaps(X):
        raise DataError(
            f"recording {i}: values are missing (NaN), and a matrix B mixes features: give a "
            "vector, for a diagonal metric, or interpolate them"
        )
    # Of single segments X^T M X is (sum x)(sum x)^T / n, and Tr(M M_i) is
    # sum_k |A_k n S|^2 / (|A_k| |S|).
    counts = np.maximum(_sums(~np.isnan(X), starts, ends), 1.0)
    away = _sums(np.nan_to_num(X), starts, ends) / np.sqrt(counts)
    slopes = away**2 if B.ndim == 1 else (away[:, :, None] * away[:, None, :])
    overlaps = (_sums(truth.factor(), starts, ends) ** 2).sum(axis=1) / (ends - starts)
    flat = slopes.reshape(starts.size, -1) @ cp.vec(B, order="F")
    gains = flat + kappa * (1.0 - 2.0 * overlaps) - price
    is_true = np.isin(starts * (T + 1) + ends, truth.boundaries[:-1] * (T + 1) + truth.breakpoints)
    # Boundaries are nodes and segments edges, in a layer for each segment if their number is known.
    layers = np.arange(truth.n_clusters if given_k else 1)[:, None] * (T + 1)
    tails, heads = (layers + starts).ravel(), (layers + ends).ravel()
    if given_k:
        heads += T + 1
    edges = np.tile(np.arange(starts.size), layers.size)
    found: cp.Expression = PathHinge(gains / T, tails, heads, edges, np.flatnonzero(is_true))
    return found


def _sums(values: Any, starts: Ints, ends: Ints) -> Floats:
    """The sums of rows of all segments."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    return np.asarray(sums[ends] - sums[starts])


class PathHinge(ConvexAtom):
    """How much more the best path gains than a given one, from the first node to the last one."""

    def __init__(self, gains: Any, tails: Ints, heads: Ints, edges: Ints, truth: Ints) -> None:
        self.tails, self.heads = tails, heads
        self.edges, self.truth = edges, truth
        """Of which gain each edge is, and which of the gains are those of the given path."""
        super().__init__(gains)

    def get_data(self) -> Any:
        return [self.tails, self.heads, self.edges, self.truth]

    def numeric(self, values: Any) -> Any:
        gains, n = np.asarray(values[0], dtype=float).ravel(), int(self.heads.max()) + 1
        order = np.argsort(self.heads, kind="stable")  # an edge leads to a later node
        first = np.searchsorted(self.heads[order], np.arange(n + 1))
        best = np.full(n, -np.inf)
        best[0] = 0.0
        for node in range(1, n):
            to = order[first[node] : first[node + 1]]
            best[node] = np.max(best[self.tails[to]] + gains[self.edges[to]], initial=-np.inf)
        return np.asarray(max(0.0, best[-1] - gains[self.truth].sum()))

    def _grad(self, values: Any) -> list[Any]:
        return [None]


def _with_potentials(expr: Any, args: Any, solver_context: Any = None) -> Any:  # noqa: ARG001
    """The epigraph: a potential for each node, which rises along an edge by its gain at least."""
    potentials = cp.Variable(int(expr.heads.max()) + 1)
    rises = potentials[expr.heads] - potentials[expr.tails]
    most = potentials[-1] - potentials[0]
    return most - cp.sum(args[0][expr.truth]), [rises >= args[0][expr.edges]]


CANON_METHODS[PathHinge] = _with_potentials
