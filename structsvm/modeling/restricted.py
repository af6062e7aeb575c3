"""Restricted problems, in which cuts stand for the atoms of a problem, and what solves them."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import Equality, Inequality

from structsvm.errors import MasterError, SettingsError, without_warnings
from structsvm.masters.base import MasterSolution, Request, WorkingSet
from structsvm.masters.bounds import CONIC, lower_bound, proved_bound
from structsvm.masters.cvxpy import PRECISE, PRECISE_OPTIONS, solve_by, solved
from structsvm.masters.newton import NewtonMaster
from structsvm.modeling.hinge import basis_of
from structsvm.modeling.rewriting import Rewritten, Sizes, column, heights_of, in_shape, replaced
from structsvm.problem import Regularized
from structsvm.regularizers import Regularizer, Separable, SquaredNorm, Trace
from structsvm.support.arrays import Floats
from structsvm.support.contract import hook
from structsvm.weights import PSD, Free, Nonnegative, Product, WeightSpace

SOLVED = ("Solved", "AlmostSolved", "InsufficientProgress")
DECIDED = (*SOLVED, "PrimalInfeasible", "DualInfeasible")
USABLE = (*SOLVED, "MaxIterations", "MaxTime", "NumericalError")
"""Where Clarabel ends at a point: as good as any to ask oracles at, and the bound is checked."""

SCALES = (
    "its numbers differ too much; divide the objective, or measure the variables in other units, "
    "so that both are of the order of 1"
)

FIRST_BOX, LARGEST_BOX = 1e1, 1e9
"""Where a restricted problem without a minimum is solved: the first box, in units of the start."""
PATIENCE = 10
"""Rounds after which a box grows, whatever was found in it."""

MIP_GAP = 1e-6
"""What mixed-integer solvers are told to prove, relative to the optimal value."""


class InfeasibleError(MasterError):
    """The restricted problem has no point, and so neither has the problem."""


class UnboundedError(MasterError):
    """The restricted problem has no minimum; the problem may have one."""


class Restriction:
    """A problem with a variable in the place of each atom, above its cuts, whose numbers are of the
    order of 1: objective, heights and constraints are in units of their own.
    """

    def __init__(self, rewritten: Rewritten, units: Sizes) -> None:
        self.rewritten, self.units = rewritten, units
        self.w_units, self.height_units, self.objective_unit, *self.constraint_units = units
        # Variables with attributes stay, in the unit of the user.
        self.variables = [
            v if any(v.attributes.values()) else cp.Variable(v.shape) for v in rewritten.variables
        ]
        self.heights = [heights_of(held.atom, held.heights.size) for held in rewritten.held]
        own = [*self.variables, *self.heights]
        pieces = rewritten.split(np.append(self.w_units, self.height_units))
        standing: dict[int, Any] = {
            id(leaf): cp.multiply(in_shape(piece, leaf), mine)
            for leaf, mine, piece in zip(rewritten.leaves, own, pieces, strict=True)
            if mine is not leaf
        }
        objective = replaced(rewritten.objective, standing) / self.objective_unit
        self.constraints = [
            _scaled(replaced(constraint, standing), constraint, unit)
            for constraint, unit in zip(rewritten.constraints, self.constraint_units, strict=True)
        ]
        present = {v.id for v in cp.Problem(cp.Minimize(objective), self.constraints).variables()}
        hidden = [v for v in own if v.id not in present or any(v.attributes.values())]
        beside = {v.id: cp.Variable(v.size) for v in hidden}
        self.plain = [beside.get(v.id, v) for v in own]
        """For each variable and height one that stays as it is where cvxpy writes cones."""
        self.links: list[cp.Constraint] = [beside[v.id] == cp.vec(v, order="F") for v in hidden]
        self.problem = cp.Problem(cp.Minimize(objective), [*self.constraints, *self.links])

    def in_units(self, cuts: WorkingSet) -> tuple[Floats, Floats]:
        """Intercepts and slopes of cuts below the heights."""
        units = self.height_units[cuts.groups]
        return cuts.intercepts / units, cuts.slopes * (self.w_units / units[:, None])

    def rows(self, cuts: WorkingSet) -> cp.Constraint:
        """The cuts as a constraint of cvxpy."""
        intercepts, slopes = self.in_units(cuts)
        w = cp.hstack([cp.vec(v, order="F") for v in self.variables])
        found: cp.Constraint = intercepts + slopes @ w <= cp.hstack(self.heights)[cuts.groups]
        return found

    def multipliers(self, cuts: WorkingSet, of_rows: Floats) -> Floats:
        """Multipliers of the cuts, in the units of the user, from those of the rows."""
        return np.asarray(of_rows * (self.objective_unit / self.height_units[cuts.groups]))


def _scaled(constraint: Any, original: cp.Constraint, unit: Any) -> cp.Constraint:
    """A constraint in its unit, and another than the original one."""
    args = constraint.args
    found: cp.Constraint
    if np.all(unit == 1.0):
        found = original.copy(list(args))
    elif isinstance(original, Inequality | Equality):
        away = cp.multiply(1.0 / unit, args[0] - args[1])
        found = away <= 0 if isinstance(original, Inequality) else away == 0
    else:
        found = original.copy([arg / float(unit) for arg in args])
    return found


class Restricted(ABC):
    """Solves restricted problems."""

    restriction: Restriction

    @abstractmethod
    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        """Solve with these cuts."""

    @hook
    def nearest(self, cuts: WorkingSet, center: Floats, level: float) -> Floats | None:
        """The point nearest to another at which the objective is at most ``level``, if known."""
        return None

    @hook
    def give_duals(self, constraints: Sequence[cp.Constraint]) -> None:
        """Give the user's constraints the dual values of the last solution."""
        own = self.restriction
        mine = zip(own.constraints, own.constraint_units, strict=True)
        for theirs, (constraint, unit) in zip(constraints, mine, strict=False):
            factor = own.objective_unit / unit
            for dual, found in zip(theirs.dual_variables, constraint.dual_variables, strict=True):
                dual.save_value(None if found.value is None else found.value * factor)


