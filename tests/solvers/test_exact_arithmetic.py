"""Bounds against exact rational arithmetic: tiny problems, every master and solver, any scale.

Every float is a fraction, so the objective of a diagonal metric and of a few samples can be
evaluated without rounding, all segmentations enumerated. The bounds allow for their own rounding:
here they are compared without any tolerance.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from structsvm import ChangePoint
from structsvm.data.instance import Instance
from structsvm.masters.base import Cut, Master, MasterSolution, WorkingSet, checked
from structsvm.masters.bounds import lower_bound, plane_bound
from structsvm.masters.newton import master_from
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions import Examples
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.problem import Regularizer, SquaredNorm, Trace
from structsvm.solvers.auto import CONVEX, solver_from
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.first_order import BlockFrankWolfe, ProjectedSubgradient

SCALES = [(0.0, 1.0), (1e6, 1.0), (-1e9, 1.0), (3.0, 1e-3), (1e7, 1e3)]
"""Offset and standard deviation of the recordings."""


SQUARED = SquaredNorm()
SOLVERS = (CuttingPlane(), BlockFrankWolfe(), ProjectedSubgradient())
MASTERS = tuple(map(master_from, ("newton", "clarabel", "scs")))


def test_every_convex_solver_and_every_master_is_compared():
    assert {type(solver_from(name)) for name in CONVEX} == set(map(type, SOLVERS))
    ours = {kind for kind in Master.__subclasses__() if "structsvm" in kind.__module__}
    assert ours == {type(master) for master in MASTERS}


class Exact:
    """The objective of segmenting with a diagonal metric, without rounding."""

    def __init__(self, Xs, truths, regularizer, sample_weight):
        self.recordings = [
            ([[Fraction(x) for x in row] for row in X.tolist()], M.breakpoints)
            for X, M in zip(Xs, truths, strict=True)
        ]
        metric, ridge = regularizer.parts
        self.squared = isinstance(metric, SquaredNorm)
        self.weight = Fraction(metric.weight)
        self.ridge = Fraction(ridge.weight)
        self.omega = [Fraction(weight) for weight in sample_weight.tolist()]
        self.planes = [
            [self.plane(i, ends) for ends in segmentations(len(X))]
            for i, (X, _) in enumerate(self.recordings)
        ]

    def phi(self, i, ends):
        """``(diagonal of X^T M X, -Tr M) / T``."""
        X = self.recordings[i][0]
        T = len(self.recordings[i][0])
        sums = [Fraction(0)] * len(X[0])
        for a, b in zip([0, *ends[:-1]], ends, strict=True):
            for j in range(len(sums)):
                sums[j] += sum(X[t][j] for t in range(a, b)) ** 2 / (b - a)
        return [s / T for s in sums] + [Fraction(-len(ends), T)]

    def plane(self, i, ends):
        """``omega_i loss`` and ``omega_i (phi - phi_i)``."""
        X, truth = self.recordings[i]
        inner = Fraction(0)
        for a, b in zip([0, *ends[:-1]], ends, strict=True):
            for c, d in zip([0, *truth[:-1]], truth, strict=True):
                inner += Fraction(max(0, min(b, d) - max(a, c)) ** 2, (b - a) * (d - c))
        loss = (len(ends) + len(truth) - 2 * inner) / len(X)
        pairs = zip(self.phi(i, ends), self.phi(i, truth), strict=True)
        return self.omega[i] * loss, [self.omega[i] * (a - b) for a, b in pairs]

    def __call__(self, w):
        """``F(w)``."""
        w = [Fraction(x) for x in w.tolist()]
        total = self.ridge / 2 * w[-1] ** 2
        total += self.weight * (sum(x * x for x in w[:-1]) / 2 if self.squared else sum(w[:-1]))
        for planes in self.planes:
            total += max(
                o + sum(s * x for s, x in zip(slope, w, strict=True)) for o, slope in planes
            )
        return total

    def dual(self, alpha, chosen):
        """The largest of the bounds that multipliers of planes ``(i, k)`` prove (squared norm)."""
        offset = Fraction(0)
        slope = [Fraction(0)] * len(self.planes[0][0][1])
        for a, (i, k) in zip(alpha.tolist(), chosen, strict=True):
            o, s = self.planes[i][k]
            offset += Fraction(a) * o
            slope = [v + Fraction(a) * x for v, x in zip(slope, s, strict=True)]
        curvature = [self.weight] * (len(slope) - 1) + [self.ridge]
        return offset - sum(min(v, 0) ** 2 / (2 * c) for v, c in zip(slope, curvature, strict=True))


def segmentations(T):
    """The ends of the segments of every segmentation of T samples."""
    for cuts in product((False, True), repeat=T - 1):
        yield [t + 1 for t in range(T - 1) if cuts[t]] + [T]


def instance(seed, offset, scale, regularizer: Regularizer, P=2, N=2):
    """A tiny risk, and the same without rounding."""
    rng = np.random.default_rng(seed)
    Xs = []
    truths = []
    for _ in range(N):
        T = int(rng.integers(3, 6))
        labels = np.cumsum(np.r_[True, rng.random(T - 1) < 0.5]) - 1
        labels[-1] = labels[-2] + 1
        steps = rng.normal(size=(T + 1, P))[labels]
        Xs.append(offset + scale * (rng.normal(size=(T, P)) + 2.0 * steps))
        truths.append(EquivalenceMatrix.from_labels(labels))
    problem = ChangePoint().objective("diagonal", P)
    lam = float(10 ** rng.uniform(-2, 0)) * (
        scale**4 if isinstance(regularizer, SquaredNorm) else scale**2
    )
    weighted = problem.regularizer(regularizer, lam)
    risk = problem.risk(Examples([Instance(X) for X in Xs], truths), weighted)
    return risk, Exact(Xs, truths, weighted, risk.sample_weight)


def check(solution, exact, reference):
    """Both bounds, without any tolerance; ``reference`` is a weight close to the optimum."""
    at_best = exact(solution.w)
    least = min(exact(reference), exact(solution.w))
    assert Fraction(solution.upper) >= at_best
    assert solution.upper <= float(at_best) * (1 + 1e-9) + 1e-9
    assert Fraction(solution.lower) <= least
    assert solution.lower <= solution.upper


@pytest.mark.parametrize("regularizer", [SQUARED, Trace()], ids=["squared", "trace"])
@pytest.mark.parametrize(("offset", "scale"), SCALES)
def test_bounds_of_every_solver_and_master_enclose_the_exact_objective(regularizer, offset, scale):
    stopping = Stopping(tol=1e-9, max_iter=30)
    fast = [CuttingPlane(stopping, slack) for slack in ("n", "one")]
    if isinstance(regularizer, SquaredNorm):
        fast += [BlockFrankWolfe(Stopping(1e-6, 40)), ProjectedSubgradient(Stopping(1e-6, 20))]
    slow = [
        CuttingPlane(Stopping(1e-6, 2), slack, master_from(master))
        for slack, master in (("n", "clarabel"), ("n", "scs"), ("one", "clarabel"))
    ]
    for seed in range(2):
        risk, exact = instance(seed, offset, scale, regularizer)
        solutions = [solver.solve(risk) for solver in (fast if seed else fast + slow)]
        reference = min((exact(s.w), k) for k, s in enumerate(solutions))[1]
        for solution in solutions:
            check(solution, exact, solutions[reference].w)
        assert solutions[0].gap < 1e-6


@pytest.mark.parametrize(("offset", "scale"), SCALES)
def test_a_lower_bound_is_below_the_exact_dual_value_of_any_multipliers(offset, scale):
    for seed in range(8):
        risk, exact = instance(seed, offset, scale, SQUARED)
        rng = np.random.default_rng(seed)
        samples = list(zip(risk.xs, risk.ys, risk.sample_weight, strict=True))
        truths = sum(w * np.abs(risk.problem.joint_feature(x, y)) for x, y, w in samples)
        cuts = WorkingSet(risk.n_instances, risk.space.dim)
        chosen = []
        for i, (x, y, weight) in enumerate(samples):
            for k, ends in enumerate(segmentations(y.n_samples)):
                M = EquivalenceMatrix.from_breakpoints(ends)
                phi = risk.problem.joint_feature(x, M) - risk.problem.joint_feature(x, y)
                cuts.add([Cut(i, weight * risk.problem.loss(y, M), weight * phi)])
                chosen += [(i, k)] * (len(cuts) - len(chosen))
        for size in (1e-3, 1.0, 1e3):
            given = MasterSolution(risk.null, size * rng.standard_normal(len(cuts)), "")
            alpha = checked(given, risk, cuts).multipliers
            bound, _ = lower_bound(risk, cuts, alpha, np.inf, truths)
            value = exact.dual(alpha, chosen)
            assert Fraction(bound) <= max(value, Fraction(0))


def test_the_bound_of_a_plane_holds_for_every_slope_within_rounding(rng):
    """Full matrices too, for errors of the size of rounding made 1e9 times larger by the size."""
    from structsvm.masters.bounds import ROUNDING_OF_SUMS
    from structsvm.problem import PSD, Free, Nonnegative, Product, Regularized, Separable

    for space in (Nonnegative(4), PSD(3), Free(4), Product((PSD(3), Nonnegative(1)))):
        omega = SquaredNorm(0.3)
        if isinstance(space, Product):
            omega = Separable((omega, SquaredNorm(0.05)))

        risk = Regularized()
        risk.space, risk.regularizer, risk.constraints = space, omega, None
        for _ in range(200):
            slope = rng.normal(size=space.dim)
            size = np.abs(rng.normal(size=space.dim))
            huge = size / ROUNDING_OF_SUMS * 0.1
            bound, _ = plane_bound(risk, 0.5, slope, np.inf, huge)
            for _ in range(5):
                error = ROUNDING_OF_SUMS * huge * rng.uniform(-1, 1, size=space.dim)
                true, _ = plane_bound(risk, 0.5, slope + error, np.inf)
                assert bound <= true


@pytest.mark.parametrize("jump", [1.0, 1e3, 1e5, 1e7, 1e9])
def test_a_segmentation_is_the_best_one_or_its_bound_says_what_rounding_may_hide(jump):
    """Exact scores of all segmentations; also for jumps that leave the noise no digits."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        T = int(rng.integers(4, 8))
        steps = jump * np.round(rng.normal(size=T + 1), 2)
        labels = np.cumsum(np.r_[0, rng.random(T - 1) < 0.4])
        Z = (rng.normal(size=T) + steps[labels])[:, None]
        values = {}
        for ends in segmentations(T):
            starts = [0, *ends[:-1]]
            sums = [
                (sum(Fraction(z) for z in Z[a:b, 0]), b - a)
                for a, b in zip(starts, ends, strict=True)
            ]
            values[tuple(ends)] = sum(s * s / n for s, n in sums) - 2 * len(ends)
        for K in (None, 3):
            objective = TraceObjective(Z, shift=-2.0)
            answer = SequentialOracle().maximize(objective, Constraint(n_clusters=K))
            best = max(v for ends, v in values.items() if K in (None, len(ends)))
            lost = best - values[tuple(answer.y.breakpoints)]
            assert lost <= Fraction(answer.upper_bound) - Fraction(answer.value)
            if jump <= 1e5:
                assert answer.upper_bound - answer.value < 1e-2
            if jump <= 1e3:
                assert lost == 0
