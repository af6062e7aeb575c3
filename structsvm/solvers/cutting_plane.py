"""The cutting-plane method, n-slack and 1-slack."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.masters import (
    CvxpyMaster,
    Master,
    MasterSolution,
    NewtonMaster,
    Planes,
    Proximal,
    Request,
    WorkingSet,
    master_from,
)
from structsvm.problem import Outline, Quadratic, Risk
from structsvm.solvers.base import Solver, require_convex
from structsvm.solvers.certificate import Step, Stopping
from structsvm.solvers.planes import PlaneCache
from structsvm.solvers.run import AnyRun, CutRun
from structsvm.support import Bools, Floats, Ints, refuse_below, refuse_unless, refuse_unlisted

WORKING_SET_BYTES = 2**30
MOST_PRECISE = 1e-10
VIOLATED = 1e-12
"""Part of the losses, above rounding, by which a cut has to be violated."""
CACHE_BYTES = 2**27
NEAR_OPTIMUM = 0.01  # relative gap below which a round that follows a good one is not damped
FOLLOWING = 0.1  # part of the distance to 0 or 1 by which one round changes the damping
RECALL = 0.1
"""Part of the gap by which cached planes have to violate the working set to be added to it."""
CALLS_PER_MASTER = 5
"""Assumed cost of a master in oracle calls: recalls cost at most one round of calls, per round.

