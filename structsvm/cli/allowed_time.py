"""The time of ``--minutes``: when reading ends, when all does, and what is left."""

import math
import time
from dataclasses import dataclass

READING, A_FEW = 0.35, 3.0
"""The part of the time in which files are read, and the seconds of it that there are always."""
SPARE = 0.15
"""The part of the time by which all may be late in the end."""


@dataclass(frozen=True)
class Time:
    """The time of ``--minutes``; without any, the first answer takes what it takes."""

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
        """When everything ends; never, if no time was given."""
        return self.end + SPARE * self.whole if self.whole > 0 else math.inf

    @property
    def likely(self) -> float:
        """When everything is told to end: on a busy machine the last steps are late."""
        return self.end + SPARE / 2 * self.whole

    @property
    def of_reading(self) -> float:
        """When reading ends; never, if no time was given."""
        if self.whole == 0:
            return math.inf
        return max(self.start + READING * self.whole, time.monotonic() + A_FEW)

    def part(self, n: int) -> "Time":
        """One of so many parts of what is left."""
        now = time.monotonic()
        return Time(now, now + max(self.end - now, 0.0) / n)
