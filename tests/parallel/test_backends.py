"""Wherever the oracles run, the answer is the same to the last bit, and little travels."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from threading import current_thread

import distributed
import numpy as np
import pytest
from clocks import Clock
from enumerated import Listed, listed_risk
from programs import ready_to_fork
from tasks import add, kill_yourself, slow_number

from structsvm.data.instance import Instance
from structsvm.datasets import relevant_changes
from structsvm.errors import PluginError, SettingsError, StructSVMError
from structsvm.parallel import Auto, Dask, Processes, Serial, Threads, backend_from, local
from structsvm.partitions import Examples
from structsvm.partitions.objective import MetricObjective
from structsvm.problem import PSD, Separation, SquaredNorm, Status
from structsvm.problems.change_point import ChangePoint
from structsvm.solvers.auto import solver_from
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane


def output_of_interrupted(program: str, line: bytes, folder: Path, seconds: float = 0.0) -> bytes:
    """What a program prints after such a line, and Ctrl-C so many seconds later.

    The signal reaches the whole group of processes, as it does from a keyboard. The program has to
    end well, and to leave neither a process nor a file.
    """
    script = folder / "run.py"
    script.write_text(textwrap.dedent(program))
    environment = os.environ | {"TMPDIR": str(folder)}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline() != line:
            assert process.poll() is None
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)
        output = process.stdout.read()
    assert process.returncode == 0
    assert _is_gone(process.pid)
    assert not list(folder.glob("structsvm-*"))
    return output


def _is_gone(leader: int) -> bool:
    """Whether all processes of a group end; a group that does not in minutes is stuck."""
    for _ in range(3000):
        try:
            os.killpg(leader, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


NAMES = ["threads", "processes", "auto", "dask"]


@pytest.fixture(scope="module")
def client():
    """Return a client of Dask, with two workers, which are processes."""
    ready_to_fork()
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


SPACE = PSD(3)
OMEGA = SquaredNorm(0.5)


def assert_same(first, second):
    np.testing.assert_array_equal(first.w, second.w)
    assert (first.lower, first.upper, first.n_iter) == (second.lower, second.upper, second.n_iter)
    assert first.oracle_calls == second.oracle_calls
    assert first.status is second.status


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("solver", ["cutting-plane", "one-slack", "frank-wolfe", "subgradient"])
def test_the_answer_does_not_depend_on_the_backend(solver, name, backend):
    risk = listed_risk(SPACE, OMEGA, n_samples=9, seed=3)
    method = solver_from(solver, Stopping(1e-4, 12))
    assert_same(method.solve(risk), method.solve(risk, backend=backend(name)))


BUDGET = 2.0
"""Seconds, in which workers answer a first round at once; if they cannot, there is no second."""


@dataclass(frozen=True)
class Slow(Listed):
    """Takes more than the budget when there is something to separate by."""

    def separate(self, w, x, y) -> Separation:
        if w.any():
            time.sleep(1.1 * BUDGET)
        return super().separate(w, x, y)


@pytest.mark.parametrize("name", ["threads", "processes", "dask"])
def test_the_time_budget_stops_between_the_calls_of_a_round(name, backend):
    """Two workers have begun a call each when it is spent, and begin no other of 40."""
    risk = listed_risk(SPACE, OMEGA, n_samples=40, problem=Slow(SPACE))
    place = backend(name)
    with place.open([1, 2]) as session:
        session.map(slow_number, 0)  # the workers are there, and have imported this
    solution = CuttingPlane(Stopping(1e-9, max_seconds=BUDGET)).solve(risk, backend=place)
    assert solution.status is Status.MAX_SECONDS
    assert 40 <= solution.oracle_calls <= 42


@dataclass(frozen=True)
class Failing(Listed):
    """One sample cannot be separated by anything but zero."""

    def separate(self, w, x, y) -> Separation:
        if w.any() and x.features[0, 0] > 100:
            raise ZeroDivisionError("no labelling")
        return super().separate(w, x, y)


@pytest.mark.parametrize("name", NAMES)
def test_an_oracle_that_raises_names_its_sample(name, backend):
    risk = listed_risk(SPACE, OMEGA, n_samples=70, problem=Failing(SPACE))
    risk.xs[41].features[0, 0] = 101.0
    message = r"instance 41: Failing\.separate raised ZeroDivisionError: no labelling"
    for place in (Serial(), backend(name)):
        with pytest.raises(PluginError, match=message):
            CuttingPlane().solve(risk, backend=place)


def test_a_dask_worker_killed_in_mid_run_changes_nothing(client):
    """Dask does its work again."""
    risk = listed_risk(SPACE, OMEGA, n_samples=12, n_labels=60, seed=5)
    method = CuttingPlane(Stopping(1e-6, 100))
    killed = []

    def kill(entry):
        if entry.iteration == 1:
            killed.extend(client.run(os.getpid).values())
            os.kill(killed[-1], signal.SIGKILL)

    solution = method.solve(risk, kill, backend=Dask(client))
    assert solution.n_iter > 3
    assert_same(method.solve(risk), solution)
    client.wait_for_workers(2, timeout=30)
    assert killed[-1] not in client.run(os.getpid).values()


def test_a_worker_that_dies_is_a_clear_error_and_the_next_round_has_another():
    with Processes(2).open([1, 2]) as session:
        with pytest.raises(StructSVMError, match=r"(?s)a worker process died, .*n_jobs="):
            session.map(kill_yourself, 0)
        assert session.map(slow_number, 1) == [2, 3]


class Traffic:
    """Bytes that this process, where client and scheduler are, exchanges with the workers."""

    def __init__(self, monkeypatch):
        self.bytes = 0
        tcp = distributed.comm.tcp
        write = tcp.TCP.write
        read = tcp.read_bytes_rw

        async def counted_write(comm, *args, **kwargs):
            sent = await write(comm, *args, **kwargs)
            self.bytes += sent
            return sent

        async def counted_read(stream, n):
            self.bytes += n
            return await read(stream, n)

        monkeypatch.setattr(tcp.TCP, "write", counted_write)
        monkeypatch.setattr(tcp, "read_bytes_rw", counted_read)


def test_bytes_sent_in_a_round_do_not_depend_on_the_length_of_recordings(client, monkeypatch):
    """P = 40, diagonal: eight cuts of 41 numbers come back, and w goes to two workers."""
    per_round = {}
    placed = {}
    for T in (200, 1600):
        partition = ChangePoint()
        recordings = relevant_changes(8, n_samples=T, n_features=40, random_state=0)
        problem = MetricObjective(partition, "diagonal", 40)
        risk = problem.risk(
            Examples(
                [Instance(r.X / np.sqrt(40)) for r in recordings],
                [partition.encode(r.y, Instance(r.X)) for r in recordings],
            ),
            problem.regularizer(SquaredNorm(), 0.1),
        )
        traffic = Traffic(monkeypatch)
        seen = []
        method = CuttingPlane(Stopping(1e-12, 6))
        method.solve(risk, lambda entry, t=traffic, s=seen: s.append(t.bytes), backend=Dask(client))
        per_round[T] = np.median(np.diff(seen))
        placed[T] = seen[0]
    assert placed[1600] - placed[200] > 8 * 40 * 1400 * 8  # the recordings, once
    assert 8 * 41 * 8 < per_round[200] < 60_000
    assert per_round[1600] < 1.5 * per_round[200]


def thread_of(part, argument):
    return current_thread().name


@pytest.fixture
def takes(monkeypatch):
    """What answers with its thread, after so many seconds of a clock that nothing else moves."""
    clock = Clock.of(monkeypatch, local)

    def thread_after(part, seconds):
        clock.sleep(seconds)
        return current_thread().name

    return thread_after


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.0024])
def test_cheap_rounds_run_in_the_calling_thread(takes, seconds):
    with Auto(2).open(list(range(4))) as session:
        for _ in range(40):
            assert set(session.map(takes, seconds)) == {current_thread().name}


def test_the_rest_of_an_expensive_first_round_runs_in_threads(takes):
    with Auto(2).open(list(range(5))) as session:
        here, *rest = session.map(takes, 0.011)
        assert here == current_thread().name
        assert here not in rest


def test_the_round_after_an_expensive_one_runs_in_threads(takes):
    with Auto(2).open(list(range(5))) as session:
        session.map(add, 1)
        assert set(session.map(takes, 0.003)) == {current_thread().name}  # 15 ms in all
        assert current_thread().name not in session.map(thread_of, None)


def test_backends_are_made_by_name():
    assert [backend_from(name, None) for name in ("auto", "threads", "serial")] == [Serial()] * 3
    assert backend_from("auto", 1) == Serial()
    assert backend_from("auto", 3) == Auto(3)
    assert backend_from("threads", 2) == Threads(2)
    assert backend_from("processes", 2) == Processes(2)
    assert backend_from("dask", None) == Dask()
    assert backend_from(own := Threads(5), None) is own
    with pytest.raises(SettingsError, match=r"one of \['auto', .*'dask'\], got 'spark'"):
        backend_from("spark", 2)
    for wrong in (0, 1.5, True):
        with pytest.raises(SettingsError, match="n_jobs must be an integer other than 0 or None"):
            backend_from("auto", wrong)
    with pytest.raises(SettingsError, match=r"make a dask.distributed.Client first"):
        CuttingPlane().solve(listed_risk(SPACE, OMEGA), backend=Dask())


INTERRUPTED = """
    import sys, time
    sys.path.insert(0, {tests!r})
    from enumerated import Listed, listed_risk
    from structsvm.problem import SquaredNorm
    from structsvm.problem import PSD
    from structsvm.parallel import backend_from
    from structsvm.solvers.base import Stopping
    from structsvm.solvers.cutting_plane import CuttingPlane

    class Slow(Listed):
        def separate(self, w, x, y):
            time.sleep(0.1 * w.any())
            return super().separate(w, x, y)

    risk = listed_risk(PSD(3), SquaredNorm(0.5), n_samples=20, problem=Slow(PSD(3)))
    method = CuttingPlane(Stopping(1e-12, 1000))
    tell = lambda entry: print(entry.iteration, flush=True)
    solution = method.solve(risk, tell, backend=backend_from({name!r}, 2))
    print(solution.status.name, solution.lower <= solution.upper)
