"""A clock that only tests move, and work that is counted: neither depends on the machine."""

import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

import pytest


class Clock:
    """In the place of the module ``time``: it stands still but for ``sleep``."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    perf_counter = time = process_time = monotonic

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    @classmethod
    def of(cls, monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> "Clock":
        """A clock that these modules read."""
        clock = cls()
        for module in modules:
            monkeypatch.setattr(module, "time", clock)
        return clock


def work_of(call: Callable[[], Any], *modules: ModuleType) -> int:
    """Number of lines of these modules that run while something is called in this thread."""
    files = {module.__file__ for module in modules}
    n_lines = 0

    def counted(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal n_lines
        if frame.f_code.co_filename not in files:
            return None
        n_lines += event == "line"
        return counted

    before = sys.gettrace()
    sys.settrace(counted)
    try:
        call()
    finally:
        sys.settrace(before)
    return n_lines
