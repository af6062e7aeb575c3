"""The run of the cutting-plane method over a program of cvxpy with oracles."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import cvxpy as cp
import numpy as np

from structsvm.errors import without_warnings
from structsvm.masters import (
    NO_SLACK,
    Cut,
    Master,
    MasterSolution,
    Planes,
    Request,
    WorkingSet,
    weakest,
)
from structsvm.modeling.by_clarabel import Box, Conic
from structsvm.modeling.by_name import ByName
from structsvm.modeling.by_newton import FastMaster, form_of
from structsvm.modeling.conflicts import conflicts
from structsvm.modeling.memory import ACTIVE_PLANE, Memory
from structsvm.modeling.oracle_parts import ask
from structsvm.modeling.points import Point, Points
from structsvm.modeling.pool import Plane, Touch, tops
from structsvm.modeling.restricted import DEEP, TIGHTENINGS, InfeasibleError, Restricted, levels
from structsvm.modeling.rewriting import Rewritten, StandIn
from structsvm.modeling.witnesses import ROUNDING_OF_PLANES, Witnesses
from structsvm.parallel.base import SerialSession
from structsvm.problem import Quality, Solution, Status
from structsvm.solvers.certificate import ADMISSIBLE, BudgetSpentError, Certificate
from structsvm.solvers.run import CutRun
from structsvm.support import Floats, Ints


def solver_of(
    rewritten: Rewritten, box: Box, solver: str | None, options: Mapping[str, Any]
) -> Restricted:
    """The solver of restricted problems: Newton's method or Clarabel, or the named one."""
    if rewritten.is_mixed_integer and solver is None and "HIGHS" in cp.installed_solvers():
        solver = "HIGHS"
    if rewritten.is_mixed_integer or solver not in (None, "CLARABEL"):
        return ByName(rewritten, solver, options)
    form = form_of(rewritten) if solver is None and not options else None
    if form is None:
        return Conic(rewritten, box, options)
    return FastMaster(rewritten, form, box)


DEPTHS = (0.0, 1e3, 1e6, 1e9)
"""Functions without a lower bound are assumed to be above minus these numbers, tried in turn."""

LARGEST_STEP_ASIDE = 1e-3
"""Largest part of the way to a point of the domain by which a point is moved to be inside."""

ROUNDING_OF_BOUNDS = 1e-9
"""Relative distance of an upper bound to its value that is only rounding."""


