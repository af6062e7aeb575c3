"""Threads and processes of this machine."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cloudpickle
import joblib
from joblib.externals.loky.backend import resource_tracker
from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

from structsvm.errors import StructSVMError, parameter, without_warnings
from structsvm.parallel.base import (
    RESUME,
    Backend,
    SerialSession,
    Session,
    ShareTask,
    Workers,
    deal,
    sendable,
    translated,
    work_on_share,
)
from structsvm.support import check_n_jobs

_alive = partial(
    translated,
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


def n_workers(n_jobs: int) -> int:
    with without_warnings(UserWarning):
        return int(joblib.effective_n_jobs(n_jobs))


@dataclass(frozen=True)
class Local(Backend):
    n_jobs: int = -1

    def __post_init__(self) -> None:
        check_n_jobs(self.n_jobs)


@dataclass(frozen=True)
class Threads(Local):
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
        shares = deal(parts, n_workers(self.n_jobs))
        pool = ThreadPoolExecutor(len(shares), "structsvm worker")
        try:
            yield Workers(pool.submit, shares)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # Ctrl-C does not wait for what they do


WORTHWHILE = 0.01
"""Seconds of a round after which threads do the rest: starting them is cheap then."""


@dataclass(frozen=True)
class Auto(Local):
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
        """Place the parts in this process, until threads pay."""
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
            answers += work_on_share(task, rest[: len(answers) + 1], argument)  # 1, 2, 4, ... parts
            self.pays = time.perf_counter() >= until
        if rest := self.parts[len(answers) :]:
            with self.threads.open(rest) as session:
                answers += session.map_shares(task, argument)
        return answers


@dataclass(frozen=True)
class Processes(Local):
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

        A child process starts no further processes: the parts stay in it.
        """
        n = n_workers(self.n_jobs)
        if n == 1 or parent_process() is not None:  # a child process would wait for its workers
            yield SerialSession(parts)
            return
        with TemporaryDirectory(prefix=f"structsvm-{os.getpid()}-") as folder:
            resource_tracker.register(folder, "folder")  # removes it if this process is killed
            try:
                shares = deal(parts, n)
                stored = [Path(folder, str(k)) for k in range(len(shares))]
                with sendable():
                    for path, share in zip(stored, shares, strict=True):
                        path.write_bytes(cloudpickle.dumps(share))
                yield Workers(lambda *work: _executor(n).submit(*work), stored, _killed_by_ctrl_c)
            finally:
                resource_tracker.unregister(folder, "folder")


_kept: dict[int, ProcessPoolExecutor] = {}
"""The workers of the last run, by the process that has started them."""


def _executor(n: int) -> ProcessPoolExecutor:
    """``n`` processes: those of the last run, or new ones if its number was another or one died.

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
