"""Files that are either the old ones or the new ones, never half of each."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from os import PathLike
from pathlib import Path


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


def remove_leftovers(path: str | PathLike[str]) -> None:
    """Remove what processes left that were killed while they wrote this file."""
    target = Path(os.path.realpath(path))
    for left in target.parent.glob(f"{hidden(target)}-*.tmp"):
        left.unlink(missing_ok=True)


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
