"""The cutting-plane method: its masters, oracles, budgets, working set, cache and damping."""

import time
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cases import cases
from enumerated import Listed, Once, column, listed_risk, optimum
from noisy_master import Noisy

from structsvm import MetricLearner
from structsvm.data.instance import Instance
from structsvm.datasets import relevant_changes
from structsvm.errors import MasterError, OracleError, OracleWarning, PluginError
from structsvm.io import arrays_and_labels
from structsvm.masters.base import Cut, Master, MasterSolution, WorkingSet
from structsvm.masters.cvxpy import CvxpyMaster, solved
from structsvm.masters.newton import NewtonMaster
from structsvm.partitions import Examples
from structsvm.partitions.objective import MetricObjective
from structsvm.problem import (
    PSD,
    Nonnegative,
    Product,
    Quality,
    Separable,
    Separation,
    SquaredNorm,
    Status,
    Trace,
)
from structsvm.problems.change_point import ChangePoint
from structsvm.solvers import cutting_plane
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.first_order import BlockFrankWolfe, ProjectedSubgradient
from structsvm.solvers.planes import PlaneCache
from structsvm.solvers.separation import blocks_of, separate_share

FULL = (PSD(3), SquaredNorm(0.3))

CASES = {
    "full": FULL,
    "diagonal-trace": (Nonnegative(4), Trace(0.1)),
    "full-trace": (PSD(3), Trace(0.1)),
    "priced": (Product((PSD(2), Nonnegative(1))), Separable((Trace(0.1), SquaredNorm(0.5)))),
}


def assert_around(solution, best):
    """Up to what the reference is accurate to."""
    assert solution.lower <= best * (1 + 1e-8)
    assert best <= solution.upper * (1 + 1e-8)


class TestSloppyMasters:
    @pytest.mark.parametrize("noise", [0.0, 0.02, 0.3])
    @pytest.mark.parametrize("slack", ["n", "one"])
    @pytest.mark.parametrize("case", CASES)
    def test_bounds_hold_and_improve_with_sloppy_masters(self, case, slack, noise):
        """SCS at 1e-1 and noise on weight and multipliers: lower <= optimum <= upper."""
        risk = listed_risk(*CASES[case], seed=5)
        solver = CuttingPlane(Stopping(1e-3, 8), slack, Noisy(noise))
        solution = solver.solve(risk)
        best = optimum(risk)
        assert_around(solution, best)
        assert np.all(np.diff(column(solution, "lower")) >= 0)
        assert np.all(np.diff(column(solution, "upper")) <= 0)
        assert (solution.gap <= 1e-3) == solution.status.converged

    def test_no_violated_cut_is_not_taken_for_optimality(self):
        """A master that never leaves zero is asked again, precisely, then called stalled."""
        risk = listed_risk(*FULL, seed=5)
        asked = []

        class Lazy(Master):
            def solve(self, risk, cuts, request):
                asked.append(request.tol)
                return MasterSolution(np.zeros(6), np.zeros(len(cuts)), "lazy")

        solution = CuttingPlane(Stopping(1e-3, 50), master=Lazy()).solve(risk)
        assert solution.status is Status.STALLED
        assert not solution.status.converged
        assert solution.gap > 0.1
        assert asked[-1] < 1e-9
        assert_around(solution, optimum(risk))

    @pytest.mark.parametrize("failure", ["raises", "nan", "linear algebra"])
    def test_a_master_that_fails_now_and_then_is_replaced_for_that_round(self, failure):
        @dataclass(frozen=True)
        class Flaky(Master):
            def solve(self, risk, cuts, request):
                answer = NewtonMaster().solve(risk, cuts, request)
                if len(cuts) % 2:
                    return answer
                if failure == "raises":
                    raise MasterError("out of luck")
                if failure == "linear algebra":
                    raise np.linalg.LinAlgError("eigenvalues did not converge")
                return MasterSolution(answer.w * np.nan, answer.multipliers, "flaky")

        risk = listed_risk(*FULL, n_samples=3, seed=6)
        solution = CuttingPlane(Stopping(1e-5, 100), master=Flaky()).solve(risk)
        assert solution.status is Status.OPTIMAL
        assert solution.upper == pytest.approx(optimum(risk), rel=1e-4)
        labels = " ".join(column(solution, "master"))
        assert "master failed: " in labels
        assert "clarabel" in labels

    def test_a_masters_weight_outside_the_constraints_is_rejected(self):
        """A master blind to them gives cuts and lower bounds, and no upper bound."""

        class Blind(Master):
            def solve(self, risk, cuts, request):
                return NewtonMaster().solve(listed_risk(*FULL), cuts, request)

        risk = listed_risk(*FULL, seed=8, constraints=lambda B: [cp.trace(B) <= 0.05])
        solution = CuttingPlane(Stopping(1e-4, 20), master=Blind(), damping=0.0).solve(risk)
        assert np.trace(risk.space.to_metric(solution.w)) <= 0.05 + 1e-5
        assert_around(solution, optimum(risk))


