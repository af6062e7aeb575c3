"""Support labellings of partitions in a model file: a few arrays, however many there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.partitions.kept import KeptPartition
from structsvm.solution import SupportLabelling

Arrays = dict[str, NDArray[Any]]


def pack_support(support: Sequence[SupportLabelling] | None, arrays: Arrays) -> int | None:
    known = [found for found in support or () if found.labelling is not None]
    if support is None:
        return None
    arrays["support.sample"] = np.array([found.sample for found in known], dtype=np.int64)
    arrays["support.multiplier"] = np.array([found.multiplier for found in known], dtype=np.float64)
    arrays["support.loss"] = np.array([found.loss for found in known], dtype=np.float64)
    _pack("support.labelling", [found.labelling for found in known], arrays)
    first = {found.sample: found.truth for found in known}
    arrays["support.truth.of"] = np.array(list(first), dtype=np.int64)
    _pack("support.truth", list(first.values()), arrays)
    return len(known)


def unpack_support(
    number: int | None, arrays: Mapping[str, NDArray[Any]]
) -> tuple[SupportLabelling, ...] | None:
    """The inverse of :func:`pack_support`."""
    if number is None:
        return None
    truths = dict(
        zip(arrays["support.truth.of"].tolist(), _unpack("support.truth", arrays), strict=True)
    )
    rows = zip(
        arrays["support.sample"].tolist(),
        arrays["support.multiplier"].tolist(),
        arrays["support.loss"].tolist(),
        _unpack("support.labelling", arrays),
        strict=True,
    )
    found = tuple(
        SupportLabelling(sample, multiplier, labelling, truths[sample], loss)
        for sample, multiplier, loss, labelling in rows
    )
    if len(found) != number:
        raise ValueError(f"{len(found)} support labellings where there should be {number}")
    return found


def _pack(name: str, partitions: Sequence[KeptPartition], arrays: Arrays) -> None:
    values = [partition.values.astype(np.int64) for partition in partitions]
    joined = np.concatenate([*values, np.empty(0, dtype=np.int64)])
    arrays[f"{name}.values"] = joined.astype(np.min_scalar_type(int(joined.max(initial=0))))
    arrays[f"{name}.sizes"] = np.array([v.size for v in values], dtype=np.int64)
    arrays[f"{name}.contiguous"] = np.array([p.is_contiguous for p in partitions], dtype=np.bool_)


def _unpack(name: str, arrays: Mapping[str, NDArray[Any]]) -> list[KeptPartition]:
    """The partitions, which are checked: a file may say anything."""
    values, sizes = arrays[f"{name}.values"].astype(np.int64), arrays[f"{name}.sizes"]
    if values.ndim != 1 or (sizes < 1).any() or sizes.sum() != values.size:
        raise ValueError(f"{name} does not hold the partitions that it says")
    parts = np.split(values, np.cumsum(sizes)[:-1]) if sizes.size else []
    found = []
    for part, contiguous in zip(parts, arrays[f"{name}.contiguous"].tolist(), strict=True):
        if part[0] < 0 or (contiguous and (np.diff(part, prepend=0) < 1).any()):
            raise ValueError(f"{name} holds no segment ends")
        found.append(KeptPartition.holding(part, bool(contiguous)))
    return found