def solver_of(
    restriction: Restriction, box: Box, solver: str | None, options: Mapping[str, Any]
) -> Restricted:
    """What solves a restricted problem: Newton's method or Clarabel, unless one is named."""
    rewritten = restriction.rewritten
    if rewritten.is_mixed_integer and solver is None and "HIGHS" in cp.installed_solvers():
        solver = "HIGHS"
    if rewritten.is_mixed_integer or solver not in (None, "CLARABEL"):
        return ByName(restriction, solver, options)
    form = form_of(rewritten) if solver is None and not options else None
    if form is None:
        return Conic(restriction, box, options)
    return FastMaster(restriction, form)


class Box:
    """Around the start, larger when nothing was found in the last one, or after many rounds."""

    def __init__(self, start: Floats) -> None:
        self.start, self.width, self.rounds, self.n_cuts = start, 0.0, 0, -1

    def grown(self, n_cuts: int) -> tuple[Floats, Floats]:
        """Corners of the box for another round."""
        if self.width == 0.0:
            self.width = FIRST_BOX * max(1.0, float(np.abs(self.start).max(initial=0.0)))
        elif n_cuts == self.n_cuts or self.rounds == PATIENCE:
            self.width, self.rounds = 10.0 * self.width, 0
        self.rounds, self.n_cuts = self.rounds + 1, n_cuts
        if self.width > LARGEST_BOX:
            raise UnboundedError(
                "the problem is unbounded by the planes found so far: add bounds of its "
                "variables, such as cp.norm_inf(x) <= 1000"
            )
        return self.start - self.width, self.start + self.width


