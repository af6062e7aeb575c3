"""Files of named arrays that hold nothing that could run.

They are ``.npz`` files without pickles; ours have a JSON header as well. The checksums of zip files
reveal damaged members.
"""

import io
import json
import os
import zipfile
from collections.abc import Container, Mapping
from dataclasses import dataclass
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from structsvm.errors import StructSVMError
from structsvm.support.limits import TooLarge, check_bytes
from structsvm.support.whole_files import write_atomically

Arrays = dict[str, NDArray[Any]]


def npz(arrays: Mapping[str, Any], *, compressed: bool = False) -> bytes:
    """The content of an ``.npz`` file without pickles, which not every numpy.savez can exclude."""
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
    """The arrays of some names in an ``.npz`` file, and the names of all its arrays."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(2) not in (b"", b"PK", npy.MAGIC_PREFIX[:2]):
        raise ValueError("it is no .npz file, or one with pickled objects, which are never loaded")
    with zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        wanted = {name: info for name, info in members.items() if names is None or name in names}
        # zipfile never extracts more of a member than its header says.
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
    """A file format with a header and arrays, which this version of structsvm writes and reads."""

    kind: str  # "model" or "checkpoint"
    version: int
    error: type[StructSVMError]  # raised for any file that cannot be read or written

    def write(
        self, path: str | PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Any]
    ) -> None:
        """Write a file, of which a reader finds either the old or the new content."""
        named = {"format": f"structsvm {self.kind}", "version": self.version, **header}
        text = np.frombuffer(json.dumps(named).encode(), dtype=np.uint8)
        try:
            write_atomically(path, npz({**arrays, "header": text}))
        except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
            reason = getattr(error, "strerror", None) or error
            raise self.error(f"{path}: cannot be written: {reason}") from error

    def read(self, path: Path, max_bytes: int | None = None) -> tuple[dict[str, Any], Arrays]:
        """The header and the arrays of a file, which must be whole and of this version."""
        expected = f"structsvm {self.kind}"
        try:
            with path.open("rb") as file:
                arrays, _ = read_npz(file, max_bytes=max_bytes)
            header = json.loads(arrays.pop("header").tobytes())
            named = header["format"]
            number = header["version"]
        except Exception as error:  # a foreign file can raise nearly anything in the reader
            reason = f"damaged, or not a {expected}"
            if isinstance(error, TooLarge):
                reason = str(error)
            elif isinstance(error, OSError):
                reason = f"cannot be read: {error.strerror or error}"
            raise self.error(f"{path}: {reason}") from error
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
