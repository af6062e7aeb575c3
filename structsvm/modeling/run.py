"""The run of the cutting-plane method over a program of cvxpy with oracles."""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import cvxpy as cp
import numpy as np

from structsvm.errors import OracleWarning, warn, without_warnings
from structsvm.masters.base import NO_SLACK, Cut, Master, MasterSolution, Request, WorkingSet
from structsvm.modeling.by_clarabel import ROOMS, Box
from structsvm.modeling.conflicts import conflicts
from structsvm.modeling.oracle_parts import ask
from structsvm.modeling.points import Point, Points
from structsvm.modeling.pool import Plane, Touch, tops
from structsvm.modeling.restricted import InfeasibleError, Restricted
from structsvm.modeling.restriction import levels
from structsvm.modeling.rewriting import Held, Rewritten
from structsvm.modeling.solver_choice import solver_of
from structsvm.modeling.witnesses import ROUNDING, Witnesses
from structsvm.parallel.base import SerialSession
from structsvm.solvers.base_run import CutRun
from structsvm.solvers.certificate import ADMISSIBLE, BudgetSpentError, Certificate
from structsvm.solvers.planes import Planes, weakest
from structsvm.status import Quality, Solution, Status
from structsvm.support.arrays import Floats, Ints

ROOM = 2**26
"""Bytes of the planes that are kept of an atom, at most: the latest."""

ACTIVE_PLANE = 1e-7
"""A multiplier below which a plane has no part in a solution."""

DEPTHS = (0.0, 1e3, 1e6, 1e9)
"""What functions of which nothing is known are taken to be above the negative of, in turn."""

NEAR = 1e-3
"""Of the way to another point, what one is moved at most to keep rows without a slack."""

EXACT = 1e-9
"""Relative distance of an upper bound to its value that is only rounding."""


