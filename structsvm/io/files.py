"""Reading of recordings from files and folders."""

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from glob import escape
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.data import TimeAxis
from structsvm.errors import (
    DataError,
    SettingsError,
    about,
    parameter,
    printable,
    said_by,
    wording,
)
from structsvm.io.changes import JOIN
from structsvm.io.cleaning import cleaned, completed, in_windows, read_labels_as
from structsvm.io.folders import (
    Paths,
    checked_path,
    find_recordings,
    holds_stretches,
    names_stretches,
    shared,
)
from structsvm.io.media import MEDIA, read_streams
from structsvm.io.npz import read_npz
from structsvm.io.paired_names import n_alike
from structsvm.io.recording import USUAL_OPTIONS, FileOptions, Origin, Recording
from structsvm.io.sniff import first_rows, kind_of, stem_of
from structsvm.io.table_columns import with_all_categories
from structsvm.io.tables import read_frame, recordings_in
from structsvm.support import in_time, listed, require

MOST_BESIDE = 200  # folders above recordings are searched for labels if they have fewer entries


def read_recordings(paths: Paths, **options: Any) -> list[Recording]:
    """Read recordings from files and folders.

    Parameters
    ----------
    paths : path or list of paths
        ``.npz`` files hold ``X`` (T, P), either ``y`` (T,) or ``bkps`` (sorted segment ends, the
        last being T), ``features``, the names of the columns, and ``time`` (T,), numbers or dates,
        if they are known. Tables are ``.parquet``, ``.xlsx`` (its first sheet) and text,
        ``.csv``, ``.tsv``, ``.tab`` and ``.txt``, also compressed (``.gz``, ``.bz2``, ``.xz``,
        ``.zip``). Every column but the label and the time is a feature; one that only counts rows
        is left out, with a warning. Of a folder and its subfolders, all these files are read in
        the order of their names; the file ``ann/walk.csv`` in it is called ``ann/walk``. Sound and
        moving pictures are read as :func:`read_media` does; those of a folder if it holds no
        tables. Other text with rows of numbers, such as ``.dat``, is read where it is named, and
        of a folder that holds none of these. Tables that hold nothing but stretches of time and
        their labels are left out, and what is hidden.
    options
        The fields of :class:`FileOptions`.

    Returns
    -------
    list of Recording
        All with the features of the first, in its order.

    Raises
    ------
    DataError
        Naming the file, and the row and the column where there is one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from structsvm.io import read_recordings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("anna.csv", "ben.csv"):
    ...         frame = pd.DataFrame({"x": [1.0, 2.0, 9.0], "label": [0, 0, 1]})
    ...         frame.to_csv(Path(folder) / name, index=False)
    ...     recordings = read_recordings(folder)
    >>> [(recording.name, recording.X.shape) for recording in recordings]
    [('anna', (3, 1)), ('ben', (3, 1))]
    """
    (files, _) = find_recordings(paths)
    file_options = FileOptions(**options)
    return cleaned(read_files(files, file_options)[0], file_options)


READERS = {
    ".npz": (),
    ".parquet": (("pandas", "files"), ("pyarrow.parquet", "files")),
    ".xlsx": (("pandas", "files"), ("openpyxl", "excel")),
    **dict.fromkeys(MEDIA, (("av", "media"),)),
}
"""The optional libraries that read files of a kind, and their extras."""
OF_TEXT = (("pandas", "files"),)


def require_readers(files: Iterable[Path]) -> None:
    """Refuse files, before any is read, if a library to read some of them is missing."""
    for kind in dict.fromkeys(map(kind_of, files)):
        for module, extra in READERS.get(kind, OF_TEXT):
            require(module, extra, f"reading {kind} files")


def read_files(
    files: Mapping[Path, str], options: FileOptions, end: float = math.inf, fewest: int = 1
) -> tuple[list[Recording], list[Path]]:
    """Read recordings until ``end``, of ``fewest`` files at least; return them and their files."""
    read: dict[int, list[Recording]] = {}
    for i, (path, name) in in_time("files", [*files.items()], end, fewest):
        try:
            several = read_file(path, options, name=name)
        except DataError as error:
            raise DataError(said_by(error) + _ways_to_labels(path, files, options)) from error
        if len(several) > 1 < len(files):
            several = [replace(one, name=f"{name}/{one.name}") for one in several]
        read[i] = several
    recordings = list(chain.from_iterable(read[i] for i in sorted(read)))
    share = options.categories and not options.wanted
    paths = list(files)
    paths_read = [paths[i] for i in sorted(read)]
    return with_all_categories(recordings, options) if share else recordings, paths_read


