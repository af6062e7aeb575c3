"""The master of full metrics: single precision far from the answer, little memory, threads."""

import numpy as np
import pytest
from enumerated import listed_risk

from structsvm.masters import bounds, newton, simplex_qp, working_set
from structsvm.masters.base import Request
from structsvm.masters.bounds import lower_bound
from structsvm.masters.newton import NewtonMaster
from structsvm.masters.simplex_qp import maximize_on_simplices
from structsvm.masters.working_set import Cut, WorkingSet
from structsvm.parallel import Auto, Processes, Serial, Threads
from structsvm.parallel.once import working_on
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
    for module in (bounds, newton, working_set):
        monkeypatch.setattr(module, "CHUNK", 3 * cuts.slopes[0].nbytes)
    parts = NewtonMaster().solve(risk, cuts, Request(1e-8))
    np.testing.assert_allclose(parts.w, whole.w, rtol=1e-6, atol=1e-9)
    assert relative_gap(risk, cuts, parts) <= 1e-8


def test_a_working_set_that_drops_cuts_some_at_a_time_keeps_the_others(monkeypatch):
    _, cuts = restricted()
    monkeypatch.setattr(working_set, "CHUNK", 3 * cuts.slopes[0].nbytes)
    slopes, kept = cuts.slopes.copy(), np.arange(N_CUTS) % 3 != 1
    assert cuts.retire(kept.astype(float), max_idle=1) == np.count_nonzero(~kept)
    assert np.array_equal(cuts.slopes, slopes[kept])
    assert np.array_equal(cuts.groups, np.arange(N_CUTS)[kept] % 4)


# ---- large systems, which threads condense a range of groups each


def program(C, G, f, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.sort(np.concatenate([np.arange(G), rng.integers(0, G, C - G)]))
    return rng.normal(size=C), rng.normal(size=(C, f)), 1e-6, groups, G, 0.0, 1e-9


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(simplex_qp, "WORTHWHILE", 1e4)
    return program(200, 60, 30)


@pytest.mark.parametrize("backend", [Threads(2), Threads(3), Auto(2), Processes(2)], ids=str)
def test_every_bit_is_the_same_for_any_number_of_threads(backend, large):
    with working_on(Serial()):
        expected = maximize_on_simplices(*large)
    with working_on(backend):
        assert np.array_equal(maximize_on_simplices(*large), expected)


def test_ranges_do_not_change_what_is_found(large, monkeypatch):
    found = maximize_on_simplices(*large)
    monkeypatch.setattr(simplex_qp, "WORTHWHILE", np.inf)
    np.testing.assert_allclose(found, maximize_on_simplices(*large), atol=1e-8)


@pytest.mark.parametrize(("C", "G", "f"), [(200, 60, 30), (200, 1, 30), (90, 90, 40), (20, 5, 30)])
def test_ranges_hold_every_group_once(C, G, f, monkeypatch):
    monkeypatch.setattr(simplex_qp, "WORTHWHILE", 0.0)
    groups = program(C, G, f)[3]
    ranges = simplex_qp._ranges(np.searchsorted(groups, np.arange(G)), C, f)
    assert [g for begin, end in ranges for g in range(begin, end)] == list(range(G))
    assert len(ranges) <= max(1, C // f)
