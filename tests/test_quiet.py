"""What is ignored in one thread is ignored nowhere else, and never afterwards."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread

import numpy as np
import pytest
from enumerated import listed_risk
from sklearn.utils.parallel import Parallel as SklearnParallel
from sklearn.utils.parallel import delayed as sklearn_delayed

from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.regularizers import SquaredNorm
from structsvm.solvers.base import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.support.quiet import without_warnings
from structsvm.weights import PSD

METRICS = ("untrained", "rca", "diagonal", "full")


def is_told(message="something", category=UserWarning):
    """Whether a warning is heard, warnings being errors here."""
    try:
        warnings.warn(message, category, stacklevel=1)
    except Warning:
        return True
    return False


def test_only_what_was_named_is_ignored_and_only_inside():
    before = list(warnings.filters)
    with without_warnings(RuntimeWarning, DeprecationWarning):
        assert is_told()
        assert not is_told(category=RuntimeWarning)
        with without_warnings(UserWarning, beginning="The groups"):
            assert is_told()
            assert not is_told("The groups are ignored")
            with without_warnings(UserWarning):
                assert not is_told()
            assert is_told()
        assert not is_told(category=DeprecationWarning)
    assert is_told(category=RuntimeWarning)
    assert list(warnings.filters) == before


def test_the_filters_that_scikit_learn_sends_to_its_workers_can_be_read_there():
    double = sklearn_delayed(lambda x: 2 * x)
    with without_warnings(UserWarning, beginning="The (groups"):
        found = SklearnParallel(n_jobs=2, backend="threading")(double(x) for x in (1, 2))
    assert found == [2, 4]


def test_an_error_ends_it_too():
    before = list(warnings.filters)
    with pytest.raises(ZeroDivisionError), without_warnings(Warning):
        raise ZeroDivisionError
    assert list(warnings.filters) == before


def test_blocks_that_overlap_in_threads_leave_nothing_behind():
    """The first to enter is the first to leave, which is what ``catch_warnings`` cannot bear."""
    before, inside, left = list(warnings.filters), Event(), Event()
    heard = []

    def second():
        with without_warnings(Warning):
            inside.set()
            left.wait(60)
            heard.append(is_told())
        heard.append(is_told())

    thread = Thread(target=second)
    with without_warnings(Warning):
        thread.start()
        assert inside.wait(60)
        assert not is_told()
    assert is_told()
    left.set()
    thread.join()
    assert heard == [False, True]
    assert list(warnings.filters) == before


def test_filters_that_others_set_inside_come_first():
    with warnings.catch_warnings(), without_warnings(UserWarning):
        warnings.simplefilter("error", UserWarning)
        assert is_told()
        with without_warnings(UserWarning):
            assert not is_told()


def test_filters_can_be_sent_to_workers():
    with without_warnings(UserWarning):
        entry = warnings.filters[0]
        assert pickle.loads(pickle.dumps(entry)) == entry


def test_conic_masters_in_many_threads():
    before, start = list(warnings.filters), Barrier(8)
    risk = listed_risk(PSD(3), SquaredNorm(0.5))
    method = CuttingPlane(Stopping(1e-4, 4), master=CvxpyMaster("CLARABEL"))
    expected = method.solve(risk).w

    def fits(_):
        start.wait(60)
        return [method.solve(risk).w for _ in range(3)]

    with ThreadPoolExecutor(8) as threads:
        for found in threads.map(fits, range(8)):
            for w in found:
                np.testing.assert_array_equal(w, expected)
    assert list(warnings.filters) == before
    assert is_told()