@dataclass(frozen=True)
class Scripted(Listed):
    """A listed problem whose oracle does as told from its n-th call on."""

    misdeed: Any = None
    after: int = 0
    calls: list[int] = field(default_factory=list)

    def separate(self, w, x, y):
        self.calls.append(1)
        answer = Listed(self.space).separate(w, x, y)
        return answer if len(self.calls) <= self.after else self.misdeed(w, x, y, answer)


def scripted(misdeed, after=0, **options):
    problem = Scripted(FULL[0], misdeed, after)
    return listed_risk(*FULL, problem=problem, **options)


def raising(error):
    def misdeed(w, x, y, answer):
        raise error

    return misdeed


class TestOracles:
    @pytest.mark.parametrize(("solver", "after"), [(CuttingPlane(), 6), (BlockFrankWolfe(), 2)])
    def test_an_oracle_that_raises_is_named_with_its_instance(self, solver, after):
        with pytest.raises(PluginError, match=r"instance 2: .* ZeroDivisionError: oh") as caught:
            solver.solve(scripted(raising(ZeroDivisionError("oh")), after=after))
        assert isinstance(caught.value.__cause__, ZeroDivisionError)

    def test_an_oracle_with_an_infinite_value_is_named_with_its_instance(self):
        risk = listed_risk(*FULL)
        risk.xs[1].features[3:] = np.nan
        with pytest.raises(OracleError, match=r"instance 1: .* value nan"):
            CuttingPlane().solve(risk)

    @cases(
        (Quality.HEURISTIC, Status.HEURISTIC, "heuristic oracle"),
        (Quality.RELAXATION, Status.RELAXED, "certified, for the relaxation"),
    )
    def test_inexact_oracles_are_reported_in_the_status(self, quality, status, basis):
        def inexact(w, x, y, answer):
            return Separation(answer.y, 0.0, quality)

        solution = CuttingPlane(Stopping(1e-3, 50)).solve(scripted(inexact, seed=1))
        assert solution.status is status
        assert basis in solution.bound

    @pytest.mark.parametrize("case", ["full", "full-trace"])
    def test_the_lower_bound_of_a_heuristic_oracle_holds(self, case):
        """It may stop early and underestimate its own objective, but not overestimate the best."""

        def poor(w, x, y, answer):
            return Separation(answer.y if answer.y % 3 else y, 0.0, Quality.HEURISTIC)

        space, omega = CASES[case]
        risk = listed_risk(space, omega, seed=1, problem=Scripted(space, poor))
        solution = CuttingPlane(Stopping(1e-3, 50)).solve(risk)
        assert solution.lower <= optimum(listed_risk(space, omega, seed=1)) * (1 + 1e-9)

    @pytest.mark.parametrize("slack", ["n", "one"])
    def test_a_heuristic_oracle_cannot_certify_that_nothing_is_to_learn(self, slack):
        """It finds one labelling only, which looks like the truth; there is much to learn."""

        def blind(w, x, y, answer):
            return Separation(1, 0.0, Quality.HEURISTIC)

        space = Nonnegative(4)
        honest = listed_risk(space, Trace(0.01), n_samples=6, seed=8)
        for sample in honest.xs:
            sample.features[1] = sample.features[0]
        risk = replace(honest, problem=Scripted(space, blind))
        assert CuttingPlane(Stopping(1e-3, 50)).solve(honest).status is Status.OPTIMAL
        solution = CuttingPlane(Stopping(1e-3, 50), slack).solve(risk)
        assert solution.status in (Status.HEURISTIC, Status.STALLED)

    def test_the_slack_of_an_oracle_is_part_of_the_upper_bound(self):
        def unsure(w, x, y, answer):
            return Separation(answer.y, 0.25, Quality.EXACT)

        risk = scripted(unsure, seed=1)
        solution = CuttingPlane(Stopping(1e-3, 50)).solve(risk)
        best = optimum(risk)
        assert_around(solution, best)
        assert best + 0.25 <= solution.upper * (1 + 1e-6)
        assert solution.status is Status.STALLED

    @cases(
        CuttingPlane(),
        CuttingPlane(slack="one"),
        BlockFrankWolfe(),
        BlockFrankWolfe(cached_planes=0),
        ProjectedSubgradient(),
        ids=["n slacks", "one slack", "frank-wolfe", "frank-wolfe without a cache", "subgradient"],
    )
    def test_an_oracle_that_forgets_its_first_answers_is_not_believed(self, solver):
        """It says that it is exact, and returns the truth from the second round on."""

        def forgetful(w, x, y, answer):
            return Separation(y, 0.0, Quality.EXACT)

        honest = listed_risk(*FULL, seed=1)
        with pytest.warns(OracleWarning, match="^Scripted found, of .* worse than one found"):
            solution = solver.solve(scripted(forgetful, after=honest.n_instances, seed=1))
        assert solution.lower <= optimum(honest) * (1 + 1e-9)
        assert solution.certified_upper == np.inf
        assert solution.status is not Status.OPTIMAL
        assert "heuristic" in solution.bound

    def test_with_one_slack_labellings_of_single_samples_are_remembered(self):
        """Of those of the first round some are worth more than the truth, and some are not."""

        risk = listed_risk(*FULL, problem=Once(FULL[0]), seed=1)
        with pytest.warns(OracleWarning):
            solution = CuttingPlane(slack="one").solve(risk)
        least = risk.penalty(solution.w)
        for x, y, omega in zip(risk.xs, risk.ys, risk.sample_weight, strict=True):
            z = risk.problem.separate(risk.null, x, y).y
            away = risk.problem.joint_feature(x, z) - risk.problem.joint_feature(x, y)
            least += omega * max(0.0, risk.problem.loss(y, z) + float(away @ solution.w))
        assert solution.upper >= least
        assert solution.status is not Status.OPTIMAL

    def test_labellings_worse_than_the_truth_count_as_the_truth(self):
        def worst(w, x, y, answer):
            losses = np.array([Listed(FULL[0]).loss(y, k) for k in range(len(x.features))])
            return Separation(int(np.argmin(losses + x.features @ w)), 0.0, Quality.HEURISTIC)

        solution = CuttingPlane(Stopping(1e-3, 10)).solve(scripted(worst, seed=1))
        assert solution.lower >= 0
        assert solution.upper >= 0


