"""Restricted problems, in which cuts stand for the atoms of a problem, and what solves them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import Equality, Inequality

from structsvm.errors import MasterError, SettingsError, without_warnings
from structsvm.masters.base import MasterSolution, Request, WorkingSet
from structsvm.masters.bounds import lower_bound
from structsvm.masters.conic import (
    CLOSE,
    ConicProgram,
    Proof,
    Units,
    box_of,
    columns_of,
    power_of_two,
    proof,
    turned,
    turned_back,
    units_for,
)
from structsvm.masters.cvxpy import PRECISE, PRECISE_OPTIONS, solve_by, solved
from structsvm.masters.newton import NewtonMaster
from structsvm.modeling.hinge import basis_of
from structsvm.modeling.points import LEAST
from structsvm.modeling.rewriting import Rewritten, Sizes, column, in_shape, replaced
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
SHIFTS = (-20, 20)
"""Powers of two by which units are also tried: what a solver finds depends on them, a proof does
not."""

Scale = tuple[float, int]
"""The share of the way, in powers, from the units of the data to the widths of the box that the
constraints leave, and a power of two."""

SCALES_TRIED: tuple[Scale, ...] = ((0, 0), (0.5, 0), (1, 0), *((0, k) for k in (*SHIFTS, -8, 8)))
"""Those that are tried until one closes the gap."""

ROOMS = (2.0**-8, 2.0**-16, 2.0**-24)
"""Of the units of rows, by how much constraints are tightened to find a point inside."""

CLOSED = 10.0
"""Times the accuracy that was asked for: a gap that no other units are tried to close."""
NEARLY = 0.1
"""Times the accuracy that was asked for: how near to the value a bound is good enough."""
OUTGROWN = 2.0**20
"""By how much a size has to exceed its unit for units to be measured again."""

PATIENCE = 10
"""Rounds after which a box grows, whatever was found in it."""

MIP_GAP = 1e-6
"""What mixed-integer solvers are told to prove, relative to the optimal value."""


class InfeasibleError(MasterError):
    """The restricted problem has no point, and so neither has the problem."""

    def __init__(self, words: str, is_proved: bool = False) -> None:
        super().__init__(words)
        self.is_proved = is_proved


class UnboundedError(MasterError):
    """The restricted problem has no minimum; the problem may have one."""


class Restriction:
    """A problem with a variable in the place of each atom, above its cuts, in units of its own.

    Variables with attributes stay in the unit of the user.
    """

    def __init__(
        self, rewritten: Rewritten, w_units: Floats, height_units: Floats, sizes: Sizes
    ) -> None:
        self.rewritten, self.height_units = rewritten, height_units
        self.objective_unit, *self.constraint_units = sizes
        given = zip(rewritten.variables, rewritten.split(w_units), strict=True)
        kept = [np.ones(v.size) if any(v.attributes.values()) else piece for v, piece in given]
        self.w_units = np.concatenate(kept)
        pieces = rewritten.split(np.append(self.w_units, height_units))
        standing: dict[int, Any] = {}
        own: list[cp.Variable] = []
        for leaf, piece in zip(rewritten.leaves, pieces, strict=True):
            mine = leaf
            if np.any(piece != 1.0):
                mine = cp.Variable(leaf.shape, nonneg=leaf.is_nonneg(), nonpos=leaf.is_nonpos())
                standing[id(leaf)] = cp.multiply(in_shape(piece, leaf), mine)
            own.append(mine)
        self.variables = own[: len(rewritten.variables)]
        self.heights = own[len(rewritten.variables) :]
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

    @classmethod
    def as_given(cls, rewritten: Rewritten) -> Restriction:
        """In the units of the user."""
        ones = [1.0] * (1 + len(rewritten.constraints))
        return cls(rewritten, np.ones(rewritten.dim), np.ones(rewritten.n_groups), ones)

    @classmethod
    def in_sizes(cls, rewritten: Rewritten, w_units: Floats, cuts: WorkingSet) -> Restriction:
        """In units of the data, so that its numbers are of the order of 1."""
        heights = levels(cuts, w_units)
        rewritten.put(np.append(w_units, heights))
        sizes = rewritten.sizes_at(w_units, heights, w_units)
        units = [power_of_two(np.asarray(size)) for size in (w_units, heights, *sizes)]
        return cls(rewritten, units[0], units[1], units[2:])

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


def levels(cuts: WorkingSet, w_units: Floats) -> Floats:
    """The size of each group: of its largest intercept, and of its slopes at the units."""
    sizes = np.maximum(np.abs(cuts.intercepts), np.abs(cuts.slopes) @ w_units)
    found = np.zeros(cuts.n_groups)
    np.maximum.at(found, cuts.groups, sizes)
    return found


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
    w_units: Floats
    """The size of the variables of the user by the data, (dim,)."""

    @abstractmethod
    def fit(self, cuts: WorkingSet, noise: Floats) -> None:
        """Measure the variables by the constraints and by planes, of which an intercept below the
        ``noise`` of its group is rounding.
        """

    @abstractmethod
    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        """Solve with these cuts."""

    @hook
    def elsewhere(self, cuts: WorkingSet) -> list[Floats]:
        """Minimisers that are found in other units."""
        return []

    @hook
    def nearest(self, cuts: WorkingSet, center: Floats, level: float) -> Floats | None:
        """The point nearest to another at which the objective is at most ``level``, if known."""
        return None

    @hook
    def inside(self, cuts: WorkingSet) -> Floats | None:
        """A point that keeps all inequalities with room, if one is found."""
        return None

    @hook
    def duals(self) -> list[list[Any]]:
        """Dual values of the last solution of the constraints of the rewritten problem."""
        own = self.restriction
        found = []
        for constraint, unit in zip(own.constraints, own.constraint_units, strict=True):
            values = [dual.value for dual in constraint.dual_variables]
            factor = own.objective_unit / unit
            found.append([None if value is None else value * factor for value in values])
        return found

    def give_duals(self, constraints: Sequence[cp.Constraint]) -> None:
        """Give the user's constraints the dual values of the last solution."""
        for theirs, values in zip(constraints, self.duals(), strict=False):
            for dual, value in zip(theirs.dual_variables, values, strict=True):
                dual.save_value(value)


