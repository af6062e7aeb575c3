"""Large systems of the master of full metrics, which threads condense a range of groups each."""

import numpy as np
import pytest

from structsvm.masters import simplex_qp
from structsvm.masters.simplex_qp import maximize_on_simplices
from structsvm.parallel import Auto, Processes, Serial, Threads
from structsvm.parallel.once import working_on


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
