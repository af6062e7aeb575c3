"""Where work runs: one thread inside a call, workers over the parts of a data set.

A :class:`Backend` places the parts on its workers once; then a task and an argument go out as often
as one likes and the answers come back. What they are does not depend on the backend.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, local
from typing import Any

import cloudpickle
import joblib
import threadpoolctl
from joblib.externals.loky.backend import resource_tracker
from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

from structsvm.errors import SettingsError, StructSVMError, without_warnings
from structsvm.messages import Code, parameter
from structsvm.support.checks import among, check_n_jobs, refuse_unless
from structsvm.support.lazy import require
from structsvm.support.progress import stage

__all__ = [
    *("Auto", "Backend", "Dask", "Processes", "Serial", "Session", "Threads", "backend_from"),
    "single_threaded",
]

# ---- one thread inside a call: parallelism is over the parts of a data set, outside it


WITH_POOLS = ("scipy.linalg", "sklearn", "scs", "ruptures")
"""Libraries that bring a thread pool."""

_here = local()
"""The libraries that a block of this thread has limited, in ``loaded``."""
_lock = Lock()
_threads = 0
"""How many threads are inside a block."""
_blas: Any = None
"""The limit that they share."""


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run the block with one thread in BLAS and in OpenMP, then restore what the user had set.

    The BLAS setting belongs to the process: blocks that overlap in time share one limit, which the
    last to leave restores. The OpenMP setting belongs to the calling thread.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.parallel import single_threaded
    >>> with single_threaded():
    ...     float((np.eye(3) @ np.eye(3)).sum())
    3.0
    """
    loaded = tuple(map(sys.modules.__contains__, WITH_POOLS))
    outer = getattr(_here, "loaded", None)
    if loaded == outer:  # inside another block there is nothing new to set
        yield
        return
    controller = _controller(loaded)
    if outer is None:
        _count(1, controller)
        controller = controller.select(user_api="openmp")
    _here.loaded = loaded
    try:
        with controller.limit(limits=1):
            yield
    finally:
        _here.loaded = outer
        if outer is None:
            _count(-1, controller)


@cache
def _controller(loaded: tuple[bool, ...]) -> threadpoolctl.ThreadpoolController:  # noqa: ARG001 (cache key)
    """Every pool loaded so far; looking for them takes milliseconds, so it is done once."""
    return threadpoolctl.ThreadpoolController()


def _count(change: int, controller: threadpoolctl.ThreadpoolController) -> None:
    """Let a thread into a block, or out of it: the first one sets BLAS, the last restores it."""
    global _threads, _blas
    with _lock:
        if _threads == 0:
            _let_any_thread_set_blas()
            _blas = controller.select(user_api="blas").limit(limits=1)
        _threads += change
        if _threads == 0:
            _let_any_thread_set_blas()
            _blas.restore_original_limits()
            _let_any_thread_set_blas()


def _let_any_thread_set_blas() -> None:
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):  # from threadpoolctl 3.8 on
        openblas.clear_controlling_thread(force=True)


# ---- what a backend promises, and the one that needs no workers


Task = Callable[[Any, Any], Any]
"""Takes a part and the argument."""

ShareTask = Callable[[Sequence[Any], Any], list[Any]]
"""Takes the parts of a share and the argument; an answer for each part."""


class Session(ABC):
    """The parts of a data set on the workers of a backend.

    Examples
    --------
    >>> import operator
    >>> from structsvm.parallel import Session, Threads
    >>> with Threads(n_jobs=2).open([1, 2, 3]) as session:
    ...     print(isinstance(session, Session))
    ...     session.map(operator.mul, 10), session.map(operator.add, 10)
    True
    ([10, 20, 30], [11, 12, 13])
    """

    @abstractmethod
    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        """``task(parts, argument)`` of every share: the answers of all parts, in their order.

        The first error that a task raises, if one does.
        """

    def map(self, task: Task, argument: Any) -> list[Any]:
        """``task(part, argument)`` of every part, in their order."""
        return self.map_shares(partial(_of_each, task), argument)


def _of_each(task: Task, parts: Sequence[Any], argument: Any) -> list[Any]:
    return [task(part, argument) for part in parts]


