"""One thread inside a call: parallelism is over the parts of a data set, outside it.

Two BLAS threads on the small products of an oracle are up to a hundred times slower than one
(they wait for each other on a shared machine). The limit holds for the duration of a call and the
user's own setting comes back afterwards, also when calls overlap in several threads.
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
    loaded, outer = _native_libraries(), getattr(_here, "loaded", None)
    if loaded == outer:
        yield
        return
    controller = _controller(loaded)
    _enter(controller)
    _here.loaded, _here.blocks = loaded, _blocks_here() + 1
    try:
        with controller.select(user_api="openmp").limit(limits=1):
            yield
    finally:
        _here.loaded, _here.blocks = outer, _blocks_here() - 1
        _leave()


_here = local()
"""The libraries that a block of this thread has limited, in ``loaded``, and how many ``blocks``
of it limit some."""
_lock = Lock()
_inside: int = 0
_limiter: Any = None


def _blocks_here() -> int:
    return getattr(_here, "blocks", 0)


def _enter(controller: threadpoolctl.ThreadpoolController) -> None:
    global _inside, _limiter
    with _lock:
        if _inside == 0:
            _restore()  # in a forked child, what blocks of other threads had limited
            _release_control()
            _limiter = controller.select(user_api="blas").limit(limits=1)
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            _restore()


def _restore() -> None:
    global _limiter
    if _limiter is not None:
        _release_control()
        _limiter.restore_original_limits()
        _release_control()
        _limiter = None


def _forget() -> None:
    """In a forked child, which has this thread alone: the others have left no lock and no block."""
    global _lock, _inside
    _lock, _inside = Lock(), _blocks_here()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _release_control() -> None:
    """Let whichever thread comes next set OpenBLAS."""
    clear = getattr(
        getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None
    )
    if clear is not None:
        clear(force=True)


def _native_libraries() -> tuple[bool, ...]:
    """Which of the libraries that bring a thread pool are loaded by now."""
    return tuple(map(sys.modules.__contains__, WITH_POOLS))


@cache
def _controller(loaded: tuple[bool, ...]) -> threadpoolctl.ThreadpoolController:  # noqa: ARG001 (cache key)
    """Every pool loaded so far; looking for them takes milliseconds, so it is done once."""
    return threadpoolctl.ThreadpoolController()
