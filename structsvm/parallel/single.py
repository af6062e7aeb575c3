"""One thread inside a call: parallelism is over the parts of a data set, outside it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, local
from typing import Any

import threadpoolctl

WITH_POOLS = ("scipy.linalg", "sklearn", "scs", "ruptures")  # libraries that bring a thread pool
_here = local()  # ``loaded``: which of these libraries a block of this thread has limited
_lock = Lock()
_threads = 0  # how many threads are inside a block
_blas: Any = None  # the limit that they share


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run the block with one thread in BLAS and in OpenMP, then restore what the user had set.

    The BLAS setting belongs to the process: blocks that overlap in time share one limit, which the
    last to leave restores. The OpenMP setting belongs to the calling thread.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.parallel import single_threaded
    >>> with single_threaded():
    ...     float((np.eye(3) @ np.eye(3)).sum())
    3.0
    """
    loaded = tuple(map(sys.modules.__contains__, WITH_POOLS))
    outer = getattr(_here, "loaded", None)
    if loaded == outer:  # inside another block there is nothing new to set
        yield
        return
    controller = _controller(loaded)
    if outer is None:
        _count(1, controller)
        controller = controller.select(user_api="openmp")
    _here.loaded = loaded
    try:
        with controller.limit(limits=1):
            yield
    finally:
        _here.loaded = outer
        if outer is None:
            _count(-1, controller)


@cache
def _controller(loaded: tuple[bool, ...]) -> threadpoolctl.ThreadpoolController:  # noqa: ARG001 (cache key)
    """Every pool loaded so far; looking for them takes milliseconds, so it is done once."""
    return threadpoolctl.ThreadpoolController()


def _count(change: int, controller: threadpoolctl.ThreadpoolController) -> None:
    """Count the threads inside of blocks: the first one limits BLAS, the last restores it."""
    global _threads, _blas
    with _lock:
        if _threads == 0:
            _let_any_thread_set_blas()
            _blas = controller.select(user_api="blas").limit(limits=1)
        _threads += change
        if _threads == 0:
            _let_any_thread_set_blas()
            _blas.restore_original_limits()
            _let_any_thread_set_blas()


def _let_any_thread_set_blas() -> None:
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):  # from threadpoolctl 3.8 on
        openblas.clear_controlling_thread(force=True)