class ProgramRun(CutRun):
    """``min f(w, h(w))`` over convex constraints on ``w`` and ``h(w)``, which oracles know.

    ``f`` and the constraints never improve as a value of ``h`` grows, so that planes below ``h``
    bound the minimum from below, and values above ``h`` bound it from above. ``w`` is the vector
    of all variables of the user, column by column.
    """

    def __init__(
        self,
        problem: cp.Problem,
        slack: str,
        solver: str | None,
        options: Mapping[str, Any],
        warm_start: bool,
    ) -> None:
        self.rewritten = rewritten = Rewritten(problem, slack)
        self.held = rewritten.held
        self.dim = rewritten.dim
        if not warm_start:
            for held in self.held:
                held.atom.pool.clear()
        self._start = rewritten.start(warm_start)
        name = None if solver is None else solver.upper()
        self._solver_of = partial(solver_of, box=Box(self._start), solver=name, options=options)
        self.n_samples = sum(h.atom.n_terms for h in self.held)
        of_atoms = (held.atom.parts(a) for a, held in enumerate(self.held))
        self.parts = list(chain.from_iterable(of_atoms))
        self.session = SerialSession(self.parts)
        self.certificate = Certificate(floor=-np.inf)
        self.certificate.null = np.nan
        self.solver: Restricted | None = None
        """Solver of the last restricted problem."""
        self.exact = True
        """Whether no oracle has given an upper bound above its value."""
        rewritten.map_arguments()
        floors = [0.0 if held.atom.is_nonneg() else -np.inf for held in self.held]
        sizes = [held.heights.size for held in self.held]
        self.floor: Floats = np.append(np.repeat(floors, sizes), 0.0)
        self._cuts = self.working_set(self.groups(rewritten.slack))
        """Those of the last restricted problem."""
        self._active: list[tuple[float, Cut]] = []
        """The cuts of the last restricted problem with their multipliers."""
        self._guessed = np.zeros(rewritten.n_groups, dtype=bool)
        """Whether the last answers about each group are those of heuristics."""
        self._levels = np.zeros(rewritten.n_groups)
        """The sizes of groups by the data."""
        self.points = Points(rewritten)
        self.best: Point | None = None
        self._inside: Point | None = None
        """One that keeps the constraints, with room if there are such points."""
        self._next_search = 0
        """The round from which on one is looked for, again."""
        self._is_doubted = False
        """Whether a bound was above a minimum that was found in other units."""
        self._remembered: set[int] = set()
        """Planes of earlier runs, which the pools hold."""
        self._touches: list[Touch] = []
        """The answers of each atom at the best point."""
        self._witnesses = Witnesses(self.held)
        self._heights = np.zeros(rewritten.n_groups)
        self._largest = np.zeros(rewritten.n_groups)
        """The size of the terms of each group where the oracles were asked last, and the largest
        so far."""

    @property
    def center(self) -> Floats | None:
        """The best point that keeps the constraints, once there is a lower bound."""
        return self.certificate.best if np.isfinite(self.certificate.lower) else None

    def groups(self, slack: str) -> Ints:
        """The group of each function, (n_samples,), for the slack of the rewritten problem."""
        return np.concatenate([held.first + held.groups for held in self.held])

    def start(self, groups: Ints) -> list[Cut]:
        """The cuts of earlier runs that still hold, and those of the first call of every oracle."""
        self._start = self.points.on_equalities(self._start)
        answers = self._answers(self._arguments(self._start))
        known = self.working_set(groups)
        cuts: list[Cut] = []
        for held in self._unchanged(answers):
            pool = held.atom.pool
            cuts += map(held.lifted, pool.cuts)
            self._remembered |= set(map(id, pool.cuts))
            self._largest[held.first : held.first + held.heights.size] = pool.largest
            held.quality = weakest((held.quality, pool.quality))
        known.add(cuts)
        found = self._noted(self._start, answers, known.group_values(self._start))
        return cuts + found.cuts()

    def _unchanged(self, answers: Sequence[Planes]) -> list[Held]:
        """Atoms of which planes are known that still hold, by one question to each oracle.

        ``answers`` are those at the start, which often is the last solution. An oracle may read a
        cvxpy.Parameter or data that have changed since, and nothing else tells.
        """
        known = [h for h in self.held if h.atom.pool.cuts and h.atom.pool.marks == self._marks(h)]
        arguments = [planes.w for planes in answers]
        for held in known:
            touch = held.atom.pool.touch
            assert touch is not None
            arguments[held.number] = touch.argument
        pairs = zip(arguments, answers, strict=True)
        if not all(np.array_equal(at, planes.w) for at, planes in pairs):
            answers = self._answers(arguments)
        return [held for held in known if self._is_unchanged(held, answers[held.number])]

    def _is_unchanged(self, held: Held, answer: Planes) -> bool:
        """Whether the oracle of an atom says what it said at the last solution; if not, forget."""
        now = self._touch(held, answer)
        atom = held.atom
        then = atom.pool.touch
        assert then is not None
        term = then.differs(now)
        if term is not None:
            warn(
                f"{atom.called}: at the last solution the oracle returned {then.uppers[term]:.9g}, "
                f"and at the same point it now returns {now.uppers[term]:.9g}: it has changed, and "
                "what was known of it is forgotten. Name the cvxpy.Parameter that it depends on in "
                "parameters=, or call solve with warm_start=False after other changes",
                OracleWarning,
            )
        if term is None and not then.has_other_slopes(now):
            return True
        atom.pool.clear()
        return False

    def conflicts(self, constraints: list[cp.Constraint]) -> tuple[str, ...]:
        """Those that contradict each other, in words."""
        assert self.solver is not None
        return conflicts(self.rewritten, self.solver.w_units, self._cuts, constraints)

    def restricted(self, master: Master, cuts: WorkingSet, request: Request) -> MasterSolution:
        """The problem with the cuts as constraints, solved."""
        started = time.perf_counter()
        self._cuts = cuts
        if self.solver is None:
            with without_warnings(RuntimeWarning):  # cvxpy multiplies infinite bounds by 0
                self.solver = self._solver_of(self.rewritten)
        self._measure(cuts)
        try:
            answer = self._minimum(cuts, request.tol)
        finally:
            self.master_seconds += time.perf_counter() - started
        self._active = cuts.active(answer.multipliers)
        if answer.bound is not None and not self._is_doubted:
            self.certificate.update_lower(*answer.bound)
            self._confirm()
        return answer

    def _minimum(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        """The solution; one that proves nothing where functions have had no value so far."""
        assert self.solver is not None
        known = np.isin(np.arange(cuts.n_groups), cuts.groups) | np.isfinite(self.floor)
        for depth in () if known.all() else DEPTHS:
            held = self.working_set(cuts.groups)
            held.restore(cuts.state())
            held.add(Cut(int(g), -depth, np.zeros(self.dim), ()) for g in np.flatnonzero(~known))
            try:
                answer = self.solver.solve(held, tol)
            except InfeasibleError:
                continue
            return replace(answer, multipliers=answer.multipliers[: len(cuts)], bound=None)
        return self.solver.solve(cuts, tol)

    def _confirm(self) -> None:
        """Look for a lower minimum in other units before the bounds are said to have met."""
        certificate = self.certificate
        stopping = self.stopping
        if self.solver is None or not certificate.gap <= stopping.tol:
            return
        started = time.perf_counter()
        room = stopping.tol * float(certificate.scale or 1.0)
        for w in self.solver.elsewhere(self._cuts):
            near = self._in_domain(self.points.on_equalities(w))
            if near is None:
                continue
            values = self._cuts.group_values(near)
            found = self._kept(self.points.at(near, values, self._heights))
            if found is not None and found.objective < certificate.lower - room:
                certificate.lower = found.objective
                self._is_doubted = True
        self.master_seconds += time.perf_counter() - started

    def _kept(self, point: Point) -> Point | None:
        """The point, or one on the way from it to a point inside, if it keeps the constraints."""
        if point.is_kept or self._inside is None:
            return point if point.is_kept else None
        return self.points.towards(self._inside, point, self._heights)

    def _look_inside(self, is_last: bool) -> None:
        """Look for a point that keeps the constraints with room, in rounds 1, 2, 4, 8 and so on."""
        rounds = len(self.certificate.entries)
        is_due = is_last or rounds >= self._next_search
        if self._inside is not None or self.solver is None or not is_due:
            return
        self._next_search = 2 * rounds + 1
        w = self.solver.inside(self._cuts)
        if w is None:
            return
        w = self.points.on_equalities(w)
        planes = self._lifted(w, self._answers(self._arguments(w)))
        values = self._uppers(planes)
        if not np.isfinite(values).all():
            return
        found = self.points.at(w, values, self._heights)
        mended = self.rewritten.mended(ROOMS[0])
        roomier = found if mended is None else self.points.at(mended, values, self._heights)
        self._inside = next((point for point in (roomier, found) if point.is_kept), None)

    def _measure(self, cuts: WorkingSet) -> None:
        """Find the size of variables and terms by the data: the constraints and the planes."""
        assert self.solver is not None
        self.solver.fit(cuts, ROUNDING * self._largest)
        found = levels(cuts, self.solver.w_units)
        if (found > 2.0 * self._levels).any():
            self._levels = np.maximum(found, self._levels)
            self.points.measure(self.solver.w_units, self._levels)
            scale = 0.0 if self.best is None else self.best.scale
            self.certificate.scale = max(scale, self.points.least[0])

    def between(self, answer: MasterSolution, cuts: WorkingSet, damping: float) -> Floats:
        w = self.points.on_equalities(self._low_enough(answer, cuts, damping))
        found = self._in_domain(w)
        return w if found is None else found

    def _in_domain(self, w: Floats) -> Floats | None:
        """A point near by that keeps the rows without a slack, on the way to one that does.

        Solvers keep them to their accuracy only, and outside of a domain there is no upper bound.
        """
        cuts = self._cuts
        heights = cuts.values(w)
        over = np.flatnonzero((cuts.groups == NO_SLACK) & (heights > 0))
        if not over.size:
            return w
        assert self.solver is not None
        for find in (self._best_point, self.solver.inside):
            towards = find(cuts)
            if towards is None:
                continue
            falls = heights[over] - cuts.values(towards)[over]
            if (2.0 * heights[over] <= NEAR * falls).all():
                return w + 2.0 * float((heights[over] / falls).max()) * (towards - w)
        return None

    def _best_point(self, _cuts: WorkingSet) -> Floats | None:
        return None if self.best is None else self.best.w

    def _low_enough(self, answer: MasterSolution, cuts: WorkingSet, damping: float) -> Floats:
        """The point nearest to the best one at which the restricted objective is low enough."""
        best = self.center
        if best is None or damping == 0.0:
            return answer.w
        assert self.solver is not None
        started = time.perf_counter()
        least = -np.inf if answer.bound is None else answer.bound[0]
        found = None
        if np.isfinite(least) and np.isfinite(self.certificate.upper):
            level = least + damping * (self.certificate.upper - least)
            found = self.solver.nearest(cuts, best, level)
        self.master_seconds += time.perf_counter() - started
        return super().between(answer, cuts, damping) if found is None else found

    def evaluate(self, w: Floats, groups: Ints, known: Floats | None = None) -> Planes:
        return self._noted(w, self._answers(self._arguments(w)), known)

    def _noted(self, w: Floats, answers: Sequence[Planes], known: Floats | None) -> Planes:
        """The planes of all atoms at a point, after taking note of it as an upper bound."""
        planes = self._lifted(w, answers)
        values = self._uppers(planes)
        if known is not None:
            uppers = np.where(self._guessed, np.inf, values)
            self._witnesses.check(planes, known, uppers, self._heights, self._largest)
            values = np.maximum(values, known)
        if not np.isfinite(values).all():
            return planes
        point = self.points.at(w, values, self._heights)
        mended = None if point.broken <= ADMISSIBLE else self.rewritten.mended()
        if mended is not None:
            point = self.points.at(mended, values, self._heights)
        self._take(point, answers)
        return planes

    def _take(self, point: Point, answers: Sequence[Planes]) -> None:
        """Take note of an upper bound, that of a point which keeps the constraints.

        Where no point inside is known, one that keeps them to the accuracy of a solver counts.
        """
        certificate = self.certificate
        is_relaxed = self.best is not None and not self.best.is_kept
        if not (is_relaxed or point.objective < certificate.upper):
            return
        if not point.is_kept:
            is_last = point.objective - certificate.lower <= self.stopping.tol * point.scale
            self._look_inside(is_last)
        found = self._kept(point)
        is_all = self.solver is not None and self._inside is None
        if is_relaxed and (found is not None or self._inside is not None):
            certificate.upper = np.inf  # it was that of relaxed constraints
            found = found or self._inside
        elif found is None and is_all and point.broken <= ADMISSIBLE:
            found = point
        if found is not None and certificate.update_best(found.objective, found.w):
            self.best = found
            certificate.scale = found.scale
            self._touches = list(map(self._touch, self.held, answers))
            self._confirm()

    @staticmethod
    def _touch(held: Held, answer: Planes) -> Touch:
        return Touch.of(answer, held.heights.size)

    def _uppers(self, planes: Planes) -> Floats:
        """Upper bounds of the groups where oracles were asked; infinite outside of a domain."""
        top = tops(planes, self.rewritten.n_groups - 1)
        is_outside = bool((planes.groups == NO_SLACK).any())
        return np.append(top.values + top.slacks, np.inf if is_outside else 0.0)

    def _arguments(self, w: Floats) -> list[Floats]:
        return [held.matrix @ w + held.offset for held in self.held]

    def _answers(self, arguments: Sequence[Floats]) -> list[Planes]:
        """What the oracles of each atom say at its argument: a plane for each group, in its space.

        BudgetSpentError where there is no time.
        """
        deadline = time.time() + self.seconds_left(self.n_samples)
        pairs = zip(self.held, arguments, strict=True)
        questions = [held.atom.question(at, deadline) for held, at in pairs]
        started = time.perf_counter()
        answers = self.session.map_shares(ask, questions)
        self.oracle_seconds += time.perf_counter() - started
        if None in answers:
            raise BudgetSpentError(Status.MAX_SECONDS)
        of_atoms: list[list[Planes]] = [[] for _ in self.held]
        for part, planes in zip(self.parts, answers, strict=True):
            of_atoms[part.atom].append(planes)
        return list(map(self._of_atom, self.held, of_atoms))

    def _lifted(self, w: Floats, answers: Sequence[Planes]) -> Planes:
        """The planes of all atoms, in the user's variables."""
        found = Planes.joined(list(map(partial(self._lifted_of, w), self.held, answers)))
        found = found._replace(quality=weakest(held.quality for held in self.held))
        sizes = np.maximum(np.abs(found.intercepts), np.abs(found.slopes) @ np.abs(w))
        self._heights = np.zeros(self.rewritten.n_groups)
        np.maximum.at(self._heights, found.groups, sizes)
        self._largest = np.maximum(self._largest, self._heights)
        top = tops(found, self.rewritten.n_groups - 1)
        self.exact = self.exact and bool((top.slacks <= EXACT * self._heights[:-1]).all())
        self.certificate.quality = weakest((self.certificate.quality, found.quality))
        return found

    def _of_atom(self, held: Held, parts: Sequence[Planes]) -> Planes:
        """The planes of an atom, one at least for each group that has a value."""
        self._guessed[held.first + held.groups] = False
        for part in parts:
            if part.quality is Quality.HEURISTIC:
                self._guessed[held.first + held.groups[part.groups]] = True
        joined = Planes.joined(parts)
        is_sum = held.atom.sums_terms
        planes = joined.summed(held.groups[joined.groups]) if is_sum else joined
        held.quality = weakest([held.quality, planes.quality])
        self.oracle_calls += planes.calls
        return planes

    def _lifted_of(self, w: Floats, held: Held, planes: Planes) -> Planes:
        """The planes of an atom, in the user's variables."""
        cuts = list(map(held.lifted, planes.cuts()))
        return planes._replace(
            w=w,
            groups=np.array([cut.group for cut in cuts]),
            slopes=np.stack([cut.slope for cut in cuts]),
            intercepts=np.array([cut.intercept for cut in cuts]),
            labellings=[cut.labellings for cut in cuts],
        )

    def _marks(self, held: Held) -> bytes:
        """What the planes of an atom depend on."""
        sizes = [arg.size for arg in held.arguments]
        values = [parameter.value for parameter in held.atom.parameters_of_oracle]
        return pickle.dumps((self.rewritten.slack, sizes, values))

    def solution(self, status: Status) -> Solution:
        """The best point with its certificate; the planes stay with their atoms."""
        kept: list[list[Cut]] = [[] for _ in self.held]
        for labellings in self._cuts.state()["labellings"]:
            for a, cut, _, _ in labellings:
                kept[a].append(cut)
        for held, cuts in zip(self.held, kept, strict=True):
            most = max(1, ROOM // cuts[0].slope.nbytes) if cuts else 0
            pool = held.atom.pool
            pool.marks = self._marks(held)
            pool.cuts = cuts[-most:]
            pool.quality = held.quality
            pool.touch = self._touches[held.number]
            of_atom = slice(held.first, held.first + held.heights.size)
            pool.largest = float(self._largest[of_atom].max())
        return super().solution(status)

    @property
    def rests_on_memory(self) -> bool:
        """Whether planes of earlier runs have a part in the last restricted minimum."""
        for multiplier, active in self._active:
            cuts = (cut for _, cut, _, _ in active.labellings or ())
            if multiplier > ACTIVE_PLANE and any(id(cut) in self._remembered for cut in cuts):
                return True
        return False

    def give(self, w: Floats, problem: cp.Problem) -> None:
        """Give the user's variables, constraints and atoms their values, duals and planes."""
        if self.solver is not None:
            self.solver.give_duals(problem.constraints)
        self.rewritten.put(w)
        found: list[list[Plane]] = [[] for _ in self.held]
        for multiplier, active in self._active:
            for a, cut, _, share in active.labellings or ():
                if share * multiplier > ACTIVE_PLANE:
                    found[a].append(self.held[a].plane(cut, share * multiplier))
        for held, planes in zip(self.held, found, strict=True):
            held.atom.planes = tuple(sorted(planes, key=lambda p: -p.multiplier))
