"""One thread inside a call, the user's setting untouched outside it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import sklearn.cluster  # noqa: F401 (brings the OpenMP pool)
from threadpoolctl import threadpool_info, threadpool_limits

from structsvm.parallel import single_threaded


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
