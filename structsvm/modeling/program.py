"""A problem of cvxpy with atoms that oracles know, as the solver of programs takes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import cvxpy as cp
import numpy as np

from structsvm.errors import OracleError
from structsvm.masters.base import Master, MasterSolution, Request
from structsvm.masters.working_set import Cut, WorkingSet
from structsvm.modeling.planes import Answer, Part, Plane, Points, ask, marks
from structsvm.modeling.prepared import Prepared, Restriction
from structsvm.modeling.restricted import Restricted
from structsvm.modeling.rewriting import Held
from structsvm.modeling.scale import Scale, first, lasting, violation
from structsvm.parallel import Session
from structsvm.problem import Outline
from structsvm.regularizers import SquaredNorm
from structsvm.solvers.planes import Planes, weakest
from structsvm.solvers.program import Evaluated, Program
from structsvm.solvers.requirements import ADMISSIBLE
from structsvm.status import Quality
from structsvm.support.arrays import Floats, Ints
from structsvm.weights import Free

ACTIVE = 1e-7
"""A multiplier below which a plane has no part in a solution."""

SLIPS = 1e-7
"""By how much of the size of its terms a value may be below an earlier plane, by rounding."""

ROUNDING = 1e-12
"""Of the size of the terms that an intercept was computed from."""

EXACT = 1e-9
"""Relative distance of an upper bound to its value that is only rounding."""

WITNESSES = 20
"""Points at which later planes are compared with what the oracles said before."""


class CvxpyProgram(Program):
    """``w`` is the vector of all variables of the user, column by column."""

    def __init__(
        self, prepared: Prepared, solver_of: Callable[[Restriction], Restricted], start: Floats
    ) -> None:
        self.prepared, self._solver_of = prepared, solver_of
        self.solver: Restricted | None = None
        """Of the last restricted problem."""
        self.held = prepared.held
        self.dim = prepared.dim
        self.n_terms = sum(h.atom.n_terms for h in self.held)
        self.master_seconds = self.oracle_seconds = 0.0
        self.w: Floats | None = None
        """Where the minimum of the last restricted problem is."""
        self.cuts: WorkingSet | None = None
        """Those of the last restricted problem."""
        self.exact = True
        """Whether no oracle has given an upper bound above its value."""
        self.calls = 0
        self.first: tuple[Floats, Floats] | None = None
        """The point where the oracles were asked first, and upper bounds of the groups there."""
        self._start = start
        self._maps = prepared.maps()
        self._firsts = np.cumsum([0, *prepared.sizes]).tolist()
        self._found: dict[bytes, tuple[int, int, float, Floats]] = {}
        """Which plane of which atom each cut is."""
        self._weighed: list[tuple[Cut, float]] = []
        """The cuts of the last restricted problem with their multipliers."""
        self._qualities = [Quality.EXACT] * len(self.held)
        """The weakest answer that each atom's planes are of, also those of runs before."""
        self._guessed = np.zeros(prepared.n_groups, dtype=bool)
        """Of which groups the last answers are those of heuristics."""
        self._found_at: dict[bytes, tuple[float, float, float]] = {}
        """The objective at a point, its scale, and the largest violation of a constraint."""
        n_constraints = len(prepared.rewritten.constraints)
        self._now = self._first = Scale.full(0.0, self.dim, prepared.n_groups, n_constraints)
        """The size of all terms at the last point, and the first that was not zero."""
        self._is_minimum = True
        self._witnesses: list[tuple[Floats, Floats]] = []
        """Points, and upper bounds of the groups there."""
        self._heights = np.zeros(prepared.n_groups)
        """The size of the terms of each group where the oracles were asked last."""
        self._largest = np.zeros(prepared.n_groups)
        """The largest of these so far."""

    # ---- what the solver asks

    @property
    def outline(self) -> Outline:
        """Nothing is known but the number of terms."""
        return Outline(Free(self.dim), SquaredNorm(), lambda _: [], self.n_terms)

    @property
    def parts(self) -> Sequence[Part]:
        return [part for a, held in enumerate(self.held) for part in held.atom.parts(a)]

    def groups(self, slack: str) -> Ints:
        found = [
            first + g
            for held, first in zip(self.held, self._firsts, strict=False)
            for g in held.groups
        ]
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
        for a, held in enumerate(self.held):
            rows = held.atom.pool.valid(self._marks(held))
            size = sum(arg.size for arg in held.arguments)
            for group, intercept, slope in rows:
                if group < held.heights.size and slope.size == size:
                    cuts.append(self._lifted(a, group, intercept, slope))
                    self._qualities[a] = held.atom.pool.quality
        return cuts

    def ask(self, session: Session, w: Floats, deadline: float) -> Planes | None:
        """Ask every oracle, and write the planes in the user's variables."""
        points = Points(
            [matrix @ w + offset for matrix, offset in self._maps],
            [tuple(p.value for p in held.atom.parameters_of_oracle) for held in self.held],
            deadline,
        )
        answers: list[Answer | None] = session.map(ask, points)
        found = [answer for answer in answers if answer is not None]
        if len(found) < len(answers):
            return None
        self.oracle_seconds += sum(answer.seconds for answer in found)
        asked = list(zip(self.parts, found, strict=True))
        planes = Planes.empty(w, np.arange(self.prepared.n_groups))
        self._guessed = np.zeros(self.prepared.n_groups, dtype=bool)
        for a in range(len(self.held)):
            own = [(part, answer) for part, answer in asked if part.atom == a]
            self._write(planes, a, own, points.arguments[a])
            said = [answer.quality for _, answer in own]
            self._qualities[a] = weakest([self._qualities[a], *said])
        self._heights = np.maximum(np.abs(planes.intercepts), np.abs(planes.slopes) @ np.abs(w))
        self._largest = np.maximum(self._largest, self._heights)
        self.exact = self.exact and bool((planes.slacks <= EXACT * self._heights).all())
        self.calls += sum(answer.calls for answer in found)
        self.first = self.first or (w, planes.values + planes.slacks)
        return planes._replace(
            quality=weakest(self._qualities),
            size=sum(answer.size for answer in found),
            calls=sum(answer.calls for answer in found),
        )

    def check_values(self, planes: Planes, known: Floats) -> None:
        """Refuse answers that cannot be those of a maximum of planes."""
        uppers = np.where(self._guessed, np.inf, planes.values + planes.slacks)
        self._compare(known, uppers, self._heights, "an earlier plane says that it is", 0)
        for w, before in self._witnesses:
            heights = planes.intercepts + planes.slopes @ w
            sizes = np.abs(planes.intercepts) + np.abs(planes.slopes) @ np.abs(w)
            self._compare(heights, before, sizes, "its new plane says that it is", 1)
        self._witnesses = [*self._witnesses[1 - WITNESSES :], (planes.w, uppers)]

    def evaluated(self, w: Floats, values: Floats) -> Evaluated | None:
        """The point and what is minimised there, unless a constraint is broken."""
        mender = self.prepared.mender
        broken, scale = self._look(w, values)
        if broken > ADMISSIBLE:
            if mender is None or not mender.mend():
                return None
            w = self.prepared.tidy(self.prepared.values())
            broken, scale = self._look(w, values)
        value = float(np.asarray(self.prepared.rewritten.objective.value).item())
        if broken > ADMISSIBLE or not np.isfinite(value):
            return None
        self._found_at[w.tobytes()] = value, scale, broken
        return Evaluated(w, value, scale)

    def _look(self, w: Floats, values: Floats) -> tuple[float, float]:
        """The largest violation at a point, relative to the size of its terms, and the size of
        those of the objective.
        """
        self.prepared.put(w, values)
        written = self.prepared.rewritten
        heights = np.maximum(np.abs(values), self._heights)
        now = self.prepared.scale_at(w, heights)
        self._first = self._first.combined(now, first)
        self._now = now.combined(self._first, lasting)
        broken = map(violation, written.constraints, self._now.constraints)
        return max(broken, default=0.0), self._now.objective

    def restricted(self, master: Master, cuts: WorkingSet, request: Request) -> MasterSolution:
        """The problem with the cuts as constraints."""
        started = time.perf_counter()
        self.cuts = cuts
        if self.solver is None or self._is_minimum:  # the corners of a box say nothing of units
            restriction = self.prepared.restriction(self._now)
            if self.solver is None or self.solver.restriction is not restriction:
                self.solver = self._solver_of(restriction)
        try:
            answer = self.solver.solve(cuts, request.tol)
        finally:
            self.master_seconds += time.perf_counter() - started
        self.w, self._is_minimum = answer.w, answer.is_minimum
        held = [Cut(c.group, c.intercept, c.slope.copy()) for c in cuts.cuts()]
        self._weighed = list(zip(held, answer.multipliers.tolist(), strict=True))
        return answer

    def between(
        self, answer: MasterSolution, cuts: WorkingSet, best: Floats, upper: float, damping: float
    ) -> Floats:
        """The point nearest to the best one at which the restricted objective is low enough."""
        assert self.solver is not None
        started = time.perf_counter()
        least = -np.inf if answer.bound is None else answer.bound[0]
        level = least + damping * (upper - least)
        found = self.solver.nearest(cuts, best, level) if np.isfinite(level) else None
        self.master_seconds += time.perf_counter() - started
        return answer.w + damping * (best - answer.w) if found is None else found

    def keep(self, cuts: WorkingSet) -> None:
        """Keep the planes that are in the working set with their atoms."""
        kept: list[list[tuple[int, float, Floats]]] = [[] for _ in self.held]
        for cut in cuts.cuts():
            row = self._found.get(_key(cut))
            if row is not None:
                a, group, intercept, slope = row
                kept[a].append((group, intercept, slope))
        for held, rows, quality in zip(self.held, kept, self._qualities, strict=True):
            held.atom.pool.keep(self._marks(held), rows, quality)

    # ---- what the user sees

    def value_at(self, w: Floats) -> float:
        return self._found_at[w.tobytes()][0]

    def scale_at(self, w: Floats) -> float:
        return self._found_at[w.tobytes()][1]

    def violation_at(self, w: Floats) -> float:
        return self._found_at[w.tobytes()][2]

    def give(self, w: Floats, problem: cp.Problem) -> None:
        """Give the user's variables their values at ``w``, and the constraints their duals."""
        if self.solver is not None:
            self.solver.unpack()
            self.solver.restriction.give_duals(problem.constraints)
        self.prepared.put(w)
        self._give_planes()

    # ---- inside

    def _marks(self, held: Held) -> tuple[bytes, ...]:
        return marks([self.prepared.slack, *(p.value for p in held.atom.parameters_of_oracle)])

    def _lifted(self, a: int, group: int, intercept: float, slope: Floats) -> Cut:
        """A plane of an atom as a cut in the user's variables, remembered as the former."""
        matrix, offset = self._maps[a]
        direction = np.asarray(slope @ matrix)
        cut = Cut(self._firsts[a] + group, float(intercept + slope @ offset), direction)
        self._found[_key(cut)] = (a, group, intercept, slope)
        return cut

    def _write(self, planes: Planes, a: int, own: list[tuple[Part, Answer]], point: Floats) -> None:
        """The planes of an atom, summed over the terms of each group, and which are guessed."""
        held, first = self.held[a], self._firsts[a]
        n, groups = held.heights.size, np.asarray(held.groups)
        slopes, (bases, values, slacks) = np.zeros((n, point.size)), np.zeros((3, n))
        for part, answer in own:
            where = groups[part.terms.start : part.terms.stop]
            self._guessed[first + where] |= answer.quality is Quality.HEURISTIC
            np.add.at(slopes, where, answer.slopes)
            np.add.at(bases, where, answer.values - answer.slopes @ point)
            np.add.at(values, where, answer.values)
            np.add.at(slacks, where, answer.slacks)
        for g in range(n):
            cut = self._lifted(a, g, float(bases[g]), slopes[g])
            planes.slopes[first + g], planes.intercepts[first + g] = cut.slope, cut.intercept
        planes.values[first : first + n] = values
        planes.slacks[first : first + n] = slacks

    def _compare(
        self, lowers: Floats, uppers: Floats, sizes: Floats, claim: str, earlier: int
    ) -> None:
        """Refuse a lower bound of a group above an upper one at the same point."""
        room = SLIPS * np.maximum(sizes, np.abs(lowers)) + ROUNDING * self._largest
        wrong = np.flatnonzero(lowers > uppers + room)
        if not wrong.size:
            return
        g = int(wrong[0])
        held, term = self.prepared.of_group(g)
        when = "at an earlier point the oracle returned" if earlier else "the oracle returned"
        raise OracleError(
            f"{held.atom.called}{term}: {when} {uppers[g]:.9g} where {claim} {lowers[g]:.9g} at "
            "least: it does not find a maximum of planes, or has changed since; give upper bounds "
            "if it is inexact, and name the cvxpy.Parameter it depends on in parameters="
        )

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


def _key(cut: Cut) -> bytes:
    return np.concatenate([[cut.group, cut.intercept], cut.slope]).tobytes()
