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
from structsvm.modeling.atoms import OracleAtom, Part, Pool, Question, as_expressions
from structsvm.partitions.learning import MetricObjective
from structsvm.partitions.problem import PartitionProblem
from structsvm.problem import Problem, RegularizedRisk
from structsvm.regularizers import SquaredNorm
from structsvm.solvers.planes import Planes
from structsvm.solvers.separation import Block, blocks_of, separate_share
from structsvm.support.arrays import Floats
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
        weights = as_expressions(weight, label)
        risk = risk_of(problem, Xs, ys, weights, sample_weight, label)
        self.risk, self.called, self.pool, self.n_terms = risk, label, Pool(), risk.n_samples
        # Planes are all that is asked of them.
        self.blocks = [replace(block, keeps_labellings=False) for block in blocks_of(risk)]
        super().__init__(*fitting(weights, risk, label))

    def shape_from_args(self) -> tuple[int, ...]:
        return ()

    def sign_from_args(self) -> tuple[bool, bool]:
        """Return that it is nonnegative: the true labelling costs nothing."""
        return True, False

    def parts(self, atom: int) -> Sequence[Part]:
        space, basis = self.risk.space, basis_of(self.risk.space)
        return [HingePart(atom, block, space, basis) for block in self.blocks]

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
    block: Block
    space: WeightSpace
    basis: Any

    @classmethod
    def answers(cls, parts: Sequence[HingePart], question: Question) -> list[Planes | None]:
        """Ask about all samples at once, at the nearest weight in the cone."""
        point, _, deadline = question
        space, basis = parts[0].space, parts[0].basis
        each = np.arange(parts[-1].block.indices[-1] + 1)
        asked = space.project(basis.T @ point), each, deadline
        answers = separate_share([part.block for part in parts], asked)
        return [None if found is None else _at(point, found, basis) for found in answers]


def _at(point: Floats, found: Planes, basis: Any) -> Planes:
    """Planes below weights of the cone as those below an argument, (d,), and their values there."""
    slopes = found.slopes @ basis.T
    return found._replace(w=point, slopes=slopes, values=found.intercepts + slopes @ point)


def risk_of(
    problem: Any, Xs: Any, ys: Any, weights: list[cp.Expression], sample_weight: Any, label: str
) -> RegularizedRisk:
    if not isinstance(problem, PartitionProblem):
        labelled = read_labelled(Xs, ys, sample_weight)
        sized = problem.sized(labelled.xs, labelled.ys)
        null = np.zeros(sized.weight_space().dim)
        return RegularizedRisk(
            sized, labelled.xs, labelled.ys, SquaredNorm(), labelled.weights, null
        )
    data = TrainingSet.of(problem, Xs, ys, sample_weight=sample_weight)
    kind = "full" if weights[0].ndim == 2 else "diagonal"
    objective = problem.learning.objective(kind, data.n_features)
    found = objective.risk(data.samples, data.truths, SquaredNorm(), None, data.weights)
    if not isinstance(found, RegularizedRisk):
        raise SettingsError(
            f"{label}: the losses of {type(problem).__name__} are not convex in the metric"
        )
    return found


def fitting(weights: list[cp.Expression], risk: RegularizedRisk, label: str) -> list[cp.Expression]:
    """The weight, one expression for each factor of its cone."""
    factors = factors_of(risk.space)
    if len(weights) == 1 and len(factors) == 2 and isinstance(risk.problem, MetricObjective):
        weights = [*weights, cp.Constant(1.0)]
    due = [(f.order, f.order) if isinstance(f, PSD) else (f.dim,) for f in factors]
    shapes = [weight.shape for weight in weights]
    fits = len(shapes) == len(due) and all(
        shape == other or (w.size == 1 and f.dim == 1)
        for w, f, shape, other in zip(weights, factors, shapes, due, strict=True)
    )
    if not fits:
        raise SettingsError(
            f"{label}: weight has parts of shape {shapes}, where the cone is {risk.space}: give "
            f"expressions of shape {due}"
        )
    return weights


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
