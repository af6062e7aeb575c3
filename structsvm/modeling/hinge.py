"""The structured hinge losses of a problem as an atom of cvxpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from structsvm.errors import SettingsError
from structsvm.learner.structured import read_labelled
from structsvm.learner.training_set import TrainingSet
from structsvm.modeling.atoms import OracleAtom, Part, Pool, as_expressions
from structsvm.partitions.learning import MetricObjective
from structsvm.partitions.problem import PartitionProblem
from structsvm.problem import Problem, RegularizedRisk, Separation
from structsvm.regularizers import SquaredNorm
from structsvm.solvers.planes import Planes, weakest
from structsvm.solvers.separation import Block, blocks_of, separate_share
from structsvm.status import Quality
from structsvm.support.arrays import Floats
from structsvm.support.checks import refuse_unlisted
from structsvm.support.plain import shown
from structsvm.weights import PSD, Nonnegative, Product, WeightSpace

RESCALINGS = ("margin", "slack")

MOST_PARTS = 8
"""Parts that the samples are dealt into, however many workers there are."""

MOST_CALLS = 40
CLOSE = 1e-7
"""Relative distance of the bounds at which the search of slack rescaling ends."""
WIDEST = 30.0
"""The logarithm of the largest weight of the loss that is tried; the least is its inverse."""


class StructuredHinge(OracleAtom):
    """The mean structured hinge loss of labelled samples, as an atom of cvxpy.

    ``sum_i omega_i max_y {loss(y_i, y) + <w, phi(x_i, y) - phi(x_i, y_i)>}`` is convex in ``w``,
    which is a variable of cvxpy or an affine expression of some: shared weights, sums of given
    matrices and the like. It is nonnegative. What :class:`structsvm.MetricLearner` and
    :class:`structsvm.StructuredSVM` minimise is such an atom plus a regularizer.

    Parameters
    ----------
    problem : PartitionProblem or structsvm.problem.Problem
        What is predicted, such as ``ChangePoint()``. Of a partition problem the losses are in units
        of those of one single cluster, as those of the learner are.
    Xs, ys : samples and labels
        As the learners take them; used as they are, without scaling.
    weight : cvxpy expression, or list of expressions
        ``w`` in the form in which users see it: a vector, or a symmetric matrix. For a partition
        problem the metric ``B``, a vector for a diagonal one; ``[B, price]`` to learn the price of
        a cluster too, which is 1 otherwise. For a product of cones a list, one for each. Where the
        rules of cvxpy cannot tell that it is in its cone, the atom adds that as a constraint.
    sample_weight : array of shape (N,), optional
    rescaling : {"margin", "slack"}
        "slack" multiplies instead of adding: ``max_y loss(y_i, y) (1 + <w, phi(x_i, y) -
        phi(x_i, y_i)>)``. The oracle of the problem is called for several weights of the loss then;
        what it cannot decide is in the upper bound.
    label : str
        What messages call it.

    Raises
    ------
    SettingsError
        When the weight does not fit, or a setting is none of those above.
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
        rescaling: str = "margin",
        label: str = "StructuredHinge",
    ) -> None:
        refuse_unlisted("rescaling", rescaling, RESCALINGS)
        weights = as_expressions(weight, label)
        risk = _risk(problem, Xs, ys, weights, sample_weight, label)
        if rescaling == "slack":
            risk = SlackRescaled.risk(risk)
        self.risk, self.called, self.pool, self.n_terms = risk, label, Pool(), risk.n_samples
        # Planes are all that is asked of them.
        self.blocks = [replace(block, keeps_labellings=False) for block in blocks_of(risk)]
        super().__init__(*_fitting(weights, risk, label))

    def shape_from_args(self) -> tuple[int, ...]:
        return ()

    def sign_from_args(self) -> tuple[bool, bool]:
        """Return that it is nonnegative: the true labelling costs nothing."""
        return True, False

    def is_incr(self, idx: int) -> bool:
        return False

    def is_decr(self, idx: int) -> bool:
        return False

    def parts(self, atom: int) -> Sequence[Part]:
        """The samples in blocks, several to a part, because many are separated at once."""
        parts = []
        for share in np.array_split(np.arange(len(self.blocks)), min(len(self.blocks), MOST_PARTS)):
            own = [self.blocks[k] for k in share]
            terms = range(int(own[0].indices[0]), int(own[-1].indices[-1]) + 1)
            parts.append(HingePart(atom, terms, own, self.risk.space))
        return parts

    def domain_of_arguments(self, arguments: Sequence[cp.Expression]) -> list[cp.Constraint]:
        found: list[cp.Constraint] = []
        for arg, factor in zip(arguments, factors_of(self.risk.space), strict=True):
            if isinstance(factor, PSD) and not arg.is_psd():
                found.append(arg >> 0)
            elif isinstance(factor, Nonnegative) and not arg.is_nonneg():
                found.append(arg >= 0)
        return found


