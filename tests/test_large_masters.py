"""The master of full metrics: single precision far from the answer, little memory."""

import numpy as np
import pytest
from enumerated import listed_risk

from structsvm.masters import base, bounds, newton
from structsvm.masters.base import Cut, Request, WorkingSet
from structsvm.masters.bounds import lower_bound
from structsvm.masters.newton import NewtonMaster
from structsvm.regularizers import SquaredNorm
from structsvm.weights import PSD

ORDER, N_CUTS = 20, 40


def restricted(unit=1.0):
    """A problem with more curvature than cuts, whose slopes are in this unit."""
    space = PSD(ORDER)
    rng = np.random.default_rng(0)
    cuts = WorkingSet(4, space.dim)
    for c in range(N_CUTS):
        slope = rng.standard_normal(space.dim) - 0.3 * space.identity()
        cuts.add([Cut(c % 4, float(rng.uniform(0.1, 1)), unit * slope)])
    return listed_risk(space, SquaredNorm(0.02 * unit**2)), cuts


def relative_gap(risk, cuts, answer):
    upper = risk.penalty(answer.w) + cuts.group_values(answer.w).sum()
    return (upper - lower_bound(risk, cuts, answer.multipliers, upper)[0]) / upper


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6, 1e-10])
def test_single_precision_far_from_the_answer_does_not_keep_from_it(tol):
    risk, cuts = restricted()
    assert relative_gap(risk, cuts, NewtonMaster().solve(risk, cuts, Request(tol))) <= tol


def test_single_precision_takes_the_steps_of_double_precision(monkeypatch):
    risk, cuts = restricted()
    single = NewtonMaster().solve(risk, cuts, Request(1e-3))
    monkeypatch.setattr(newton, "COARSE", np.inf)
    double = NewtonMaster().solve(risk, cuts, Request(1e-3))
    np.testing.assert_allclose(single.w, double.w, atol=1e-4 * np.abs(double.w).max())
    assert not np.array_equal(single.w, double.w)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_slopes_that_single_precision_cannot_square_are_no_matter(unit):
    risk, cuts = restricted(unit)
    answer = NewtonMaster().solve(risk, cuts, Request(1e-3))
    assert answer.label == "newton"
    assert relative_gap(risk, cuts, answer) <= 1e-3


def test_slopes_that_are_taken_some_at_a_time_give_the_same_answer(monkeypatch):
    risk, cuts = restricted()
    whole = NewtonMaster().solve(risk, cuts, Request(1e-8))
    for module in (bounds, newton, base):
        monkeypatch.setattr(module, "CHUNK", 3 * cuts.slopes[0].nbytes)
    parts = NewtonMaster().solve(risk, cuts, Request(1e-8))
    np.testing.assert_allclose(parts.w, whole.w, rtol=1e-6, atol=1e-9)
    assert relative_gap(risk, cuts, parts) <= 1e-8


def test_a_working_set_that_drops_cuts_some_at_a_time_keeps_the_others(monkeypatch):
    _, cuts = restricted()
    monkeypatch.setattr(base, "CHUNK", 3 * cuts.slopes[0].nbytes)
    slopes, kept = cuts.slopes.copy(), np.arange(N_CUTS) % 3 != 1
    assert cuts.retire(kept.astype(float), max_idle=1) == np.count_nonzero(~kept)
    assert np.array_equal(cuts.slopes, slopes[kept])
    assert np.array_equal(cuts.groups, np.arange(N_CUTS)[kept] % 4)
