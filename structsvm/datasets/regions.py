"""Region labels in files: how many changes stretches of recordings have."""

from __future__ import annotations

import csv
from os import PathLike

from structsvm.errors import DataError
from structsvm.partial_labels.labels import region_from
from structsvm.partitions.oracle import Region

__all__ = ["read_regions"]

COLUMNS = ("recording", "start", "end", "changes")


def read_regions(path: str | PathLike[str]) -> dict[str, list[Region]]:
    """Read a .csv file of regions, by the names of their recordings.

    Parameters
    ----------
    path : path
        With columns ``recording``, ``start``, ``end`` and ``changes``: samples start, ..., end - 1
        have exactly that many changes among them, or at least one where it says ``1+``.

    Raises
    ------
    DataError
        Naming the line.
    """
    found: dict[str, list[Region]] = {}
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file, skipinitialspace=True)
            missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
            if missing:
                given = ", ".join(rows.fieldnames or ()) or "none"
                raise DataError(
                    f"{path}: no column {missing[0]!r}; it needs {', '.join(COLUMNS)}, separated "
                    f"by commas, and has {given}"
                )
            for row in rows:
                if None in row or None in row.values():
                    raise DataError(
                        f"{path}: line {rows.line_num}: it has another number of columns than the "
                        "header"
                    )
                try:
                    region = region_from([row[name] for name in COLUMNS[1:]])
                except DataError as error:
                    raise DataError(f"{path}: line {rows.line_num}: {error}") from error
                found.setdefault(row["recording"], []).append(region)
    except DataError:
        raise
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    return found