"""


@pytest.mark.parametrize("name", ["threads", "processes"])
def test_ctrl_c_returns_the_best_so_far_and_leaves_no_worker(name, tmp_path):
    program = INTERRUPTED.format(tests=str(Path(__file__).parents[1]), name=name)
    output = output_of_interrupted(program, b"0\n", tmp_path, seconds=0.5)
    assert output.endswith(b"INTERRUPTED True\n")


@pytest.fixture
def no_workers():
    """A cluster in this process, without any worker yet."""
    with distributed.LocalCluster(
        n_workers=0, threads_per_worker=1, processes=False, dashboard_address=None
    ) as found:
        yield found


@pytest.fixture
def idle_client(no_workers):
    with distributed.Client(no_workers, set_as_default=False) as found:
        yield found


def test_a_moment_without_dask_workers_is_waited_for(no_workers, idle_client):
    no_workers.scale(1)
    with Dask(idle_client).open([1, 2]) as session:
        assert session.map(add, 1) == [2, 3]
        idle_client.retire_workers(list(idle_client.nthreads()), close_workers=True)
        no_workers.scale(0)
        idle_client.loop.add_callback(idle_client.loop.call_later, 1.0, no_workers.scale, 1)
        assert session.map(add, 2) == [3, 4]


def test_a_dask_client_without_workers_is_refused(no_workers, idle_client, monkeypatch):
    monkeypatch.setattr("structsvm.parallel.cluster.WAIT_FOR_WORKERS", 0.5)
    message = "has no workers, and had none for 0.5 seconds"
    with pytest.raises(SettingsError, match=re.escape(message)), Dask(idle_client).open([1, 2]):
        pass
    no_workers.scale(1)


def test_unusable_dask_clients_are_refused(no_workers, idle_client):
    with distributed.Client(no_workers, set_as_default=False) as closed:
        pass

    async def complaint():
        return refused(idle_client)

    def refused(one):
        with pytest.raises(SettingsError) as caught, Dask(one).open([1, 2]):
            pass
        return str(caught.value)

    assert "closed or asynchronous: make one that is open" in refused(closed)
    assert "closed or asynchronous: make one that is open" in idle_client.sync(complaint)


def test_a_dask_task_does_not_wait_for_its_own_thread(no_workers, idle_client):
    """The only thread of the cluster, which a task learns in, does the work of the task as well."""

    def learn():
        with Dask().open([1, 2]) as session:
            return session.map(add, 1)

    no_workers.scale(1)
    assert idle_client.submit(learn).result(30) == [2, 3]