class Conic(Restricted):
    """Clarabel, with one canonical form, cuts appended as rows, and checked bounds.

    ``min f(x)`` over cones is the standard form, in which ``R x <= r`` are the rows that change.
    """

    def __init__(self, restriction: Restriction, box: Box, options: Mapping[str, Any]) -> None:
        self.restriction, self.rewritten, self.options = restriction, restriction.rewritten, options
        self._box = box
        with without_warnings(Warning):
            self._data, self._chain, self._inverse = restriction.problem.get_problem_data(
                "CLARABEL", solver_opts={}
            )
        self._offset = float(self._inverse[-1][cp.settings.OFFSET])
        self._size = int(self._data["c"].size)
        dims, A = self._data["dims"], sp.csr_array(self._data["A"])
        self._at = int(dims.zero + dims.nonneg)
        self._above, self._below = A[: self._at], A[self._at :]
        first = self._data[cp.settings.PARAM_PROB].var_id_to_col
        places = np.concatenate([first[v.id] + np.arange(v.size) for v in restriction.plain])
        self._columns, self._heights = np.split(places, [self.rewritten.dim])
        self._raw: Any = None
        """The last answer, without the rows, as cvxpy takes it to be its own."""

    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        """Solve with these cuts, within a box if there is no minimum."""
        rows, right = self._rows(cuts)
        before, label, bound, is_minimum = self._raw, "clarabel", None, True
        try:
            x, alpha, least = self._solved(rows, right, tol)
            bound = least * self.restriction.objective_unit, CONIC
        except UnboundedError:
            label, is_minimum = "clarabel in a box", False
            x, alpha = self._in_a_box(rows, right, len(cuts))
            self._raw = before
        multipliers = self.restriction.multipliers(cuts, alpha[: len(cuts)])
        return MasterSolution(self._w(x), multipliers, label, bound, is_minimum)

    def _in_a_box(self, rows: Any, right: Floats, n_cuts: int) -> tuple[Floats, Floats]:
        """Point and multipliers of the standard form within the first box that holds a point."""
        d = self._columns.size
        sides = sp.csr_array((np.ones(d), (np.arange(d), self._columns)), (d, self._size))
        boxed = sp.vstack([rows, sides, -sides])
        while True:
            lower, upper = (end / self.restriction.w_units for end in self._box.grown(n_cuts))
            try:
                x, alpha, _ = self._solved(boxed, np.concatenate([right, upper, -lower]), 1e-7)
            except InfeasibleError:
                continue
            return x, alpha

    def give_duals(self, constraints: Sequence[cp.Constraint]) -> None:
        if self._raw is not None:
            with without_warnings(Warning):
                self.restriction.problem.unpack_results(self._raw, self._chain, self._inverse)
        super().give_duals(constraints)

    def nearest(self, cuts: WorkingSet, center: Floats, level: float) -> Floats | None:
        """Return None where the objective has curvature: a share of the way is as good there."""
        P, c = self._data.get("P"), self._data["c"]
        if P is not None and P.nnz > 0:
            return None
        rows, right = self._rows(cuts)
        size = max(float(np.abs(c).max(initial=0.0)), 1e-300)
        low = sp.csr_array(c.reshape(1, -1) / size)
        most = (level / self.restriction.objective_unit - self._offset) / size
        data = self._extended(sp.vstack([rows, low]), np.append(right, most))
        ones, target = np.zeros(c.size), np.zeros(c.size)
        ones[self._columns], target[self._columns] = 1.0, -(center / self.restriction.w_units)
        data["P"], data["c"] = sp.csc_array(sp.diags_array(ones)), target
        raw = self._chain.solver.solve_via_data(data, False, False, dict(self.options))
        x = np.asarray(raw.x, dtype=np.float64)
        if str(raw.status) not in SOLVED or not np.isfinite(x).all():
            return None
        return self._w(x)

    def _w(self, x: Floats) -> Floats:
        """The user's variables from those of the standard form."""
        return self.rewritten.tidy(x[self._columns] * self.restriction.w_units)

    def _rows(self, cuts: WorkingSet) -> tuple[Any, Floats]:
        """``intercept + <slope, w> - t <= 0``."""
        n = len(cuts)
        intercepts, all_slopes = self.restriction.in_units(cuts)
        slopes = sp.coo_array(all_slopes)
        rows = np.concatenate([slopes.row, np.arange(n)])
        columns = np.concatenate([self._columns[slopes.col], self._heights[cuts.groups]])
        entries = np.concatenate([slopes.data, np.full(n, -1.0)])
        return sp.csr_array((entries, (rows, columns)), shape=(n, self._size)), -intercepts

    def _extended(self, rows: Any, right: Floats) -> dict[str, Any]:
        """The program with the rows after the other inequalities."""
        data = dict(self._data)
        b, dims = data["b"], copy.copy(data["dims"])
        dims.nonneg = int(dims.nonneg) + right.size
        data["A"] = sp.vstack([self._above, sp.csr_array(rows), self._below], format="csc")
        data["b"] = np.concatenate([b[: self._at], right, b[self._at :]])
        data["dims"] = dims
        return data

    def _solved(self, rows: Any, right: Floats, tol: float) -> tuple[Floats, Floats, float]:
        """The standard form with ``rows @ x <= right``: point, multipliers, a checked bound."""
        data = self._extended(rows, right)  # with the usual settings where precise ones fail
        for attempt in [PRECISE_OPTIONS["CLARABEL"], {}] if tol < PRECISE else [{}]:
            try:
                options = {**attempt, **self.options}
                raw = self._chain.solver.solve_via_data(data, False, False, options)
            except TypeError as error:  # a setting that there is none of, or of another type
                raise SettingsError(f"Clarabel does not take its options: {error}") from error
            status = str(raw.status)
            if status in DECIDED:
                break
        if status == "PrimalInfeasible":
            raise InfeasibleError("the restricted problem is infeasible")
        if status in ("DualInfeasible", "AlmostDualInfeasible"):  # a box will tell
            raise UnboundedError(f"the restricted problem is unbounded, even in a box: {SCALES}")
        x, z = np.asarray(raw.x, dtype=np.float64), np.asarray(raw.z, dtype=np.float64)
        if status not in USABLE or not (np.isfinite(x).all() and np.isfinite(z).all()):
            raise MasterError(
                f"Clarabel could not solve the restricted problem ({status}): {SCALES}"
            )
        end = self._at + right.size
        self._raw = SimpleNamespace(
            x=x,
            z=np.concatenate([z[: self._at], z[end:]]),
            status="Solved",
            obj_val=raw.obj_val,
            solve_time=raw.solve_time,
            iterations=raw.iterations,
        )
        return x, np.maximum(z[self._at : end], 0.0), proved_bound(data, self._offset, x, z)


