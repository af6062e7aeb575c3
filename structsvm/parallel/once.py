"""Work that is done once, such as a calibration or a prediction, on the workers of a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from structsvm.parallel.base import Backend, Serial, Task, single_threaded
from structsvm.parallel.local import Threads
from structsvm.support.progress import stage

_backend: ContextVar[Backend] = ContextVar("backend", default=Serial())  # noqa: B039 (frozen)


@contextmanager
def working_on(backend: Backend) -> Iterator[None]:
    """Let :func:`spread` use these workers in this block, and in this thread."""
    outer = _backend.set(backend)
    try:
        yield
    finally:
        _backend.reset(outer)


def spread(words: str, task: Task, parts: Sequence[Any], argument: Any) -> list[Any]:
    """``task(part, argument)`` of every part, in their order, whoever works on it."""
    backend = _backend.get()
    if isinstance(backend, Serial) or len(parts) < 2:
        with single_threaded():
            return [task(part, argument) for part in stage(words, parts)]
    with backend.open(parts) as session:
        return session.map(task, argument)


def spread_in_threads(task: Task, parts: Sequence[Any], argument: Any) -> list[Any]:
    with single_threaded(), together(parts) as of_parts:
        return of_parts(task, argument)


@contextmanager
def together(parts: Sequence[Any]) -> Iterator[Callable[[Task, Any], list[Any]]]:
    """``map(task, argument)`` of parts in memory, as often as one likes in the block."""
    n_jobs = getattr(_backend.get(), "n_jobs", None)
    if n_jobs is None or len(parts) < 2:
        yield lambda task, argument: [task(part, argument) for part in parts]
        return
    with Threads(n_jobs).open(parts) as session:
        yield session.map
