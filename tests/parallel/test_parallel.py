"""Pools of single-threaded workers end with their process and change no bit."""

import operator
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
import sklearn.cluster  # noqa: F401 (brings the OpenMP pool)
from recording_cases import changes
from tasks import add
from threadpoolctl import threadpool_info, threadpool_limits

from structsvm import MetricLearner
from structsvm.data import deferred
from structsvm.errors import DataError
from structsvm.features import Lags
from structsvm.parallel import Auto, Processes, Serial, Threads, single_threaded
from structsvm.parallel.by_name import spread, working_on
from structsvm.support.progress import watching


def pools() -> dict[tuple[str, str], int]:
    return {(pool["user_api"], pool["filepath"]): pool["num_threads"] for pool in threadpool_info()}


def test_every_pool_has_one_thread_inside_and_its_own_number_outside() -> None:
    with threadpool_limits(limits=2):
        before = pools()
        with single_threaded():
            assert set(pools().values()) == {1}
        assert pools() == before
        assert any(api == "openmp" for api, _ in before)


def test_a_nested_block_of_single_threads_changes_nothing() -> None:
    """Masters and oracles have such blocks inside that of a solver, in every round."""
    with single_threaded(), threadpool_limits(limits=2, user_api="openmp"):
        with single_threaded():
            inside = pools()
        assert {n for (api, _), n in inside.items() if api == "openmp"} == {2}


def test_overlapping_calls_share_one_limit() -> None:
    """The first block leaves while the second is inside; then the second one leaves."""
    both_inside = Barrier(2)
    first_left = Barrier(2)

    def first() -> None:
        with single_threaded():
            both_inside.wait(300)
        first_left.wait(300)

    def second() -> set[int]:
        with single_threaded():
            both_inside.wait(300)
            first_left.wait(300)
            return set(pools().values())

    with threadpool_limits(limits=2):
        before = pools()
        with ThreadPoolExecutor(2) as executor:
            jobs = executor.submit(first), executor.submit(second)
            jobs[0].result()
            assert jobs[1].result() == {1}
        assert pools() == before


STUCK = 600
"""Seconds after which a process is taken to wait for ever."""

PROGRAM = """
import multiprocessing, os, signal, warnings
import numpy as np
from structsvm import MetricLearner
from structsvm.parallel import Processes

def fit(backend="processes"):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    Xs = [rng.normal(size=(40, 2)) + 2 * y[:, None] for _ in range(4)]
    learner = MetricLearner(n_jobs=2, backend=backend)
    return learner.fit(Xs, [y] * 4, baselines="quick").solution_.w

def len_of(part, argument):
    return len(part)

def pid_of(part, argument):
    return os.getpid()

def child(answers):
    with Processes(2).open([b"two", b"parts"]) as session:
        is_alone = set(session.map(pid_of, None)) == {os.getpid()}
    answers.put((fit(), is_alone))  # with workers of its own it would wait for their end

def told_by_child(method):
    context = multiprocessing.get_context(method)
    answers = context.Queue()
    process = context.Process(target=child, args=(answers,))
    process.start()
    w, is_alone = answers.get(timeout=300)
    process.join(300)
    assert process.exitcode == 0
    assert is_alone
    return w

def children_exit(expected):
    for method in ("fork", "fork", "spawn"):  # before there are workers, and after
        assert np.array_equal(told_by_child(method), expected)
        assert np.array_equal(fit(), expected)

def children_without_children_agree(expected):
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert np.array_equal(pool.apply_async(fit).get(300), expected)
        pool.apply_async(warnings.simplefilter, ["error"]).get(300)
        for backend in ("threads", "auto", "processes"):
            assert np.array_equal(pool.apply_async(fit, [backend]).get(300), expected)

if __name__ == "__main__":
    expected = fit("serial")
    for part in (children_exit, children_without_children_agree):
        part(expected)
        print(part.__name__, flush=True)
    with Processes(2).open([b"private", b"data"]) as session:
        assert session.map(len_of, None) == [7, 4]
        print(*session.map(pid_of, None), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""
"""All that is asked of children and workers of one process, which kills itself in the end."""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Lines that the program has printed until it was killed, and the folder of its files."""
    folder = tmp_path_factory.mktemp("killed")
    path = folder / "run.py"
    path.write_text(PROGRAM)
    (folder / "files").mkdir()
    done = subprocess.run(
        [sys.executable, str(path)],
        env=os.environ | {"TMPDIR": str(folder / "files")},
        stdout=subprocess.PIPE,
        timeout=STUCK,
        check=False,
        text=True,
    )
    return done.stdout.splitlines(), folder / "files"


def test_a_child_exits_and_waits_for_no_workers(killed):
    """Forked before there are workers and after, or spawned."""
    assert "children_exit" in killed[0]


def test_a_child_that_may_have_no_children_has_the_same_answers(killed):
    assert "children_without_children_agree" in killed[0]


def test_workers_end_with_a_process_that_is_killed_and_leave_no_files(killed):
    lines, folder = killed
    pids = [int(pid) for pid in lines[-1].split()]
    assert len(pids) == 2
    for _ in range(3000):  # five minutes, after which they are stuck
        if not any(is_running(pid) for pid in pids) and not list(folder.glob("structsvm-*")):
            return
        time.sleep(0.1)
    pytest.fail("workers are there, or their files, minutes after the process was killed")


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


def refuse(part, argument):
    raise DataError(f"part {part}")


def test_errors_of_workers_have_their_traceback_as_cause():
    with Processes(2).open([1, 2, 3]) as session:
        with pytest.raises(DataError, match="part 1") as caught:
            session.map(refuse, 0)
        assert "in refuse" in str(caught.value.__cause__)
        assert session.map(add, 1) == [2, 3, 4]


Xs, YS = changes(8)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred, "BATCH", 300)


def fitted(**settings: object) -> MetricLearner:
    learner = MetricLearner(metric="diagonal", features=Lags(), **settings)
    return learner.fit(Xs[:6], YS[:6], baselines="quick")


@cache
def fitted_alone() -> MetricLearner:
    return fitted()


@pytest.mark.parametrize("backend", ["threads", "processes", "auto"])
def test_results_have_the_same_bits_on_every_backend(backend: str) -> None:
    alone = fitted_alone()
    together = fitted(n_jobs=2, backend=backend)
    assert np.array_equal(alone.metric_.factor, together.metric_.factor)
    assert np.array_equal(alone.calibration_.losses, together.calibration_.losses)
    prices = [
        {k: m.metric_.price for k, m in x.baselines_.items() if m.sees is not None}
        for x in (alone, together)
    ]
    assert prices[0] == prices[1]
    for a, b in zip(alone.predict(Xs), together.predict(Xs), strict=True):
        assert np.array_equal(a, b)
    for a, b in zip(alone.predict(Xs, 3), together.predict(Xs, 3), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("backend", [Serial(), Threads(2), Auto(2), Processes(2)])
def test_answers_of_workers_are_in_the_order_of_the_parts(backend: object) -> None:
    with working_on(backend):
        assert spread("multiplying", operator.mul, list(range(7)), 10) == list(range(0, 70, 10))
        assert spread("multiplying", operator.mul, [], 10) == []


def test_workers_are_used_in_their_block_alone() -> None:
    with working_on(Threads(2)), working_on(Serial()):
        pass
    heard = []
    with watching(lambda words, part: heard.append((words, part))):
        spread("adding", operator.add, [1, 2], 3)
    assert heard == [("adding", 0.0), ("adding", 0.5)]
