"""The command ``structsvm`` on the clock of its processor: other work takes nothing of its time.

python -m experiments.studies._on_cpu_time try change-point ...
"""

from __future__ import annotations

import sys
import threading
import time


class _Event(threading.Event):
    """One that is waited for as long as the processor works for this process."""

    def wait(self, timeout: float | None = None) -> bool:
        if timeout is None:
            return super().wait()
        end = time.process_time() + timeout
        while (left := end - time.process_time()) > 0 and not self.is_set():
            super().wait(left)
        return self.is_set()


def main() -> int:
    time.monotonic = time.perf_counter = time.process_time
    from structsvm.support import interrupts

    interrupts.Event = _Event  # type: ignore[misc]
    from structsvm.cli import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
