"""The structured hinge losses of a problem as an atom of cvxpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from structsvm.errors import SettingsError
from structsvm.learner.structured import StructuredSVM, risk_of
from structsvm.learner.training_set import TrainingSet
from structsvm.modeling.atoms import OracleAtom, Part, Pool, Question, as_expressions
from structsvm.partitions.learning import MetricObjective
from structsvm.partitions.problem import PartitionProblem
from structsvm.problem import Problem, RegularizedRisk
from structsvm.regularizers import SquaredNorm
from structsvm.solvers.planes import Planes
from structsvm.solvers.separation import Block, blocks_of, separate_share
from structsvm.weights import PSD, Nonnegative, Product, WeightSpace, smat_operator


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
    label : str
        What messages call it.

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
        self.risk, self.called, self.pool, self.n_terms = risk, label, Pool(), risk.n_samples
        # Planes are all that is asked of them.
        self.blocks = [replace(block, keeps_labellings=False) for block in blocks_of(risk)]
        super().__init__(*weights)

    def parts(self, atom: int) -> Sequence[Part]:
        space = self.risk.space
        return [HingePart(atom, block, space, basis_of(space)) for block in self.blocks]

    def _domain(self) -> list[cp.Constraint]:
        found: list[cp.Constraint] = []
        for arg, factor in zip(self.args, factors_of(self.risk.space), strict=True):
            if isinstance(factor, PSD) and not arg.is_psd():
                found.append(arg >> 0)
            elif isinstance(factor, Nonnegative) and not arg.is_nonneg():
                found.append(arg >= 0)
        return found


@dataclass(frozen=True, eq=False)
class HingePart(Part):
    block: Block
    space: WeightSpace
    basis: Any

    @classmethod
    def answers(cls, parts: Sequence[HingePart], question: Question) -> list[Planes | None]:
        """Ask about all samples at once, at the nearest weight in the cone."""
        point, basis = question.argument, parts[0].basis
        each = np.arange(parts[-1].block.samples[-1] + 1)
        asked = parts[0].space.project(basis.T @ point), each, question.deadline
        answers: list[Planes | None] = []
        for found in separate_share([part.block for part in parts], asked):
            if found is not None:
                slopes = found.slopes @ basis.T
                values = found.intercepts + slopes @ point
                found = found._replace(w=point, slopes=slopes, values=values)
            answers.append(found)
        return answers


def risk_and_weights(
    problem: Any, Xs: Any, ys: Any, weight: Any, sample_weight: Any, label: str
) -> tuple[RegularizedRisk, list[cp.Expression]]:
    """A risk with these losses, and the weight, one expression for each factor of its cone."""
    weights = as_expressions(weight, label)
    if isinstance(problem, PartitionProblem):
        data = TrainingSet.of(problem, Xs, ys, sample_weight=sample_weight)
        kind = "full" if weights[0].ndim == 2 else "diagonal"
        objective = problem.learning.objective(kind, data.n_features)
        risk = objective.risk(data.samples, data.truths, SquaredNorm(), None, data.weights)
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


def factors_of(space: WeightSpace) -> tuple[WeightSpace, ...]:
    """The cones of which a weight has one part each."""
    return space.factors if isinstance(space, Product) else (space,)


def basis_of(space: WeightSpace) -> Any:
    """``w = basis @ v``: the entries of expressions, column by column, from a weight of the cone.

    Sparse, with orthonormal columns.
    """
    blocks = [
        smat_operator(factor.order) if isinstance(factor, PSD) else sp.eye_array(factor.dim)
        for factor in factors_of(space)
    ]
    return sp.block_diag(blocks, format="csr")
