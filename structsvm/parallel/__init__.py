"""Where work runs: one thread inside a call, workers over the parts of a data set.

A :class:`Backend` places the parts on its workers once; then a task and an argument go out as often
as one likes and the answers come back. What they are does not depend on the backend.
"""

from structsvm.parallel.auto import BACKEND_NAMES, Auto, backend_from
from structsvm.parallel.base import Backend, Serial, Session
from structsvm.parallel.cluster import Dask
from structsvm.parallel.limits import single_threaded
from structsvm.parallel.local import Processes, Threads

__all__ = [
    "BACKEND_NAMES",
    "Auto",
    "Backend",
    "Dask",
    "Processes",
    "Serial",
    "Session",
    "Threads",
    "backend_from",
    "single_threaded",
]
