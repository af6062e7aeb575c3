"""Region labels in files: how many changes stretches of recordings have."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from structsvm.data.times import TimeAxis
from structsvm.errors import DataError
from structsvm.io.label_formats import Table, text_of_labels
from structsvm.io.recording import spelled
from structsvm.partial_labels.labels import region_from
from structsvm.partitions.oracle import Region

WHOLE = re.compile(r"\.0+(?=\+?\s*$)")
"""Decimals of a whole number, as spreadsheets and pandas write them."""
COLUMNS = ("recording", "start", "end", "changes")
IN_TIME = ("recording", "start_time", "end_time", "changes")


def read_regions(
    path: str | PathLike[str], times: Mapping[str, TimeAxis | None] | None = None
) -> dict[str, list[Region]]:
    """Read a table of regions, by the names of their recordings."""
    found: dict[str, list[Region]] = {}
    try:
        table = Table.of(text_of_labels(Path(path)))
        columns = _columns(path, table.header)
        for line, row in table.rows:
            try:
                region = _region(row, columns, times or {})
            except DataError as error:
                raise DataError(f"{path}: line {line}: {error}") from error
            found.setdefault(spelled(row["recording"]), []).append(region)
    except csv.Error as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    return found


def _columns(path: str | PathLike[str], header: Sequence[str]) -> tuple[str, ...]:
    """The columns of a region, in samples or in time; DataError if one is missing."""
    columns = IN_TIME if set(IN_TIME[1:3]) & set(header) else COLUMNS
    missing = [name for name in columns if name not in header]
    if missing:
        raise DataError(
            f"{path}: no column {missing[0]!r}; it needs {', '.join(columns)}, and has "
            f"{', '.join(header) or 'none'}"
        )
    return columns


def _region(
    row: Mapping[str | None, Any], columns: tuple[str, ...], times: Mapping[str, TimeAxis | None]
) -> Region:
    """The region of a row."""
    if None in row or None in row.values():
        raise DataError("it has another number of columns than the header")
    values = [row[name] for name in columns[1:]]
    values[-1] = WHOLE.sub("", values[-1])
    if columns is IN_TIME:
        values[:2] = _samples(values[:2], spelled(row["recording"]), times)
    return region_from(values)


def _samples(moments: list[str], recording: str, times: Mapping[str, TimeAxis | None]) -> list[str]:
    """The first samples from these moments on."""
    if recording not in times:
        return ["0", "1"]  # whoever asks for the regions says that there is no such recording
    axis = times[recording]
    if axis is None:
        raise DataError(
            f"recording {recording} has no times: name their column, time_column=, or give "
            "start and end in samples"
        )
    return [str(axis.sample_at(moment)) for moment in moments]
