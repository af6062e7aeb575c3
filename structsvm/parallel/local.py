"""Threads of this process, and processes of this machine."""

from __future__ import annotations

import logging
import os
import pickle
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import RLock, Thread
from typing import Any

import cloudpickle

from structsvm.errors import StructSVMError
from structsvm.parallel import leftovers
from structsvm.parallel.base import (
    RETRIES,
    Backend,
    Session,
    ShareResult,
    ShareTask,
    n_workers,
    sendable,
    split_shares,
    take_turns,
    work,
)
from structsvm.parallel.workers import Workers, WorkersDied
from structsvm.support.checks import check_n_jobs

logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class Threads(Backend):
    """A backend of threads, for oracles that release the interpreter's lock.

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
        session = _InThreads(parts, min(len(parts), n_workers(self.n_jobs)))
        try:
            yield session
        finally:
            session.end()


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
            shares = split_shares(parts, n_workers(self.n_jobs))
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
    """Threads that take one part after another, and wait for the next call without polling.

    The threads end with the process, so that Ctrl-C need not wait for what they are at.
    """

    def __init__(self, parts: Sequence[Any], n_threads: int) -> None:
        self._parts = parts
        self._calls: list[SimpleQueue[_Call | None]] = [SimpleQueue() for _ in range(n_threads)]
        turn = RLock()
        for k, calls in enumerate(self._calls):
            args, name = (calls, turn), f"structsvm worker {k}"
            Thread(target=_answer_calls, args=args, name=name, daemon=True).start()

    def shares(self, task: ShareTask, argument: Any) -> list[ShareResult]:
        waiting, answers = deque(enumerate(self._parts)), SimpleQueue[_Answer]()
        for calls in self._calls:  # with a queue of its own: no call gets what another left behind
            calls.put((task, waiting, argument, answers))
        found: dict[int, Any] = {}
        failed: dict[int, BaseException] = {}
        seconds = []
        for _ in self._calls:
            places, result = answers.get()
            if isinstance(result, ShareResult):
                found |= dict(zip(places, result.answers, strict=True))
                seconds.append(result.seconds)
            else:
                failed[places[-1] if places else -1] = result
        if failed:
            raise failed[min(failed)]
        return [
            ShareResult([found[place] for place in range(k, len(found), len(seconds))], each)
            for k, each in enumerate(seconds)
        ]

    def end(self) -> None:
        """Let the threads end, once they have done what they are at."""
        for calls in self._calls:
            calls.put(None)


_Answer = tuple[list[int], ShareResult | BaseException]
_Call = tuple[ShareTask, "deque[tuple[int, Any]]", Any, "SimpleQueue[_Answer]"]
_Turn = AbstractContextManager[Any]


def _answer_calls(calls: SimpleQueue[_Call | None], turn: _Turn) -> None:
    take_turns(turn)
    while (call := calls.get()) is not None:
        task, waiting, argument, answers = call
        places: list[int] = []
        try:
            answers.put((places, work(task, _taken(waiting, places), argument)))
        except BaseException as error:
            waiting.clear()
            answers.put((places, error))
        del call, task, waiting, argument, answers  # nothing is held while this waits


def _taken(waiting: deque[tuple[int, Any]], places: list[int]) -> Iterator[Any]:
    """One part after another, as long as there are any, and their places."""
    with suppress(IndexError):
        while True:
            place, part = waiting.popleft()
            places.append(place)
            yield part


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
