"""Worker processes of this process, each at the end of a pipe of its own.

No lock and no queue is shared, so that a worker that is killed takes nothing with it: its pipe
ends, which the reader learns at once. A worker ends when its pipe does, whatever became of the
process that started it; nothing has to be shut down in order.
"""

from __future__ import annotations

import atexit
import io
import logging
import os
import select
import signal
import struct
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from types import TracebackType
from typing import Any

import cloudpickle

from structsvm.errors import SettingsError, StructSVMError
from structsvm.support.folders import works_in_removed_folder

logger = logging.getLogger("structsvm")

IDLE = 300
"""Seconds after which a worker without work ends."""

LENGTH = struct.Struct("!Q")
"""What goes before a message."""

READY = b"\x00structsvm\x00"
"""What goes before the first answer: Python may have printed while it began, such as from a
``sitecustomize``."""

PROGRAM = (
    "import sys; sys.path[:] = {path!r}; from structsvm.parallel.workers import serve; serve()"
)


class WorkersDied(Exception):
    """Some workers ended before they had answered."""

    def __init__(self, codes: list[int], done: dict[int, Any]) -> None:
        super().__init__(f"exit code{'s' if len(codes) > 1 else ''} {', '.join(map(str, codes))}")
        self.done = done
        """What the others answered."""


class _TracebackThere(Exception):
    """The traceback of an error in a worker, as its cause."""

    def __str__(self) -> str:
        return f"\n\nin a worker process:\n{self.args[0]}"


class _Worker:
    """A process that answers calls, one at a time."""

    def __init__(self) -> None:
        path = [place for place in sys.path if isinstance(place, str)]  # as import does
        program = [sys.executable, "-c", PROGRAM.format(path=path)]
        pipe, folder = subprocess.PIPE, os.sep if works_in_removed_folder() else None
        self._is_ready = False
        try:
            with _without_interrupts():  # Ctrl-C reaches the whole group: who starts it ends it
                self.process = subprocess.Popen(
                    program, stdin=pipe, stdout=pipe, bufsize=0, cwd=folder
                )
        except (OSError, TypeError) as error:  # of a Python inside of another program
            raise SettingsError(
                f"no process can be started with {sys.executable!r} (sys.executable): {error}; "
                "use backend='threads'"
            ) from error

    def ask(self, message: bytes) -> None:
        """Send a call. A worker that is gone is found out by :meth:`answer`."""
        try:
            _write(self.process.stdin, message)
        except OSError:
            logger.debug("worker %d takes no more work", self.process.pid)

    def answer(self) -> tuple[bool, Any]:
        printed = b"" if self._is_ready else bytes(len(READY))
        while not self._is_ready:
            printed = printed[1:] + _exactly(self.process.stdout, 1)
            self._is_ready = printed == READY
        returned, value = cloudpickle.loads(_read(self.process.stdout))
        return bool(returned), value

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def end(self) -> int:
        """End it, whatever it is at; its exit code."""
        self.process.kill()
        self.let_go()
        return self.process.wait()

    def let_go(self) -> None:
        """Close this process's ends of the pipes."""
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


_lock = Lock()
_all: set[_Worker] = set()
"""Those that this process has started, and that may be alive."""
_idle: list[_Worker] = []
"""Those of them that have no work, kept for the next run."""
_of_the_parent: list[_Worker] = []
"""Those of the process that this one was forked from: none of its business."""