@dataclass(frozen=True, eq=False)
class HingePart(Part):
    blocks: list[Block]
    space: WeightSpace

    def answer(self, point: Floats, parameters: tuple[Any, ...]) -> Planes:
        """Ask the oracle of every sample at the nearest weight in the cone."""
        basis = basis_of(self.space)
        question = self.space.project(basis.T @ point), np.arange(self.terms.stop), np.inf
        answers = separate_share(self.blocks, question)
        found = Planes.joined([answer for answer in answers if answer is not None])
        slopes = found.slopes @ basis.T
        values = found.intercepts + slopes @ point
        return found._replace(w=point, slopes=slopes, values=values)


def _risk(
    problem: Any, Xs: Any, ys: Any, weights: list[cp.Expression], sample_weight: Any, label: str
) -> RegularizedRisk:
    if isinstance(problem, PartitionProblem):
        data = TrainingSet.of(problem, Xs, ys, sample_weight=sample_weight)
        kind = "full" if weights[0].ndim == 2 else "diagonal"
        objective = problem.learning.objective(kind, data.n_features)
        found = objective.risk(data.samples, data.truths, SquaredNorm(), None, data.weights)
        if not isinstance(found, RegularizedRisk):
            raise SettingsError(
                f"{label}: the losses of {type(problem).__name__} are not convex in the metric"
            )
        return found
    if not isinstance(problem, Problem):
        raise SettingsError(
            f"{label}: problem is {shown(problem)}: give a PartitionProblem such as ChangePoint(), "
            "or an instance of a class derived from structsvm.problem.Problem"
        )
    labelled = read_labelled(Xs, ys, sample_weight)
    sized = problem.sized(labelled.xs, labelled.ys)
    return RegularizedRisk(
        problem=sized,
        xs=labelled.xs,
        ys=labelled.ys,
        regularizer=SquaredNorm(),
        sample_weight=labelled.weights,
        null=np.zeros(sized.weight_space().dim),
    )


def _fitting(
    weights: list[cp.Expression], risk: RegularizedRisk, label: str
) -> list[cp.Expression]:
    """The weight, one expression for each factor of its cone."""
    factors = factors_of(risk.space)
    objective = risk.problem
    if isinstance(objective, SlackRescaled):
        objective = objective.problem
    if len(weights) == 1 and len(factors) == 2 and isinstance(objective, MetricObjective):
        weights = [*weights, cp.Constant(1.0)]
    if len(weights) != len(factors):
        raise SettingsError(
            f"{label}: weight has {len(weights)} parts, where the cone is {risk.space}: give a "
            f"list of {len(factors)} expressions"
        )
    for k, (weight, factor) in enumerate(zip(weights, factors, strict=True)):
        shape = (factor.order, factor.order) if isinstance(factor, PSD) else (factor.dim,)
        if weight.shape != shape and not (weight.size == 1 and factor.dim == 1):
            which = "" if len(factors) == 1 else f" {k}"
            raise SettingsError(
                f"{label}: weight{which} has shape {weight.shape}, where {shape} is due"
            )
    return weights


