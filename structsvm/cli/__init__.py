"""The command ``structsvm``, also ``python -m structsvm``."""

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence

from structsvm.support import Interrupts

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``structsvm`` with the arguments of the command line, or with these; its exit status.

    What it needs is imported here, so that Ctrl-C is answered during that time, too. What a library
    makes of a KeyboardInterrupt while it is imported is one again.
    """
    entered = time.monotonic()
    before = time.process_time() if argv is None else 0.0  # what starting Python took
    _tolerate_any_stream()
    try:
        with Interrupts() as interrupts, interrupts.released():
            from structsvm.cli.app import run

            ago = before + time.monotonic() - entered
            status = run(sys.argv[1:] if argv is None else list(argv), ago)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        status = 130
    if argv is None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # everything is done, and the status stays
        # An interrupt within exec leaves a mark by which `python -m` would end with the signal;
        # another exec removes it.
        exec("")
    return status


def _tolerate_any_stream() -> None:
    """Let no command fail because stdout is closed, or because its encoding lacks a letter."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
