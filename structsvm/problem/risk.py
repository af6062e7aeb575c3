"""What solvers minimise: a regularizer and the losses of a problem on its instances."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from structsvm.errors import DataError, SettingsError, parameter
from structsvm.problem.declaration import Problem
from structsvm.problem.regularizers import Quadratic, Regularizer
from structsvm.problem.status import Solution
from structsvm.problem.weights import WeightSpace
from structsvm.support import Contract, Floats, counted, shown

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["CompositeRisk", "Outline", "Regularized", "RegularizedRisk", "Risk"]

OUTSIDE = 1e-9
"""How far outside of its cone rounding may put a weight, relative to its largest entry."""


class Regularized:
    """A weight and its regularizer, perhaps with constraints: what masters see of a risk."""

    space: WeightSpace
    """The cone of ``w``."""
    regularizer: Regularizer
    """Omega."""
    constraints: Callable[[Any], list[Any]] | None
    """Takes the metric (or other weight) as users see it, a cvxpy expression, to a list of further
    cvxpy constraints; see :meth:`further_constraints`."""

    def penalty(self, w: Floats) -> float:
        """Return Omega(w)."""
        return self.regularizer.value(w, self.space)

    @cached_property
    def quadratic(self) -> Quadratic | None:
        """Omega as a separable quadratic, whatever the constraints; None if it is not one."""
        return self.regularizer.as_quadratic(self.space)

    def further_constraints(self, B: Any) -> list[Any]:
        """The list of further constraints on a cvxpy weight ``B``, checked."""
        if self.constraints is None:
            return []
        import cvxpy as cp

        constraints: Any = self.constraints(B)
        fits = isinstance(constraints, list | tuple)
        if not (fits and all(isinstance(constraint, cp.Constraint) for constraint in constraints)):
            raise SettingsError(
                f"constraints returned {shown(constraints)}: return a list of cvxpy constraints, "
                "such as [cp.trace(B) <= 1]"
            )
        leaves = chain.from_iterable((*one.parameters(), *one.variables()) for one in constraints)
        for leaf in set(leaves):
            is_whole = leaf.attributes["boolean"] or leaf.attributes["integer"]
            if leaf.value is None if isinstance(leaf, cp.Parameter) else is_whole:
                raise SettingsError(
                    f"constraints use {leaf.name()}: parameters need a value, and variables must "
                    "not be boolean or integer, because a metric is learned by convex programs"
                )
        return list(constraints)


@dataclass(frozen=True, eq=False)
class Outline(Regularized):
    """What :meth:`Solver.check` sees of a risk, before any instances are read."""

    space: WeightSpace
    regularizer: Regularizer
    constraints: Callable[[Any], list[Any]] | None
    n_instances: int
    is_convex: bool


@dataclass(frozen=True, eq=False)
class RegularizedRisk(Regularized):
    """``F(w) = Omega(w) + sum_i omega_i L_i(w)`` over a cone, perhaps with further constraints.

    Raises
    ------
    DataError
        When there are no instances, or not as many labels or weights as instances, or the weights
        are negative or not finite, or all zero.
    SettingsError
        When ``null`` or ``start`` is no weight of the cone.
    """

    is_convex: ClassVar[bool] = True
    problem: Problem
    xs: Sequence[Any]
    ys: Sequence[Any]
    regularizer: Regularizer
    sample_weight: Floats
    """omega_i >= 0, (N,)."""
    null: Floats
    """The weight that stands for no learning, (d,): its objective is F(0) in the relative gap."""
    constraints: Callable[[Any], list[Any]] | None = None
    start: Floats | None = None
    """A sensible weight, (d,), tried before any other, so that the answer is never worse."""
    is_model: bool = False
    """Whether a solver made this of another risk, so that it runs no code of a plugin."""
    space: WeightSpace = field(init=False)

    def __post_init__(self) -> None:
        N = len(self.xs)
        omega = np.asarray(self.sample_weight, dtype=np.float64)
        fits = omega.shape == (N,) and ((omega >= 0) & np.isfinite(omega)).all() and omega.any()
        if N == 0 or len(self.ys) != N:
            raise DataError(
                f"ys has {counted(len(self.ys), 'labelling')} for {counted(N, 'instance')} in xs: "
                "give one for each, and at least one"
            )
        if not fits:
            raise DataError(
                f"sample_weight is {shown(self.sample_weight)}: give {N} finite numbers, 0 for "
                "instances to leave out, but not for all"
            )
        object.__setattr__(self, "space", self.problem.weight_space())
        object.__setattr__(self, "sample_weight", omega)
        object.__setattr__(self, "null", self._checked("null", self.null))
        if self.start is not None:
            object.__setattr__(self, "start", self._checked("start", self.start))

    def _checked(self, name: str, values: Any) -> Floats:
        """A weight of the right size, in the cone."""
        w = np.asarray(values, dtype=np.float64)
        d = self.space.dim
        if w.shape != (d,) or not np.isfinite(w).all():
            raise SettingsError(
                f"{name} is {shown(values)}, where the weight has dimension {d}: give {d} finite "
                f"numbers, such as np.zeros({d})"
            )
        distance = float(np.abs(w - self.space.project(w)).max())
        if distance > OUTSIDE * float(np.abs(w).max()):
            raise SettingsError(
                f"{name} is {distance:.3g} away from the cone {self.space} of the weight, so that "
                "it is no answer: give its projection, space.project(w)"
            )
        return w

    @property
    def n_instances(self) -> int:
        return len(self.xs)

    def as_cvxpy(self, solution: Solution) -> "cp.Problem":
        """The problem over the support labellings of a solution, as an ordinary problem of cvxpy.

        Its value is between ``solution.lower`` and ``solution.upper``: a check of both that needs
        no oracle. Its variables are the weight as users see it (``B`` and ``beta`` of a metric and
        its price), and ``slacks``, (N,), the hinge losses. Its constraints are those of the cone,
        of the labellings, whose dual values are the multipliers, and of ``constraints``.

        Raises
        ------
        SettingsError
            When the solution has no support, or is of another risk.
        """
        import cvxpy as cp

        rows = self._support_planes(solution)
        B, w, cone = self.space.variable(*self.problem.weight_names)
        slacks = cp.Variable(self.n_instances, nonneg=True, name="slacks")
        planes = []
        if rows:
            bounded, intercepts, slopes = (np.array(column) for column in zip(*rows, strict=True))
            planes = [bounded @ slacks >= intercepts + slopes @ w]
        objective = self.regularizer.as_cvxpy(B, w, self.space) + self.sample_weight @ slacks
        return cp.Problem(cp.Minimize(objective), [*cone, *planes, *self.further_constraints(B)])

    def _support_planes(self, solution: Solution) -> list[tuple[Floats, float, Floats]]:
        """A lower bound of slacks by each support labelling: their weights, intercept and slope."""
        if solution.support is None:
            raise SettingsError(
                "this solution has no support labellings: learn with CuttingPlane, whose masters "
                "have multipliers ("
                + parameter("solver", "cutting-plane")
                + "), in one run from beginning to end"
            )
        largest = max((labelling.instance or 0 for labelling in solution.support), default=0)
        if solution.w.shape != (self.space.dim,) or largest >= self.n_instances:
            raise SettingsError(
                f"this solution is of another risk, with {solution.w.size} weights and more than "
                f"{largest} instances: here are {self.space.dim} and {self.n_instances}"
            )
        rows = []
        for labelling in solution.support:
            if labelling.instance is None:
                assert labelling.plane is not None
                rows.append((self.sample_weight, *labelling.plane))
                continue
            bounded = np.zeros(self.n_instances)
            bounded[labelling.instance] = 1.0
            plane = labelling.plane
            problem = self.problem
            if plane is None:
                x = self.xs[labelling.instance]
                truth = self.ys[labelling.instance]
                y = problem.labelling(labelling.labelling)
                slope = problem.joint_feature(x, y) - problem.joint_feature(x, truth)
                plane = float(problem.loss(truth, y)), slope
            rows.append((bounded, *plane))
        return rows


class CompositeRisk(Regularized, Contract):
    """``F(w) = Omega(w) + sum_i h_i(c_i(w))``: each ``h_i`` convex, each ``c_i`` smooth.

    The hinge losses of a similarity that is not linear in the metric are of this kind: convex in
    the similarity matrix, but not in the metric. There is no certified lower bound. Subclasses are
    frozen dataclasses.
    """

    is_convex = False
    constraints = None
    """Further constraints are for convex objectives."""
    start: Floats
    """The weight from which to descend, (d,); a field, as ``space`` and ``regularizer`` are."""

    @property
    @abstractmethod
    def n_instances(self) -> int:
        """The number of instances, N."""

    @abstractmethod
    def losses(self, w: Floats) -> tuple[float, Floats]:
        """``sum_i h_i(c_i(w))`` and its gradient (or a subgradient), (d,)."""

    @abstractmethod
    def part(self, which: Sequence[int]) -> "CompositeRisk":
        """The sum over some of the instances alone, without Omega: what a worker evaluates."""

    @abstractmethod
    def model(self, w: Floats, regularizer: Regularizer) -> RegularizedRisk:
        """The convex risk in which every ``c_i`` is replaced by its tangent at ``w``."""


Risk = RegularizedRisk | CompositeRisk
"""Objectives that solvers minimise."""