class TestTimeBudget:
    """An oracle that never returns is not ended; one that is slow is not called again."""

    @pytest.mark.parametrize("slack", ["n", "one"])
    def test_the_time_budget_stops_between_two_oracle_calls(self, slack):
        def slow(w, x, y, answer):
            time.sleep(0.2)
            return answer

        risk = scripted(slow, after=13, seed=1, n_samples=4)  # the second call of the fourth round
        solution = CuttingPlane(Stopping(1e-9, max_seconds=0.1), slack).solve(risk)
        assert solution.status is Status.MAX_SECONDS
        assert len(risk.problem.calls) <= 14
        assert_around(solution, optimum(listed_risk(*FULL, seed=1)))


class TestInterruptions:
    def test_an_interruption_in_the_oracle_returns_the_best_weight(self):
        risk = scripted(raising(KeyboardInterrupt()), after=18, seed=1)
        solution = CuttingPlane(Stopping(1e-9)).solve(risk)
        assert solution.status is Status.INTERRUPTED
        assert solution.n_iter >= 1
        best = optimum(listed_risk(*FULL, seed=1))
        assert_around(solution, best)

    def test_an_interruption_before_the_first_round_is_raised(self):
        with pytest.raises(KeyboardInterrupt):
            CuttingPlane().solve(scripted(raising(KeyboardInterrupt())))