def solver_of(
    rewritten: Rewritten, box: Box, solver: str | None, options: Mapping[str, Any]
) -> Restricted:
    """What solves a restricted problem: Newton's method or Clarabel, unless one is named."""
    if rewritten.is_mixed_integer and solver is None and "HIGHS" in cp.installed_solvers():
        solver = "HIGHS"
    if rewritten.is_mixed_integer or solver not in (None, "CLARABEL"):
        return ByName(rewritten, solver, options)
    form = form_of(rewritten) if solver is None and not options else None
    if form is None:
        return Conic(rewritten, box, options)
    return FastMaster(rewritten, form, box)


class Box:
    """Around the start, larger when nothing was found in the last one, or after many rounds."""

    def __init__(self, start: Floats) -> None:
        self.start = start
        self.width = 0.0
        self.rounds = 0
        self.n_cuts = -1

    def grown(self, n_cuts: int, units: Floats) -> tuple[Floats, Floats]:
        """Corners of the box for another round, by the units of the variables."""
        if self.width == 0.0:
            self.width = FIRST_BOX
        elif n_cuts == self.n_cuts or self.rounds == PATIENCE:
            self.width = 10.0 * self.width
            self.rounds = 0
        self.rounds = self.rounds + 1
        self.n_cuts = n_cuts
        if self.width > LARGEST_BOX:
            raise UnboundedError(
                "the problem is unbounded by the planes found so far: add bounds of its "
                "variables, such as cp.norm_inf(x) <= 1000"
            )
        reach = self.width * np.maximum(units, np.abs(self.start))
        return self.start - reach, self.start + reach


@dataclass(frozen=True, eq=False)
class Answer:
    """A point of a conic program and its multipliers, in the units of the user."""

    x: Floats
    z: Floats
    value: float
    proof: Proof
    size: float
    """Of the terms of the objective."""
    broken: float
    """What the inequalities that the point breaks are worth by their multipliers."""
    raw: Any

    @property
    def gap(self) -> float:
        """Of value and proof, in either direction, and what the point owes to what it breaks."""
        return abs(self.value - self.proof.bound) + self.broken


