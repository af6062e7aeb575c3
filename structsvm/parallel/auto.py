"""The backend by name, and the one that is chosen by what the oracles cost."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import joblib

from structsvm.errors import SettingsError
from structsvm.parallel.base import Backend, Serial, SerialSession, Session, ShareResult, ShareTask
from structsvm.parallel.cluster import Dask
from structsvm.parallel.local import Processes, Threads
from structsvm.support.checks import among, check_n_jobs

__all__ = ["BACKEND_NAMES", "Auto", "backend_from"]

BACKEND_NAMES = ("auto", "serial", "threads", "processes", "dask")

CHEAP, DEAR = 0.01, 1.0
"""CPU seconds of a round below which threads, and above which processes, may pay."""
WORTHWHILE = 1.25
"""Threads that wait for each other's lock do not reach this many CPU seconds per second."""

logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class Auto(Backend):
    """Threads, processes or neither, as the CPU time of the first rounds suggests.

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
    """A backend itself, or the one of a name with so many workers.

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
    n_workers = joblib.effective_n_jobs(1 if n_jobs is None else n_jobs)
    if name == "serial" or n_workers == 1:
        return Serial()
    kinds: dict[str, type[Auto | Threads | Processes]]
    kinds = {"auto": Auto, "threads": Threads, "processes": Processes}
    return kinds[str(name)](n_workers)


class _Chosen(Session):
    """Two rounds here, the second of which is typical; one in threads to see whether they pay."""

    def __init__(self, parts: Sequence[Any], n_jobs: int, stack: ExitStack) -> None:
        self._parts, self._n_jobs, self._stack = parts, n_jobs, stack
        self._here = SerialSession(parts)
        self._session: Session = self._here
        self._rounds = 0

    def shares(self, task: ShareTask, argument: Any) -> list[ShareResult]:
        started = time.perf_counter()
        shares = self._session.shares(task, argument)
        self._rounds += 1
        work = sum(done.seconds for done in shares)
        if self._rounds == 2 and work >= CHEAP:
            self._session = self._stack.enter_context(Threads(self._n_jobs).open(self._parts))
        elif self._rounds == 3 and self._session is not self._here:
            self._settle(work, time.perf_counter() - started)
        return shares

    def _settle(self, work: float, elapsed: float) -> None:
        if work >= WORTHWHILE * elapsed:
            choice = "threads"
        elif work >= DEAR:
            choice = "processes"
            self._session = self._stack.enter_context(Processes(self._n_jobs).open(self._parts))
        else:
            choice, self._session = "one thread", self._here
        logger.info("a round of oracles takes %.2g CPU seconds: %s", work, choice)