An estimate for cheap oracles (docs/solvers.md); with a clock, answers would depend on the machine.
"""


@dataclass(frozen=True)
class CuttingPlane(Solver):
    """The cutting-plane method: oracles give cuts, and a master gives the weight.

    Joachims, Finley and Yu (2009). The n-slack and the 1-slack method are the same one for two
    groupings of the instances: a slack for each instance, or one for their sum.

    Parameters
    ----------
    stopping : Stopping
    slack : {"n", "one"}
        "n" needs fewer oracle calls, "one" keeps the master small when instances are many.
    master : Master or str
        Or its name, "auto", "newton" or that of a solver of cvxpy.
    damping : float
        The oracles are called between the best weight (1) and the master's (0), which keeps the
        weight from jumping (Ben-Ameur and Neto, 2007); at the master's once the gap is below 0.01
        and the round before has halved it. With one slack, a quadratic regularizer and no further
        constraints, this is the first damping, which is then adapted (Pessoa et al., 2018).
        Measured in docs/solvers.md.
    proximal : float or None
        The master adds ``rho / 2 * |w - best|^2``, where ``rho`` is this number times the distance
        of the bounds over ``|best|^2``, halved with each round since that weight was found: a
        proximal bundle method. It is not used with a conic solver. 0 for none. None: 0.1 where the
        regularizer has no curvature (a trace), which makes Newton's method several times faster,
        else 0.
    max_idle : int
        Cuts whose multiplier stays zero for this many rounds are dropped.
    max_cuts : int or None
        Size of the working set beyond which cuts are dropped or merged, however active; the
        certificate stays valid. None: what fits in 1 GB. At least two per slack.
    cached_planes : int
        Most planes that are cached of each instance with one slack (and at most 128 MB in all).
        They are tried before the oracles: while they violate the working set by a tenth of the gap,
        the master is solved again with them, at most N / 5 times in a round (at least once). Only
        oracles improve the upper bound. 0 for none. With a slack for each instance all planes are
        cuts of the working set, and none are cached.

    Examples
    --------
    >>> from structsvm.solvers import CuttingPlane, Stopping
    >>> CuttingPlane(Stopping(tol=0.001), slack="one").damping
    0.5
    """

    stopping: Stopping = field(default_factory=Stopping)
    slack: str = "n"
    master: Master | str = field(default_factory=NewtonMaster)
    damping: float = 0.5
    proximal: float | None = None
    max_idle: int = 10
    max_cuts: int | None = None
    cached_planes: int = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "master", master_from(self.master))
        refuse_unlisted("slack", self.slack, ("n", "one"))
        refuse_unless(0 <= self.damping < 1, "damping", "in [0, 1)", self.damping)
        fits = self.proximal is None or 0 <= self.proximal < np.inf
        refuse_unless(fits, "proximal", "at least 0 or None", self.proximal)
        refuse_below(1, "max_idle", self.max_idle)
        refuse_below(0, "cached_planes", self.cached_planes)

    def check(self, risk: Risk | Outline) -> None:
        """Check that the risk is convex, and that ``max_cuts`` leaves two cuts for each slack."""
        require_convex(risk, "CuttingPlane")
        n_groups = risk.n_instances if self.slack == "n" else 1
        fits = self.max_cuts is None or self.max_cuts >= 2 * n_groups
        wanted = f"at least two per slack, {2 * n_groups} here (with slack='one', 2)"
        refuse_unless(fits, "max_cuts", wanted, self.max_cuts)

    def steps(self, run: AnyRun) -> Iterator[Step]:
        """Solve the master and call every oracle once, in each step."""
        assert isinstance(run, CutRun)
        groups = run.groups(self.slack)
        cuts = run.working_set(groups)
        cache = run.cache = self._cache_for(run)
        most = self.max_cuts or max(3 * cuts.n_groups, WORKING_SET_BYTES // (8 * run.dim))
        damping = self.damping
        omega = run.form
        follows = self.slack == "one" and omega is not None and damping > 0
        if run.state is not None:
            cuts.restore(run.state)
            if cache is not None:
                cache.restore(run.state)
        if run.saved is not None and follows:
            damping = float(run.saved["damping"][0])
        if run.saved is None:
            cuts.add(run.start(groups))

        def state() -> dict[str, NDArray[Any]]:
            cached = {} if cache is None else cache.state()
            return cuts.state() | cached | {"damping": np.array([damping])}

        certificate = run.certificate
        tol = self.stopping.tol
        while True:
            labels = []
            stalled = False
            for precision, damped in self._attempts(run, damping):
                answer, n_recalls = self._solve_with_known(run, cuts, groups, precision)
                labels.append(f"{answer.label}, {n_recalls} recalls" if n_recalls else answer.label)
                if certificate.gap <= tol:
                    break
                w = run.between(answer, cuts, damped)
                upper = certificate.upper
                lower_values = cuts.group_values(w)
                planes = run.evaluate(w, groups, lower_values)
                if damped and follows and omega is not None:
                    damping = _followed(damping, omega, planes, answer.w)
                new = planes.cuts(_violated(run, planes, lower_values, w))
                gained = certificate.upper < upper
                if not gained:
                    at_answer = cuts.group_values(answer.w)
                    gained = bool(_violated(run, planes, at_answer, answer.w).any())
                cuts.retire(answer.multipliers, self.max_idle)
                added = cuts.add(new)
                cuts.trim(most)
                if certificate.gap <= tol or (added and gained):
                    break
            else:
                stalled = answer.is_minimum
            yield Step("; ".join(labels), len(cuts), stalled=stalled, state=state)

    def _cache_for(self, run: CutRun) -> PlaneCache | None:
        """A cache of planes of single instances, with one slack; None if it would be empty."""
        fits = CACHE_BYTES // (8 * run.n_instances * run.dim)
        n_cached = 0 if self.slack == "n" else min(self.cached_planes, fits)
        return PlaneCache(run.n_instances, n_cached, run.dim) if n_cached else None

    def _attempts(self, run: CutRun, damping: float) -> list[tuple[float, float]]:
        """Pairs of a master's accuracy and a damping, tried in turn until a bound improves."""
        gap = run.certificate.gap
        entries = run.certificate.entries
        halved = len(entries) > 1 and entries[-1].gap <= 0.5 * entries[-2].gap
        usual = min(1e-3, max(1e-7, 0.01 * gap))
        last = min(usual, max(MOST_PRECISE, 0.1 * self.stopping.tol))
        if damping > 0 and not (halved and gap < NEAR_OPTIMUM) and run.center is not None:
            return [(usual, damping), (last, 0.0), (MOST_PRECISE, 0.0)]
        return [(last if gap < NEAR_OPTIMUM else usual, 0.0), (MOST_PRECISE, 0.0)]

    def _solve_with_known(
        self, run: CutRun, cuts: WorkingSet, groups: Ints, tol: float
    ) -> tuple[MasterSolution, int]:
        """The master's answer after cached planes were added while they help, and how often."""
        recalls = 0
        cache = run.cache
        is_last = False
        while True:
            request = Request(tol, self._near_the_best(run, tol), run.certificate.best)
            answer = run.restricted(master_from(self.master), cuts, request)
            gap = run.certificate.upper - run.certificate.lower
            is_last = is_last or recalls == max(1, run.n_instances // CALLS_PER_MASTER)
            if cache is None or is_last or not np.isfinite(gap):
                return answer, recalls
            planes = cache.planes(answer.w).summed(groups)
            excess = planes.heights(answer.w) - cuts.group_values(answer.w)
            if float(np.maximum(excess, 0.0).sum()) <= max(RECALL * gap, _least(run)):
                return answer, recalls
            cuts.retire(answer.multipliers, self.max_idle)
            added = cuts.add(planes.cuts(excess > 0))
            recalls = recalls + bool(added)
            is_last = not added

    def _near_the_best(self, run: CutRun, tol: float) -> Proximal | None:
        """The proximal term of the master; None without a center, or at the highest accuracy."""
        if tol <= MOST_PRECISE or isinstance(self.master, CvxpyMaster):
            return None
        certificate = run.certificate
        center = run.center
        omega = run.form
        if center is None or omega is None:
            return None
        share = self.proximal
        if share is None:
            share = 0.0 if omega.curvature.min() > 0 else 0.1
        in_vain = sum(entry.upper <= certificate.upper for entry in certificate.entries)
        rho = share * 0.5**in_vain * (certificate.upper - certificate.lower)
        size = float(center @ center)
        return Proximal(center, rho / size) if rho > 0 and size > 0 else None


def _followed(share: float, omega: Quadratic, planes: Planes, w: Floats) -> float:
    """The next damping: larger if the objective rises from the planes' weight towards w.

    With one slack a few planes approximate a sum of many maxima, so that the master's weight jumps
    until there are enough of them (Pessoa et al., 2018). With a slack for each instance it does not
    help.
    """
    slope = omega.curvature * (planes.w - omega.center) + omega.linear + planes.slopes.sum(axis=0)
    rises = float(slope @ (w - planes.w)) > 0
    return share + FOLLOWING * ((1.0 - share) if rises else -share)


def _least(run: CutRun) -> float:
    """The least violation of a cut that is more than rounding."""
    return VIOLATED * min(1.0, abs(run.certificate.null) or 1.0)


def _violated(run: CutRun, planes: Planes, lower_values: Floats, w: Floats) -> Bools:
    """Which planes are above the values of their groups in the working set, both at ``w``."""
    least: Floats | float
    if np.isnan(run.certificate.null):  # of a program, whose functions have different scales
        least = VIOLATED * planes.terms(w)
    else:
        finite = lower_values[np.isfinite(lower_values)]
        least = max(_least(run), VIOLATED * float(np.abs(finite).sum()))
    return np.asarray(planes.heights(w) > lower_values[planes.groups] + least)
