"""Where the oracles are called: at the master's weight, or between it and the best one."""

import numpy as np
import pytest
from enumerated import listed_risk

from structsvm import MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels
from structsvm.regularizers import SquaredNorm, Trace
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.solvers.cutting_plane import Damping
from structsvm.solvers.run import Run
from structsvm.status import Status
from structsvm.weights import PSD, Free, Nonnegative

CASES = {
    "free": (Free(20), SquaredNorm(0.02)),
    "diagonal": (Nonnegative(20), SquaredNorm(0.02)),
    "diagonal-trace": (Nonnegative(20), Trace(0.02)),
    "full": (PSD(4), SquaredNorm(0.1)),
}


def risk_of(case, seed):
    return listed_risk(*CASES[case], n_samples=30, n_labels=100, seed=seed)


@pytest.fixture
def first_dampings(monkeypatch):
    """The damping with which each round begins, by the number of rounds before it."""
    found, between = {}, Run.between

    def noted(run, answer, cuts, damping):
        found.setdefault(len(run.certificate.entries), damping)
        return between(run, answer, cuts, damping)

    monkeypatch.setattr(Run, "between", noted)
    return found


@pytest.mark.parametrize("case", CASES)
def test_a_round_is_undamped_after_one_that_has_halved_a_small_gap(case, first_dampings):
    undamped = 0
    for seed in range(4):
        first_dampings.clear()
        solution = CuttingPlane(Stopping(1e-6, 100), proximal=0.0).solve(risk_of(case, seed))
        gaps = [entry.gap for entry in solution.history.entries]
        for k, damping in first_dampings.items():
            far = k == 0 or gaps[k - 1] >= 0.9
            relied_on = k >= 2 and gaps[k - 1] < 0.01 and gaps[k - 1] <= 0.5 * gaps[k - 2]
            assert damping == (0.0 if far or relied_on else 0.5)
            undamped += relied_on
    assert undamped > 0


@pytest.mark.parametrize("case", CASES)
def test_gaps_below_rounding_are_not_asked_of_a_master(case):
    """The accuracy asked of a master has a floor, so that no other master has to take over."""
    solution = CuttingPlane(Stopping(1e-13, 60)).solve(risk_of(case, 0))
    assert solution.status in (Status.OPTIMAL, Status.STALLED)
    assert not any("stalled" in entry.master for entry in solution.history.entries)


def rounds(monkeypatch, follows):
    """Rounds with one slack of a full metric with a trace, with damping that follows or stays."""
    recordings = relevant_changes(5, n_samples=200, n_features=16, random_state=0)
    solver = CuttingPlane(Stopping(1e-2, 1000), slack="one")
    learner = MetricLearner(metric="full", regularizer="trace", solver=solver)
    with monkeypatch.context() as patch:
        if not follows:
            patch.setattr(Damping, "note", lambda damping, rises: None)
        learner.fit(*arrays_and_labels(recordings))
    assert learner.solution_.status is Status.OPTIMAL
    return learner.solution_.n_iter


def test_with_one_slack_and_a_trace_damping_that_follows_takes_fewer_rounds(monkeypatch):
    assert rounds(monkeypatch, follows=True) < 0.8 * rounds(monkeypatch, follows=False)


def test_damping_grows_where_the_objective_rises_and_shrinks_elsewhere():
    damping = Damping(0.5, follows=True)
    damping.note(rises=True)
    assert damping.share == pytest.approx(0.55)
    damping.note(rises=False)
    assert damping.share == pytest.approx(0.495)
    for _ in range(1000):
        damping.note(rises=True)
    assert damping.share <= 1.0
    resumed = Damping(0.5, follows=True)
    resumed.restore({"damping": np.array([damping.share])})
    assert resumed.share == damping.share


@pytest.mark.parametrize("damping", [Damping(0.5, follows=False), Damping(0.0, follows=True)])
def test_damping_stays_with_a_slack_each_and_where_there_is_none(damping):
    share = damping.share
    damping.note(rises=True)
    damping.restore({"damping": np.array([0.9])})
    assert damping.share == share
