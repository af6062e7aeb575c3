"""Backends by name, and the current backend, which does work that is done once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from structsvm.parallel.base import Backend, Serial, Task
from structsvm.parallel.cluster import Dask
from structsvm.parallel.local import Auto, Local, Processes, Threads, n_workers
from structsvm.parallel.single import single_threaded
from structsvm.support import among, check_n_jobs, refuse_unless, stage

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
    n = 1 if n_jobs is None else n_workers(n_jobs)
    if name == "serial" or n == 1:
        return Serial()
    kinds: dict[str, type[Auto | Threads | Processes]]
    kinds = {"auto": Auto, "threads": Threads, "processes": Processes}
    return kinds[str(name)](n)


_backend: ContextVar[Backend] = ContextVar("backend", default=Serial())  # noqa: B039 (frozen)


@contextmanager
def working_on(backend: Backend) -> Iterator[None]:
    """Let :func:`spread` use this backend in this block, and in this thread."""
    outer = _backend.set(backend)
    try:
        yield
    finally:
        _backend.reset(outer)


def spread(words: str, task: Task, parts: Sequence[Any], argument: Any) -> list[Any]:
    """``task(part, argument)`` of every part, in their order, by the current backend.

    ``words`` tell the progress. Without words the parts are taken to be in memory, so that threads
    are used in place of processes, which would need copies.
    """
    backend = _backend.get()
    if not words:
        backend = Threads(backend.n_jobs) if isinstance(backend, Local) else Serial()
    if isinstance(backend, Serial) or len(parts) < 2:
        with single_threaded():
            return [task(part, argument) for part in (stage(words, parts) if words else parts)]
    with backend.open(parts) as session:
        return session.map(task, argument)