class Backend(ABC):
    """Base of backends, which work on the parts of a data set; an instance holds settings only.

    Examples
    --------
    >>> from structsvm.parallel import Backend, Threads
    >>> isinstance(Threads(n_jobs=2), Backend)
    True
    """

    @abstractmethod
    def open(self, parts: Sequence[Any]) -> AbstractContextManager[Session]:
        """Place the parts on the workers, for as long as the block lasts."""


@dataclass(frozen=True)
class Serial(Backend):
    """A backend that works on one part after another in the calling thread.

    Examples
    --------
    >>> import operator
    >>> from structsvm.parallel import Serial
    >>> with Serial().open([1, 2, 3]) as session:
    ...     session.map(operator.mul, 10)
    [10, 20, 30]
    """

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        yield SerialSession(parts)


@dataclass(frozen=True, eq=False)
class SerialSession(Session):
    parts: Sequence[Any]

    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        with single_threaded():
            return task(self.parts, argument)


# ---- workers, each of which has a share of the parts


def _deal(parts: Sequence[Any], n_workers: int) -> list[Sequence[Any]]:
    """Shares, dealt like cards, so that neighbours of like size go to different workers."""
    n = max(1, min(n_workers, len(parts)))
    return [parts[k::n] for k in range(n)]


def _work(task: ShareTask, share: Sequence[Any] | Path, argument: Any) -> list[Any]:
    """The answers of a share, or of one in a file, each call of an oracle with one thread."""
    with single_threaded():
        return task(_stored(share) if isinstance(share, Path) else share, argument)


def _stored(path: Path) -> Sequence[Any]:
    if path not in _read:
        for other in [one for one in _read if one.parent != path.parent]:
            del _read[other]  # of a run that is over
        _read[path] = pickle.loads(path.read_bytes())
    return _read[path]


_read: dict[Path, Sequence[Any]] = {}
"""The shares that this worker has read, by path."""


