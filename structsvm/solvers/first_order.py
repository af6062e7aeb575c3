"""First-order solvers: block Frank-Wolfe on the dual with cached planes, and subgradients."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.problem import Outline, Quadratic, RegularizedRisk, Risk
from structsvm.solvers.base import Solver, strongly_convex
from structsvm.solvers.certificate import Step, Stopping
from structsvm.solvers.planes import PlaneCache
from structsvm.solvers.run import AnyRun, Run
from structsvm.support import Floats, refuse_bad_seed, refuse_below

ITERATIONS_BETWEEN = 10
"""Iterations between two evaluations; Frank-Wolfe evaluates earlier if its estimate is low."""
CACHED_PASSES = 5  # passes over the cached planes after each pass of oracles


@dataclass(frozen=True)
class BlockFrankWolfe(Solver):
    """Block Frank-Wolfe: one oracle call a step, for many instances and a moderate tolerance.

    Lacoste-Julien, Jaggi, Schmidt and Pletscher (2013), with the cached planes of Shah, Kolmogorov
    and Lampert (2015). It holds on any closed convex cone: the dual is ``-1/2 |Pi(u)|^2`` up to a
    linear term, and the projection is 1-Lipschitz, so that the usual step is an ascent.

    Parameters
    ----------
    stopping : Stopping
        An iteration is one pass over the instances, N oracle calls; now and then N more evaluate
        the objective.
    cached_planes : int
        Planes kept per instance, at most; 0 for none.
    random_state : int
        Seed of the order of the instances.

    Examples
    --------
    >>> from structsvm.solvers import BlockFrankWolfe, Stopping
    >>> BlockFrankWolfe(Stopping(tol=0.05)).cached_planes
    20
    """

    stopping: Stopping = field(default_factory=Stopping)
    cached_planes: int = 20
    random_state: int = 0

    def __post_init__(self) -> None:
        refuse_below(0, "cached_planes", self.cached_planes)
        refuse_bad_seed(self.random_state)

    def check(self, risk: Risk | Outline) -> None:
        """Check that the regularizer is strongly convex and that there are no constraints."""
        strongly_convex(risk, "BlockFrankWolfe")

    def steps(self, run: AnyRun) -> Iterator[Step]:
        """Ask every oracle once, step along cached planes, and bound the objective."""
        assert isinstance(run, Run)
        risk = run.risk
        instances = np.arange(risk.n_instances)
        dual = _Dual(risk, strongly_convex(risk, "BlockFrankWolfe"))
        cache = PlaneCache(risk.n_instances, self.cached_planes, risk.space.dim)
        iteration = 0
        if run.state is not None:
            dual.restore(run.state)
            cache.restore(run.state)
        if run.saved is None:
            run.cache = cache if self.cached_planes else None  # for the calls of ``start`` alone
            for cut in run.start(instances):
                dual.step(cut.group, cut.intercept, cut.slope)
            run.cache = None
        else:
            iteration = int(run.saved["iteration"])

        def state() -> dict[str, NDArray[Any]]:
            return cache.state() | dual.state() | {"iteration": np.array(iteration)}

        while True:
            iteration += 1
            rng = np.random.default_rng((self.random_state, iteration))
            estimate = 0.0
            for i in rng.permutation(instances):
                intercept, slope = run.plane(i, dual.w)
                cache.add(np.array([i]), np.array([intercept]), slope[None], [None])
                estimate += dual.step(i, intercept, slope)
            for _ in range(CACHED_PASSES if self.cached_planes else 0):
                for i in rng.permutation(instances):
                    dual.step(i, *cache.best(i, dual.w))
            dual.bound(run)
            room = run.certificate.null - run.certificate.lower
            if iteration % ITERATIONS_BETWEEN == 0 or estimate <= self.stopping.tol * room:
                values = dual.offsets + dual.slopes @ dual.w
                lower_values = np.maximum(values, cache.values(dual.w))
                evaluation = run.evaluate(dual.w, instances, lower_values)
                for i, cut in enumerate(evaluation.cuts()):
                    dual.step(i, cut.intercept, cut.slope)
                dual.bound(run)
            yield Step("block Frank-Wolfe", len(cache), state=state)


class _Dual:
    """A convex combination of planes for each instance, at first the null plane, and w."""

    def __init__(self, risk: RegularizedRisk, omega: Quadratic) -> None:
        self.space = risk.space
        self.curvature = omega.curvature
        self.target = omega.center - omega.linear / omega.curvature
        self.slopes = np.zeros((risk.n_instances, risk.space.dim))
        self.offsets = np.zeros(risk.n_instances)
        self.slope = np.zeros(risk.space.dim)
        self.w = self._weight()

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that :meth:`restore` takes."""
        return {f"dual_{name}": getattr(self, name) for name in ("slopes", "offsets", "slope")}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore saved planes; the weight follows from them by this regularizer."""
        for name in ("slopes", "offsets", "slope"):
            setattr(self, name, state[f"dual_{name}"].copy())
        self.w = self._weight()

    def bound(self, run: Run) -> None:
        """Raise the lower bound of a run to that of the planes."""
        size = np.abs(self.slopes).sum(axis=0)
        run.bound_by(float(self.offsets.sum()), self.slope, size)

    def step(self, i: int, intercept: float, slope: Floats) -> float:
        """Move instance i towards a plane, by the step of a line search; the linearised gain."""
        away = slope - self.slopes[i]
        rise = intercept - self.offsets[i]
        gain = float(rise + away @ self.w)
        bend = float((away / self.curvature) @ away)
        if gain <= 0:
            return 0.0
        size = min(1.0, gain / bend) if bend > 0 else 1.0
        self.slopes[i] += size * away
        self.offsets[i] += size * rise
        self.slope += size * away
        self.w = self._weight()
        return gain

    def _weight(self) -> Floats:
        """The weight that minimises Omega plus the sum of the planes."""
        return self.space.project(self.target - self.slope / self.curvature)


@dataclass(frozen=True)
class ProjectedSubgradient(Solver):
    """The averaged subgradient method, with steps of length ``1 / (lambda t)``.

    Lajugie et al., section "Optimization"; the weights are those of Lacoste-Julien, Schmidt and
    Bach (2012). The average of the planes with the same weights is a dual point, so that this
    method has a certificate too. For comparison: cutting planes are faster on every problem
    measured.

    Parameters
    ----------
    stopping : Stopping
        An iteration is N oracle calls; every tenth makes N more at the averaged weight.

    Examples
    --------
    >>> from structsvm.solvers import ProjectedSubgradient, Stopping
    >>> ProjectedSubgradient(Stopping(tol=0.1, max_iter=500)).stopping.tol
    0.1
    """

    stopping: Stopping = field(default_factory=Stopping)

    def check(self, risk: Risk | Outline) -> None:
        """Check that the regularizer is strongly convex and that there are no constraints."""
        strongly_convex(risk, "ProjectedSubgradient")

    def steps(self, run: AnyRun) -> Iterator[Step]:
        """Make one subgradient step in each iteration."""
        assert isinstance(run, Run)
        risk = run.risk
        omega = strongly_convex(risk, "ProjectedSubgradient")
        target = omega.center - omega.linear / omega.curvature
        whole = np.zeros(risk.n_instances, dtype=np.int64)
        w = risk.space.project(target)
        average = w
        offset = 0.0
        slope = np.zeros(risk.space.dim)
        t = 0
        first = run.working_set(whole)
        if run.state is not None and "groups" in run.state:  # older files have no cuts
            first.restore(run.state)
        if run.saved is None:
            first.add(run.start(whole))
        else:
            w, average, slope = (run.saved[name] for name in ("w", "average", "slope"))
            offset = float(run.saved["offset"])
            t = int(run.saved["t"])
        while True:
            t += 1
            at = run.evaluate(w, whole, np.maximum(first.group_values(w), offset + slope @ w))
            share = 2.0 / (t + 1)
            offset += share * (float(at.intercepts[0]) - offset)
            slope = slope + share * (at.slopes[0] - slope)
            run.bound_by(offset, slope)
            w = risk.space.project(w - (w - target + at.slopes[0] / omega.curvature) / t)
            average = average + share * (w - average)
            if t % ITERATIONS_BETWEEN == 0:
                lower_values = np.maximum(first.group_values(average), offset + slope @ average)
                run.evaluate(average, whole, lower_values)
            state = {"w": w, "average": average, "slope": slope}
            state |= {"offset": np.array(offset), "t": np.array(t)}
            yield Step("projected subgradient", 1, state=(first.state() | state).copy)
