"""A problem of cvxpy with atoms that oracles know, as the solver of programs takes it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from structsvm.errors import LearningError, OracleError
from structsvm.masters.base import Master, MasterSolution, Request
from structsvm.masters.working_set import Cut, WorkingSet
from structsvm.modeling.conic import ConicAnswer, ConicProgram, UnboundedError
from structsvm.modeling.planes import Answer, Part, Plane, Points, ask, marks
from structsvm.modeling.rewriting import Held, Rewritten
from structsvm.parallel import Session
from structsvm.problem import Outline
from structsvm.regularizers import SquaredNorm
from structsvm.solvers.planes import Planes, weakest
from structsvm.solvers.program import Program
from structsvm.solvers.requirements import ADMISSIBLE
from structsvm.weights import Free

__all__ = ["CvxpyProgram"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CONIC = "to the accuracy of the conic solver"

FIRST_BOX, LARGEST_BOX = 1e1, 1e9
"""Where a restricted problem without a minimum is solved: the first box, in units of the start."""

ACTIVE = 1e-7
"""A multiplier below which a plane has no part in a solution."""

SLIPS = 1e-7
"""By how much of its size a value may be below an earlier plane, through rounding."""


class CvxpyProgram(Program):
    """``w`` is the vector of all variables of the user, column by column."""

    def __init__(
        self,
        rewritten: Rewritten,
        variables: Sequence[cp.Variable],
        slack: str,
        options: Mapping[str, Any],
        warm_start: bool,
    ) -> None:
        self.rewritten, self.options, self.warm_start = rewritten, dict(options), warm_start
        self.variables = [*variables, *rewritten.inner]
        self.held = rewritten.held
        self.dim = sum(v.size for v in self.variables)
        self.n_terms = sum(h.atom.n_terms for h in self.held)
        self._groups = self.groups(slack)
        self.master_seconds = self.oracle_seconds = 0.0
        self.answer: ConicAnswer | None = None
        """The last of the master."""
        self._weighed: list[tuple[Cut, float]] = []
        """The cuts of the last restricted problem with their multipliers."""
        self.w: Floats | None = None
        """Where the master's minimum is."""
        self._values_at: dict[bytes, float] = {}
        self._box = 0.0
        self._boxed_cuts = -1
        self._start = self._feasible_start()
        self._maps = self._affine_maps()
        self.conic, self._columns, self._heights = self._canonical()
        self._found: dict[bytes, tuple[int, int, float, Floats]] = {}

    # ---- what the solver asks

    @property
    def outline(self) -> Outline:
        """Nothing is known but the number of terms."""
        return Outline(Free(self.dim), SquaredNorm(), lambda _: [], self.n_terms)

    @property
    def parts(self) -> Sequence[Part]:
        """The oracles of all atoms."""
        return [part for a, held in enumerate(self.held) for part in held.atom.parts(a)]

    def groups(self, slack: str) -> Ints:
        """Those of each atom, one after another."""
        first, found = 0, []
        for held in self.held:
            found += [first + g for g in held.groups]
            first += held.heights.size
        return np.asarray(found, dtype=np.int64)

    def floors(self, groups: Ints) -> Floats:
        """0 where an atom is nonnegative."""
        return np.concatenate(
            [np.full(h.heights.size, 0.0 if h.atom.is_nonneg() else -np.inf) for h in self.held]
        )

    def start(self) -> Floats:
        """The values that the variables have, or zero."""
        return self._start

    def known(self, groups: Ints) -> list[Cut]:
        """The planes that are kept with each atom, if they hold for the parameters as they are."""
        cuts: list[Cut] = []
        if not self.warm_start:
            return cuts
        first = 0
        for a, held in enumerate(self.held):
            rows = held.atom.pool.valid(marks(self._parameters(held)))
            size = sum(arg.size for arg in held.arguments)
            for group, intercept, slope in rows:
                if group < held.heights.size and slope.size == size:
                    cuts.append(self._lifted(a, first, group, intercept, slope))
            first += held.heights.size
        return cuts

    def ask(self, session: Session, w: Floats, deadline: float) -> Planes | None:
        """Ask every oracle, and write the planes in the user's variables."""
        points = Points(
            [matrix @ w + offset for matrix, offset in self._maps],
            [self._parameters(held) for held in self.held],
            deadline,
        )
        answers: list[Answer | None] = session.map(ask, points)
        found = [answer for answer in answers if answer is not None]
        if len(found) < len(answers):
            return None
        self.oracle_seconds += sum(answer.seconds for answer in found)
        asked = list(zip(self.parts, found, strict=True))
        planes = Planes.empty(w, np.arange(self._groups.max() + 1))
        first = 0
        for a, held in enumerate(self.held):
            own = [(part, answer) for part, answer in asked if part.atom == a]
            self._write(planes, a, first, own, points.arguments[a])
            first += held.heights.size
        return replace(
            planes,
            quality=weakest(answer.quality for answer in found),
            size=sum(answer.size for answer in found),
            calls=sum(answer.calls for answer in found),
        )

    def check_values(self, planes: Planes, known: Floats) -> None:
        """Refuse values below earlier planes: then the oracle does not find a maximum.

        Raises
        ------
        OracleError
            Naming the atom.
        """
        uppers = planes.values + planes.slacks
        room = SLIPS * np.maximum(1.0, np.abs(known) + np.abs(uppers))
        room += 1e-12 * planes.size
        wrong = np.flatnonzero(known > uppers + room)
        if wrong.size:
            g = int(wrong[0])
            held, term = self._of_group(g)
            raise OracleError(
                f"{held.atom.called}{term}: the oracle returned {uppers[g]!r} where an earlier "
                f"answer says that the value is {known[g]!r} at least: it does not find a maximum "
                "of planes, or has changed since; give upper bounds if it is inexact, and name "
                "the cvxpy.Parameter it depends on in parameters="
            )

    def objective(self, w: Floats, values: Floats) -> float | None:
        """The user's objective, as something to minimise, unless a constraint is broken."""
        self._put(w, values)
        for constraint in self.rewritten.constraints:
            violation = np.max(constraint.violation(), initial=0.0)
            size = max(1.0, *(float(np.abs(arg.value).max(initial=0.0)) for arg in constraint.args))
            if not violation <= ADMISSIBLE * size:
                return None
        value = float(np.asarray(self.rewritten.objective.value).item())
        if not np.isfinite(value):
            return None
        self._values_at[w.tobytes()] = value
        return value

    def restricted(self, master: Master, cuts: WorkingSet, request: Request) -> MasterSolution:
        """The conic program with the cuts as rows, within a box while it has no minimum."""
        started = time.perf_counter()
        try:
            return self._restricted(cuts, request)
        finally:
            self.master_seconds += time.perf_counter() - started

    def keep(self, cuts: WorkingSet) -> None:
        """Keep the planes that are in the working set with their atoms."""
        kept: list[list[tuple[int, float, Floats]]] = [[] for _ in self.held]
        for cut in cuts.cuts():
            row = self._found.get(_key(cut))
            if row is not None:
                a, own, base, direction = row
                kept[a].append((own, base, direction))
        for held, rows in zip(self.held, kept, strict=True):
            held.atom.pool.keep(marks(self._parameters(held)), rows)

    # ---- what the user sees

    def objective_at(self, w: Floats) -> float:
        """What is minimised, at the point that was evaluated last with its values known."""
        return self._values_at[w.tobytes()]

    def give(self, w: Floats, problem: cp.Problem) -> None:
        """Give the user's variables their values at ``w``, and the constraints their duals."""
        assert self.answer is not None
        self.conic.unpack(self.answer)
        mine = self.rewritten.constraints
        for theirs, copied in zip(problem.constraints, mine, strict=False):
            if theirs is not copied:
                for dual, own in zip(theirs.dual_variables, copied.dual_variables, strict=True):
                    dual.save_value(own.value)
        self._put(w)
        self._give_planes()

    # ---- inside

    def _restricted(self, cuts: WorkingSet, request: Request) -> MasterSolution:
        rows, right = self._rows(cuts)
        is_minimum = True
        try:
            answer = self.conic.solve(rows, right, request.tol, self.options)
        except UnboundedError:
            is_minimum = False
            sides, widths = self._sides(len(cuts))
            answer = self.conic.solve(
                sp.vstack([rows, sides]), np.concatenate([right, widths]), 1e-7, self.options
            )
        w = self._tidy(answer.x[self._columns])
        multipliers = answer.multipliers[: len(cuts)]
        self.answer, self.w = answer, w
        held = [Cut(c.group, c.intercept, c.slope.copy()) for c in cuts.cuts()]
        self._weighed = list(zip(held, multipliers.tolist(), strict=True))
        bound = (answer.bound, CONIC) if is_minimum else None
        label = "clarabel" if is_minimum else "clarabel in a box"
        return MasterSolution(w, multipliers, label, bound, is_minimum)

    def _rows(self, cuts: WorkingSet) -> tuple[Any, Floats]:
        """``intercept + <slope, w> - t <= 0``."""
        n = len(cuts)
        slopes = sp.coo_array(cuts.slopes)
        rows = np.concatenate([slopes.row, np.arange(n)])
        columns = np.concatenate([self._columns[slopes.col], self._heights[cuts.groups]])
        entries = np.concatenate([slopes.data, np.full(n, -1.0)])
        matrix = sp.csr_array((entries, (rows, columns)), shape=(n, self.conic.size))
        return matrix, -cuts.intercepts

    def _sides(self, n_cuts: int) -> tuple[Any, Floats]:
        """A box around the start, larger each time when nothing new was found in the last one."""
        if self._box == 0.0:
            self._box = FIRST_BOX * max(1.0, float(np.abs(self._start).max(initial=0.0)))
        elif n_cuts == self._boxed_cuts:
            self._box *= 10.0
        self._boxed_cuts = n_cuts
        if self._box > LARGEST_BOX:
            raise LearningError(
                "the problem is unbounded as far as its oracles have told: state bounds of its "
                "variables, such as cp.norm_inf(x) <= 1000"
            )
        d = self._columns.size
        one = sp.csr_array((np.ones(d), (np.arange(d), self._columns)), shape=(d, self.conic.size))
        sides = sp.vstack([one, -one])
        return sides, np.concatenate([self._box + self._start, self._box - self._start])

    def _canonical(self) -> tuple[ConicProgram, Ints, Ints]:
        """The standard form, and where in it the variables and the heights are."""
        present = {v.id for v in self.rewritten.problem.variables()}
        links: dict[int, cp.Variable] = {}
        constraints = list(self.rewritten.constraints)
        for v in [*self.variables, *(h.heights for h in self.held)]:
            if v.id not in present or any(v.attributes.values()):
                links[v.id] = cp.Variable(v.size)
                constraints.append(links[v.id] == cp.vec(v, order="F"))
        problem = cp.Problem(cp.Minimize(self.rewritten.objective), constraints)
        conic = ConicProgram(problem)
        columns = [conic.columns(links.get(v.id, v)) for v in self.variables]
        heights = [conic.columns(links.get(h.heights.id, h.heights)) for h in self.held]
        return conic, np.concatenate(columns), np.concatenate(heights)

    def _feasible_start(self) -> Floats:
        """The values of the variables, zero where there is none, with their attributes."""
        pieces = []
        for v in self.variables:
            value = v.value if v.value is not None and self.warm_start else np.zeros(v.shape)
            pieces.append(np.asarray(v.project(value), dtype=float).ravel(order="F"))
        return np.concatenate(pieces)

    def _tidy(self, w: Floats) -> Floats:
        """With the attributes of the variables, such as nonnegativity, kept exactly."""
        pieces = []
        for v, piece in zip(self.variables, np.split(w, self._ends), strict=True):
            if any(v.attributes.values()):
                value = v.project(piece.reshape(v.shape, order="F"))
                piece = np.asarray(value, dtype=float).ravel(order="F")
            pieces.append(piece)
        return np.concatenate(pieces)

    @property
    def _ends(self) -> Ints:
        return np.cumsum([v.size for v in self.variables])[:-1]

    def _put(self, w: Floats, values: Floats | None = None) -> None:
        """Give the variables their values, and the heights theirs."""
        for v, piece in zip(self.variables, np.split(w, self._ends), strict=True):
            v.save_value(piece.reshape(v.shape, order="F"))
        if values is None:
            return
        ends = np.cumsum([h.heights.size for h in self.held])[:-1]
        for held, piece in zip(self.held, np.split(values, ends), strict=True):
            held.heights.save_value(piece)

    def _affine_maps(self) -> list[tuple[Any, Floats]]:
        """The arguments of each atom as ``matrix @ w + offset``."""
        self._put(np.zeros(self.dim))
        places, at = {}, 0
        for v in self.variables:
            places[v.id], at = at, at + v.size
        maps = []
        for held in self.held:
            matrices, offsets = [], []
            for arg in held.arguments:
                matrix = sp.lil_array((arg.size, self.dim))
                for v, gradient in arg.grad.items():
                    here = slice(places[v.id], places[v.id] + v.size)
                    dense = np.asarray(
                        gradient.toarray() if sp.issparse(gradient) else gradient, dtype=float
                    )
                    matrix[:, here] = dense.reshape(v.size, arg.size).T
                matrices.append(sp.csr_array(matrix))
                offsets.append(np.asarray(arg.value, dtype=float).ravel(order="F"))
            maps.append((sp.vstack(matrices, format="csr"), np.concatenate(offsets)))
        return maps

    def _parameters(self, held: Held) -> tuple[Any, ...]:
        return tuple(p.value for p in held.atom.parameters_of_oracle)

    def _lifted(self, a: int, first: int, group: int, intercept: float, slope: Floats) -> Cut:
        """A plane of an atom as a cut in the user's variables, remembered as the former."""
        matrix, offset = self._maps[a]
        cut = Cut(first + group, float(intercept + slope @ offset), np.asarray(slope @ matrix))
        self._found[_key(cut)] = (a, group, intercept, slope)
        return cut

    def _write(
        self, planes: Planes, a: int, first: int, own: list[tuple[Part, Answer]], point: Floats
    ) -> None:
        """The planes of an atom, summed over the terms of each group."""
        held = self.held[a]
        n, groups = held.heights.size, np.asarray(held.groups)
        slopes, (bases, values, slacks) = np.zeros((n, point.size)), np.zeros((3, n))
        for part, answer in own:
            where = groups[part.terms.start : part.terms.stop]
            np.add.at(slopes, where, answer.slopes)
            np.add.at(bases, where, answer.values - answer.slopes @ point)
            np.add.at(values, where, answer.values)
            np.add.at(slacks, where, answer.slacks)
        for g in range(n):
            cut = self._lifted(a, first, g, float(bases[g]), slopes[g])
            planes.slopes[first + g], planes.intercepts[first + g] = cut.slope, cut.intercept
        planes.values[first : first + n] = values
        planes.slacks[first : first + n] = slacks

    def _give_planes(self) -> None:
        """Tell each atom which planes hold the solution."""
        found: list[list[Plane]] = [[] for _ in self.held]
        for cut, multiplier in self._weighed:
            if multiplier > ACTIVE and (row := self._found.get(_key(cut))) is not None:
                a, group, intercept, slope = row
                held = self.held[a]
                term = -1 if held.groups.count(group) > 1 else held.groups.index(group)
                found[a].append(Plane(term, intercept, held.atom.shaped(slope), multiplier))
        for held, planes in zip(self.held, found, strict=True):
            held.atom.planes = tuple(sorted(planes, key=lambda p: -p.multiplier))

    def _of_group(self, g: int) -> tuple[Held, str]:
        """The atom of a group, and which of its terms it is, in words."""
        for held in self.held:
            if g < held.heights.size:
                return held, "" if held.heights.size == 1 else f", term {g}"
            g -= held.heights.size
        raise AssertionError


def _key(cut: Cut) -> bytes:
    """What a cut is known by again."""
    return np.concatenate([[cut.group, cut.intercept], cut.slope]).tobytes()
