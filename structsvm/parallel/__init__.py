"""Where work runs: one thread inside a call, workers over the parts of a data set.

A :class:`Backend` places the parts on its workers once; then a task and an argument go out as often
as one likes and the answers come back. What they are does not depend on the backend.
"""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.parallel.auto import Auto as Auto
    from structsvm.parallel.auto import backend_from as backend_from
    from structsvm.parallel.base import Backend as Backend
    from structsvm.parallel.base import Serial as Serial
    from structsvm.parallel.base import Session as Session
    from structsvm.parallel.cluster import Dask as Dask
    from structsvm.parallel.limits import single_threaded as single_threaded
    from structsvm.parallel.local import Processes as Processes
    from structsvm.parallel.local import Threads as Threads
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "Auto": "structsvm.parallel.auto",
            "Backend": "structsvm.parallel.base",
            "Dask": "structsvm.parallel.cluster",
            "Processes": "structsvm.parallel.local",
            "Serial": "structsvm.parallel.base",
            "Session": "structsvm.parallel.base",
            "Threads": "structsvm.parallel.local",
            "backend_from": "structsvm.parallel.auto",
            "single_threaded": "structsvm.parallel.limits",
        },
    )
