"""What a backend promises, and the one that needs no workers."""

from __future__ import annotations

import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache, partial
from threading import Lock, local
from typing import Any

import joblib
import threadpoolctl

from structsvm.errors import SettingsError
from structsvm.support.quiet import without_warnings

# ---- one thread inside a call: parallelism is over the parts of a data set, outside it


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
    loaded, outer = tuple(map(sys.modules.__contains__, WITH_POOLS)), getattr(_here, "loaded", None)
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
    """Let a thread into a block, or out of it: the first one sets BLAS, the last restores it."""
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


# ---- what a backend promises, and the one that needs no workers


Task = Callable[[Any, Any], Any]
"""Takes a part and the argument."""

ShareTask = Callable[[Sequence[Any], Any], list[Any]]
"""Takes the parts of a share and the argument; an answer for each part."""


class Session(ABC):
    """The parts of a data set on the workers of a backend.

    Examples
    --------
    >>> import operator
    >>> from structsvm.parallel import Session, Threads
    >>> with Threads(n_jobs=2).open([1, 2, 3]) as session:
    ...     print(isinstance(session, Session))
    ...     session.map(operator.mul, 10), session.map(operator.add, 10)
    True
    ([10, 20, 30], [11, 12, 13])
    """

    @abstractmethod
    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        """``task(parts, argument)`` of every share: the answers of all parts, in their order.

        The first error that a task raises, if one does.
        """

    def map(self, task: Task, argument: Any) -> list[Any]:
        """``task(part, argument)`` of every part, in their order."""
        return self.map_shares(partial(_of_each, task), argument)


class Backend(ABC):
    """Base of backends, which work on the parts of a data set; an instance holds settings only.

    Examples
    --------
    >>> from structsvm.parallel import Backend, Threads
    >>> isinstance(Threads(n_jobs=2), Backend)
    True
    """

    @abstractmethod
    def open(self, parts: Sequence[Any]) -> AbstractContextManager[Session]:
        """Place the parts on the workers, for as long as the block lasts."""


@dataclass(frozen=True)
class Serial(Backend):
    """A backend that works on one part after another in the calling thread.

    Examples
    --------
    >>> import operator
    >>> from structsvm.parallel import Serial
    >>> with Serial().open([1, 2, 3]) as session:
    ...     session.map(operator.mul, 10)
    [10, 20, 30]
    """

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        yield SerialSession(parts)


@dataclass(frozen=True, eq=False)
class SerialSession(Session):
    parts: Sequence[Any]

    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        return work(task, self.parts, argument)


@dataclass(frozen=True, eq=False)
class Workers(Session):
    """Shares of the parts, each of which a worker has."""

    submit: Callable[[ShareTask, Any, Any], Any]
    """The future of a task, for a share and the argument."""
    shares: Sequence[Any]
    explained: Callable[[], AbstractContextManager[None]] = nullcontext
    """Says in our words what happens to workers."""

    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        with self.explained():
            waiting = [self.submit(task, share, argument) for share in self.shares]
            try:
                answers = [future.result() for future in waiting]
            finally:
                for future in waiting:
                    if not future.done():
                        with suppress(Exception):  # workers that are gone have nothing to cancel
                            future.cancel()
        n, total = len(answers), sum(map(len, answers))
        return [answers[k % n][k // n] for k in range(total)]


def work(task: ShareTask, share: Sequence[Any], argument: Any) -> list[Any]:
    """The answers of a share, each call of an oracle with one thread."""
    with single_threaded():
        return task(share, argument)


def _of_each(task: Task, share: Sequence[Any], argument: Any) -> list[Any]:
    return [task(part, argument) for part in share]


@contextmanager
def sendable() -> Iterator[None]:
    """Name the way out where something cannot be sent to another process."""
    try:
        yield
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise SettingsError(
            f"what the workers work on cannot be sent to other processes ({error}): use "
            "backend='threads', or give what can be pickled, such as paths in place of open files"
        ) from error


def n_workers(n_jobs: int) -> int:
    with without_warnings(UserWarning):
        return int(joblib.effective_n_jobs(n_jobs))


def split_shares(parts: Sequence[Any], n_workers: int) -> list[list[Any]]:
    """The parts dealt out like cards, so that neighbours of like size go to different workers."""
    n = max(1, min(n_workers, len(parts)))
    return [list(parts[k::n]) for k in range(n)]
