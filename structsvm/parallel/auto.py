"""The backend by name."""

from __future__ import annotations

from structsvm.errors import SettingsError
from structsvm.parallel.base import Backend, Serial, n_workers
from structsvm.parallel.cluster import Dask
from structsvm.parallel.local import Auto, Processes, Threads
from structsvm.support.checks import among, check_n_jobs

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