class Workers:
    """Workers for as long as a block lasts, as many as are needed at once."""

    def __init__(self) -> None:
        self._mine: dict[int, _Worker] = {}

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        with _lock:
            _idle.extend(self._mine.values())
        self._mine.clear()

    def run(self, calls: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """``function(*arguments)`` of each call, the worker of a number being always the same."""
        messages = {k: cloudpickle.dumps(call) for k, call in calls.items()}
        done: dict[int, Any] = {}
        errors: list[BaseException] = []
        codes: list[int] = []
        try:
            for k, message in messages.items():
                self._worker(k).ask(message)
            for k in messages:
                try:
                    returned, value = self._mine[k].answer()
                except (EOFError, OSError):
                    codes.append(self._end(k))
                    continue
                if returned:
                    done[k] = value
                else:
                    errors.append(value)
        except BaseException:  # Ctrl-C: the answers that are still to come are nobody's
            for k in list(self._mine):
                self._end(k)
            raise
        if errors:
            raise errors[0]
        if codes:
            raise WorkersDied(codes, done)
        return done

    def _worker(self, k: int) -> _Worker:
        if k in self._mine and not self._mine[k].is_alive:
            self._end(k)
        if k not in self._mine:
            self._mine[k] = _take()
        return self._mine[k]

    def _end(self, k: int) -> int:
        worker = self._mine.pop(k)
        with _lock:
            _all.discard(worker)
        return worker.end()


def worker_pids() -> list[int]:
    """Process ids of the workers of this process, those without work included."""
    with _lock:
        return sorted(worker.process.pid for worker in _all)


def _take() -> _Worker:
    """A worker without work, or a new one."""
    with _lock:
        while _idle:
            worker = _idle.pop()
            if worker.is_alive:
                return worker
            _all.discard(worker)
            worker.end()
        worker = _Worker()
        _all.add(worker)
        return worker


def _end_all() -> None:
    """At the end of the process."""
    for worker in list(_all):
        worker.end()
    _all.clear()
    _idle.clear()


def _forget() -> None:
    """In a forked child: the workers are its parent's, and end with that."""
    global _lock
    _lock = Lock()
    for worker in _all:
        worker.let_go()
        worker.process.returncode = 0  # so that nothing here waits for it, or ends it
    _of_the_parent.extend(_all)
    _all.clear()
    _idle.clear()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C waits, and does not reach what is started inside at all."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ---- both ends


def _write(pipe: Any, message: bytes) -> None:
    _send(pipe, LENGTH.pack(len(message)) + message)


def _send(pipe: Any, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[pipe.write(left) :]


def _read(pipe: Any) -> bytes:
    (size,) = LENGTH.unpack(_exactly(pipe, LENGTH.size))
    return _exactly(pipe, size)


def _exactly(pipe: Any, size: int) -> bytes:
    read = bytearray(size)
    left = memoryview(read)
    while left:
        n = pipe.readinto(left)
        if not n:
            raise EOFError("the pipe has ended")
        left = left[n:]
    return bytes(read)


# ---- in the worker


def serve() -> None:
    """Answer calls until the pipe ends, or none comes for a long time.

    What a call prints goes where errors go, because standard output carries the answers.
    """
    calls, answers = (io.FileIO(os.dup(fd), mode) for fd, mode in ((0, "r"), (1, "w")))
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    try:
        _send(answers, READY)
        while _comes(calls):
            answer = _answer(_read(calls))
            sys.stdout.flush()
            _write(answers, answer)
    except (EOFError, BrokenPipeError):
        pass
    finally:
        os._exit(0)  # what a call has left behind, such as threads, keeps nobody waiting


def _comes(calls: io.FileIO) -> bool:
    if os.name == "nt":  # select is for sockets there
        return True
    return bool(select.select([calls], [], [], IDLE)[0])


def _answer(message: bytes) -> bytes:
    try:
        function, *arguments = cloudpickle.loads(message)
        return bytes(cloudpickle.dumps((True, function(*arguments))))
    except BaseException as error:
        told = traceback.format_exc()
        try:
            return bytes(cloudpickle.dumps((False, _Raised(error, told))))
        except Exception:
            lost = StructSVMError(f"an error that cannot be sent: {error!r}")
            return bytes(cloudpickle.dumps((False, _Raised(lost, told))))


class _Raised:
    """An error on its way, with the traceback as its cause."""

    def __init__(self, error: BaseException, told: str) -> None:
        self.error, self.told = error, told

    def __reduce__(self) -> Any:
        return _rebuilt, (self.error, self.told)


def _rebuilt(error: BaseException, told: str) -> BaseException:
    error.__cause__ = _TracebackThere(told)
    return error
