"""Work that is done once, such as a calibration or a prediction, on the workers of a backend."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from structsvm.parallel.auto import Auto
from structsvm.parallel.base import Backend, Serial, Task
from structsvm.parallel.limits import single_threaded
from structsvm.parallel.local import Threads
from structsvm.support.progress import stage

__all__ = ["spread", "working_on"]

PROBE, WORTHWHILE = 0.05, 0.1
"""Seconds for which :class:`Auto` works here, and that what is left must take to go to threads."""

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
    """``task(part, argument)`` of every part, in their order, whoever works on it.

    Parameters
    ----------
    words : str
        What is being done, for whoever watches.
    task : callable
        A function of a module. It runs with one thread in BLAS.
    """
    backend = _backend.get()
    if isinstance(backend, Serial) or len(parts) < 2:
        return _here(words, task, parts, argument)
    if isinstance(backend, Auto):
        return _here_or_in_threads(words, task, parts, argument, backend.n_jobs)
    with backend.open(parts) as session:
        return session.map(task, argument)


def _here(words: str, task: Task, parts: Sequence[Any], argument: Any) -> list[Any]:
    with single_threaded():
        return [task(part, argument) for part in stage(words, parts)]


def _here_or_in_threads(
    words: str, task: Task, parts: Sequence[Any], argument: Any, n_jobs: int
) -> list[Any]:
    """Begin here, and go on in threads if there is much to do."""
    started = time.perf_counter()
    done: list[Any] = []
    with single_threaded():
        while len(done) < len(parts) and time.perf_counter() - started < PROBE:
            done.append(task(parts[len(done)], argument))
    rest = parts[len(done) :]
    left = (time.perf_counter() - started) / max(1, len(done)) * len(rest)
    if left < WORTHWHILE:
        return done + _here(words, task, rest, argument)
    with Threads(n_jobs).open(rest) as session:
        return done + session.map(task, argument)
