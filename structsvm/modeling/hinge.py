"""Structured hinge losses as atoms of cvxpy: by oracles, and as linear programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.reductions.dcp2cone.canonicalizers import CANON_METHODS

from structsvm.data import has_gaps
from structsvm.errors import DataError, SettingsError
from structsvm.learner import TrainingSet
from structsvm.learner.structured import StructuredSVM, risk_of
from structsvm.masters import Planes
from structsvm.modeling.atoms import ConvexAtom, OracleAtom, as_expressions
from structsvm.modeling.oracle_parts import Part, Question
from structsvm.modeling.pool import Pool
from structsvm.oracles.allowed_segments import rule_says
from structsvm.partitions import (
    EquivalenceMatrix,
    MetricObjective,
    PartitionProblem,
    partition_loss,
)
from structsvm.problem import (
    PSD,
    Nonnegative,
    Problem,
    RegularizedRisk,
    SquaredNorm,
    WeightSpace,
    factors_of,
    smat_operator,
)
from structsvm.solvers.separation import Block, blocks_of, separate_share
from structsvm.support import Floats, Ints, shown


class StructuredHinge(OracleAtom):
    """The mean structured hinge loss of labelled samples, as an atom of cvxpy.

    ``sum_i omega_i max_y {loss(y_i, y) + <w, phi(x_i, y) - phi(x_i, y_i)>}`` is convex in ``w``,
    which is a variable of cvxpy or an affine expression of variables, such as shared weights or
    sums of given matrices. It is nonnegative. :class:`structsvm.MetricLearner` and
    :class:`structsvm.StructuredSVM` minimise such an atom plus a regularizer.

    Parameters
    ----------
    problem : PartitionProblem or structsvm.problem.Problem
        The problem, such as ``ChangePoint()``. The losses of a partition problem are in units of
        those of one single cluster, as in the learner.
    Xs, ys : samples and labels
        As for the learners, but without scaling.
    weight : cvxpy expression, or list of expressions
        ``w`` as a vector or a symmetric matrix. For a partition problem the metric ``B``, a vector
        for a diagonal one; ``[B, price]`` to learn the price of a cluster too, which is 1
        otherwise. For a product of cones a list, one for each. Where the rules of cvxpy cannot tell
        that it is in its cone, the atom adds that as a constraint.
    sample_weight : array of shape (N,), optional
    label : str
        The name of the atom in messages.

    Raises
    ------
    SettingsError
        When the weight does not fit.
    DataError
        When samples or labels cannot be used.

    Examples
    --------
    A diagonal metric for change points whose weights add up to one:

    >>> import cvxpy as cp
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> from structsvm.modeling import StructuredHinge
    >>> from structsvm.problems import ChangePoint
    >>> recordings = relevant_changes(4, n_samples=200, n_features=3, n_relevant=1, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> B = cp.Variable(3, nonneg=True)
    >>> hinge = StructuredHinge(ChangePoint(), Xs, ys, B)
    >>> problem = cp.Problem(cp.Minimize(hinge), [cp.sum(B) == 1])
    >>> value = problem.solve(method="cutting-plane")
    >>> problem.status, int(B.value.argmax())
    ('optimal', 0)
    """

    sums_terms = True
    own = (*OracleAtom.own, "risk", "blocks")

    def __init__(
        self,
        problem: PartitionProblem | Problem,
        Xs: Any,
        ys: Any,
        weight: Any,
        *,
        sample_weight: Any = None,
        label: str = "StructuredHinge",
    ) -> None:
        risk, weights = risk_and_weights(problem, Xs, ys, weight, sample_weight, label)
        self.risk = risk
        self.called = label
        self.pool = Pool()
        self.n_terms = risk.n_instances
        self.blocks = blocks_of(risk, keeps_labellings=False)  # only planes are needed
        super().__init__(*weights)

    def parts(self, atom: int) -> Sequence[Part]:
        space = self.risk.space
        return [HingePart(atom, block, space, basis_of(space)) for block in self.blocks]

    def _domain(self) -> list[cp.Constraint]:
        constraints: list[cp.Constraint] = []
        for arg, factor in zip(self.args, factors_of(self.risk.space), strict=True):
            if isinstance(factor, PSD) and not arg.is_psd():
                constraints.append(arg >> 0)
            elif isinstance(factor, Nonnegative) and not arg.is_nonneg():
                constraints.append(arg >= 0)
        return constraints


@dataclass(frozen=True, eq=False)
class HingePart(Part):
    """A block of instances of a hinge."""

    block: Block
    space: WeightSpace
    basis: Any

    @classmethod
    def answers(cls, parts: "Sequence[HingePart]", question: Question) -> list[Planes | None]:
        """Separate all instances at the projection of the weight on its cone."""
        (point, _, deadline) = question
        basis = parts[0].basis
        each = np.arange(parts[-1].block.instances[-1] + 1)
        asked = parts[0].space.project(basis.T @ point), each, deadline
        answers: list[Planes | None] = []
        for planes in separate_share([part.block for part in parts], asked):
            if planes is not None:
                slopes = planes.slopes @ basis.T
                values = planes.intercepts + slopes @ point
                planes = planes._replace(w=point, slopes=slopes, values=values)
            answers.append(planes)
        return answers


def risk_and_weights(
    problem: Any, Xs: Any, ys: Any, weight: Any, sample_weight: Any, label: str
) -> tuple[RegularizedRisk, list[cp.Expression]]:
    """The risk with these losses, and one expression for each factor of the cone of its weight."""
    weights = as_expressions(weight, label)
    if isinstance(problem, PartitionProblem):
        data = TrainingSet.of(problem, Xs, ys, sample_weight=sample_weight)
        kind = "full" if weights[0].ndim == 2 else "diagonal"
        objective = problem.objective(kind, data.n_features)
        risk = objective.risk(data.examples, SquaredNorm())
    else:
        risk = risk_of(StructuredSVM(problem), Xs, ys, sample_weight=sample_weight)
    if not isinstance(risk, RegularizedRisk):
        raise SettingsError(
            f"{label}: the losses of {type(problem).__name__} are not convex in the metric"
        )
    factors = factors_of(risk.space)
    if len(weights) == 1 and len(factors) == 2 and isinstance(risk.problem, MetricObjective):
        weights = [*weights, cp.Constant(1.0)]
    due = [(f.order, f.order) if isinstance(f, PSD) else (f.dim,) for f in factors]
    if len(weights) != len(due) or not all(
        weight.shape == shape or weight.size == np.prod(shape) == 1
        for weight, shape in zip(weights, due, strict=True)
    ):
        raise SettingsError(
            f"{label}: weight has parts of shape {[weight.shape for weight in weights]}, where the "
            f"cone is {risk.space}: give expressions of shape {due}"
        )
    return risk, weights


def basis_of(space: WeightSpace) -> Any:
    """The sparse orthonormal matrix that maps a weight to the entries of its parts by columns."""
    blocks = [
        smat_operator(factor.order) if isinstance(factor, PSD) else sp.eye_array(factor.dim)
        for factor in factors_of(space)
    ]
    return sp.block_diag(blocks, format="csr")


# ---- segmentations, by duality of linear programming
#
# A segmentation of T samples is a path from 0 to T whose edges (s, t) are its segments, and both
# its score and its loss are sums over them. The best path is a linear program; its dual has a
# potential for each of the T + 1 boundaries,
#
#     minimise v_T - v_0   subject to   v_t - v_s >= a_st  for every segment (s, t),
#
# which is convex in the weight as well, because every a_st is affine in it.

MOST_NUMBERS = 50_000_000
"""Largest number of slopes of all segments, 400 MB."""


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
    if not has_rules or problem.loss is not partition_loss:
        raise SettingsError(
            f"problem is {shown(problem)}: give ChangePoint(), or another SegmentProblem whose "
            "loss is that of ChangePoint, which is a sum over segments"
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
    """The hinge loss of the i-th recording."""
    T = truth.n_samples
    kappa = problem.traits.kappa
    given_k = problem.traits.given_k
    # Starts and ends of all allowed segments, ordered by their ends.
    every = np.arange(T)
    allowed = [every[:t][rule_says(problem.allows, every[:t], t, T)] for t in range(1, T + 1)]
    starts = np.concatenate(allowed)
    ends = np.repeat(every + 1, [before.size for before in allowed])
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
    # For a segment S of n samples X^T M X is (sum x)(sum x)^T / n, and Tr(M M_i) is
    # sum_k |A_k n S|^2 / (|A_k| |S|).
    counts = np.maximum(_sums(~np.isnan(X), starts, ends), 1.0)
    away = _sums(np.nan_to_num(X), starts, ends) / np.sqrt(counts)
    slopes = away**2 if B.ndim == 1 else (away[:, :, None] * away[:, None, :])
    overlaps = (_sums(truth.factor(), starts, ends) ** 2).sum(axis=1) / (ends - starts)
    flat = slopes.reshape(starts.size, -1) @ cp.vec(B, order="F")
    gains = flat + kappa * (1.0 - 2.0 * overlaps) - price
    is_true = np.isin(starts * (T + 1) + ends, truth.boundaries[:-1] * (T + 1) + truth.breakpoints)
    # Boundaries are nodes and segments are edges; if K is known, there is a layer for each segment.
    layers = np.arange(truth.n_clusters if given_k else 1)[:, None] * (T + 1)
    tails = (layers + starts).ravel()
    heads = (layers + ends).ravel()
    if given_k:
        heads += T + 1
    edges = np.tile(np.arange(starts.size), layers.size)
    hinge: cp.Expression = PathHinge(gains / T, tails, heads, edges, np.flatnonzero(is_true))
    return hinge


def _sums(values: Any, starts: Ints, ends: Ints) -> Floats:
    """The sum of the rows of each segment."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    return np.asarray(sums[ends] - sums[starts])


class PathHinge(ConvexAtom):
    """The gain of the best path from the first node to the last, less that of a given path."""

    def __init__(self, gains: Any, tails: Ints, heads: Ints, edges: Ints, truth: Ints) -> None:
        self.tails, self.heads = tails, heads
        self.edges, self.truth = edges, truth
        """The number of the gain of each edge, and the numbers of the gains of the given path."""
        super().__init__(gains)

    def get_data(self) -> Any:
        return [self.tails, self.heads, self.edges, self.truth]

    def numeric(self, values: Any) -> Any:
        gains = np.asarray(values[0], dtype=float).ravel()
        n = int(self.heads.max()) + 1
        order = np.argsort(self.heads, kind="stable")  # edges lead to later nodes
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
    """The epigraph by potentials of nodes, which rise along each edge by at least its gain."""
    potentials = cp.Variable(int(expr.heads.max()) + 1)
    rises = potentials[expr.heads] - potentials[expr.tails]
    most = potentials[-1] - potentials[0]
    return most - cp.sum(args[0][expr.truth]), [rises >= args[0][expr.edges]]


CANON_METHODS[PathHinge] = _with_potentials
