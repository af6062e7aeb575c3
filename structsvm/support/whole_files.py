"""Files that are old or new, never half of each, and that one run at a time works on."""

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
    """Write a file so that a reader finds all of it or what was there before, at any moment.

    The content goes to a file beside it first, which then takes its place. What is not a regular
    file, such as ``/dev/stdout``, is written to directly.
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
            error.filename = os.fspath(path)  # and not what lies beside it, or nothing
        raise


def hidden(target: Path) -> str:
    return f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}"


def unwritable(path: str | PathLike[str]) -> str | None:
    """Why no file can have this name, such as that it is too long; None if one can."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):  # of the folder others complain
        return None
    except OSError as error:
        return error.strerror or str(error)
    except ValueError as error:  # a zero byte
        return str(error)
    return None


@contextmanager
def alone_on(path: str | PathLike[str], taken: Exception) -> Iterator[None]:
    """Hold a file against other runs, by a lock that the system drops when this process ends.

    The lock is on a hidden file beside it, because the file itself is replaced whenever it is
    written. Where that cannot be made, as in a folder that is read-only, nothing is held. What is
    ``taken`` by another run, which is alive, is refused with this error.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f"{hidden(target)}.lock")
    handle = _locked(beside, taken)
    try:
        if handle is not None:
            for left in target.parent.glob(f"{hidden(target)}-*.tmp"):
                left.unlink(missing_ok=True)  # of processes that were killed while they wrote
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
        os.close(handle)  # whoever held it has removed it meanwhile: this lock is on nothing


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _drop(handle: int, beside: Path) -> None:
    """Remove a file and its lock: while it is held, so that no other run takes it meanwhile."""
    with suppress(PermissionError):  # Windows removes no file that is open
        beside.unlink(missing_ok=True)
    os.close(handle)
    if sys.platform == "win32":
        with suppress(PermissionError):  # another run has opened it meanwhile, and holds it
            beside.unlink(missing_ok=True)