def _ways_to_labels(path: Path, files: Mapping[Path, str], options: FileOptions) -> str:
    """Say where the labels of a file without a column of labels may be; "" if nobody can tell."""
    header = [cell.strip() for cell in next(iter(first_rows(path)), ())]
    has_none = kind_of(path) in MEDIA or (bool(header) and not options.label_in(header))
    if not (options.need_labels and options.in_order and has_none):
        return ""
    if where := _labels_beside(path.absolute(), [file.absolute() for file in files]):
        ways = wording(f"with_labels(recordings, {where!r})", of_files=parameter("labels", where))
        return ", or " + ways + ", labels of stretches of time"
    folders = Counter(file.parent.name for file in files)
    above = set(chain.from_iterable(file.parent.parents for file in files))
    is_apart = above.isdisjoint(file.parent for file in files)
    if is_apart and len(folders) > 1 and min(folders.values()) > 1:
        return f". If the folders {listed(list(folders), 4)} are the labels: {JOIN}"
    return ""


def _labels_beside(path: Path, files: Sequence[Path]) -> str:
    """The file or folder of labels beside or above a recording, or a pattern for each folder."""
    depth = len(shared(file.parent for file in files)) - 1
    for folder in path.parents:
        if len(folder.parts) < depth:
            break
        entries = sorted(folder.iterdir())
        if folder != path.parent and len(entries) > MOST_BESIDE:
            continue
        for entry in entries:
            table = entry if entry.is_file() else next(iter(sorted(entry.glob("*.*"))), entry)
            if table in files or not (names_stretches(table) or holds_stretches(table)):
                continue
            folders = {*chain.from_iterable(file.parents for file in files)}
            beginning = n_alike(table.stem, path.stem)
            for name in (table.name, "*" + escape(table.name[beginning:])):
                if entry == table and len({*chain(*(above.glob(name) for above in folders))}) > 1:
                    return name
            return str(entry)
    return ""


def formats_in_words(recordings: Iterable[Recording]) -> list[str]:
    """Return sentences about files of text that are written in an unusual way."""
    files: dict[str, dict[str, str]] = {}
    for origin in (one.origin for one in recordings):
        if origin is not None and (words := str(origin.format or "")):
            files.setdefault(words, {})[str(origin.path)] = origin.format.beginning.strip()
    return [
        f"{listed(list(paths), 1)} {'is' if len(paths) == 1 else 'are'} read with {words}"
        f"{f': {first!r}' if (first := next(iter(paths.values()))) else ''}"
        for words, paths in files.items()
    ]


def read_recording(path: str | PathLike[str], **options: Any) -> Recording:
    """Read one file; the options are the fields of :class:`FileOptions`.

    Examples
    --------
    >>> from structsvm.io import read_recording
    >>> def walk(folder):
    ...     return read_recording(f"{folder}/walk.csv", label_column="state", time_column="t")
    """
    (recording,) = read_file(path, FileOptions(**options))
    return recording


