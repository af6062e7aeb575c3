"""Files that are old or new, never half of each, and of which no more is read than fits.

Arrays by name are in one ``.npz`` file, without pickles, and with a JSON header in files of ours.
The checksum of each member, which a zip file has anyway, tells a damaged one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import shutil
import sys
import zipfile
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from structsvm.errors import StructSVMError
from structsvm.messages import parameter

# ---- how much is read into memory: of files, as their headers say, and of recordings on demand


BYTES = 2**28
RATIO = 100
"""A file may expand to 256 MiB, or to a hundred times its own size where that is more. Recordings
compress by less; a file that is made to fill the memory does by a thousand."""

PIXELS_READ = 50_000_000  # of an image

KEPT_BYTES = 2**28  # a process keeps 256 MiB of the recordings that it reads when they are needed

GATHERED = 2**24
"""What needs recordings in memory at once is given 16 MiB of those that are read later: a
classifier makes twenty to sixty times that of them while it learns."""


class TooLarge(ValueError):
    """Content beyond the limit of bytes; the caller adds the name of the file."""


def check_bytes(expanded: int, size: int, max_bytes: int | None = None) -> None:
    """Refuse content of ``expanded`` bytes from a file of ``size`` bytes."""
    limit = max(BYTES, RATIO * size) if max_bytes is None else max_bytes
    if expanded > limit:
        raise TooLarge(
            f"{amount(size)} that expand to {amount(expanded)}, at most {amount(limit)} are "
            "read: if you trust it, give " + parameter("max_bytes", expanded) + " or more"
        )


def check_pixels(height: int, width: int, max_pixels: int | None = None) -> None:
    limit = PIXELS_READ if max_pixels is None else max_pixels
    if height * width > limit:
        raise TooLarge(
            f"{height} x {width} pixels, at most {limit:,} are read: shrink it, or give "
            + parameter("max_pixels", height * width)
            + " or more"
        )


def amount(size: int) -> str:
    """So many bytes in words: "74.3 kB"."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"


# ---- files that are written whole


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


# ---- one run at a time on a file, as long as the run lives and no longer


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
            for left in target.parent.glob(f"{hidden(target)}-*.tmp"):
                left.unlink(missing_ok=True)  # of processes that were killed while they wrote
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


# ---- arrays by name, in files that hold nothing that could run


Arrays = dict[str, NDArray[Any]]


def npz(arrays: Mapping[str, Any], *, compressed: bool = False) -> bytes:
    """The content of an ``.npz`` file that holds these arrays and no pickle.

    ``numpy.savez`` promises no such thing: older versions take ``allow_pickle=False`` for one more
    array.
    """
    buffer = io.BytesIO()
    how = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", how) as file:
        for name, values in arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, np.asanyarray(values), allow_pickle=False)
    return buffer.getvalue()


def read_npz(
    file: BinaryIO, names: Container[str] | None = None, max_bytes: int | None = None
) -> tuple[Arrays, list[str]]:
    """Arrays of an ``.npz`` file, and the names of all it has."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(2) not in (b"", b"PK", npy.MAGIC_PREFIX[:2]):
        raise ValueError("it is no .npz file, or one with pickled objects, which are never loaded")
    with zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        wanted = {name: info for name, info in members.items() if names is None or name in names}
        # No more than this comes out of a member, whatever is in it.
        check_bytes(sum(info.file_size for info in wanted.values()), size, max_bytes)
        arrays = {}
        for name, info in wanted.items():
            with archive.open(info) as member:
                is_short = npy.read_magic(member) == (1, 0)
                header = npy.read_array_header_1_0 if is_short else npy.read_array_header_2_0
                shape, _, dtype = header(member)
                if not dtype.hasobject and prod(shape) * dtype.itemsize > info.file_size:
                    raise ValueError(f"{name} has shape {shape}, which is more than there is of it")
                member.seek(0)
                arrays[name] = npy.read_array(member, allow_pickle=False)
        return arrays, list(members)


@dataclass(frozen=True)
class Archive:
    """A kind of file."""

    kind: str
    """"model" or "checkpoint"."""
    version: int
    error: type[StructSVMError]
    """What is raised for a file that is not one."""

    def write(
        self, path: str | PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Any]
    ) -> None:
        """Write a file so that a reader finds all of it or what was there before."""
        named = {"format": f"structsvm {self.kind}", "version": self.version, **header}
        text = np.frombuffer(json.dumps(named).encode(), dtype=np.uint8)
        try:
            write_atomically(path, npz({**arrays, "header": text}))
        except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
            reason = getattr(error, "strerror", None) or error
            raise self.error(f"{path}: cannot be written: {reason}") from error

    def read(self, path: Path, max_bytes: int | None = None) -> tuple[dict[str, Any], Arrays]:
        """The header and the arrays of a file that is what it was when it was written."""
        expected = f"structsvm {self.kind}"
        try:
            with path.open("rb") as file:
                arrays, _ = read_npz(file, max_bytes=max_bytes)
            header = json.loads(arrays.pop("header").tobytes())
            named = header["format"]
            number = header["version"]
        except Exception as error:  # a foreign file can raise nearly anything in the reader
            said = f"damaged, or not a {expected}"
            if isinstance(error, TooLarge):
                said = str(error)
            elif isinstance(error, OSError):
                said = f"cannot be read: {error.strerror or error}"
            raise self.error(f"{path}: {said}") from error
        way = "learn again with this version"
        if isinstance(number, int) and number > self.version:
            way = "update structsvm-partitioning"
        if named != expected:
            raise self.error(f"{path}: not a {expected} but {named!r}")
        if number != self.version:
            raise self.error(
                f"{path}: a {self.kind} of format {number}, and this version of structsvm reads "
                f"format {self.version}: {way}"
            )
        return header, arrays
