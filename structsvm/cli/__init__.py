"""The command ``structsvm``, also ``python -m structsvm``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from structsvm.support.interrupts import Interrupts

__all__ = ["main"]

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``structsvm`` with the arguments of the command line, or with these; its exit status.

    What it needs is imported here, which takes a second or two, so that Ctrl-C is answered during
    that time, too, and ``--version`` at once.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        # What a library makes of a KeyboardInterrupt while it is imported is one again.
        with Interrupts() as interrupts, interrupts.released():
            if arguments == ["--version"]:
                from structsvm import __version__

                sys.stdout.write(f"structsvm {__version__}\n")
                return 0
            from structsvm.cli.app import run

            code = run(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        code = INTERRUPTED
    if code == INTERRUPTED:
        # Python remembers a KeyboardInterrupt that went through exec, which dataclasses call while
        # a module is imported: python -m would kill itself in place of exiting. A further exec
        # makes it forget.
        exec("")
    return code
