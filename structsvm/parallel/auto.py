"""The backend by name, and the one that is chosen by what the oracles cost."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from structsvm.errors import SettingsError
from structsvm.parallel.base import (
    Backend,
    Serial,
    SerialSession,
    Session,
    ShareResult,
    ShareTask,
    n_workers,
    work,
)
from structsvm.parallel.cluster import Dask
from structsvm.parallel.local import Processes, Threads
from structsvm.support.checks import among, check_n_jobs

BACKEND_NAMES = ("auto", "serial", "threads", "processes", "dask")

WORTH_THREADS = 0.01
"""Seconds of work in a round from which on threads are tried: less is done here."""
WORTH_PROCESSES = 1.0
"""CPU seconds of a round from which on processes may pay where threads do not. Threads are judged
after as much work, as the null weight says little."""
WORTHWHILE = 1.25
"""CPU seconds per second from which on threads stay, though processes might do more."""
PAYS = 1.1
"""The same where no process pays: threads that wait for each other's lock do not reach it."""

logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class Auto(Backend):
    """Threads, processes or neither, according to the CPU time of the first parts and rounds.

    Examples
    --------
    >>> import operator
    >>> from structsvm.parallel import Auto
    >>> with Auto(n_jobs=1).open([1, 2, 3]) as session:
    ...     session.map(operator.mul, 10)
    [10, 20, 30]
    """

    n_jobs: int = -1

    def __post_init__(self) -> None:
        """Check the number of workers."""
        check_n_jobs(self.n_jobs)

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Begin here."""
        with ExitStack() as stack:
            yield _Chosen(parts, self.n_jobs, stack)


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
    if not among(name, BACKEND_NAMES):
        raise SettingsError(
            f"backend must be a Backend or one of {list(BACKEND_NAMES)}, got {name!r}"
        )
    if name == "dask":
        return Dask()
    n = n_workers(1 if n_jobs is None else n_jobs)
    if name == "serial" or n == 1:
        return Serial()
    kinds: dict[str, type[Auto | Threads | Processes]]
    kinds = {"auto": Auto, "threads": Threads, "processes": Processes}
    return kinds[str(name)](n)


class _Chosen(Session):
    """Begins here, goes on in threads if there is enough to do, and sees there whether they pay."""

    def __init__(self, parts: Sequence[Any], n_jobs: int, stack: ExitStack) -> None:
        self._parts, self._n_jobs, self._stack = parts, n_jobs, stack
        self._session: Session = SerialSession(parts)
        self._next: Backend | None = None
        self._begun = self._settled = False
        self._work = self._elapsed = 0.0

    def shares(self, task: ShareTask, argument: Any) -> list[ShareResult]:
        if not self._begun:
            return [self._first(task, argument)]
        if self._next is not None:
            self._session = self._stack.enter_context(self._next.open(self._parts))
            self._next = None
        started = time.perf_counter()
        shares = self._session.shares(task, argument)
        if not self._settled:
            self._watch(self._session, shares, time.perf_counter() - started)
        return shares

    def _first(self, task: ShareTask, argument: Any) -> ShareResult:
        """The first round: some parts here, and what is left where that suggests."""
        self._begun = True
        done, until = ShareResult([], 0.0), time.perf_counter() + WORTH_THREADS
        while (rest := self._parts[len(done.answers) :]) and time.perf_counter() < until:
            done = done.and_then(work(task, rest[:1], argument))
        if not rest:
            return done
        backend: Backend = Serial()
        if done.seconds * len(rest) >= WORTH_THREADS * len(done.answers):
            self._next = backend = Threads(self._n_jobs)
        started = time.perf_counter()
        with backend.open(rest) as session:
            shares = session.shares(task, argument)
        self._watch(session, shares, time.perf_counter() - started)
        return done.and_then(*shares)

    def _watch(self, session: Session, shares: Sequence[ShareResult], elapsed: float) -> None:
        """Take note of a round, and decide once there is enough to go by."""
        seconds = sum(done.seconds for done in shares)
        if not isinstance(session, SerialSession):
            self._work += seconds
            self._elapsed += elapsed
            if self._work >= WORTH_PROCESSES:
                self._settle(seconds, self._work / self._elapsed)
        elif seconds >= WORTH_THREADS and len(self._parts) > 1:
            self._next = Threads(self._n_jobs)

    def _settle(self, seconds: float, speed: float) -> None:
        """Stay in threads, or go where rounds of so many CPU seconds will be quicker."""
        self._settled = True
        if speed >= (WORTHWHILE if seconds >= WORTH_PROCESSES else PAYS):
            choice = "threads"
        elif seconds >= WORTH_PROCESSES:
            choice, self._next = "processes", Processes(self._n_jobs)
        else:
            choice, self._next = "one thread", Serial()
        logger.info("a round of oracles takes %.2g CPU seconds: %s", seconds, choice)