class ByName(Restricted):
    """Any solver that cvxpy has; its bound is believed."""

    def __init__(
        self, restriction: Restriction, solver: str | None, options: Mapping[str, Any]
    ) -> None:
        self.restriction, self.rewritten, self.solver = restriction, restriction.rewritten, solver
        self.options = dict(options)
        if self.rewritten.is_mixed_integer:  # the gap to prove, where it is known how to ask
            gap: dict[str, Any] = {"mip_rel_gap": 0.1 * MIP_GAP}
            asked = {"HIGHS": gap, "SCIPY": {"scipy_options": gap}}
            self.options = {**asked.get(solver or "", {}), **options}

    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        """Solve with these cuts."""
        master, stack = self.restriction.problem, self.restriction.rows(cuts)
        problem = cp.Problem(master.objective, [*master.constraints, stack])
        is_mixed = self.rewritten.is_mixed_integer
        try:
            with without_warnings(Warning):
                solve_by(problem, self.solver, self.options)
        except cp.error.SolverError as error:
            way_out = (
                "; with boolean or integer variables write cp.norm1 or cp.norm_inf in place of "
                "squares and norms, or name a solver that takes both"
            )
            kind = MasterError if "failed" in str(error) else SettingsError
            raise kind(f"solver={self.solver!r}: {error}{way_out if is_mixed else ''}") from error
        name = problem.solver_stats.solver_name
        if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
            raise InfeasibleError("the restricted problem is infeasible")
        if problem.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE, "infeasible_or_unbounded"):
            raise UnboundedError(
                f"the restricted problem is unbounded, says {name}: state bounds of its variables, "
                "such as cp.norm_inf(x) <= 1000"
            )
        if problem.value is None or not np.isfinite(problem.value):
            raise MasterError(f"{name} could not solve the restricted problem: {problem.status}")
        dual, value = stack.dual_value, float(problem.value)
        alpha = np.zeros(len(cuts)) if dual is None else np.maximum(np.atleast_1d(dual), 0.0)
        gap = MIP_GAP if is_mixed else 0.0
        least = self.restriction.objective_unit * (value - gap * max(1.0, abs(value)))
        found = np.concatenate([column(v.value) for v in self.restriction.variables])
        return MasterSolution(
            self.rewritten.tidy(self.restriction.w_units * found),
            self.restriction.multipliers(cuts, alpha),
            name.lower(),
            (least, f"as claimed by {name}"),
        )


EQUAL = 1e-12
"""By how much of their size two numbers may differ that are taken for the same."""


@dataclass(frozen=True, eq=False)
class Form(Regularized):
    """``constant + Omega(v) + sum of shares * heights`` over a cone, ``w = basis @ v``."""

    constraints = None
    regularizer: Regularizer
    space: WeightSpace
    constant: float
    shares: Floats
    """Weight of the height of each group in the objective, (n_groups,), positive."""
    basis: Any
    """Sparse, (dim of w, dim of v), with orthonormal columns."""


