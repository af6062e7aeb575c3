"""A clock that only tests move: what takes how long does not depend on the machine."""

from types import ModuleType

import pytest


class Clock:
    """In the place of the module ``time``: it stands still but for ``sleep``."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    perf_counter = time = monotonic

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    @classmethod
    def of(cls, monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> "Clock":
        """A clock that these modules read."""
        clock = cls()
        for module in modules:
            monkeypatch.setattr(module, "time", clock)
        return clock
