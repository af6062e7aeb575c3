"""Labelled recordings in files: where they are, what they are called, that they fit together."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.atomic import write_atomically
from structsvm.datasets.readers import read_npz, read_table
from structsvm.datasets.recording import Recording, share_features
from structsvm.errors import DataError, printable

__all__ = ["Found", "find_recordings", "read_recording", "read_recordings", "write_recording"]

KINDS = (".npz", ".parquet", ".csv")
"""In a folder that holds several kinds, the first of these that is there."""
INDEX = "index.csv"
"""A table of contents rather than a recording, when other files lie beside it."""

logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class Found:
    """Files that hold recordings, and what lay beside them."""

    files: tuple[Path, ...]
    names: tuple[str, ...]
    """As short as tells them apart: ``walk``, or ``anna/walk`` when there is a second ``walk``."""
    skipped: tuple[Path, ...]
    """Files of the folders that were searched that are no recordings."""


def read_recordings(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    label_column: str = "label",
    time_column: str | None = None,
    need_labels: bool = True,
    blanks: bool = False,
    missing_labels: Sequence[str] = (),
    max_bytes: int | None = None,
) -> list[Recording]:
    """Read recordings from files and folders.

    Parameters
    ----------
    paths : path or list of paths
        ``.npz`` files hold ``X`` (T, P), either ``y`` (T,) or ``bkps`` (sorted segment ends, the
        last being T), and ``features``, the names of the columns, if they have names. ``.csv`` and
        ``.parquet`` files have a header; every column but the label and the time is a feature. Of
        a folder, all files of one kind are read in the order of their names, subfolders are not.
    label_column, time_column : str
        Columns of tables. The time column is ignored.
    need_labels : bool
        Whether a recording without labels is an error.
    blanks : bool
        Whether labels in tables may be blank: they are numbers then, and -1.
    missing_labels : sequence of str
        Labels that mean none, besides a blank: ("NA",), say. Without it "NA", "None", "null" and
        "nan" are classes like others.
    max_bytes : int, optional
        What a file may take in memory, which ``.npz`` and ``.parquet`` files tell before they are
        read. By default ``$STRUCTSVM_MAX_BYTES``, or else 256 MiB or 100 times the size of the
        file, whichever is more.

    Returns
    -------
    list of Recording
        All with the features of the first, in its order.

    Raises
    ------
    DataError
        Naming the file, and the row and the column where there is one.
    """
    found = find_recordings(paths)
    for path in found.skipped:
        logger.info("skipped %s", path)
    recordings = [
        read_recording(
            path,
            name=name,
            label_column=label_column,
            time_column=time_column,
            need_labels=need_labels,
            blanks=blanks,
            missing_labels=missing_labels,
            max_bytes=max_bytes,
        )
        for path, name in zip(found.files, found.names, strict=True)
    ]
    return share_features(recordings)


def find_recordings(paths: str | PathLike[str] | Iterable[str | PathLike[str]]) -> Found:
    """Which files :func:`read_recordings` reads, and which it passes over.

    Raises
    ------
    DataError
        For a path that does not exist, a folder without recordings, a file of another kind.
    """
    if isinstance(paths, str | PathLike):
        paths = [paths]
    files: dict[Path, Path] = {}
    skipped: list[Path] = []
    for path in map(Path, paths):
        if os.path.isdir(path):
            inside, beside = _search(path)
            skipped += beside
        else:
            inside = [_checked(path)]
        for file in inside:
            files.setdefault(file.resolve(), file)
    if not files:
        raise DataError("no recordings were given: name files or folders")
    names = tuple(map(printable, _names(list(files))))
    return Found(tuple(files.values()), names, tuple(skipped))


def read_recording(
    path: str | PathLike[str],
    *,
    name: str | None = None,
    label_column: str = "label",
    time_column: str | None = None,
    need_labels: bool = True,
    features: Sequence[str] = (),
    blanks: bool = False,
    chunk_column: str | None = None,
    missing_labels: Sequence[str] = (),
    max_bytes: int | None = None,
) -> Recording:
    """Read one file; the parameters are those of :func:`read_recordings`.

    Of a table that has all of ``features``, only these are read. With ``chunk_column``, numbers of
    rows that belong together.
    """
    file = _checked(Path(path))
    name = printable(file.stem) if name is None else name
    if file.suffix.lower() == ".npz":
        return read_npz(file, name, need_labels, missing_labels, max_bytes)
    return read_table(
        file,
        name,
        need_labels,
        label_column,
        time_column,
        features,
        blanks,
        chunk_column,
        missing_labels,
        max_bytes,
    )


def write_recording(recording: Recording, path: str | PathLike[str]) -> None:
    """Write an ``.npz`` file that :func:`read_recordings` reads."""
    arrays: dict[str, Any] = {"X": recording.X, "features": np.array(recording.features)}
    if recording.y is not None:
        arrays["y"] = recording.y
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    write_atomically(path, buffer.getvalue())


def _checked(path: Path) -> Path:
    if not os.path.exists(path):  # nor has one a name that is too long
        raise DataError(f"{path}: no such file or folder")
    if path.is_dir():
        raise DataError(f"{path} is a folder, expected one recording")
    if path.suffix.lower() not in KINDS:
        raise DataError(f"{path}: not a kind of file that is read; give {', '.join(KINDS)}")
    return path


def _search(folder: Path) -> tuple[list[Path], list[Path]]:
    """The recordings of a folder and its other files, by name."""
    inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    files = [path for path in inside if path.is_file()]
    for kind in KINDS:
        chosen = [path for path in files if path.suffix.lower() == kind]
        if len(chosen) > 1:
            chosen = [path for path in chosen if path.name.lower() != INDEX]
        if chosen:
            return chosen, [path for path in files if path not in chosen]
    folders = [path.name for path in inside if path.is_dir()]
    hint = f"; subfolders are not searched: {', '.join(folders[:5])}" if folders else ""
    raise DataError(f"{folder}: no {', '.join(KINDS)} files in this folder{hint}")


def _names(files: Sequence[Path]) -> tuple[str, ...]:
    """The shortest ends of the paths that tell them apart, without suffix if that suffices."""
    bare = [path.with_suffix("") for path in files]
    if len(set(bare)) < len(bare):
        bare = list(files)
    for depth in range(1, max(len(path.parts) for path in bare)):
        names = ["/".join(path.parts[-depth:]) for path in bare]
        if len(set(names)) == len(names):
            return tuple(names)
    return tuple(str(path) for path in bare)
