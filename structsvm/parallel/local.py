"""Threads of this machine, through joblib, and processes, through its loky."""

from __future__ import annotations

import logging
import pickle
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cloudpickle
import joblib
from joblib.externals.loky import BrokenProcessPool, ProcessPoolExecutor, wait
from joblib.externals.loky.process_executor import ShutdownExecutorError

from structsvm.errors import StructSVMError
from structsvm.parallel.base import RETRIES, Backend, Done, Session, Task, deal, work

__all__ = ["Processes", "Threads"]

logger = logging.getLogger("structsvm")

IDLE = 300
"""Seconds after which a worker without work ends."""


@dataclass(frozen=True)
class Threads(Backend):
    """Threads of this process, through joblib: for oracles that release the interpreter's lock."""

    n_jobs: int = -1

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Nothing is moved."""
        shares = deal(parts, joblib.effective_n_jobs(self.n_jobs))
        with joblib.Parallel(len(shares), backend="threading", batch_size=1) as pool:
            yield _InThreads(pool, shares)


@dataclass(frozen=True)
class Processes(Backend):
    """Processes of this machine, kept for the next run.

    A worker reads each share it works on from a file, once.
    """

    n_jobs: int = -1

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Write the shares into a folder that lasts as long as the block."""
        with TemporaryDirectory(prefix="structsvm-") as folder:
            shares = deal(parts, joblib.effective_n_jobs(self.n_jobs))
            paths = [str(Path(folder, str(k))) for k in range(len(shares))]
            for path, share in zip(paths, shares, strict=True):
                Path(path).write_bytes(cloudpickle.dumps(share))
            yield _InProcesses(paths)


class _InThreads(Session):
    def __init__(self, pool: joblib.Parallel, shares: Sequence[Sequence[Any]]) -> None:
        self._pool, self._shares = pool, shares

    def shares(self, task: Task, argument: Any) -> list[Done]:
        call = joblib.delayed(work)
        return list(self._pool(call(task, share, argument) for share in self._shares))


class _InProcesses(Session):
    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths

    def shares(self, task: Task, argument: Any) -> list[Done]:
        for retry in range(RETRIES + 1):
            futures: list[Future[Done]] = []
            try:
                with _started_deaf():
                    pool = _pool(len(self._paths))
                    futures = [pool.submit(_work_on_file, task, p, argument) for p in self._paths]
                return [future.result() for future in futures]
            except (BrokenProcessPool, ShutdownExecutorError) as error:
                _discard(len(self._paths))
                if retry == RETRIES:
                    raise StructSVMError(f"workers keep dying: {error}") from error
                logger.warning("a worker process died: its work is done again")
            except KeyboardInterrupt:
                _discard(len(self._paths))  # its workers do not hear the signal
                raise
            except BaseException:
                wait(futures)
                raise
        raise AssertionError


_pools: dict[int, ProcessPoolExecutor] = {}
"""Pools of so many workers, kept for the next run.

Not joblib's own: it waits for a pool that broke to end in order, which it may never do.
"""


def _pool(n_workers: int) -> ProcessPoolExecutor:
    if n_workers not in _pools:
        _pools[n_workers] = ProcessPoolExecutor(n_workers, timeout=IDLE, initializer=_ignore_sigint)
    return _pools[n_workers]


@contextmanager
def _started_deaf() -> Iterator[None]:
    """Workers that start here, and threads that start more, do not hear Ctrl-C from the beginning.

    They get the signal when the keyboard sends it to the whole group; the process that they work
    for ends them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ignore_sigint() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _discard(n_workers: int) -> None:
    """End the workers of a pool, without waiting for what they are at."""
    pool = _pools.pop(n_workers, None)
    if pool is not None:
        pool.shutdown(wait=False, kill_workers=True)


_read: dict[str, list[Any]] = {}
"""The shares this worker has read, by path."""


def _work_on_file(task: Task, path: str, argument: Any) -> Done:
    if path not in _read:
        for other in list(_read):
            if Path(other).parent != Path(path).parent:
                del _read[other]  # of a run that is over
        _read[path] = pickle.loads(Path(path).read_bytes())
    return work(task, _read[path], argument)
