"""One thread inside a call: parallelism is over the parts of a data set, outside it.

Two BLAS threads on the small products of an oracle are up to a hundred times slower than one
(they wait for each other on a shared machine).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, local
from typing import Any

import threadpoolctl

WITH_POOLS = ("scipy.linalg", "sklearn", "scs", "ruptures")
"""Libraries that bring a thread pool."""

_here = local()
"""The libraries that a block of this thread has limited, in ``loaded``."""
_lock = Lock()
_threads = 0
"""How many threads are inside a block."""
_blas: Any = None
"""The limit that they share."""


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run the block with one thread in BLAS and in OpenMP, then restore what the user had set.

    The BLAS setting belongs to the process: blocks that overlap in time share one limit, the first
    to enter sets it and the last to leave restores what the first one found. The OpenMP setting
    belongs to the calling thread. Inside another block of the same thread there is nothing to set,
    unless a library that brings a thread pool was loaded in between.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.parallel import single_threaded
    >>> with single_threaded():
    ...     float((np.eye(3) @ np.eye(3)).sum())
    3.0
    """
    loaded, outer = tuple(map(sys.modules.__contains__, WITH_POOLS)), _loaded_here()
    if loaded == outer:
        yield
        return
    controller = _controller(loaded)
    if outer is None:
        _enter(controller)
        controller = controller.select(user_api="openmp")
    _here.loaded = loaded
    try:
        with controller.limit(limits=1):
            yield
    finally:
        _here.loaded = outer
        if outer is None:
            _leave()


@cache
def _controller(loaded: tuple[bool, ...]) -> threadpoolctl.ThreadpoolController:  # noqa: ARG001 (cache key)
    """Every pool loaded so far; looking for them takes milliseconds, so it is done once."""
    return threadpoolctl.ThreadpoolController()


def _loaded_here() -> tuple[bool, ...] | None:
    return getattr(_here, "loaded", None)


def _enter(controller: threadpoolctl.ThreadpoolController) -> None:
    global _threads, _blas
    with _lock:
        if _threads == 0:
            _restore()  # in a forked child, what blocks of other threads had limited
            _blas = controller.select(user_api="blas").limit(limits=1)
        _threads += 1


def _leave() -> None:
    global _threads
    with _lock:
        _threads -= 1
        if _threads == 0:
            _restore()


def _restore() -> None:
    """Restore the user's setting, and let whichever thread comes next set OpenBLAS."""
    global _blas
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    release = getattr(openblas, "clear_controlling_thread", None)  # from threadpoolctl 3.8 on
    if release is not None:
        release(force=True)
    if _blas is not None:
        _blas.restore_original_limits()
        _blas = None
        if release is not None:
            release(force=True)


def _forget() -> None:
    """In a forked child, which has this thread alone: the others have left no lock and no block."""
    global _lock, _threads
    _lock, _threads = Lock(), int(_loaded_here() is not None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
