"""The backend by name, and the one that is chosen by what the oracles cost."""

from __future__ import annotations

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
    ShareTask,
    n_workers,
    work,
)
from structsvm.parallel.cluster import Dask
from structsvm.parallel.local import Processes, Threads
from structsvm.support.checks import among, check_n_jobs

BACKEND_NAMES = ("auto", "serial", "threads", "processes", "dask")

WORTHWHILE = 0.01
"""Seconds of a round from which on threads are used: what they cost is a small part of it."""


@dataclass(frozen=True)
class Auto(Backend):
    """Threads, once a round takes long enough for them to pay.

    Oracles written in Python hold the interpreter's lock, so that threads do not help them: use
    processes.

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
        check_n_jobs(self.n_jobs)

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Begin here."""
        with ExitStack() as stack:
            yield _Chosen(parts, Threads(self.n_jobs), stack)


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
    n = 1 if n_jobs is None else n_workers(n_jobs)
    if name == "serial" or n == 1:
        return Serial()
    kinds: dict[str, type[Auto | Threads | Processes]]
    kinds = {"auto": Auto, "threads": Threads, "processes": Processes}
    return kinds[str(name)](n)


class _Chosen(Session):
    """Begins here, and goes on in threads after the first 10 ms that were not enough."""

    def __init__(self, parts: Sequence[Any], threads: Threads, stack: ExitStack) -> None:
        self._parts, self._threads, self._stack = parts, threads, stack
        self._session: Session | None = None

    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        started = time.perf_counter()
        if self._session is None:
            answers = self._first(task, argument, started + WORTHWHILE)
            self._session = SerialSession(self._parts)
        else:
            answers = self._session.map_shares(task, argument)
        is_long = time.perf_counter() - started >= WORTHWHILE and len(self._parts) > 1
        if is_long and isinstance(self._session, SerialSession):
            self._session = self._stack.enter_context(self._threads.open(self._parts))
        return answers

    def _first(self, task: ShareTask, argument: Any, until: float) -> list[Any]:
        """Part by part until then, and what is left in threads: there may be no second round."""
        answers: list[Any] = []
        while (rest := self._parts[len(answers) :]) and time.perf_counter() < until:
            answers += work(task, rest[:1], argument)
        if rest:
            with self._threads.open(rest) as session:
                answers += session.map_shares(task, argument)
        return answers
