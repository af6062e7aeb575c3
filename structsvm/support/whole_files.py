"""Write files atomically, and lock them so that one run at a time works on them."""

import hashlib
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def write_atomically(path: str | PathLike[str], content: bytes) -> None:
    """Write a file, of which a reader finds either the old or the new content at any moment.

    The content is written to a temporary file beside it, which then replaces it. A file that is not
    regular, such as ``/dev/stdout``, is written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    beside = target.with_name(f"{hidden(target)}-{secrets.token_hex(8)}.tmp")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = os.fspath(path)  # in place of the temporary file
        raise


def hidden(target: Path) -> str:
    """The beginning of the names of hidden files that belong to a file."""
    return f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}"


def unwritable(path: str | PathLike[str]) -> str | None:
    """Why no file can have this name, such as that it is too long; None if one can."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):  # a missing folder is refused elsewhere
        return None
    except OSError as error:
        return error.strerror or str(error)
    except ValueError as error:  # a zero byte
        return str(error)
    return None


@contextmanager
def alone_on(path: str | PathLike[str], taken: Exception) -> Iterator[None]:
    """Lock a file for this run; the system drops the lock when the process ends.

    The lock is on a hidden file beside it, because the file itself is replaced whenever it is
    written. If that cannot be made, as in a read-only folder, nothing is locked. If a running
    process holds the lock, ``taken`` is raised.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f"{hidden(target)}.lock")
    handle = _locked(beside, taken)
    try:
        if handle is not None:
            for left in target.parent.glob(f"{hidden(target)}-*.tmp"):
                left.unlink(missing_ok=True)  # left by processes that were killed while writing
        yield
    finally:
        if handle is not None:
            _drop(handle, beside)


def _locked(beside: Path, taken: Exception) -> int | None:
    """A handle that holds the lock; None where there are no locks."""
    while True:
        try:
            handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return None
        try:
            _lock(handle)
        except (BlockingIOError, PermissionError):
            os.close(handle)
            raise taken from None
        except OSError:  # a file system without locks
            os.close(handle)
            return None
        try:
            if os.path.samestat(os.fstat(handle), os.stat(beside)):
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)  # the previous holder has removed this file meanwhile: try again


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _drop(handle: int, beside: Path) -> None:
    """Remove the lock's file while the lock is held, so that no other run takes it, and unlock."""
    with suppress(PermissionError):  # Windows removes no file that is open
        beside.unlink(missing_ok=True)
    os.close(handle)
    if sys.platform == "win32":
        with suppress(PermissionError):  # another run has opened it meanwhile, and holds it
            beside.unlink(missing_ok=True)