class TestWorkingSet:
    def cuts(self, n, n_groups=3, dim=4, seed=0):
        rng = np.random.default_rng(seed)
        return [Cut(c % n_groups, float(rng.uniform()), rng.standard_normal(dim)) for c in range(n)]

    def test_the_working_set_retires_idle_cuts(self):
        held = WorkingSet(3, 4)
        held.add(self.cuts(6))
        alpha = np.array([0.5, 0, 0.2, 0, 0.1, 0])
        assert [held.retire(alpha, 2), held.retire(alpha, 2)] == [0, 3]
        np.testing.assert_array_equal(held.multipliers, [0.5, 0.2, 0.1])
        assert held.add(self.cuts(6)) == 3  # what was dropped may come back

    @pytest.mark.parametrize("slack", ["n", "one"])
    def test_a_run_drops_idle_cuts(self, slack):
        risk = listed_risk(PSD(3), SquaredNorm(0.02), n_labels=80, seed=9)
        sizes = {}
        for max_idle in (1, 10**6):
            solution = CuttingPlane(Stopping(1e-5, 400), slack, max_idle=max_idle).solve(risk)
            assert solution.status is Status.OPTIMAL
            sizes[max_idle] = column(solution, "n_cuts")
        assert np.diff(sizes[10**6]).min() >= 0 > np.diff(sizes[1]).min()
        assert max(sizes[1]) < max(sizes[10**6])

    def test_a_cap_on_the_working_set_merges_active_cuts(self):
        """The merged cut has the sum of the multipliers to give, and the same aggregate."""
        held = WorkingSet(3, 4)
        cuts = self.cuts(30)
        held.add(cuts)
        alpha = np.full(30, 0.1)
        held.retire(alpha, 5)
        w = np.random.default_rng(2).standard_normal(4)
        above = held.group_values(w)
        assert held.trim(12) == 18
        assert len(held) == 12
        assert np.all(held.group_values(w) <= above + 1e-12)
        for g in range(3):
            kept = {k.tobytes() for k in held.slopes[held.groups == g]}
            gone = [c for c in cuts if c.group == g and c.slope.tobytes() not in kept]
            mean = np.mean([c.slope for c in gone], axis=0)
            assert np.isclose(held.slopes[held.groups == g], mean).all(axis=1).any()

    @pytest.mark.parametrize("slack", ["n", "one"])
    def test_a_small_working_set_keeps_the_certificate(self, slack):
        risk = listed_risk(PSD(3), SquaredNorm(0.02), n_labels=80, seed=9)
        sizes = []
        solver = CuttingPlane(Stopping(1e-3, 400), slack, max_cuts=8)
        solution = solver.solve(risk, lambda entry: sizes.append(entry.n_cuts))
        assert max(sizes) <= 8
        best = optimum(risk)
        assert_around(solution, best)
        assert solution.status is Status.OPTIMAL


FLATTER = {
    "full": (PSD(4), SquaredNorm(0.02)),
    "full-trace": (PSD(4), Trace(0.02)),
    "diagonal": (Nonnegative(8), SquaredNorm(0.02)),
    "diagonal-trace": (Nonnegative(8), Trace(0.02)),
}


class TestProximal:
    """The master stays near the best weight, ever less as the bounds meet."""

    def requests(self, case="full-trace", tol=1e-6, **settings):
        asked = []

        @dataclass(frozen=True)
        class Listening(Master):
            def solve(self, risk, cuts, request):
                asked.append(request)
                return solved(NewtonMaster(), risk, cuts, request)

        solver = CuttingPlane(Stopping(tol, 400), master=Listening(), **settings)
        risk = listed_risk(*FLATTER[case], n_samples=6, n_labels=60, seed=10)
        solution = solver.solve(risk)
        assert solution.status is Status.OPTIMAL
        assert_around(solution, optimum(risk))
        return asked, solution

    @pytest.mark.parametrize("case", FLATTER)
    @pytest.mark.parametrize("slack", ["n", "one"])
    def test_the_proximal_term_fades_and_keeps_the_optimum(self, case, slack):
        asked, _ = self.requests(case=case, slack=slack, proximal=0.1)
        terms = [request.proximal for request in asked if request.proximal is not None]
        pairs = [p for p in pairwise(terms) if np.array_equal(p[0].center, p[1].center)]
        assert all(later.weight <= earlier.weight for earlier, later in pairs)
        assert terms
        assert asked[0].proximal is None  # nothing is known to stay near to

    @pytest.mark.parametrize("case", FLATTER)
    def test_the_proximal_term_is_used_for_regularizers_without_curvature(self, case):
        asked, _ = self.requests(case=case)
        near = [request for request in asked if request.proximal is not None]
        assert bool(near) == ("trace" in case)

    @pytest.mark.parametrize("name", ["clarabel", "highs"])
    def test_conic_solvers_get_no_proximal_term(self, name):
        """A linear program stays one, or HiGHS could not solve it."""
        risk = listed_risk(*CASES["diagonal-trace"], n_samples=6, n_labels=60, seed=10)
        solution = CuttingPlane(Stopping(1e-4, 400), master=CvxpyMaster(name), proximal=0.1).solve(
            risk
        )
        assert set(column(solution, "master")) == {name}
        assert_around(solution, optimum(risk))


