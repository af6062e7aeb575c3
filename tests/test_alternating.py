"""Alternation of any structured problem: labellings are numbers here, some of them ruled out."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from enumerated import listed_risk, objective
from noisy_master import FailsAfter

from structsvm.errors import MasterError
from structsvm.partial_labels.alternate import Completions, _refuse_rise, alternate
from structsvm.problem import RegularizedRisk
from structsvm.regularizers import SquaredNorm
from structsvm.solvers.base import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.weights import Free

SOLVER = CuttingPlane(Stopping(tol=1e-4, max_iter=300))


@dataclass(frozen=True)
class Listed(Completions):
    full: RegularizedRisk
    allowed: tuple[tuple[int, ...], ...]

    def complete(self, w):
        scores = [x.features @ w for x in self.full.xs]
        return [max(a, key=lambda k: s[k]) for a, s in zip(self.allowed, scores, strict=True)]

    def risk(self, labels):
        return replace(self.full, ys=list(labels))


def task(seed: int) -> Listed:
    risk = listed_risk(Free(5), SquaredNorm(0.1), n_samples=8, n_labels=6, seed=seed)
    rng = np.random.default_rng(seed)
    allowed = tuple(
        (0, *rng.choice(np.arange(1, 6), 2, replace=False).tolist()) if i % 2 else (0,)
        for i in range(8)
    )
    return Listed(risk, allowed)


def test_a_master_that_fails_in_a_later_round_loses_no_weight(caplog) -> None:
    problem = task(0)
    first = [allowed[-1] for allowed in problem.allowed]
    stopping, solved = Stopping(tol=1e-4, max_iter=300), FailsAfter(problems=10**9)
    alternate(problem, CuttingPlane(stopping, master=solved), first, max_rounds=1)
    failing = CuttingPlane(stopping, master=FailsAfter(problems=len(solved.solved)))
    found = alternate(problem, failing, first)
    assert len(found.rounds) == 1
    assert found.solution.upper == pytest.approx(found.rounds[0].objective)
    assert "round 2 failed (no answer): the last one is kept" in caplog.text
    with pytest.raises(MasterError, match="no answer"):
        alternate(problem, CuttingPlane(stopping, master=FailsAfter()), first)


@pytest.mark.parametrize("seed", range(6))
def test_never_rises_and_ends_where_nothing_changes(seed: int) -> None:
    problem = task(seed)
    first = [allowed[-1] for allowed in problem.allowed]
    found = alternate(problem, SOLVER, first, max_rounds=30)
    values = [v for r in found.rounds for v in (r.objective, r.completed)]
    assert np.all(np.diff(values) <= 1e-9)
    assert found.fixed_point
    assert f"in {len(found.rounds)} round" in found.summary
    w = found.solution.w
    assert found.rounds[-1].completed == pytest.approx(objective(problem.risk(found.labels), w))


def test_a_rise_is_refused() -> None:
    with pytest.raises(MasterError, match=r"rose from 1.0 to 1.1"):
        _refuse_rise(1.0, 1.1)
    _refuse_rise(1.0, 1.0 + 1e-12)
