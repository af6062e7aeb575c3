"""Files of arrays with a JSON header: one .npz, with nothing in it that could run.

The checksum of each member, which a zip file has anyway, tells a damaged one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import StructSVMError
from structsvm.storage.atomic import write_atomically
from structsvm.storage.limits import TooLarge
from structsvm.storage.npz import npz, read_npz

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Archive:
    """A kind of file."""

    kind: str
    """"model" or "checkpoint"."""
    version: int
    error: type[StructSVMError]
    """What is raised for a file that is not one."""

    @property
    def format(self) -> str:
        return f"structsvm {self.kind}"

    def write(
        self, path: str | PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Any]
    ) -> None:
        """Write a file so that a reader finds all of it or what was there before."""
        named = {"format": self.format, "version": self.version, **header}
        text = json.dumps(named).encode()
        content = npz({**arrays, "header": np.frombuffer(text, dtype=np.uint8)})
        try:
            write_atomically(path, content)
        except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
            raise self.error(
                f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}"
            ) from error

    def read(self, path: Path, max_bytes: int | None = None) -> tuple[dict[str, Any], Arrays]:
        """The header and the arrays of a file that is what it was when it was written."""
        try:
            file = path.open("rb")
        except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
            reason = getattr(error, "strerror", None) or error
            raise self.error(f"{path}: cannot be read: {reason}") from error
        with file:
            try:
                arrays, _ = read_npz(file, max_bytes=max_bytes)
            except TooLarge as error:
                raise self.error(f"{path}: {error}") from error
            except Exception as error:  # a foreign file can raise nearly anything in the reader
                raise self.error(f"{path}: damaged, or not a {self.format}") from error
        if "header" not in arrays:
            raise self.error(f"{path}: an .npz file, but not a {self.format}")
        try:
            header = json.loads(arrays.pop("header").tobytes())
            named, number = header["format"], header["version"]
        except (ValueError, LookupError, TypeError) as error:
            raise self.error(f"{path}: the header is damaged") from error
        if named != self.format:
            raise self.error(f"{path}: not a {self.format} but {named!r}")
        if number != self.version:
            newer = isinstance(number, int) and number > self.version
            way = "update structsvm-partitioning" if newer else "learn again with this version"
            raise self.error(
                f"{path}: a {self.kind} of format {number}, and this version of structsvm reads "
                f"format {self.version}: {way}"
            )
        return header, arrays
