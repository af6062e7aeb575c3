"""Restricted problems solved by Clarabel, in units of the data, with bounds that are proved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from structsvm.errors import MasterError, SettingsError, without_warnings
from structsvm.masters import (
    CLOSE,
    NO_SLACK,
    PRECISE,
    PRECISE_OPTIONS,
    ConicProgram,
    MasterSolution,
    Proof,
    Units,
    WorkingSet,
    box_of,
    column_sizes,
    power_of_two,
    proof,
    turned,
    turned_back,
    units_for,
)
from structsvm.modeling.points import LEAST
from structsvm.modeling.restricted import (
    OUTGROWN,
    SCALES,
    TIGHTENINGS,
    InfeasibleError,
    Restricted,
    Restriction,
    UnboundedError,
)
from structsvm.modeling.rewriting import Rewritten
from structsvm.support import Floats

SOLVED = ("Solved", "AlmostSolved", "InsufficientProgress")

DECIDED = (*SOLVED, "PrimalInfeasible", "DualInfeasible")

ENDLESS = ("DualInfeasible", "AlmostDualInfeasible")

USABLE = (*SOLVED, "MaxIterations", "MaxTime", "NumericalError")
"""Statuses of Clarabel with a point: oracles may be called there, and the bound is checked."""

FIRST_BOX, LARGEST_BOX = 1e1, 1e9
"""Half widths, in units of the variables, of the first and the largest box around the start in
which a restricted problem without a minimum is solved."""

SHIFTS = (-20, 20)
"""Powers of two by which units are also multiplied: the point that a solver finds depends on units,
whereas a proof does not."""

Scale = tuple[float, int]
"""A choice of units: an exponent s for ``units^(1 - s) widths^s``, where the widths are those of
the box that the constraints imply, and a power of two by which they are multiplied."""

SCALES_TRIED: tuple[Scale, ...] = ((0, 0), (0.5, 0), (1, 0), *((0, k) for k in (*SHIFTS, -8, 8)))
"""The units that are tried in turn until the gap is closed."""

CLOSED = 10.0
"""A gap below this many times the requested accuracy counts as closed."""

NEARLY = 0.1
"""A bound within this many times the requested accuracy of the value is not improved."""

ROUNDS_IN_A_BOX = 10
"""Number of rounds after which a box grows in any case."""


class Box:
    """A box around the start that grows if the last round added no cut, or after many rounds."""

    def __init__(self, start: Floats) -> None:
        self.start = start
        self.width = 0.0
        self.rounds = 0
        self.n_cuts = -1

    def grown(self, n_cuts: int, units: Floats) -> tuple[Floats, Floats]:
        """The lower and upper corner of the box for another round; UnboundedError at the end."""
        if self.width == 0.0:
            self.width = FIRST_BOX
        elif n_cuts == self.n_cuts or self.rounds == ROUNDS_IN_A_BOX:
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
class ConicAnswer:
    """An approximate solution of a conic program, in the units of the user."""

    x: Floats
    z: Floats
    value: float
    proof: Proof
    size: float
    """The sum of the magnitudes of the terms of the objective."""
    broken: float
    """The violations of inequalities by the point, times their multipliers."""
    raw: Any

    @property
    def gap(self) -> float:
        """The distance of value and proof, plus the effect of violated inequalities."""
        return abs(self.value - self.proof.bound) + self.broken


class Conic(Restricted):
    """Restricted problems by Clarabel: one canonical form, cuts added as rows, proved bounds."""

    def __init__(self, rewritten: Rewritten, box: Box, options: Mapping[str, Any]) -> None:
        self.restriction = restriction = Restriction.as_given(rewritten)
        self.rewritten, self.options = rewritten, options
        self._box = box
        with without_warnings(Warning):
            data, self._chain, self._inverse = restriction.problem.get_problem_data(
                "CLARABEL", solver_opts={}
            )
        compiled = ConicProgram.of(data, float(self._inverse[-1][cp.settings.OFFSET]))
        self._program, self._turns = turned(compiled)
        self._ends = box_of(self._program)
        first = data[cp.settings.PARAM_PROB].var_id_to_col
        places = np.concatenate([first[v.id] + np.arange(v.size) for v in restriction.plain])
        self._columns, self._heights = np.split(places, [rewritten.dim])
        self._units: Floats = np.zeros(self._program.q.size)
        self._measured = np.zeros(rewritten.n_groups, dtype=bool)
        """Whether each height had planes when columns were last measured."""
        self._tallest = 0.0
        """The largest intercept when columns were last measured."""
        self._largest = 0.0
        """The size of the objective by the data."""
        self._scale = SCALES_TRIED[0]
        """The units that closed the last gap."""
        self._has_points = False
        """Whether the constraints are known to have a point."""
        self._raw: Any = None
        """The last answer, without the rows of cuts, in the form of an answer to cvxpy."""

    def fit(self, cuts: WorkingSet, noise: Floats) -> None:
        """Measure the columns by the constraints and the planes.

        They are measured again for the first planes of a height, and for much larger planes.
        """
        tallest = float(np.abs(cuts.intercepts).max(initial=0.0))
        is_bounded = np.isin(np.arange(cuts.n_groups), cuts.groups)
        if (is_bounded & ~self._measured).any():
            self._units = np.zeros_like(self._units)
        elif self._tallest > 0 and tallest <= OUTGROWN * self._tallest:
            return
        self._measured = self._measured | is_bounded
        self._tallest = tallest
        program = self._with(cuts)
        n = len(cuts)
        at = self._program.n_plain
        groups = program.groups.copy()
        b = program.b.copy()
        has_slack = cuts.groups != NO_SLACK
        groups[at : at + n][has_slack] = program.b.size + cuts.groups[has_slack]
        b[at : at + n][np.abs(cuts.intercepts) <= noise[cuts.groups]] = 0.0
        columns = column_sizes(program, groups, b)
        if (columns > OUTGROWN * self._units).any():
            self._units = np.maximum(columns, self._units)
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
            answer = self._solved(program, tol)
            bound = answer.proof.bound, answer.proof.basis
        except UnboundedError:
            self._refuse_empty(cuts)
            label, is_minimum = "clarabel in a box", False
            answer = self._in_a_box(program, len(cuts))
            self._raw = before
        at = self._program.n_plain
        alpha = np.maximum(answer.z[at : at + len(cuts)], 0.0)
        return MasterSolution(self._w(answer.x), alpha, label, bound, is_minimum)

    def elsewhere(self, cuts: WorkingSet) -> list[Floats]:
        """Minimisers of the same problem in units of 2^20 and 2^-20 of those of its data."""
        minimisers = []
        for shift in SHIFTS:
            try:
                minimisers.append(self._w(self._attempt(self._with(cuts), (0, shift), 0.0).x))
            except MasterError:
                continue
        return minimisers

    def inside(self, cuts: WorkingSet, rooms: Sequence[float] = TIGHTENINGS) -> Floats | None:
        """A minimiser under constraints that are a little tighter, in units of the data."""
        program = self._with(cuts)
        units = units_for(program, self._units)
        scaled = units.scaled(program)
        for room in rooms:
            raw = self._raw_answer(scaled.with_room(room), {})
            if str(raw.status) in ENDLESS:  # unbounded: any point will do
                raw = self._raw_answer(without_objective(scaled.with_room(room)), {})
            w = self._w_of(raw, units)
            if w is not None:
                return w
        return None

    def _in_a_box(self, program: ConicProgram, n_cuts: int) -> ConicAnswer:
        """The answer within the first box in which the constraints have a point."""
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
        """As the base class says; None with curvature, where a part of the way there is as good."""
        if self._program.P.nnz > 0:
            return None
        q = self._program.q
        low = sp.csr_array(q.reshape(1, -1))
        program = self._with(cuts).with_rows(low, np.array([level - self._program.offset]))
        units = units_for(program, self._units)
        scaled = units.scaled(program)
        ones = np.zeros(q.size)
        target = np.zeros(q.size)
        ones[self._columns] = 1.0
        target[self._columns] = -(center / self.w_units)
        scaled = replace(scaled, P=sp.csr_array(sp.diags_array(ones)), q=target)
        return self._w_of(self._raw_answer(scaled, {}), units)

    def _w_of(self, raw: Any, units: Units) -> Floats | None:
        """The variables of the user in an answer of Clarabel; None if it has no solution."""
        x = np.asarray(raw.x, dtype=np.float64)
        is_solved = str(raw.status) in SOLVED and np.isfinite(x).all()
        return self._w(x * units.columns) if is_solved else None

    def _w(self, x: Floats) -> Floats:
        """The variables of the user from those of the canonical form."""
        return self.rewritten.tidy(np.clip(x, *self._ends)[self._columns])

    def _with(self, cuts: WorkingSet) -> ConicProgram:
        """The program with ``intercept + <slope, w> - t <= 0`` for every cut; no t for NO_SLACK."""
        n = len(cuts)
        rows, places = np.nonzero(cuts.slopes)
        starts = np.arange(n + 1) + np.append(0, np.cumsum(np.bincount(rows, minlength=n)))
        of_height = np.where(cuts.groups == NO_SLACK, 0.0, -1.0)  # the last entry of each row
        entries = np.repeat(of_height, np.diff(starts))
        columns = np.repeat(self._heights[cuts.groups], np.diff(starts))
        at = rows + np.arange(rows.size)
        entries[at] = cuts.slopes[rows, places]
        columns[at] = self._columns[places]
        shape = n, self._program.q.size
        return self._program.with_rows(
            sp.csr_array((entries, columns, starts), shape), -cuts.intercepts
        )

    def _solved(self, program: ConicProgram, tol: float, is_boxed: bool = False) -> ConicAnswer:
        """The best answer and bound of all units that are tried until the gap is closed."""
        best: ConicAnswer | None = None
        failed: MasterError | None = None
        others = [scale for scale in SCALES_TRIED if scale != self._scale]
        for scale in (self._scale, *others):
            try:
                answer = self._attempt(program, scale, tol)
            except MasterError as error:
                is_endless = isinstance(error, UnboundedError) and best is None and not is_boxed
                is_proved = isinstance(error, InfeasibleError) and error.is_proved
                if is_endless or is_proved:
                    raise
                if failed is None or isinstance(error, InfeasibleError):
                    failed = error
                continue
            best_before = answer if best is None else best
            proved = max(best_before.proof, answer.proof, key=lambda proof: proof.bound)
            if best is None or answer.gap < best.gap:
                best = answer
                self._scale = scale
            best = replace(best, proof=proved)
            if answer.gap <= CLOSED * max(tol, PRECISE) * max(answer.size, LEAST * self._largest):
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

    def _refuse_empty(self, cuts: WorkingSet) -> None:
        """Raise InfeasibleError if the constraints have no point."""
        is_as_given = not (cuts.groups == NO_SLACK).any()
        if is_as_given and self._has_points:
            return
        nothing = without_objective(self._program if is_as_given else self._with(cuts))
        try:
            self._attempt(nothing, SCALES_TRIED[0], 1.0)
        except InfeasibleError:
            raise
        except MasterError:  # undecided; solving in a box decides
            return
        self._has_points = True

    def _is_empty(self, scaled: ConicProgram, z: Floats, units: Units) -> bool:
        """Whether a dual ray proves that the constraints have no point."""
        size = float(np.abs(z).max(initial=0.0))
        if not size > 0:
            return False
        nothing = without_objective(scaled)
        return proof(nothing, np.zeros(scaled.q.size), z / size, units.box(self._ends)).bound > 0

    def _columns_between(self, share: float) -> Floats:
        """Units ``units^(1 - share) widths^share`` of the columns, see :data:`Scale`."""
        widths = np.maximum(np.abs(self._ends[0]), np.abs(self._ends[1]))
        is_wide = (widths > 0) & np.isfinite(widths)
        wide = np.where(is_wide, widths, self._units)
        return power_of_two(self._units ** (1.0 - share) * wide**share)

    def _raw_answer(self, scaled: ConicProgram, options: Mapping[str, Any]) -> Any:
        """The answer of Clarabel to a program."""
        options = {**options, **self.options}
        try:
            return self._chain.solver.solve_via_data(scaled.data, False, False, options)
        except TypeError as error:  # an unknown setting, or a value of the wrong type
            raise SettingsError(f"Clarabel does not take its options: {error}") from error

    def _attempt(self, program: ConicProgram, scale: Scale, tol: float) -> ConicAnswer:
        """Solve in one choice of units; MasterError without a point."""
        share, shift = scale
        units = units_for(program, self._columns_between(share) * 2.0**shift)
        scaled = units.scaled(program)
        for attempt in [PRECISE_OPTIONS["CLARABEL"], {}] if tol < PRECISE else [{}]:
            raw = self._raw_answer(scaled, attempt)
            status = str(raw.status)
            if status in DECIDED:
                break
        if status == "PrimalInfeasible":
            is_proved = self._is_empty(scaled, np.asarray(raw.z, dtype=np.float64), units)
            raise InfeasibleError("the restricted problem is infeasible", is_proved)
        if status in ENDLESS:
            raise UnboundedError(f"the restricted problem is unbounded, even in a box: {SCALES}")
        x = np.asarray(raw.x, dtype=np.float64)
        z = np.asarray(raw.z, dtype=np.float64)
        if status not in USABLE or not (np.isfinite(x).all() and np.isfinite(z).all()):
            raise MasterError(
                f"Clarabel could not solve the restricted problem ({status}): {SCALES}"
            )
        close = max(CLOSE, NEARLY * tol)
        proved = proof(scaled, x, z, units.box(self._ends), close)
        bent = float(x @ (scaled.P @ x))
        value = 0.5 * bent + float(scaled.q @ x) + scaled.offset
        size = abs(scaled.offset) + float(np.abs(scaled.q) @ np.abs(x)) + abs(bent)
        unequal = slice(int(scaled.dims.zero), scaled.n_plain)
        excess = np.maximum((scaled.A @ x - scaled.b)[unequal], 0.0)
        broken = float(excess @ np.abs(z[unequal]))
        unit = units.objective
        z_of_user = z * unit / units.rows
        return ConicAnswer(
            x * units.columns,
            z_of_user,
            unit * value,
            proved.times(unit),
            unit * size,
            unit * broken,
            raw,
        )


def without_objective(program: ConicProgram) -> ConicProgram:
    """The program with the objective 0."""
    return replace(program, P=0.0 * program.P, q=0.0 * program.q, offset=0.0)
