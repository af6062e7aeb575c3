"""Arrays by name in one ``.npz`` file, without pickles, and no more of them than fits."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Container, Mapping
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from structsvm.storage.limits import check_bytes


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
                _shape_in(member, info.file_size, name)
        arrays = {}
        for name, info in wanted.items():
            with archive.open(info) as member:
                arrays[name] = npy.read_array(member, allow_pickle=False)
        return arrays, list(members)


def npy_shape(file: BinaryIO) -> tuple[int, ...]:
    """The shape of the array of an ``.npy`` file, which is then read from its beginning."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    shape = _shape_in(file, size, "the array")
    file.seek(0)
    return shape


def _shape_in(file: Any, size: int, name: str) -> tuple[int, ...]:
    """The shape of an array; ValueError if it is larger than what there is of it."""
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    version = npy.read_magic(file)
    if version not in readers:
        raise ValueError(f"{name} is stored in format {version}, 1.0 and 2.0 are read")
    shape, _, dtype = readers[version](file)
    if not dtype.hasobject and prod(shape) * dtype.itemsize > size:
        raise ValueError(f"{name} has shape {shape}, which is more than there is of it")
    return tuple(shape)
