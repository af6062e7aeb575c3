"""Delay Ctrl-C where it would do harm: during compiled calls, and blocks that must end in order.

Python runs the handler of SIGINT between two of its own instructions. A compiled call has some of
these, because numba unpickles the type of each array that it returns; a KeyboardInterrupt raised
there becomes a SystemError, or an unchecked null pointer. Therefore the handler is replaced for the
duration of a compiled call (:func:`uninterrupted`) or a block (:class:`Interrupts`), and the
original handler, which may be the user's own, is called afterwards if a signal came meanwhile.

Signals are handled in the main thread only, and so nothing is done in any other one.
"""

import math
import sys
import time
from _signal import getsignal, signal  # the versions in signal convert to enums, in 2 us a call
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from signal import SIGINT
from threading import TIMEOUT_MAX, Event, Thread, get_ident, main_thread
from types import FrameType
from typing import Any, ParamSpec, Self, TypeVar

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
FIRST_CALL = 5e7  # operations of the first compiled call of several, at most
SHORT_CALL = 0.05
"""Seconds of a compiled call: a shorter one doubles the next range, a longer one halves it."""
RINGS_AGAIN = 0.2  # seconds after which an unanswered alarm rings again
AT_THE_DOOR = ("__enter__", "__exit__")
"""Functions that an alarm does not interrupt, so that ``with`` blocks begin and end in order."""


class Interrupts:
    """Delays SIGINT for the duration of a ``with`` block, except within :meth:`released`."""

    _previous: Any = None
    _waiting = _released = _raised = False

    def __enter__(self) -> Self:
        handler = getsignal(SIGINT)
        if callable(handler) and get_ident() == main_thread().ident:
            self._previous = handler
            signal(SIGINT, self)
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the previous handler, and call it if a signal came meanwhile."""
        if self._previous is None:
            return
        if getsignal(SIGINT) is self:  # otherwise the block has installed a handler of its own
            signal(SIGINT, self._previous)
        if self._waiting:
            self._previous(SIGINT, None)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self._released:
            self._waiting = True
            return
        handler = self._previous
        while isinstance(handler, Interrupts):  # an outer block would only delay it again
            handler = handler._previous
        try:
            handler(number, frame)
        except KeyboardInterrupt:
            self._raised = True
            raise

    def taken(self) -> bool:
        """Whether a signal is waiting, which then waits no longer."""
        waiting = self._waiting
        self._waiting = False
        return waiting

    @contextmanager
    def released(self) -> Iterator[None]:
        """A part of the block that signals may interrupt, including one that is waiting."""
        self._raised, self._released = False, True
        try:
            if self.taken():
                self(SIGINT, None)
            yield
        except Exception as error:
            if self._raised:
                raise KeyboardInterrupt from error
            raise
        finally:
            self._released = False


class Alarm:
    """Interrupts a block of the main thread like Ctrl-C when its seconds are over."""

    has_rung = _is_armed = _is_ours = False
    _previous: Any = None

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._stopped = Event()
        self._thread = Thread(target=self._ring, daemon=True)

    def __enter__(self) -> Self:
        handler = getsignal(SIGINT)
        is_heard = callable(handler) and get_ident() == main_thread().ident
        if is_heard and self._seconds < math.inf:
            self._previous = handler
            self._hook = sys.unraisablehook
            sys.unraisablehook = self._dropped
            signal(SIGINT, self)
            self._thread.start()
        self._is_armed = True
        return self

    def __exit__(self, *_: object) -> None:
        self._is_armed = False
        if self._previous is not None:
            self._stopped.set()
            self._thread.join()
            signal(SIGINT, self._previous)  # Python handles a pending signal before this call
            sys.unraisablehook = self._hook

    def _ring(self) -> None:
        wait = min(max(self._seconds, 0.0), TIMEOUT_MAX)
        while not self._stopped.wait(wait):
            self.has_rung = self._is_ours = True
            interrupt_main()
            wait = RINGS_AGAIN

    def __call__(self, number: int, frame: FrameType | None) -> None:
        is_ours = self._is_ours
        self._is_ours = False
        if not is_ours:
            self._previous(number, frame)
            return
        at_the_door = frame is not None and frame.f_code.co_name in AT_THE_DOOR
        if self._is_armed and not at_the_door and not self._is_held:
            raise KeyboardInterrupt

    def _dropped(self, unraisable: Any) -> None:
        """Keep silent about an interrupt during the freeing of memory: the alarm rings again."""
        if not (self.has_rung and unraisable.exc_type is KeyboardInterrupt):
            self._hook(unraisable)

    @property
    def _is_held(self) -> bool:
        """Whether an outer block delays signals."""
        handler = self._previous
        while isinstance(handler, Alarm):
            handler = handler._previous
        return isinstance(handler, Interrupts) and not handler._released


def uninterrupted(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """The compiled function with SIGINT delayed until the call returns."""

    @wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        handler = getsignal(SIGINT)
        if isinstance(handler, Interrupts) and not handler._released:
            return function(*args, **kwargs)
        with Interrupts():
            return function(*args, **kwargs)

    return call


def pieces(begin: int, end: int, most: float) -> Iterator[tuple[int, int]]:
    """Divide ``begin, ..., end - 1`` into ranges, one for each compiled call in a loop.

    ``most`` bounds the operations of one item. The lengths follow the time that the calls take, so
    that a signal waits a fraction of a second; results must not depend on them.
    """
    length = max(1, int(FIRST_CALL / most))
    while begin < end:
        stop = min(begin + length, end)
        started = time.perf_counter()
        yield begin, stop
        quick = time.perf_counter() - started < SHORT_CALL
        begin = stop
        length = 2 * length if quick else max(1, length // 2)
