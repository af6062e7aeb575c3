"""One thread inside a call, the user's setting untouched outside it."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import sklearn.cluster  # noqa: F401 (brings the OpenMP pool)
from threadpoolctl import threadpool_info, threadpool_limits

from structsvm.parallel import limits, single_threaded
from structsvm.support.quiet import without_warnings


def pools() -> dict[tuple[str, str], int]:
    return {(pool["user_api"], pool["filepath"]): pool["num_threads"] for pool in threadpool_info()}


def test_every_pool_has_one_thread_inside_and_its_own_number_outside() -> None:
    with threadpool_limits(limits=2):
        before = pools()
        with single_threaded():
            assert set(pools().values()) == {1}
        assert pools() == before
        assert any(api == "openmp" for api, _ in before)


def test_the_setting_comes_back_after_an_error() -> None:
    with threadpool_limits(limits=2):
        before = pools()
        with pytest.raises(ZeroDivisionError), single_threaded():
            _ = 1 / 0
        assert pools() == before


def test_a_block_inside_another_one_sets_nothing() -> None:
    """Masters and oracles have such blocks inside that of a solver, in every round."""
    with single_threaded(), threadpool_limits(limits=2, user_api="openmp"):
        with single_threaded():
            inside = pools()
        assert {n for (api, _), n in inside.items() if api == "openmp"} == {2}


def test_overlapping_calls_share_one_limit() -> None:
    """The first block leaves while the second is inside; then the second one leaves."""
    both_inside, first_left = Barrier(2), Barrier(2)

    def first() -> None:
        with single_threaded():
            both_inside.wait(10)
        first_left.wait(10)

    def second() -> set[int]:
        with single_threaded():
            both_inside.wait(10)
            first_left.wait(10)
            return set(pools().values())

    with threadpool_limits(limits=2):
        before = pools()
        with ThreadPoolExecutor(2) as executor:
            jobs = executor.submit(first), executor.submit(second)
            jobs[0].result()
            assert jobs[1].result() == {1}
        assert pools() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_forked_child_knows_nothing_of_the_blocks_of_other_threads() -> None:
    """Nor of their locks, which are held here while another thread forks."""

    def blas() -> set[int]:
        return {n for (api, _), n in pools().items() if api == "blas"}

    def status_of_a_child() -> int:
        child = os.fork()
        if child:
            return os.waitpid(child, 0)[1]
        signal.alarm(20)  # it would wait for ever
        try:
            with single_threaded(), without_warnings(UserWarning):
                inside = blas()
            os._exit(0 if inside == {1} and 2 in blas() else 1)
        finally:
            os._exit(2)

    outside = threadpool_limits(limits=2)
    with outside, ThreadPoolExecutor() as threads, single_threaded(), limits._lock:
        assert threads.submit(status_of_a_child).result() == 0