class Conic(Restricted):
    """Clarabel, with one canonical form, cuts appended as rows, and checked bounds.

    ``min f(x)`` over cones is the standard form, in which ``R x <= r`` are the rows that change.
    """

    def __init__(self, rewritten: Rewritten, box: Box, options: Mapping[str, Any]) -> None:
        self.restriction = restriction = Restriction.as_given(rewritten)
        self.rewritten, self.options = rewritten, options
        self._box = box
        with without_warnings(Warning):
            data, self._chain, self._inverse = restriction.problem.get_problem_data(
                "CLARABEL", solver_opts={}
            )
        given = ConicProgram.of(data, float(self._inverse[-1][cp.settings.OFFSET]))
        self._program, self._turns = turned(given)
        self._ends = box_of(self._program)
        first = data[cp.settings.PARAM_PROB].var_id_to_col
        places = np.concatenate([first[v.id] + np.arange(v.size) for v in restriction.plain])
        self._columns, self._heights = np.split(places, [rewritten.dim])
        self._units: Floats = np.zeros(self._program.q.size)
        self._tallest = 0.0
        """The largest intercept when columns were measured."""
        self._largest = 0.0
        """The size of the objective by the data."""
        self._scale = SCALES_TRIED[0]
        """The one that closed the last gap."""
        self._has_points = False
        """Whether that is known, where the restricted problem has no minimum."""
        self._raw: Any = None
        """The last answer, without the rows, as cvxpy takes it to be its own."""

    def fit(self, cuts: WorkingSet, noise: Floats) -> None:
        """Measure the columns by the constraints and the planes; only larger planes do so again."""
        tallest = float(np.abs(cuts.intercepts).max(initial=0.0))
        if self._tallest > 0 and tallest <= OUTGROWN * self._tallest:
            return
        self._tallest = tallest
        program = self._with(cuts)
        n = len(cuts)
        at = self._program.n_plain
        groups = program.groups.copy()
        b = program.b.copy()
        groups[at : at + n] = program.b.size + cuts.groups
        b[at : at + n][np.abs(cuts.intercepts) <= noise[cuts.groups]] = 0.0
        found = columns_of(program, groups, b)
        if (found > OUTGROWN * self._units).any():
            self._units = np.maximum(found, self._units)
            self.w_units = self._units[self._columns]
            self._largest = units_for(self._program, self._units).objective

    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        """Solve with these cuts, within a box if there is no minimum."""
        program = self._with(cuts)
        before = self._raw
        label = "clarabel"
        bound = None
        is_minimum = True
        try:
            found = self._solved(program, tol)
            bound = found.proof.bound, found.proof.basis
        except UnboundedError:
            self._refuse_empty()
            label, is_minimum = "clarabel in a box", False
            found = self._in_a_box(program, len(cuts))
            self._raw = before
        at = self._program.n_plain
        alpha = np.maximum(found.z[at : at + len(cuts)], 0.0)
        return MasterSolution(self._w(found.x), alpha, label, bound, is_minimum)

    def elsewhere(self, cuts: WorkingSet) -> list[Floats]:
        """Minimisers of the same problem in units of 2^20 and 2^-20 of those of its data."""
        found = []
        for shift in SHIFTS:
            try:
                found.append(self._w(self._attempt(self._with(cuts), (0, shift), 0.0).x))
            except MasterError:
                continue
        return found

    def inside(self, cuts: WorkingSet) -> Floats | None:
        """A minimiser under constraints that are a little tighter, in units of the data."""
        program = self._with(cuts)
        units = units_for(program, self._units)
        scaled = program.scaled(units)
        for room in ROOMS:
            raw = self._raw_answer(scaled.with_room(room), {})
            x = np.asarray(raw.x, dtype=np.float64)
            if str(raw.status) in SOLVED and np.isfinite(x).all():
                return self._w(x * units.columns)
        return None

    def _in_a_box(self, program: ConicProgram, n_cuts: int) -> Answer:
        """The answer within the first box that holds a point."""
        d = self._columns.size
        sides = sp.csr_array((np.ones(d), (np.arange(d), self._columns)), (d, program.q.size))
        sides = sp.vstack([sides, -sides])
        empty: InfeasibleError | None = None
        while True:
            try:
                lower, upper = self._box.grown(n_cuts, self.w_units)
            except UnboundedError:
                if empty is None:
                    raise
                raise empty from None
            try:
                boxed = program.with_rows(sides, np.concatenate([upper, -lower]))
                return self._solved(boxed, 1e-7, is_boxed=True)
            except InfeasibleError as error:
                empty = error

    def duals(self) -> list[list[Any]]:
        if self._raw is not None:
            with without_warnings(Warning):
                self.restriction.problem.unpack_results(self._raw, self._chain, self._inverse)
        return super().duals()

    def nearest(self, cuts: WorkingSet, center: Floats, level: float) -> Floats | None:
        """Return None where the objective has curvature: a share of the way is as good there."""
        if self._program.P.nnz > 0:
            return None
        q = self._program.q
        low = sp.csr_array(q.reshape(1, -1))
        program = self._with(cuts).with_rows(low, np.array([level - self._program.offset]))
        units = units_for(program, self._units)
        scaled = program.scaled(units)
        ones = np.zeros(q.size)
        target = np.zeros(q.size)
        ones[self._columns] = 1.0
        target[self._columns] = -(center / self.w_units)
        scaled = replace(scaled, P=sp.csr_array(sp.diags_array(ones)), q=target)
        raw = self._raw_answer(scaled, {})
        x = np.asarray(raw.x, dtype=np.float64)
        if str(raw.status) not in SOLVED or not np.isfinite(x).all():
            return None
        return self._w(x * units.columns)

    def _w(self, x: Floats) -> Floats:
        """The user's variables from those of the standard form."""
        return self.rewritten.tidy(np.clip(x, *self._ends)[self._columns])

    def _with(self, cuts: WorkingSet) -> ConicProgram:
        """The program with ``intercept + <slope, w> - t <= 0`` for every cut."""
        n = len(cuts)
        rows, places = np.nonzero(cuts.slopes)
        starts = np.arange(n + 1) + np.append(0, np.cumsum(np.bincount(rows, minlength=n)))
        entries = np.full(starts[-1], -1.0)  # the height is behind the slope
        columns = np.repeat(self._heights[cuts.groups], np.diff(starts))
        at = rows + np.arange(rows.size)
        entries[at] = cuts.slopes[rows, places]
        columns[at] = self._columns[places]
        shape = n, self._program.q.size
        return self._program.with_rows(
            sp.csr_array((entries, columns, starts), shape), -cuts.intercepts
        )

    def _solved(self, program: ConicProgram, tol: float, is_boxed: bool = False) -> Answer:
        """In the units of the data, or larger and smaller ones where these do not close the gap."""
        best: Answer | None = None
        failed: MasterError | None = None
        others = [scale for scale in SCALES_TRIED if scale != self._scale]
        for scale in (self._scale, *others):
            try:
                found = self._attempt(program, scale, tol)
            except MasterError as error:
                is_endless = isinstance(error, UnboundedError) and best is None and not is_boxed
                is_proved = isinstance(error, InfeasibleError) and error.is_proved
                if is_endless or is_proved:
                    raise
                if failed is None or isinstance(error, InfeasibleError):
                    failed = error
                continue
            known = found if best is None else best
            proved = max(known.proof, found.proof, key=lambda proof: proof.bound)
            if best is None or found.gap < best.gap:
                best = found
                self._scale = scale
            best = replace(best, proof=proved)
            if found.gap <= CLOSED * max(tol, PRECISE) * max(found.size, LEAST * self._largest):
                break
        if best is None:
            assert failed is not None
            raise failed
        start = self._program.n_plain
        end = self._program.n_plain + program.b.size - self._program.b.size
        self._raw = SimpleNamespace(
            x=best.x,
            z=turned_back(np.concatenate([best.z[:start], best.z[end:]]), self._turns),
            status="Solved",
            obj_val=best.value,
            solve_time=best.raw.solve_time,
            iterations=best.raw.iterations,
        )
        return best

    def _refuse_empty(self) -> None:
        """InfeasibleError where the constraints have no point, whatever the objective."""
        if self._has_points:
            return
        nothing = replace(self._program, P=0.0 * self._program.P, q=0.0 * self._program.q)
        try:
            self._attempt(nothing, SCALES_TRIED[0], 1.0)
        except InfeasibleError:
            raise
        except MasterError:  # nothing is known, and a box will tell
            return
        self._has_points = True

    def _is_empty(self, scaled: ConicProgram, z: Floats, units: Units) -> bool:
        """Whether a ray proves that the constraints have no point: nothing is at least 1 there."""
        size = float(np.abs(z).max(initial=0.0))
        if not size > 0:
            return False
        nothing = replace(scaled, P=sp.csr_array(scaled.P.shape), q=0.0 * scaled.q, offset=0.0)
        return proof(nothing, np.zeros(scaled.q.size), z / size, units.box(self._ends)).bound > 0

    def _columns_between(self, share: float) -> Floats:
        """Units of the columns, some of the way to the widths of the box of the constraints."""
        widths = np.maximum(np.abs(self._ends[0]), np.abs(self._ends[1]))
        is_wide = (widths > 0) & np.isfinite(widths)
        wide = np.where(is_wide, widths, self._units)
        return power_of_two(self._units ** (1.0 - share) * wide**share)

    def _raw_answer(self, scaled: ConicProgram, options: Mapping[str, Any]) -> Any:
        """What Clarabel returns."""
        options = {**options, **self.options}
        try:
            return self._chain.solver.solve_via_data(scaled.data, False, False, options)
        except TypeError as error:  # a setting that there is none of, or of another type
            raise SettingsError(f"Clarabel does not take its options: {error}") from error

    def _attempt(self, program: ConicProgram, scale: Scale, tol: float) -> Answer:
        """Solve in units of a scale."""
        share, shift = scale
        units = units_for(program, self._columns_between(share) * 2.0**shift)
        scaled = program.scaled(units)
        for attempt in [PRECISE_OPTIONS["CLARABEL"], {}] if tol < PRECISE else [{}]:
            raw = self._raw_answer(scaled, attempt)
            status = str(raw.status)
            if status in DECIDED:
                break
        if status == "PrimalInfeasible":
            is_proved = self._is_empty(scaled, np.asarray(raw.z, dtype=np.float64), units)
            raise InfeasibleError("the restricted problem is infeasible", is_proved)
        if status in ("DualInfeasible", "AlmostDualInfeasible"):  # a box will tell
            raise UnboundedError(f"the restricted problem is unbounded, even in a box: {SCALES}")
        x = np.asarray(raw.x, dtype=np.float64)
        z = np.asarray(raw.z, dtype=np.float64)
        if status not in USABLE or not (np.isfinite(x).all() and np.isfinite(z).all()):
            raise MasterError(
                f"Clarabel could not solve the restricted problem ({status}): {SCALES}"
            )
        close = max(CLOSE, NEARLY * tol)
        found = proof(scaled, x, z, units.box(self._ends), close)
        bent = float(x @ (scaled.P @ x))
        value = 0.5 * bent + float(scaled.q @ x) + scaled.offset
        size = abs(scaled.offset) + float(np.abs(scaled.q) @ np.abs(x)) + abs(bent)
        unequal = slice(int(scaled.dims.zero), scaled.n_plain)
        excess = np.maximum((scaled.A @ x - scaled.b)[unequal], 0.0)
        broken = float(excess @ np.abs(z[unequal]))
        unit = units.objective
        z_of_user = z * unit / units.rows
        return Answer(
            x * units.columns,
            z_of_user,
            unit * value,
            units.proof(found),
            unit * size,
            unit * broken,
            raw,
        )


