"""Threads of this machine, through joblib, and processes of its own."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cloudpickle
import joblib

from structsvm.errors import StructSVMError
from structsvm.parallel import leftovers
from structsvm.parallel.base import (
    RETRIES,
    Backend,
    Session,
    ShareResult,
    ShareTask,
    sendable,
    split_shares,
    work,
)
from structsvm.parallel.workers import Workers, WorkersDied
from structsvm.support.checks import check_n_jobs

__all__ = ["Processes", "Threads"]

logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class Threads(Backend):
    """Threads of this process, through joblib: for oracles that release the interpreter's lock.

    Examples
    --------
    >>> import operator
    >>> from structsvm.parallel import Threads
    >>> with Threads(n_jobs=2).open([1, 2, 3]) as session:
    ...     session.map(operator.mul, 10)
    [10, 20, 30]
    """

    n_jobs: int = -1

    def __post_init__(self) -> None:
        """Check the number of workers."""
        check_n_jobs(self.n_jobs)

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Share the parts with the threads, which need no copies of them."""
        shares = split_shares(parts, joblib.effective_n_jobs(self.n_jobs))
        with joblib.Parallel(len(shares), backend="threading", batch_size=1) as pool:
            yield _InThreads(pool, shares)


@dataclass(frozen=True)
class Processes(Backend):
    """A backend of processes of this machine, which are kept for the next run.

    A worker reads each share it works on from a file, once. The files are readable by their owner
    alone; those that a killed process leaves are removed when the next one begins.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.parallel import Processes
    >>> MetricLearner(backend=Processes(n_jobs=2)).backend
    Processes(n_jobs=2)
    """

    n_jobs: int = -1

    def __post_init__(self) -> None:
        """Check the number of workers."""
        check_n_jobs(self.n_jobs)

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Write the shares into a folder that lasts as long as the block."""
        leftovers.remove()
        with TemporaryDirectory(prefix=leftovers.prefix()) as folder:
            shares = split_shares(parts, joblib.effective_n_jobs(self.n_jobs))
            paths = [str(Path(folder, str(k))) for k in range(len(shares))]
            with sendable():
                for path, share in zip(paths, shares, strict=True):
                    _write(path, cloudpickle.dumps(share))
            with Workers() as workers:
                yield _InProcesses(paths, workers)


def _write(path: str, content: bytes) -> None:
    """A file that nobody but its owner can read, whatever the umask."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


class _InThreads(Session):
    def __init__(self, pool: joblib.Parallel, shares: Sequence[Sequence[Any]]) -> None:
        self._pool, self._shares = pool, shares

    def shares(self, task: ShareTask, argument: Any) -> list[ShareResult]:
        call = joblib.delayed(work)
        return list(self._pool(call(task, share, argument) for share in self._shares))


class _InProcesses(Session):
    def __init__(self, paths: Sequence[str], workers: Workers) -> None:
        self._paths, self._workers = paths, workers

    def shares(self, task: ShareTask, argument: Any) -> list[ShareResult]:
        missing = dict(enumerate((_work_on_file, task, path, argument) for path in self._paths))
        done: dict[int, ShareResult] = {}
        for retry in range(RETRIES + 1):
            try:
                done |= self._workers.run(missing)
                return [done[k] for k in range(len(self._paths))]
            except WorkersDied as error:
                done |= error.done
                missing = {k: call for k, call in missing.items() if k not in done}
                if retry == RETRIES:
                    raise StructSVMError(f"workers keep dying: {error}") from error
                logger.warning("a worker process died: its work is done again")
        raise AssertionError


_read: dict[str, list[Any]] = {}
"""The shares this worker has read, by path."""


def _work_on_file(task: ShareTask, path: str, argument: Any) -> ShareResult:
    if path not in _read:
        for other in list(_read):
            if Path(other).parent != Path(path).parent:
                del _read[other]  # of a run that is over
        _read[path] = pickle.loads(Path(path).read_bytes())
    return work(task, _read[path], argument)
