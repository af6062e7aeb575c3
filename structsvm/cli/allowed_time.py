"""The time of ``--minutes``: when reading ends, when everything does, and what is left."""

import math
import time
from dataclasses import dataclass

READING, A_FEW = 0.35, 3.0
"""The part of the time in which files are read, and the fewest seconds for that."""
SPARE = 0.15
"""The part of the time by which everything may be late in the end."""


ADDITIONS, USUAL_SECONDS = 2_000_000, 0.05
"""Additions of Python that are timed, and the seconds that they take where others were measured."""


@dataclass(frozen=True)
class Time:
    """The time of ``--minutes``; if that is 0, only the first answer is given, without a limit."""

    start: float
    end: float

    @property
    def whole(self) -> float:
        return self.end - self.start

    @property
    def left(self) -> float:
        return self.end - time.monotonic()

    @property
    def over(self) -> float:
        """When everything has to end; never, if no time was given."""
        return self.end + SPARE * self.whole if self.whole > 0 else math.inf

    @property
    def likely(self) -> float:
        """The end that users are told: halfway from ``end`` to ``over``, as work is often late."""
        return self.end + SPARE / 2 * self.whole

    @property
    def of_reading(self) -> float:
        """When reading has to end; never, if no time was given."""
        if self.whole == 0:
            return math.inf
        return max(self.start + READING * self.whole, time.monotonic() + A_FEW)

    def slowness(self) -> float:
        """How many times the seconds of an idle, usual machine this process takes, at least 1."""
        used = time.process_time()
        waited = (time.monotonic() - self.start) / used
        total = 0
        for k in range(ADDITIONS):
            total += k
        return max(1.0, waited) * max(1.0, (time.process_time() - used) / USUAL_SECONDS)

    def part(self, n: int) -> "Time":
        """The next of n equal parts of the time that is left."""
        now = time.monotonic()
        return Time(now, now + max(self.end - now, 0.0) / n)