def factors_of(space: WeightSpace) -> tuple[WeightSpace, ...]:
    """The cones of which a weight has one part each."""
    return space.factors if isinstance(space, Product) else (space,)


def basis_of(space: WeightSpace) -> Any:
    """``w = basis @ v``: the entries of expressions, column by column, from a weight of the cone.

    Sparse, with orthonormal columns.
    """
    return sp.block_diag([_basis(factor) for factor in factors_of(space)], format="csr")


def _basis(factor: WeightSpace) -> Any:
    if not isinstance(factor, PSD):
        return sp.eye_array(factor.dim, format="csr")
    P = factor.order
    rows, cols = np.triu_indices(P)
    k, off = np.arange(rows.size), rows != cols
    places = np.concatenate([rows + P * cols, (cols + P * rows)[off]])
    weights = np.where(off, np.sqrt(0.5), 1.0)
    values = np.concatenate([weights, weights[off]])
    return sp.csr_array((values, (places, np.concatenate([k, k[off]]))), shape=(P * P, k.size))


@dataclass(frozen=True)
class SlackRescaled(Problem):
    """``max_y loss(y_i, y) (1 + <w, phi(x, y) - phi(x, y_i)>)``, by the oracle of another problem.

    With ``a`` the loss of a labelling and ``c = 1 + <w, phi(x, y) - phi(x, y_i)>``, every ``l > 0``
    has ``a c <= (l a + c)^2 / (4 l)`` where ``c >= 0``, and the oracle knows ``max l a + c``: that
    of margin rescaling at the weight ``w / l``. The least of these upper bounds is looked for by
    bisection over ``log l``, in which their square roots are convex; the best labelling on the way
    is the answer, and what lies between is its slack.
    """

    problem: Problem

    @classmethod
    def risk(cls, risk: RegularizedRisk) -> RegularizedRisk:
        problem = risk.problem
        if problem.signed_losses:
            raise SettingsError(
                "rescaling='slack' multiplies by the loss, and that of this problem may be "
                "negative: use rescaling='margin'"
            )
        pairs = list(zip(risk.xs, risk.ys, strict=True))
        return replace(risk, problem=cls(problem), xs=pairs, start=None)

    def weight_space(self) -> WeightSpace:
        return self.problem.weight_space()

    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Return the loss times how the features differ from those of the truth, (d,)."""
        sample, truth = x
        return self.loss(truth, y) * self._away(sample, truth, y)

    def loss(self, y: Any, y_hat: Any) -> float:
        return float(self.problem.loss(y, y_hat))

    def predict(self, w: Floats, x: Any) -> Any:
        return self.problem.predict(w, x[0])

    def separate(self, w: Floats, x: Any, y: Any) -> Separation:
        """Search for the labelling whose loss times margin is largest."""
        sample, _ = x
        best, most, upper, quality = y, 0.0, np.inf, Quality.EXACT
        low, high = -WIDEST, WIDEST
        for _ in range(MOST_CALLS):
            middle = 0.5 * (low + high)
            weight = float(np.exp(middle))
            answer = self.problem.separate(w / weight, sample, y)
            quality = weakest([quality, answer.quality])
            a = self.loss(y, answer.y)
            c = 1.0 + float(self._away(sample, y, answer.y) @ w)
            if a * c > most:
                best, most = answer.y, a * c
            highest = max(weight * (a + answer.slack) + c, 1.0)
            upper = min(upper, highest**2 / (4.0 * weight))
            if upper - most <= CLOSE * max(most, 1e-12):
                break
            low, high = (low, middle) if weight * a > c else (middle, high)
        return Separation(best, max(0.0, upper - most), quality)

    def _away(self, sample: Any, truth: Any, y: Any) -> Floats:
        found = self.problem.joint_feature(sample, y) - self.problem.joint_feature(sample, truth)
        return np.asarray(found)
