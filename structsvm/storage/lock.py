"""One run at a time on a file, as long as the run lives and no longer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from structsvm.storage.atomic import hidden, remove_leftovers

if sys.platform != "win32":  # where nothing keeps two runs apart
    import fcntl


class TakenError(OSError):
    """Another run, which is alive, holds the file."""


@contextmanager
def alone_on(path: str | PathLike[str]) -> Iterator[None]:
    """Hold a file against other runs, by a lock that the system drops when this process ends.

    The lock is on a hidden file beside it, because the file itself is replaced whenever it is
    written. Where that cannot be made, as in a folder that is read-only, nothing is held.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f"{hidden(target)}.lock")
    handle = _locked(beside)
    try:
        if handle is not None:
            remove_leftovers(target)
        yield
    finally:
        if handle is not None:
            beside.unlink(missing_ok=True)
            os.close(handle)


def _locked(beside: Path) -> int | None:
    """A handle that holds the lock; None where there are no locks."""
    if sys.platform == "win32":
        return None
    while True:
        try:
            handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise TakenError(f"another run holds {beside}") from None
        except OSError:  # a file system without locks
            os.close(handle)
            return None
        try:
            if os.path.samestat(os.fstat(handle), os.stat(beside)):
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)  # whoever held it has removed it meanwhile: this lock is on nothing