class FastMaster(Restricted):
    """Newton's method; Clarabel if it fails. There are no constraints, and so no duals."""

    def __init__(self, restriction: Restriction, form: Form) -> None:
        self.restriction, self.form = restriction, form

    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        form = self.form
        scale = form.shares[cuts.groups]
        mapped = WorkingSet(cuts.n_groups, form.space.dim)
        mapped.restore(
            {
                **cuts.state(),
                "slopes": np.asarray(cuts.slopes @ form.basis) * scale[:, None],
                "intercepts": cuts.intercepts * scale,
                "multipliers": cuts.multipliers / scale,
            }
        )
        answer = solved(NewtonMaster(), form, mapped, Request(tol))
        # The minimum of this restricted problem is bounded, and its own value is above that.
        upper = form.penalty(answer.w) + float(mapped.group_values(answer.w).sum())
        exact = np.zeros(form.space.dim)
        bound, basis = lower_bound(form, mapped, answer.multipliers, upper, exact)
        rounded = bound + form.constant - 1e-15 * abs(form.constant)
        w = self.restriction.rewritten.tidy(np.asarray(form.basis @ answer.w))
        return MasterSolution(w, answer.multipliers * scale, answer.label, (rounded, basis))


def form_of(rewritten: Rewritten) -> Form | None:
    """The form of a problem, if it is such a one."""
    spaces = [space for v in rewritten.variables if (space := _space(v)) is not None]
    if (
        rewritten.constraints
        or len(spaces) < len(rewritten.variables)
        or any(not held.atom.is_nonneg() for held in rewritten.held)
        or not rewritten.objective.is_quadratic()
    ):
        return None
    zero = np.zeros(rewritten.size)
    rewritten.put(zero)
    found = {v.id: gradient for v, gradient in rewritten.objective.grad.items()}
    slopes = [column(found.get(v.id, np.zeros(v.size))) for v in rewritten.leaves]
    linear = np.concatenate(slopes)
    bends, shares = _bends(rewritten, linear), linear[rewritten.dim :]
    if bends is None or any(bends[len(spaces) :]) or not (shares > 0).all():
        return None
    parts = [_regularizer(*each) for each in zip(slopes, bends, spaces, strict=False)]
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts):
        return None
    space, regularizer = Product(tuple(spaces)), Separable(known)
    rewritten.put(zero)
    constant = rewritten.value - regularizer.value(np.zeros(space.dim), space)
    return Form(regularizer, space, constant, shares, basis_of(space))


def _space(variable: cp.Variable) -> WeightSpace | None:
    """The cone that a variable is in by its attributes; None for others."""
    given = {name for name, value in variable.attributes.items() if value is not None and value}
    if given == {"PSD"}:
        return PSD(variable.shape[0])
    if given == {"nonneg"}:
        return Nonnegative(variable.size)
    return None if given else Free(variable.size)


def _bends(rewritten: Rewritten, linear: Floats) -> list[float] | None:
    """The curvature of a quadratic by each variable and height; None where entries differ.

    ``linear`` is its gradient at zero. Read off values at random points, where no other quadratic
    looks like one: cvxpy 1.6 gives gradients of squares of matrices row by row.
    """

    def value(at: Floats) -> float:
        rewritten.put(at)
        return rewritten.value

    rng, constant = np.random.default_rng(0), value(np.zeros(linear.size))
    everywhere = rng.normal(size=linear.size)
    bends, squares = [], 0.0
    for entries in rewritten.split(np.arange(linear.size, dtype=np.float64)):
        at = entries.astype(np.int64)
        alone = np.zeros(linear.size)
        alone[at] = rng.normal(size=at.size)
        bent = value(alone) - constant - float(linear @ alone)
        room = EQUAL * (abs(constant) + float(np.abs(linear) @ np.abs(alone)))
        bends.append(2.0 * bent / float(alone @ alone) if abs(bent) > room else 0.0)
        squares += 0.5 * bends[-1] * float(everywhere[at] @ everywhere[at])
    size = abs(constant) + float(np.abs(linear) @ np.abs(everywhere)) + abs(squares)
    away = value(everywhere) - constant - float(linear @ everywhere) - squares
    return bends if abs(away) <= EQUAL * size else None


def _regularizer(slope: Floats, bend: float, space: WeightSpace) -> Regularizer | None:
    """``slope @ w + bend / 2 |w|^2`` of one variable, up to a constant; None if it is none."""
    slope = basis_of(space).T @ slope
    if bend > 0:
        return SquaredNorm(bend, space.to_metric(-slope / bend))
    weight = float(slope[0])
    away = np.abs(slope - weight * space.identity()).max()
    return (
        None if isinstance(space, Free) or weight <= 0 or away > EQUAL * weight else Trace(weight)
    )