def from_long(
    frame: Any,
    recording: str | Sequence[str] | None = None,
    time: str | None = None,
    label: str | None = None,
    **options: Any,
) -> list[Recording]:
    """Split a long table into its recordings.

    Parameters
    ----------
    frame : pandas or polars data frame
        With a row for each sample. Columns that are neither of the three below are features.
    recording : str or list of str, optional
        Column, or level of the index, that says of which recording a row is; or several, which name
        it together. A pandas frame with a MultiIndex needs none: its last level is the time, and
        those before it name the recording.
    time : str, optional
        Column or level by which the rows of a recording are sorted; it is no feature, and is kept
        as ``time``. Without it they keep their order.
    label : str, optional
        Column of the labels; None takes "label" if there is such a column. Blank labels are the
        number -1, beside the others.
    options
        As in :class:`FileOptions`: ``features``, ``ignore``, ``missing``, ``labels_are``.

    Returns
    -------
    list of Recording
        In the order in which they begin, named by the values of ``recording``.

    Raises
    ------
    DataError, SettingsError
        Naming the row and the column; when nothing says which rows are one recording.

    Examples
    --------
    >>> import pandas as pd
    >>> from structsvm.io import from_long
    >>> frame = pd.DataFrame(
    ...     {"who": ["ann", "ann", "ben"], "t": [0, 1, 0], "x": [1.0, 2.0, 3.0], "label": [1, 0, 0]}
    ... )
    >>> [(r.name, r.X.ravel().tolist()) for r in from_long(frame, recording="who", time="t")]
    [('ann', [1.0, 2.0]), ('ben', [3.0])]
    """
    pandas = require("pandas", "files", "reading tables")
    if isinstance(frame, pandas.DataFrame):
        frame = frame.copy(deep=False)
    else:  # polars itself needs pyarrow for this
        frame = pandas.DataFrame({str(name): frame[name].to_list() for name in frame.columns})
    if recording is None and frame.index.nlevels < 2:
        raise SettingsError(
            "from_long needs recording=, the column that says of which recording a row is, or a "
            "frame with a MultiIndex whose first levels do"
        )
    if label is None and "label" in {*map(str, frame.columns), *map(str, frame.index.names)}:
        label = "label"
    file_options = FileOptions(label, time, recording, blanks=True, need_labels=False, **options)
    origin = Origin(Path("frame"), np.arange(len(frame)), options=file_options)
    with about("frame"):
        recordings = recordings_in(frame, origin, "frame")
    return cleaned([replace(one, source=None, origin=None) for one in recordings], file_options)


class RecordingFiles:
    """Recordings in files, each of which is read whenever it is needed.

    Learning from more files than fit in memory: ``fit(RecordingFiles("folder/"))``. The workers
    read the files, so that those of other machines must find them under the same paths.

    Parameters
    ----------
    paths : path or list of paths
        As for :func:`read_recordings`; each file is one recording, with its labels.
    options
        The fields of :class:`FileOptions`.

    Examples
    --------
    >>> from structsvm.io import RecordingFiles
    >>> def learned(learner, folder):
    ...     return learner.fit(RecordingFiles(folder, label_column="state"))
    """

    def __init__(self, paths: Paths, **options: Any) -> None:
        files = find_recordings(paths)[0]
        self._options = FileOptions(**options)
        self.files = [(os.path.abspath(path), name) for path, name in files.items()]
        """The absolute path of each file, and its name."""

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> Recording:
        (path, name) = self.files[i]
        options = self._options
        recordings = read_file(path, options, name=name)
        if len(recordings) > 1:
            raise DataError(f"{path} holds {len(recordings)} recordings: one in each file is read")
        whole = completed(read_labels_as(recordings, options.labels_are), options)
        (recording,) = in_windows(whole, options.window)
        return recording


def read_file(
    path: str | PathLike[str], options: FileOptions = USUAL_OPTIONS, *, name: str | None = None
) -> list[Recording]:
    """Read the recordings of one file, which are several if a column tells them apart."""
    file = checked_path(Path(path))
    kind = kind_of(file)
    name = printable(stem_of(file)) if name is None else name
    with about(file):
        if kind not in (".npz", *MEDIA):
            recordings = recordings_in(*read_frame(file, options), name)
        elif options.recording_column not in (None, *options.optional):
            column = options.recording_column
            raise DataError(f"one recording, without a column {column!r}: only tables have columns")
        elif kind == ".npz":
            recordings = [read_npz(file, name, options)]
        elif options.need_labels:
            raise DataError(
                "sound and pictures hold no labels: name the table that does, "
                + parameter("labels")
                + " (in Python, with_labels of what is read with need_labels=False)"
            )
        else:
            film = read_streams(file, name, options.stream, options.wanted, options.step)
            recordings = [film.choosing(options.chosen(film.features))]
    if options.rate is None:
        return recordings
    times = [TimeAxis("seconds", np.arange(len(one.X)) / options.rate) for one in recordings]
    return [replace(one, time=one.time or t) for one, t in zip(recordings, times, strict=True)]
