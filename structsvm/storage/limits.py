"""How much a file may expand to: told by its headers, before anything is read into memory."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Container
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from structsvm.errors import SettingsError

BYTES_VARIABLE, PIXELS_VARIABLE = "STRUCTSVM_MAX_BYTES", "STRUCTSVM_MAX_PIXELS"
KEPT_VARIABLE, GATHERED_VARIABLE = "STRUCTSVM_KEPT_BYTES", "STRUCTSVM_GATHERED_BYTES"
"""Environment variables that override the limits where no argument does."""

BYTES, RATIO = 2**28, 100
"""A file may expand to 256 MiB, or to a hundred times its own size where that is more. Recordings
compress by less; a file that is made to fill the memory does by a thousand."""

PIXELS = 50_000_000
"""Of an image."""

KEPT = 2**28
"""A process keeps 256 MiB of the recordings that it reads when they are needed."""

GATHERED = 2**24
"""What needs recordings in memory at once is given 16 MiB of those that are read when they are
needed: a classifier makes twenty to sixty times that of them while it learns."""


class TooLarge(ValueError):
    """The limit, what was found, and how to raise it; whoever knows the file adds its name."""


def check_bytes(expanded: int, size: int, max_bytes: int | None = None) -> None:
    """Refuse content of ``expanded`` bytes from a file of ``size`` bytes."""
    limit = _limit("max_bytes", max_bytes, BYTES_VARIABLE, max(BYTES, RATIO * size))
    if expanded > limit:
        raise TooLarge(
            f"{amount(size)} that expand to {amount(expanded)}, at most {amount(limit)} are "
            f"read: if you trust it, give max_bytes or set {BYTES_VARIABLE} to {expanded} or more"
        )


def check_pixels(height: int, width: int, max_pixels: int | None = None) -> None:
    """Refuse an image of more than ``max_pixels`` pixels: 50 million, or $STRUCTSVM_MAX_PIXELS."""
    limit = _limit("max_pixels", max_pixels, PIXELS_VARIABLE, PIXELS)
    if height * width > limit:
        raise TooLarge(
            f"{height} x {width} pixels, at most {limit:,} are read: shrink it, or give max_pixels "
            f"or set {PIXELS_VARIABLE} to {height * width} or more"
        )


def read_npz(
    file: BinaryIO, names: Container[str] | None = None, max_bytes: int | None = None
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Arrays of an ``.npz`` file, and the names of all it has."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(2)
    if start not in (b"", b"PK", npy.MAGIC_PREFIX[:2]):
        raise ValueError("it is no .npz file, or one with pickled objects, which are never loaded")
    with zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        wanted = {name: info for name, info in members.items() if names is None or name in names}
        # No more than this comes out of a member, whatever is in it.
        check_bytes(sum(info.file_size for info in wanted.values()), size, max_bytes)
        for name, info in wanted.items():
            with archive.open(info) as member:
                _check_header(member, info.file_size, name)
        arrays = {}
        for name, info in wanted.items():
            with archive.open(info) as member:
                arrays[name] = npy.read_array(member, allow_pickle=False)
        return arrays, list(members)


def kept_bytes() -> int:
    """What a process keeps of recordings that it reads again and again, in bytes.

    256 MiB, or ``$STRUCTSVM_KEPT_BYTES``.
    """
    return _limit("kept_bytes", None, KEPT_VARIABLE, KEPT)


def gathered_bytes() -> int:
    """What is in memory at once of recordings that are read when they are needed, in bytes.

    16 MiB, or ``$STRUCTSVM_GATHERED_BYTES``, for features and classifiers that learn from them.
    """
    return _limit("gathered_bytes", None, GATHERED_VARIABLE, GATHERED)


def npy_shape(file: BinaryIO) -> tuple[int, ...]:
    """The shape of the array of an ``.npy`` file, which is then read from its beginning."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    shape = _check_header(file, size, "the array")
    file.seek(0)
    return shape


def _check_header(file: Any, size: int, name: str) -> tuple[int, ...]:
    """The shape of an array; ValueError if it is larger than what there is of it."""
    version = npy.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = npy.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = npy.read_array_header_2_0(file)
    else:
        raise ValueError(f"{name} is stored in format {version}, 1.0 and 2.0 are read")
    if not dtype.hasobject and prod(shape) * dtype.itemsize > size:
        raise ValueError(f"{name} has shape {shape}, which is more than there is of it")
    return tuple(shape)


def _limit(name: str, given: int | None, variable: str, usual: int) -> int:
    value: Any = given
    if given is None:
        name, value = variable, os.environ.get(variable, "").strip()
        if not value:
            return usual
    try:
        limit = int(value)
    except (TypeError, ValueError):
        limit = 0
    if limit < 1 or isinstance(value, (bool, np.bool_)):
        raise SettingsError(f"{name} must be an integer >= 1, got {value!r}")
    return limit


def amount(size: int) -> str:
    """So many bytes in words: "74.3 kB"."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"
