"""Earlier answers as starts of the rounded oracle: never worse, and the same wherever it runs."""

import numpy as np
import pytest
from tables import table

from structsvm import Clustering, EquivalenceMatrix, MetricLearner
from structsvm.errors import SettingsError
from structsvm.parallel import Processes, Serial, Threads
from structsvm.solvers.base import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.separation import blocks_of

EARLIER = Clustering(oracle="rounded", earlier=True)


def overlapping(n=2):
    """Tables of many clusters that overlap: no two searches end at the same partition."""
    Xs, ys = [], []
    for seed in range(n):
        rng, y = np.random.default_rng(seed), np.arange(120) % 8
        centres = np.random.default_rng(99).standard_normal((8, 4))
        Xs.append(centres[y] + 0.8 * rng.standard_normal((120, 4)))
        ys.append(y)
    return Xs, ys


@pytest.fixture(scope="module")
def risk():
    return MetricLearner(EARLIER).risk(*overlapping())


def weights(risk, n=6):
    rng = np.random.default_rng(0)
    for _ in range(n):
        L = rng.standard_normal((4, 4))
        yield risk.problem.join(L @ L.T / 4, 0.0)


class TestPlanes:
    def test_never_less_and_sometimes_more(self, risk):
        (first, *others) = weights(risk)
        block = blocks_of(risk)[0]
        gains = [block.plane(0, w, first).value - block.plane(0, w).value for w in others]
        assert min(gains) == 0.0 < max(gains)

    def test_what_a_worker_remembers_is_not_seen_in_its_answers(self, risk):
        """One that has seen the earlier weight and one that has not: the same to the last bit."""
        first, second, third = weights(risk, 3)
        remembers, begins = blocks_of(risk)[0], blocks_of(risk)[0]
        for w, earlier in ((first, None), (second, first), (third, second)):
            old, new = remembers.plane(0, w, earlier), begins.plane(0, w, earlier)
            assert old.value == new.value
            np.testing.assert_array_equal(old.slope, new.slope)
            begins = blocks_of(risk)[0]

    def test_two_labellings_of_a_sample_are_remembered(self, risk):
        block, earlier = blocks_of(risk)[0], None
        for w in weights(risk):
            block.plane(0, w, earlier)
            earlier = w
        assert [len(kept) for kept in block._answers.values()] == [2]

    def test_a_start_is_moved_from(self, risk):
        x, y = risk.xs[0], risk.ys[0]
        w = next(weights(risk))
        poor = EquivalenceMatrix.from_labels(np.arange(120) // 15)
        improved = risk.problem.improve(w, x, y, poor)
        assert improved.y.n_clusters == 8

        def value(guess):
            return risk.problem.loss(y, guess) + w @ risk.problem.joint_feature(x, guess)

        assert value(improved.y) > value(poor)

    def test_other_oracles_have_no_use_for_them(self):
        for oracle in ("relaxed", "semidefinite"):
            problem = Clustering(oracle=oracle, earlier=True)
            risk = MetricLearner(problem).risk(*table(T=30))
            assert not risk.problem.improves(risk.xs[0])
            block = blocks_of(risk)[0]
            null = np.zeros(risk.space.dim)
            assert block.plane(0, null, null).value == block.plane(0, null).value
            assert not block._answers


class TestRuns:
    def solve(self, risk, **settings):
        return CuttingPlane(Stopping(tol=1e-2, max_iter=12)).solve(risk, **settings)

    def test_the_same_bits_on_every_backend(self, risk):
        here, *elsewhere = (
            self.solve(risk, backend=backend) for backend in (Serial(), Threads(2), Processes(2))
        )
        for solution in elsewhere:
            assert solution.w.tobytes() == here.w.tobytes()
            assert (solution.lower, solution.upper) == (here.lower, here.upper)

    def test_the_same_bits_after_a_break(self, risk, tmp_path):
        whole = self.solve(risk)
        CuttingPlane(Stopping(tol=1e-2, max_iter=5)).solve(risk, resume=tmp_path / "run")
        resumed = self.solve(risk, resume=tmp_path / "run")
        assert resumed.w.tobytes() == whole.w.tobytes()

    def test_it_is_an_option_of_the_learner(self):
        learner = MetricLearner(Clustering(oracle="rounded", earlier=True)).fit(*table())
        assert learner.score(*table(seed=1)) > -0.5


def test_bad_setting():
    with pytest.raises(SettingsError, match="earlier must be True or False, got 'yes'"):
        Clustering(earlier="yes")