class TestCache:
    @pytest.mark.parametrize("case", CASES)
    def test_cached_planes_do_not_change_the_optimum(self, case):
        """With one slack: with one for each sample they are cuts, and none are kept."""
        risk = listed_risk(*CASES[case], n_samples=6, n_labels=60, seed=10)
        stopping = Stopping(1e-4, 400)
        best = optimum(risk)
        with_cache = CuttingPlane(stopping, "one").solve(risk)
        without = CuttingPlane(stopping, "one", cached_planes=0).solve(risk)
        for solution in (with_cache, without):
            assert solution.status is Status.OPTIMAL
            assert_around(solution, best)
        assert with_cache.oracle_calls < without.oracle_calls
        assert "recalls" in " ".join(column(with_cache, "master"))

    def test_the_cache_keeps_the_latest_planes_of_each_instance(self):
        cache = PlaneCache(2, 3, 1)
        none = np.zeros((2, 1))
        for height in (9.0, 8.0, 7.0, 7.0, 6.0):  # of which one is known already
            cache.add(np.arange(2), np.array([height, 10 * height]), none, [(), ()])
        assert len(cache) == 2 * 3
        assert cache.values(np.zeros(1)).tolist() == [8.0, 80.0]

    def test_the_cache_keeps_its_memory_limit(self, monkeypatch):
        risk = listed_risk(*FULL, n_samples=6, n_labels=60, seed=10)
        monkeypatch.setattr(cutting_plane, "CACHE_BYTES", 8 * risk.n_instances * risk.space.dim - 1)
        found, without = (
            CuttingPlane(Stopping(1e-4, 400), "one", **settings).solve(risk)
            for settings in ({}, {"cached_planes": 0})
        )
        assert found.oracle_calls == without.oracle_calls

    def test_a_cached_plane_gives_no_upper_bound(self):
        """Every value of the upper bound is that of a weight at which all oracles were called."""
        risk = scripted(lambda w, x, y, answer: answer, seed=11, n_labels=60)
        solution = CuttingPlane(Stopping(1e-4, 400), "one").solve(risk)
        blocks = blocks_of(listed_risk(*FULL, seed=11, n_labels=60))
        question = solution.w, np.arange(sum(len(b.instances) for b in blocks)), np.inf
        hinges = np.concatenate([planes.values for planes in separate_share(blocks, question)])
        assert solution.upper == pytest.approx(risk.penalty(solution.w) + sum(hinges), rel=1e-9)
        assert len(risk.problem.calls) == solution.oracle_calls


def test_a_start_that_is_hard_to_beat_does_not_hold_a_run_back():
    """Rounds half way to the null weight, where the best is a start, once went on for ever."""
    recordings = relevant_changes(20, n_samples=220, n_features=6, n_relevant=2, random_state=2)
    problem = MetricObjective(ChangePoint(), "full", 6)
    risk = problem.risk(
        Examples(
            [Instance(r.X / np.sqrt(6)) for r in recordings],
            [ChangePoint().encode(r.y, Instance(r.X)) for r in recordings],
        ),
        problem.regularizer(SquaredNorm(), lam=1e-3),
    )
    for tol in (2e-2, 5e-3):
        start = CuttingPlane(Stopping(tol)).solve(risk).w
        method = CuttingPlane(Stopping(1e-3, 60), max_idle=3)
        assert method.solve(replace(risk, start=start)).status is Status.OPTIMAL


@pytest.mark.parametrize("slack", ["n", "one"])
@pytest.mark.parametrize(("space", "unit"), [(Nonnegative(4), 2.0**-34), (PSD(3), 2.0**-46)])
def test_the_unit_of_the_losses_does_not_matter(space, unit, slack):
    """Below 1e-9, no cut was violated by enough to count."""
    solver = CuttingPlane(Stopping(1e-6), slack=slack)
    usual, tiny = (
        solver.solve(
            replace(listed_risk(space, SquaredNorm(0.3 * u)), sample_weight=np.full(4, 0.25 * u))
        )
        for u in (1.0, unit)
    )
    assert tiny.status is Status.OPTIMAL
    np.testing.assert_allclose(tiny.w, usual.w, rtol=1e-6)
    assert (tiny.lower, tiny.upper) == pytest.approx((unit * usual.lower, unit * usual.upper))


def rounds(monkeypatch, follows):
    """Rounds with one slack of a full metric with a trace, with damping that follows or stays."""
    recordings = relevant_changes(5, n_samples=200, n_features=16, random_state=0)
    solver = CuttingPlane(Stopping(1e-2, 1000), slack="one")
    learner = MetricLearner(metric="full", regularizer="trace", solver=solver)
    with monkeypatch.context() as patch:
        if not follows:
            patch.setattr(cutting_plane, "FOLLOWING", 0.0)
        learner.fit(*arrays_and_labels(recordings))
    assert learner.solution_.status is Status.OPTIMAL
    return learner.solution_.n_iter


def test_with_one_slack_and_a_trace_damping_that_follows_takes_fewer_rounds(monkeypatch):
    assert rounds(monkeypatch, follows=True) < 0.8 * rounds(monkeypatch, follows=False)
