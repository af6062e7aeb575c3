"""Reading of recordings from files and folders, and writing of .npz files."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from fnmatch import fnmatch
from glob import escape
from itertools import chain, takewhile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.labels import full_labels, of_one_kind
from structsvm.data.times import TimeAxis, time_axis
from structsvm.errors import DataError, SettingsError, about, printable, warn
from structsvm.graphs.label_maps import KINDS as PICTURES
from structsvm.io.changes import JOIN
from structsvm.io.cleaning import cleaned, completed, in_windows, read_labels_as, without_gaps
from structsvm.io.convert import OTHERS, advice_on, line_for
from structsvm.io.intervals import is_of_each_folder, label_files
from structsvm.io.label_file import columns_in
from structsvm.io.media import MEDIA, read_streams
from structsvm.io.recording import (
    USUAL,
    FileOptions,
    Origin,
    Recording,
    listed,
    n_alike,
    spelled,
)
from structsvm.io.sniff import TEXT_KINDS, first_line, first_rows, holds_table, kind_of, stem_of
from structsvm.io.tables import (
    EXCEL,
    are_spelled,
    read_frame,
    recordings_in,
    with_all_categories,
)
from structsvm.messages import parameter, said_by
from structsvm.partial_labels import known_where
from structsvm.support import archive as storage
from structsvm.support.archive import write_atomically
from structsvm.support.checks import counted, ending_of, is_number_text, some_of
from structsvm.support.lazy import require
from structsvm.support.progress import stage
from structsvm.support.tables import refuse_repeated

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]

ABOUT_TIME = ("name", "written", "lasting", "day_first", "is_either", "clock", "offset")
"""Fields of a time axis that a file stores besides the values."""
TABLES = (".npz", ".parquet", *TEXT_KINDS, *EXCEL)  # kinds that are read; texts may be compressed
KINDS = (*TABLES, *MEDIA)
"""Kinds of files; sound and films of a folder are read if it holds no tables."""
PROSE = ".txt"
"""A kind that is read if it is named, or alone in its folder: it may be a text for people."""
PREDICTIONS = ("_segments", "_clusters")  # ends of the names of tables of predictions
UNSEEN = (".", "~$")  # beginnings of the names of hidden files, and of open workbooks
NO_RECORDINGS = ("index.csv", "readme.txt")  # where there are other files
MODEL, PREDICTED, TRIED = "model.structsvm", "predicted", "tried.npz"
"""A model, and a folder and a file beside it, that ``structsvm try`` writes."""


# ---- recordings in ``.npz`` files: arrays that need no pickle


def read_npz(path: Path, name: str, options: FileOptions) -> Recording:
    """Read ``X``, ``y`` or ``bkps``, ``features`` and ``time``; anything else is left alone."""
    read = ("X", "y", "bkps", "features", "time", "about_time")
    try:
        with path.open("rb") as file:
            arrays, present = storage.read_npz(file, read, options.max_bytes)
    except storage.TooLarge as error:
        raise DataError(said_by(error)) from error
    except Exception as error:  # a foreign file can raise nearly anything in the reader
        raise DataError(
            "damaged, no .npz file, or one with pickled objects, which are never loaded (save "
            "names as text, np.array(list(y), dtype=str)): " + said_by(error, in_a_line=True)
        ) from error
    X = arrays.get("X", np.empty(0))
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
        raise DataError(
            f"expected numbers 'X' (T, P), one row per sample, got {X.dtype} values of shape "
            f"{X.shape}; it holds {listed(present)}"
        )
    T, P = X.shape
    called = np.atleast_1d(arrays.get("features", [f"x{j}" for j in range(P)]))
    features = tuple(map(str, called.ravel().tolist()))
    if len(features) != P:
        names = counted(len(features), "name")
        columns = counted(P, "column")
        raise DataError(f"{names} in 'features', X has {columns}")
    refuse_repeated(features)
    y = _labels(arrays, T, options)
    if y is None and options.need_labels:
        raise DataError(f"no labels, neither 'y' nor 'bkps'; it holds {listed(present)}")
    time = _times(path, arrays, T)
    origin = Origin(path, np.arange(T), options=options)
    whole = Recording(name, X.astype(np.float64), y, features, str(path), time=time, origin=origin)
    return without_gaps(whole.choosing(options.chosen(features)), options)


def _labels(arrays: Mapping[str, Any], T: int, options: FileOptions) -> NDArray[Any] | None:
    """Read one label per sample, from ``y`` or ``bkps``; refuse two that contradict each other."""
    y = arrays.get("y")
    ends = arrays.get("bkps")
    segments = None
    wrong = ""
    if ends is not None:
        sizes = np.diff(ends.ravel().astype(np.int64), prepend=0)
        if ends.dtype.kind not in "iu" or (sizes <= 0).any() or sizes.sum() != T:
            raise DataError(
                f"bkps must increase and end with {T}, the number of rows; got {ends.tolist()}"
            )
        segments = np.repeat(np.arange(sizes.size), sizes)
    if y is None:
        return segments
    if y.shape != (T,):
        wrong = f"y has shape {y.shape}, X has {T} rows"
    elif y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int((~np.isfinite(y)).argmax())
        wrong = f"the label of row {row} is {y[row]}"
    elif segments is not None and (options.need_labels or options.blanks):
        differ = (y[1:] != y[:-1]) != (segments[1:] != segments[:-1])
        if differ.any():
            wrong = f"of 'y' and 'bkps' just one has a change at sample {differ.argmax() + 1}"
            wrong += ": leave one of them out"
    if wrong:
        raise DataError(wrong)
    missing = are_spelled(y.tolist(), options.missing_labels)
    return known_where(y, ~missing) if missing.any() else y


def _times(path: Path, arrays: Mapping[str, Any], n_samples: int) -> TimeAxis | None:
    """Read times; warn, and return None, if they are none."""
    if "time" not in arrays:
        return None
    try:
        told = {"name": "time"} | json.loads(str(arrays.get("about_time", "{}")))
        if told.get("offset") is not None:
            told["offset"] = np.timedelta64(told["offset"], "us")
        return time_axis(TimeAxis(values=arrays["time"], **told), n_samples)
    except (DataError, TypeError, ValueError) as error:
        why = said_by(error)
        warn(f"{path}: 'time' is not used, because " + why + "; samples are counted instead")
        return None


def write_recording(recording: Recording, path: str | PathLike[str]) -> None:
    """Write an ``.npz`` file that :func:`read_recordings` reads.

    It holds what is measured, labels, names of features and times, with their zone or clock and as
    they were written; masked values are NaN.

    Raises
    ------
    DataError, SettingsError
        When labels are missing or of several kinds; when the name of the file has another ending.

    Examples
    --------
    >>> from structsvm.io import read_recording, write_recording
    >>> def converted(path):
    ...     write_recording(read_recording(path), path.with_suffix(".npz"))
    """
    ending_of(path, (".npz",))
    X = np.ma.filled(recording.X.astype(np.float64, copy=False), np.nan)
    arrays: dict[str, Any] = {"X": X, "features": np.array(recording.features)}
    if recording.y is not None:
        with about(recording.where):
            y = full_labels(recording.y)
            arrays["y"] = of_one_kind(y)
            kinds = sorted({type(label).__name__ for label in y}) if y.dtype == object else []
            if len(kinds) > 1 or arrays["y"].dtype == object:
                raise DataError(
                    f"labels of kind {' and '.join(kinds)} cannot be stored: make them all text, "
                    "or all numbers"
                )
    if recording.time is not None:
        told = {name: getattr(recording.time, name) for name in ABOUT_TIME}
        if recording.time.offset is not None:
            told["offset"] = int(recording.time.offset.astype("m8[us]").astype(np.int64))
        arrays |= {"time": recording.time.values, "about_time": np.array(json.dumps(told))}
    write_atomically(path, storage.npz(arrays, compressed=True))


# ---- files and folders


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
    given = FileOptions(**options)
    return cleaned(read_files(files, given), given)


def read_files(files: Mapping[Path, str], options: FileOptions) -> list[Recording]:
    recordings = []
    for path, name in stage("files", [*files.items()]):
        try:
            several = read_file(path, options, name=name)
        except DataError as error:
            raise DataError(said_by(error) + _ways_to_labels(path, files, options)) from error
        if len(several) > 1 < len(files):
            several = [replace(one, name=f"{name}/{one.name}") for one in several]
        recordings += several
    share = options.categories and not options.wanted
    return with_all_categories(recordings, options) if share else recordings


def _ways_to_labels(path: Path, files: Mapping[Path, str], options: FileOptions) -> str:
    """Words about where the labels of a file without a column of them may be."""
    header = [cell.strip() for cell in next(iter(first_rows(path)), ())]
    has_none = kind_of(path) in MEDIA or (bool(header) and options.label_column not in header)
    if not (options.need_labels and has_none):
        return ""
    if where := _labels_beside(path.absolute(), [file.absolute() for file in files]):
        return ", or " + parameter("labels", where) + ", labels of stretches of time"
    folders = Counter(file.parent.name for file in files)
    if len(folders) > 1 and min(folders.values()) > 1:
        return f". If the folders {listed(list(folders), 4)} are the labels: {JOIN}"
    return ""


def _labels_beside(path: Path, files: Sequence[Path]) -> str:
    """A table of labels beside a recording or above it, a folder of some, or the names of those."""
    depth = len(shared(file.parent for file in files)) - 1
    for folder in path.parents:
        if len(folder.parts) < depth:
            break
        for entry in sorted(folder.iterdir()):
            table = entry if entry.is_file() else next(iter(sorted(entry.glob("*.*"))), entry)
            if table in files or not _are_stretches(first_rows(table)):
                continue
            folders = {*chain.from_iterable(file.parents for file in files)}
            for name in (table.name, "*" + escape(table.name[n_alike(table.stem, path.stem) :])):
                if entry == table and sum(any(above.glob(name)) for above in folders) > 1:
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


def find_recordings(
    paths: Paths, *, labels: str | PathLike[str] | None = None
) -> tuple[dict[Path, str], list[Path]]:
    """List the files that :func:`read_recordings` reads, with names, and those that it skips.

    Names are paths below the folder that was given, or that all have in common, without suffix.
    """
    paths = [paths] if isinstance(paths, str | PathLike) else paths
    files: dict[Path, Path] = {}
    skipped: list[Path] = []
    folders: list[Path] = []
    apart = set() if labels is None else {file.resolve() for file in label_files(Path(labels))}
    own = Path(labels).name if labels and is_of_each_folder(Path(labels)) else ""
    for path in map(Path, paths):
        is_folder = os.path.isdir(path)
        inside, beside = _search(path, apart, own) if is_folder else ([_checked(path)], [])
        skipped += beside
        folders.append(Path(os.path.abspath(path if is_folder else path.parent)))
        for file in inside:
            files.setdefault(file.resolve(), file)
    if not files:
        raise DataError("no recordings were given: name files or folders")
    called = [Path(os.path.abspath(file)) for file in files.values()]  # a link by its own name
    bare = [path.with_name(stem_of(path)) for path in called]
    depth = len(shared(folders))
    names = ["/".join(p.parts[depth:]) for p in (bare if len({*bare}) == len(bare) else called)]
    names = [spelled(printable(name)) for name in names]
    return dict(zip(files.values(), names, strict=True)), skipped


def shared(folders: Iterable[Path]) -> tuple[str, ...]:
    """The parts of their paths that all have in common, from the outermost one on."""
    levels = zip(*(folder.parts for folder in folders), strict=False)
    return tuple(level[0] for level in takewhile(lambda level: len({*level}) == 1, levels))


def predictions_among(files: Iterable[Path]) -> list[Path]:
    stems = {path: stem_of(path) for path in files}
    made = {f"{stem}{end}" for stem in stems.values() for end in PREDICTIONS}
    return [path for path, stem in stems.items() if stem in made]


def read_recording(path: str | PathLike[str], **options: Any) -> Recording:
    """Read one file; the options are the fields of :class:`FileOptions`.

    Examples
    --------
    >>> from structsvm.io import read_recording
    >>> def walk(folder):
    ...     return read_recording(f"{folder}/walk.csv", label_column="state", time_column="t")
    """
    (found,) = read_file(path, FileOptions(**options))
    return found


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
    if recording is None and frame.index.nlevels > 1:
        levels = [f"level {i}" if n is None else str(n) for i, n in enumerate(frame.index.names)]
        frame.index = frame.index.set_names(levels)
        recording = levels[:-1]
        time = levels[-1] if time is None else time
    if recording is None:
        raise SettingsError(
            "from_long needs recording=, the column that says of which recording a row is, or a "
            "frame with a MultiIndex whose first levels do"
        )
    if label is None and "label" in {*map(str, frame.columns), *map(str, frame.index.names)}:
        label = "label"
    given = FileOptions(label, time, recording, blanks=True, need_labels=False, **options)
    origin = Origin(Path("frame"), np.arange(len(frame)), options=given)
    with about("frame"):
        found = recordings_in(frame, origin, "frame")
    return cleaned([replace(one, source=None, origin=None) for one in found], given)


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
        found = find_recordings(paths)[0]
        self._options = FileOptions(**options)
        self.files = [(os.path.abspath(path), name) for path, name in found.items()]
        """The path of each, which is the same in any process, and its name."""

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
    path: str | PathLike[str], options: FileOptions = USUAL, *, name: str | None = None
) -> list[Recording]:
    """Read the recordings of one file, which are several if a column tells them apart."""
    file = _checked(Path(path))
    kind = kind_of(file)
    name = printable(stem_of(file)) if name is None else name
    with about(file):
        if kind not in (".npz", *MEDIA):
            found = recordings_in(*read_frame(file, options), name)
        elif options.recording_column not in (None, *options.optional):
            column = options.recording_column
            raise DataError(f"one recording, without a column {column!r}: only tables have columns")
        elif kind == ".npz":
            found = [read_npz(file, name, options)]
        elif options.need_labels:
            raise DataError(
                "sound and pictures hold no labels: name the table that does, "
                + parameter("labels")
                + " (in Python, with_labels of what is read with need_labels=False)"
            )
        else:
            film = read_streams(file, name, options.stream, options.wanted, options.step)
            found = [film.choosing(options.chosen(film.features))]
    if options.rate is None:
        return found
    times = [TimeAxis("seconds", np.arange(len(one.X)) / options.rate) for one in found]
    return [replace(one, time=one.time or t) for one, t in zip(found, times, strict=True)]


def _checked(path: Path) -> Path:
    # os.path.exists takes a name that is too long for one that is not there
    if not os.path.exists(path) or path.is_dir():
        raise DataError(f"{path}: no such file or folder")
    if kind_of(path) not in KINDS and not holds_table(path):
        raise DataError(f"{path} is {advice_on(path, TABLES)}")
    return path


def _below(folder: Path, above: Set[str] = frozenset()) -> Iterator[Path]:
    """List the files of a folder and its subfolders by name; of hidden ones, and our own, none."""
    above = {*above, os.path.realpath(folder)}
    made = (PREDICTED, TRIED) if (folder / MODEL).exists() else ()
    for path in sorted(folder.iterdir()):
        if path.name.startswith(UNSEEN) or path.name in made:
            continue
        if not path.is_dir() or os.path.realpath(path) in above:
            yield path
        else:
            yield from _below(path, above)


def _search(folder: Path, apart: Set[Path], own: str = "") -> tuple[list[Path], list[Path]]:
    """Return the recordings of a folder and its subfolders, by name, and what else is there.

    Labels are ``apart``, or in files of their ``own`` name, or pattern, in several folders.
    """
    files = [
        path
        for path in _below(folder)
        if not fnmatch(path.name, own) and (not apart or path.resolve() not in apart)
    ]
    chosen = _of_one_kind(files)
    made = {*predictions_among(chosen)}
    chosen = [path for path in chosen if path not in made]
    chosen = [path for path in chosen if path.name.lower() not in NO_RECORDINGS] or chosen
    beside = _tables_beside(chosen)
    chosen = [path for path in chosen if path not in beside] or chosen
    if not chosen:
        there = some_of([path.name for path in files])
        line = next(filter(None, map(line_for, files)), "")
        raise DataError(
            f"{folder}: no {', '.join(TABLES)} files in this folder or below, "
            f"{f'only {there}' if there else 'it is empty'}"
            f"{line and f'. To convert one: {line}'}"
        )
    others = [path for path in files if path not in {*chosen}]
    first: dict[Path, Path] = {}
    for path in chosen:
        if first.setdefault(path.with_name(stem_of(path)), path) is not path:
            raise DataError(
                f"{path} has the name of another file: name the files to read, or move the others "
                "away"
            )
    pictures = {path.stem for path in others if path.suffix.lower() in PICTURES}
    for path in others:  # but for label maps of pictures
        if kind_of(path) in OTHERS and path.stem not in pictures:
            raise DataError(
                f"{path} is {advice_on(path, TABLES)}. Name the files to read, or move it away"
            )
    return chosen, _folders_of(others, chosen, folder)


def _of_one_kind(files: Sequence[Path]) -> list[Path]:
    """Those of the first kind that there is: tables, media, and text with rows of numbers."""
    for kinds in ({*TABLES} - {PROSE}, MEDIA):
        if chosen := [path for path in files if kind_of(path) in kinds]:
            return chosen
    prose = [path for path in files if kind_of(path) == PROSE]
    return list(filter(holds_table, prose)) or list(filter(holds_table, files)) or prose


def _tables_beside(files: Sequence[Path]) -> set[Path]:
    """The tables of labels, and of what is known of each file, among tables of recordings."""
    alike: dict[bytes, list[Path]] = {}
    for path in files:
        if kind_of(path) in TEXT_KINDS:
            alike.setdefault(first_line(path), []).append(path)
    found: set[Path] = set()
    for some in alike.values():
        table = first_rows(some[0])
        if _are_stretches(table) or (len(some) == 1 and _lists(table, files)):
            found.update(some)
    return found


def _are_stretches(table: Sequence[Sequence[str]]) -> bool:
    """Whether a table is one of labels: stretches of time, or changes, and nothing measured."""
    header, *rows = table or [()]
    columns = columns_in(header)
    known = {*columns.values()}
    is_of_time = {"start", "end"} <= columns.keys() or (len(header) == 1 and "change" in columns)
    measured = [
        any(map(is_number_text, cells))
        for name, cells in zip(header, zip(*rows, strict=False), strict=False)
        if name not in known
    ]
    return is_of_time and not any(measured)


def _lists(table: Sequence[Sequence[str]], files: Sequence[Path]) -> bool:
    """Whether a table has a row for each of some files or folders, and no samples."""
    names = {part for file in files for part in (*file.parts, stem_of(file))}
    for cells in zip(*table[1:], strict=False):
        is_number = all(map(is_number_text, cells))
        if len(cells) > 1 and not is_number and len({*cells} & names) == len(cells):
            return True
    return False


def _folders_of(others: Sequence[Path], chosen: Sequence[Path], folder: Path) -> list[Path]:
    """Put the outermost folders that hold nothing else in the place of files that are skipped."""
    used = {above for path in chosen for above in path.parents}
    found = []
    for path in others:
        inside = [above for above in path.parents if folder in above.parents and above not in used]
        found.append(inside[-1] if inside else path)
    return list(dict.fromkeys(found))
