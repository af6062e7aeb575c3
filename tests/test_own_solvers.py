"""A solver of one's own: what it forgets costs no certificate, and what it claims is checked."""

import numpy as np
import pytest
from enumerated import listed_risk

from structsvm.compare import compare_on
from structsvm.errors import CertificateError, PluginError, SettingsError
from structsvm.regularizers import SquaredNorm
from structsvm.solution import relative_gap
from structsvm.solvers.base import Solver, Step, Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.status import Status
from structsvm.weights import Nonnegative

FEW = Stopping(1e-3, max_iter=5)


class Own(Solver):
    """Evaluates the start again and again; no dataclass, and it never calls ``run.start``."""

    stopping = FEW

    def check(self, risk):
        pass

    def iterate(self, run, done):
        while True:
            run.evaluate(np.ones(run.dim), np.arange(run.n_samples))
            done(Step("the same again"))


class Ends(Own):
    def iterate(self, run, done):
        for _ in range(3):
            done(Step("one of three"))


class Liar(Own):
    def iterate(self, run, done):
        run.start(run.groups("one"))
        while True:
            run.bound_by(0.99 * run.certificate.upper, np.zeros(run.dim))
            done(Step("a bound from nowhere"))


@pytest.fixture
def risk():
    return listed_risk(Nonnegative(3), SquaredNorm(0.5))


def test_a_solver_that_never_calls_start_has_gaps_that_hold(risk):
    found = Own().solve(risk)
    whole = CuttingPlane().solve(risk)
    assert found.status is Status.MAX_ITER
    assert found.gap > 0.1
    assert found.null == whole.null
    assert found.lower <= whole.upper


def test_a_solver_that_is_no_dataclass_resumes(risk, tmp_path):
    for _ in range(2):
        assert Own().solve(risk, resume=tmp_path / "run").status is Status.MAX_ITER


def test_an_iteration_that_ends_says_what_it_should_do(risk):
    with pytest.raises(PluginError, match=r"Ends\.iterate has returned: call done\(Step\(label\)"):
        Ends().solve(risk)


def test_solvers_whose_bounds_contradict_each_other_are_named(risk):
    with pytest.raises(CertificateError, match=r"^liar and cutting-plane contradict each other: "):
        compare_on(risk, {"cutting-plane": CuttingPlane(), "liar": Liar()})


def test_solvers_without_a_name_are_refused(risk):
    with pytest.raises(SettingsError, match=r"give a mapping, such as {'mine': Mine\(\)}"):
        compare_on(risk, [CuttingPlane()])


def test_a_gap_without_a_null_weight_is_relative_to_the_bounds():
    assert relative_gap(0.0, 4.0, np.inf) == 1.0