class ProgramRun(CutRun):
    """The run on ``min f(w, h(w))`` over convex constraints on ``w`` and the atoms ``h(w)``.

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
        self.stand_ins = rewritten.stand_ins
        self.dim = rewritten.dim
        self._memory = Memory(rewritten)
        if not warm_start:
            self._memory.forget()
        self._start = rewritten.start(warm_start)
        name = None if solver is None else solver.upper()
        self._solver_of = partial(solver_of, box=Box(self._start), solver=name, options=options)
        self.n_instances = sum(h.atom.n_terms for h in self.stand_ins)
        of_atoms = (stand_in.atom.parts(a) for a, stand_in in enumerate(self.stand_ins))
        self.parts = list(chain.from_iterable(of_atoms))
        self.session = SerialSession(self.parts)
        self.certificate = Certificate(floor=-np.inf)
        self.certificate.null = np.nan
        self.solver: Restricted | None = None
        """The solver of restricted problems, once there has been one."""
        self.exact = True
        """Whether all upper bounds of oracles were equal to their values."""
        rewritten.map_arguments()
        floors = [0.0 if stand_in.atom.is_nonneg() else -np.inf for stand_in in self.stand_ins]
        sizes = [stand_in.heights.size for stand_in in self.stand_ins]
        self.floor: Floats = np.append(np.repeat(floors, sizes), 0.0)
        self._cuts = self.working_set(self.groups(rewritten.slack))
        """The cuts of the last restricted problem."""
        self._active: list[tuple[float, Cut]] = []
        """The active cuts of the last restricted problem with their multipliers."""
        self._guessed = np.zeros(rewritten.n_groups, dtype=bool)
        """Whether the last answer about each group was heuristic."""
        self._levels = np.zeros(rewritten.n_groups)
        """The sizes of groups by the data."""
        self.points = Points(rewritten)
        self.best: Point | None = None
        self._inside: Point | None = None
        """A point that keeps the constraints, with room if possible."""
        self._was_deep = False
        """Whether oracles were last called at a point far inside of the known domains."""
        self._next_search = 0
        """The round in which a point inside is sought again."""
        self._is_doubted = False
        """Whether a bound was above a point that was found in other units."""
        self._touches: list[Touch] = []
        """The answers of the oracles of each atom at the best point."""
        self._witnesses = Witnesses(self.stand_ins)
        self._heights = np.zeros(rewritten.n_groups)
        self._largest = np.zeros(rewritten.n_groups)
        """The size of the terms of each group at the last call of the oracles, and the largest so
        far."""

    @property
    def center(self) -> Floats | None:
        """The best point that keeps the constraints, once there is a lower bound."""
        return self.certificate.best if np.isfinite(self.certificate.lower) else None

    def groups(self, slack: str) -> Ints:
        """The group of each term, (n_instances,), for the slack of the rewritten problem."""
        return np.concatenate([stand_in.first + stand_in.groups for stand_in in self.stand_ins])

    def start(self, groups: Ints) -> list[Cut]:
        """The cuts of earlier runs that still hold, and those of a first call of every oracle."""
        self._start = self.points.on_equalities(self._start)
        answers = self._answers(self._arguments(self._start))
        self._cuts = self.working_set(groups)
        cuts: list[Cut] = []
        for stand_in in self._memory.recall(answers, self._answers):
            pool = stand_in.atom.pool
            cuts += map(stand_in.lifted, pool.cuts)
            self._largest[stand_in.rows] = pool.largest
            stand_in.quality = weakest((stand_in.quality, pool.quality))
        self._cuts.add(cuts)
        first = self._noted(self._start, answers, self._cuts.group_values(self._start))
        return cuts + first.cuts()

    def conflicts(self, constraints: list[cp.Constraint]) -> tuple[str, ...]:
        """The constraints that contradict each other, in words."""
        assert self.solver is not None
        return conflicts(self.rewritten, self.solver.w_units, self._cuts, constraints)

    def restricted(self, master: Master, cuts: WorkingSet, request: Request) -> MasterSolution:
        """Solve the problem with the cuts as constraints, and update the lower bound."""
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
        """The minimum; no bound where planes are assumed, because functions have none yet."""
        assert self.solver is not None
        has_bound = np.isin(np.arange(cuts.n_groups), cuts.groups) | np.isfinite(self.floor)
        unbounded = np.flatnonzero(~has_bound)
        for depth in DEPTHS if unbounded.size else ():
            bounded = self.working_set(cuts.groups)
            bounded.restore(cuts.state())
            bounded.add(Cut(int(g), -depth, np.zeros(self.dim), ()) for g in unbounded)
            try:
                answer = self.solver.solve(bounded, tol)
            except InfeasibleError:
                continue
            return replace(answer, multipliers=answer.multipliers[: len(cuts)], bound=None)
        return self.solver.solve(cuts, tol)

    def _confirm(self) -> None:
        """If the bounds meet, compare the lower one with minimisers found in other units."""
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
            point = self._kept(self.points.at(near, values, self._heights))
            if point is not None and point.objective < certificate.lower - room:
                certificate.lower = point.objective
                self._is_doubted = True
        self.master_seconds += time.perf_counter() - started

    def _kept(self, point: Point) -> Point | None:
        """The point, or one on the way to a point inside, that keeps the constraints, if any."""
        if point.is_kept or self._inside is None:
            return point if point.is_kept else None
        return self.points.towards(self._inside, point, self._heights)

    def _look_inside(self, is_last: bool) -> None:
        """Look for a point that keeps constraints with room, after 0, 1, 3, 7, ... rounds."""
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
        point_there = self.points.at(w, values, self._heights)
        mended = self.rewritten.mended(TIGHTENINGS[0])
        roomier = point_there if mended is None else self.points.at(mended, values, self._heights)
        self._inside = next((point for point in (roomier, point_there) if point.is_kept), None)

    def _measure(self, cuts: WorkingSet) -> None:
        """Measure the sizes of variables and terms by the constraints and the planes."""
        assert self.solver is not None
        self.solver.fit(cuts, ROUNDING_OF_PLANES * self._largest)
        sizes = levels(cuts, self.solver.w_units)
        if (sizes > 2.0 * self._levels).any():
            self._levels = np.maximum(sizes, self._levels)
            self.points.measure(self.solver.w_units, self._levels)
            scale = 0.0 if self.best is None else self.best.scale
            self.certificate.scale = max(scale, self.points.least[0])

    def between(self, answer: MasterSolution, cuts: WorkingSet, damping: float) -> Floats:
        w = self.points.on_equalities(self._low_enough(answer, cuts, damping))
        deep = self._deep_inside()
        if deep is not None:
            return self.points.on_equalities(deep)
        inside = self._in_domain(w)
        return w if inside is None else inside

    def _deep_inside(self) -> Floats | None:
        """In every second round without an admissible point: one far inside of the known domains.

        Minimisers lie on the border of the known domain, and may all be outside of the true one.
        """
        is_due = self.best is None and not self._was_deep
        self._was_deep = is_due and bool((self._cuts.groups == NO_SLACK).any())
        assert self.solver is not None
        return self.solver.inside(self._cuts, DEEP) if self._was_deep else None

    def _in_domain(self, w: Floats) -> Floats | None:
        """A nearby point in the known domains, on the way to a point inside; None if none is near.

        Solvers keep domains to their accuracy only, and outside of them there is no upper bound.
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
            if (2.0 * heights[over] <= LARGEST_STEP_ASIDE * falls).all():
                return w + 2.0 * float((heights[over] / falls).max()) * (towards - w)
        return None

    def _best_point(self, _cuts: WorkingSet) -> Floats | None:
        """The best point so far."""
        return None if self.best is None else self.best.w

    def _low_enough(self, answer: MasterSolution, cuts: WorkingSet, damping: float) -> Floats:
        """The point nearest to the best one with a restricted objective below a damped level."""
        best = self.center
        if best is None or damping == 0.0:
            return answer.w
        assert self.solver is not None
        started = time.perf_counter()
        least = -np.inf if answer.bound is None else answer.bound[0]
        nearest = None
        if np.isfinite(least) and np.isfinite(self.certificate.upper):
            level = least + damping * (self.certificate.upper - least)
            nearest = self.solver.nearest(cuts, best, level)
        self.master_seconds += time.perf_counter() - started
        return super().between(answer, cuts, damping) if nearest is None else nearest

    def evaluate(self, w: Floats, groups: Ints, lower_values: Floats | None = None) -> Planes:
        return self._noted(w, self._answers(self._arguments(w)), lower_values)

    def _noted(self, w: Floats, answers: Sequence[Planes], lower_values: Floats | None) -> Planes:
        """Update the upper bound by answers of all atoms at a point; their planes."""
        planes = self._lifted(w, answers)
        values = self._uppers(planes)
        if lower_values is not None:
            uppers = np.where(self._guessed, np.inf, values)
            self._witnesses.check(
                planes, self._cuts, lower_values, uppers, self._heights, self._largest
            )
            values = np.maximum(values, lower_values)
        if not np.isfinite(values).all():
            return planes
        point = self.points.at(w, values, self._heights)
        mended = None if point.broken <= ADMISSIBLE else self.rewritten.mended()
        if mended is not None:
            point = self.points.at(mended, values, self._heights)
        self._take(point, answers)
        return planes

    def _take(self, point: Point, answers: Sequence[Planes]) -> None:
        """Update the upper bound by a point, after moving it to where it keeps the constraints.

        If no point inside is known, it may break constraints by the accuracy of a solver.
        """
        certificate = self.certificate
        is_relaxed = self.best is not None and not self.best.is_kept
        if not (is_relaxed or point.objective < certificate.upper):
            return
        if not point.is_kept:
            is_last = point.objective - certificate.lower <= self.stopping.tol * point.scale
            self._look_inside(is_last)
        admissible = self._kept(point)
        is_all = self.solver is not None and self._inside is None
        if is_relaxed and (admissible is not None or self._inside is not None):
            certificate.upper = np.inf  # it allowed for relaxed constraints
            admissible = admissible or self._inside
        elif admissible is None and is_all and point.broken <= ADMISSIBLE:
            admissible = point
        if admissible is not None and certificate.update_best(admissible.objective, admissible.w):
            self.best = admissible
            certificate.scale = admissible.scale
            self._touches = list(map(StandIn.touch, self.stand_ins, answers))
            self._confirm()

    def _uppers(self, planes: Planes) -> Floats:
        """Upper bounds of the groups by an answer of the oracles; infinite outside of a domain."""
        top = tops(planes, self.rewritten.n_groups - 1)
        is_outside = bool((planes.groups == NO_SLACK).any())
        return np.append(top.values + top.slacks, np.inf if is_outside else 0.0)

    def _arguments(self, w: Floats) -> list[Floats]:
        """The arguments of each atom at a point, flattened."""
        return [stand_in.matrix @ w + stand_in.offset for stand_in in self.stand_ins]

    def _answers(self, arguments: Sequence[Floats]) -> list[Planes]:
        """Call the oracles of each atom at its argument: planes in the space of the argument.

        Raises BudgetSpentError if time runs out.
        """
        deadline = time.time() + self.seconds_left(self.n_instances)
        pairs = zip(self.stand_ins, arguments, strict=True)
        questions = [stand_in.atom.question(at, deadline) for stand_in, at in pairs]
        started = time.perf_counter()
        answers = self.session.map_shares(ask, questions)
        self.oracle_seconds += time.perf_counter() - started
        if None in answers:
            raise BudgetSpentError(Status.MAX_SECONDS)
        of_atoms: list[list[Planes]] = [[] for _ in self.stand_ins]
        for part, planes in zip(self.parts, answers, strict=True):
            of_atoms[part.atom].append(planes)
        return list(map(self._of_atom, self.stand_ins, of_atoms))

    def _lifted(self, w: Floats, answers: Sequence[Planes]) -> Planes:
        """The planes of all atoms in the user's variables; updates sizes and quality."""
        planes = Planes.joined(list(map(partial(self._lifted_of, w), self.stand_ins, answers)))
        planes = planes._replace(quality=weakest(stand_in.quality for stand_in in self.stand_ins))
        sizes = np.maximum(np.abs(planes.intercepts), np.abs(planes.slopes) @ np.abs(w))
        self._heights = np.zeros(self.rewritten.n_groups)
        np.maximum.at(self._heights, planes.groups, sizes)
        self._largest = np.maximum(self._largest, self._heights)
        top = tops(planes, self.rewritten.n_groups - 1)
        self.exact = self.exact and bool(
            (top.slacks <= ROUNDING_OF_BOUNDS * self._heights[:-1]).all()
        )
        self.certificate.quality = weakest((self.certificate.quality, planes.quality))
        return planes

    def _of_atom(self, stand_in: StandIn, parts: Sequence[Planes]) -> Planes:
        """The planes of an atom from those of its parts; updates its quality."""
        self._guessed[stand_in.first + stand_in.groups] = False
        for part in parts:
            if part.quality is Quality.HEURISTIC:
                self._guessed[stand_in.first + stand_in.groups[part.groups]] = True
        joined = Planes.joined(parts)
        is_sum = stand_in.atom.sums_terms
        planes = joined.summed(stand_in.groups[joined.groups]) if is_sum else joined
        stand_in.quality = weakest([stand_in.quality, planes.quality])
        self.oracle_calls += planes.calls
        return planes

    def _lifted_of(self, w: Floats, stand_in: StandIn, planes: Planes) -> Planes:
        """The planes of an atom in the user's variables."""
        cuts = list(map(stand_in.lifted, planes.cuts()))
        return planes._replace(
            w=w,
            groups=np.array([cut.group for cut in cuts]),
            slopes=np.stack([cut.slope for cut in cuts]),
            intercepts=np.array([cut.intercept for cut in cuts]),
            labellings=[cut.labellings for cut in cuts],
        )

    def solution(self, status: Status) -> Solution:
        """The best point with its certificate; planes are stored in the pools of atoms."""
        self._memory.keep(self._cuts, self._touches, self._largest)
        return super().solution(status)

    @property
    def rests_on_memory(self) -> bool:
        """Whether planes of earlier runs are active in the last restricted problem."""
        return self._memory.is_part_of(self._active)

    def give(self, w: Floats, problem: cp.Problem) -> None:
        """Store values in the user's variables, duals in constraints, and planes in atoms."""
        if self.solver is not None:
            self.solver.give_duals(problem.constraints)
        self.rewritten.put(w)
        of_atoms: list[list[Plane]] = [[] for _ in self.stand_ins]
        for multiplier, active in self._active:
            for a, cut, _, share in active.labellings or ():
                if share * multiplier > ACTIVE_PLANE:
                    of_atoms[a].append(self.stand_ins[a].plane(cut, share * multiplier))
        for stand_in, planes in zip(self.stand_ins, of_atoms, strict=True):
            stand_in.atom.planes = tuple(sorted(planes, key=lambda p: -p.multiplier))