class ByName(Restricted):
    """Any solver that cvxpy has; its bound is believed."""

    def __init__(
        self, rewritten: Rewritten, solver: str | None, options: Mapping[str, Any]
    ) -> None:
        self.rewritten = rewritten
        self.solver = solver
        self.options = dict(options)
        self._measure = (
            None
            if rewritten.is_mixed_integer
            else Conic(rewritten, Box(np.zeros(rewritten.dim)), {})
        )
        self.w_units = np.ones(rewritten.dim)
        self._levels = np.zeros(rewritten.n_groups)
        if self.rewritten.is_mixed_integer:  # the gap to prove, where it is known how to ask
            gap: dict[str, Any] = {"mip_rel_gap": 0.1 * MIP_GAP}
            asked = {"HIGHS": gap, "SCIPY": {"scipy_options": gap}}
            self.options = {**asked.get(solver or "", {}), **options}

    def fit(self, cuts: WorkingSet, noise: Floats) -> None:
        """Measure as Clarabel would; integers are in their own unit."""
        if self._measure is not None:
            self._measure.fit(cuts, noise)
            self.w_units = self._measure.w_units
        found = levels(cuts, self.w_units)
        if (found > OUTGROWN * self._levels).any():
            self._levels = np.maximum(found, self._levels)
            self.restriction = Restriction.in_sizes(self.rewritten, self.w_units, cuts)

    def elsewhere(self, cuts: WorkingSet) -> list[Floats]:
        """The same, unless there are integers, whose unit is their own."""
        if self.rewritten.is_mixed_integer:
            return []
        found = []
        usual = self.restriction
        for shift in SHIFTS:
            units = self.w_units * 2.0**shift
            self.restriction = Restriction.in_sizes(self.rewritten, units, cuts)
            try:
                found.append(self.solve(cuts, PRECISE).w)
            except MasterError:
                continue
            finally:
                self.restriction = usual
        return found

    def inside(self, cuts: WorkingSet) -> Floats | None:
        """As Clarabel finds it; points between integers are none."""
        return None if self._measure is None else self._measure.inside(cuts)

    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        """Solve with these cuts."""
        master = self.restriction.problem
        stack = self.restriction.rows(cuts)
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
        dual = stack.dual_value
        value = float(problem.value)
        alpha = np.zeros(len(cuts)) if dual is None else np.maximum(np.atleast_1d(dual), 0.0)
        gap = MIP_GAP if is_mixed else 0.0
        least = float(self.restriction.objective_unit) * (value - gap * max(1.0, abs(value)))
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
    """Newton's method; Clarabel where it is less exact. No constraints, and so no duals."""

    def __init__(self, rewritten: Rewritten, form: Form, box: Box) -> None:
        self.rewritten, self.form, self._box = rewritten, form, box
        self.w_units = np.zeros(rewritten.dim)
        self._noise = np.zeros(rewritten.n_groups)

    def fit(self, cuts: WorkingSet, noise: Floats) -> None:
        """Newton's method needs no units."""
        self._noise = noise

    @cached_property
    def _conic(self) -> Conic:
        return Conic(self.rewritten, self._box, {})

    def duals(self) -> list[list[Any]]:
        """None: there are no constraints."""
        return []

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
        w = self.rewritten.tidy(np.asarray(form.basis @ answer.w))
        found = MasterSolution(w, answer.multipliers * scale, answer.label, (rounded, basis))
        if upper - bound <= CLOSED * max(tol, PRECISE) * abs(upper):
            return found
        self._conic.fit(cuts, self._noise)
        other = self._conic.solve(cuts, tol)
        return other if other.bound is not None and other.bound[0] > rounded else found


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
    bends = _bends(rewritten, linear)
    shares = linear[rewritten.dim :]
    if bends is None or any(bends[len(spaces) :]) or not (shares > 0).all():
        return None
    parts = [_regularizer(*each) for each in zip(slopes, bends, spaces, strict=False)]
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts):
        return None
    space = Product(tuple(spaces))
    regularizer = Separable(known)
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

    rng = np.random.default_rng(0)
    constant = value(np.zeros(linear.size))
    everywhere = rng.normal(size=linear.size)
    bends = []
    squares = 0.0
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