@dataclass(frozen=True, eq=False)
class Workers(Session):
    submit: Callable[..., Any]
    """Takes a function and its arguments to a future."""
    shares: Sequence[Any]
    explained: Callable[[], AbstractContextManager[None]] = nullcontext
    """Says in our words what happens to workers."""

    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        with self.explained():
            waiting = [self.submit(_work, task, share, argument) for share in self.shares]
            try:
                answers = [future.result() for future in waiting]
            finally:
                for future in waiting:
                    if not future.done():
                        with suppress(Exception):  # workers that are gone have nothing to cancel
                            future.cancel()
        n = len(answers)
        total = sum(map(len, answers))
        return [answers[k % n][k // n] for k in range(total)]


@contextmanager
def _saying(
    what: str, way_out: str, kind: type[StructSVMError], *raised: type[Exception]
) -> Iterator[None]:
    """Raise an error of ours, with the original one in parentheses."""
    try:
        yield
    except raised as error:
        raise kind(f"{what} ({error}): " + way_out) from error


RESUME = parameter("resume", Code("FILE"))
_sendable = partial(
    _saying,
    "what the workers work on cannot be sent to other processes",
    "use "
    + parameter("backend", "threads")
    + ", or give what can be pickled, such as paths in place of open files",
    SettingsError,
    *(TypeError, AttributeError, pickle.PicklingError),
)
_alive = partial(
    _saying,
    "a worker process died, as when memory runs out",
    "use fewer workers ("
    + parameter("n_jobs")
    + ") or "
    + parameter("backend", "threads")
    + "; "
    + RESUME
    + " keeps what is learned until then",
    StructSVMError,
    BrokenProcessPool,
)
_answering = partial(
    _saying,
    "the scheduler of the Dask cluster does not answer",
    "start another one, and give " + RESUME + " to keep what is learned until then",
    StructSVMError,
)


def _n_workers(n_jobs: int) -> int:
    with without_warnings(UserWarning):
        return int(joblib.effective_n_jobs(n_jobs))


@dataclass(frozen=True)
class _Local(Backend):
    n_jobs: int = -1

    def __post_init__(self) -> None:
        check_n_jobs(self.n_jobs)


@dataclass(frozen=True)
class Threads(_Local):
    """A backend of threads, for oracles that release the interpreter's lock.

    Examples
    --------
    >>> from structsvm.parallel import Threads
    >>> Threads(n_jobs=2)
    Threads(n_jobs=2)
    """

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Share the parts with the threads, which need no copies of them."""
        shares = _deal(parts, _n_workers(self.n_jobs))
        pool = ThreadPoolExecutor(len(shares), "structsvm worker")
        try:
            yield Workers(pool.submit, shares)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # Ctrl-C does not wait for what they do


WORTHWHILE = 0.01
"""Seconds of a round from which on threads are used: what they cost is a small part of it."""


@dataclass(frozen=True)
class Auto(_Local):
    """Threads, once a round takes long enough for them to pay.

    Oracles written in Python hold the interpreter's lock, so that threads do not help them: use
    processes.

    Examples
    --------
    >>> from structsvm.parallel import Auto
    >>> Auto(n_jobs=2)
    Auto(n_jobs=2)
    """

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Begin here."""
        yield _Chosen(parts, Threads(self.n_jobs))


@dataclass(eq=False)
class _Chosen(Session):
    """Begins here, and goes on in threads once the first 10 ms of a round were not enough."""

    parts: Sequence[Any]
    threads: Threads
    pays: bool = False

    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        answers: list[Any] = []
        until = time.perf_counter() + WORTHWHILE
        while not self.pays and (rest := self.parts[len(answers) :]):
            answers += _work(task, rest[: len(answers) + 1], argument)  # 1, 2, 4, ... parts
            self.pays = time.perf_counter() >= until
        if rest := self.parts[len(answers) :]:
            with self.threads.open(rest) as session:
                answers += session.map_shares(task, argument)
        return answers


@dataclass(frozen=True)
class Processes(_Local):
    """A backend of processes of this machine, which are kept for the next run (by loky).

    A worker reads each share it works on from a file, once. The files are readable by their owner
    alone, and removed even if this process is killed.

    Examples
    --------
    >>> from structsvm.parallel import Processes
    >>> Processes(n_jobs=2).n_jobs
    2
    """

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Write the shares into a folder that lasts as long as the block.

        In a process that another one has started they stay here.
        """
        n = _n_workers(self.n_jobs)
        if n == 1 or parent_process() is not None:  # such a child would wait for its workers
            yield SerialSession(parts)
            return
        with TemporaryDirectory(prefix=f"structsvm-{os.getpid()}-") as folder:
            resource_tracker.register(folder, "folder")  # removes it if this process is killed
            try:
                shares = _deal(parts, n)
                stored = [Path(folder, str(k)) for k in range(len(shares))]
                with _sendable():
                    for path, share in zip(stored, shares, strict=True):
                        path.write_bytes(cloudpickle.dumps(share))
                yield Workers(lambda *work: _executor(n).submit(*work), stored, _killed_by_ctrl_c)
            finally:
                resource_tracker.unregister(folder, "folder")


_kept: dict[int, ProcessPoolExecutor] = {}
"""The workers of the last run, by the process that has started them."""


def _executor(n: int) -> ProcessPoolExecutor:
    """So many processes: those of the last run, or new ones if these are other or dead.

    Workers of joblib's own executor leave when they are idle for some time, with a warning if tasks
    come at that moment; as an error it would end the thread that waits for the answers.
    """
    executor = _kept.get(os.getpid())
    if executor is not None:
        if executor._max_workers == n and not (executor._flags.broken or executor._flags.shutdown):
            return executor
        executor.shutdown(wait=False, kill_workers=True)
    executor = ProcessPoolExecutor(n, initializer=_end_with, initargs=(os.getpid(),))
    _kept[os.getpid()] = executor
    return executor


def _end_with(parent: int) -> None:
    """Let this process end when the one that started it does, even if that one is killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _killed_by_ctrl_c() -> Iterator[None]:
    try:
        with _alive():
            yield
    except KeyboardInterrupt:
        if os.getpid() in _kept:
            _kept[os.getpid()].shutdown(wait=False, kill_workers=True)
        raise


WAIT = 30.0
"""Seconds for which a cluster without workers is waited for: an adaptive one begins so."""


@dataclass(frozen=True)
class Dask(Backend):
    """A backend of the workers of a Dask cluster, one share for each of their threads.

    Where a worker dies, Dask does its work again on another one.

    Parameters
    ----------
    client : distributed.Client, optional
        The current one if it is not given.

    Examples
    --------
    >>> from structsvm.parallel import Dask
    >>> Dask()  # of the current client
    Dask(client=None)
    """

    client: Any = None

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Place the shares on the workers; some have to be there, or to join within half a minute.

        Raises
        ------
        SettingsError
            If there are no workers, or the client is closed or asynchronous.
        """
        distributed = require("distributed", "dask", "backend='dask'")
        try:
            client = distributed.get_client() if self.client is None else self.client
        except ValueError as error:
            raise SettingsError(
                parameter("backend", "dask")
                + " needs a cluster: make a dask.distributed.Client first, or give one, "
                + parameter("backend", Code("Dask(client)"))
            ) from error
        if getattr(client, "status", None) != "running" or client.asynchronous:
            raise SettingsError(
                "the Dask client is closed or asynchronous: make one that is open and waits for "
                "its answers, Client(address), and give backend=Dask(client)"
            )
        with _answering(OSError):
            with suppress(TimeoutError):  # Dask's own is one
                client.wait_for_workers(1, timeout=WAIT)
            n_threads = sum(client.nthreads().values())
        if not n_threads:
            raise SettingsError(
                f"the Dask cluster has no workers, and had none for {WAIT:g} seconds: start some"
            )

        def submit(*work: Any) -> Any:
            quiet = without_warnings(UserWarning, beginning="Sending large")
            with _answering(OSError), _sendable(), quiet:
                return client.submit(*work, pure=False)

        with ExitStack() as stack:
            with suppress(ValueError):  # this is no task, whose thread others need meanwhile
                distributed.get_worker()
                stack.enter_context(distributed.worker_client())
            # Results of tasks: Dask computes them again if they are lost, and scattered data not.
            placed = [submit(partial(tuple, share)) for share in _deal(parts, n_threads)]
            yield Workers(submit, placed, partial(_answering, CancelledError))


# ---- the backend by name, and the workers of the current one for work that is done once


BACKEND_NAMES = ("auto", "serial", "threads", "processes", "dask")


def backend_from(name: str | Backend, n_jobs: int | None) -> Backend:
    """Return a given backend, or the backend of a name with a number of workers.

    Parameters
    ----------
    name : {"auto", "serial", "threads", "processes", "dask"} or Backend
    n_jobs : int or None
        Workers, -1 for as many as there are cores; None for one, which is "serial". The workers of
        Dask are those of its cluster.

    Raises
    ------
    SettingsError
        When there is no such backend or number of workers.

    Examples
    --------
    >>> from structsvm.parallel import backend_from
    >>> backend_from("threads", n_jobs=2)
    Threads(n_jobs=2)
    >>> backend_from("auto", n_jobs=None)
    Serial()
    """
    check_n_jobs(n_jobs)
    if isinstance(name, Backend):
        return name
    wanted = f"a Backend or one of {list(BACKEND_NAMES)}"
    refuse_unless(among(name, BACKEND_NAMES), "backend", wanted, name)
    if name == "dask":
        return Dask()
    n = 1 if n_jobs is None else _n_workers(n_jobs)
    if name == "serial" or n == 1:
        return Serial()
    kinds: dict[str, type[Auto | Threads | Processes]]
    kinds = {"auto": Auto, "threads": Threads, "processes": Processes}
    return kinds[str(name)](n)


_backend: ContextVar[Backend] = ContextVar("backend", default=Serial())  # noqa: B039 (frozen)


@contextmanager
def working_on(backend: Backend) -> Iterator[None]:
    """Let :func:`spread` use these workers in this block, and in this thread."""
    outer = _backend.set(backend)
    try:
        yield
    finally:
        _backend.reset(outer)


def spread(words: str, task: Task, parts: Sequence[Any], argument: Any) -> list[Any]:
    """``task(part, argument)`` of every part, in their order, whoever works on it.

    Without words the parts are in memory, where threads do without copies.
    """
    backend = _backend.get()
    if not words:
        backend = Threads(backend.n_jobs) if isinstance(backend, _Local) else Serial()
    if isinstance(backend, Serial) or len(parts) < 2:
        with single_threaded():
            return [task(part, argument) for part in (stage(words, parts) if words else parts)]
    with backend.open(parts) as session:
        return session.map(task, argument)
