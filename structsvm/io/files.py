"""Reading of recordings from files and folders, and writing of .npz files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import takewhile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.samples import full_labels, of_one_kind
from structsvm.data.times import TimeAxis, time_axis
from structsvm.errors import DataError, DataWarning, SettingsError, printable, warn
from structsvm.io.cleaning import cleaned, completed, read_labels_as, without_gaps
from structsvm.io.image_folder import IMAGE_FOLDERS, MASK_FOLDERS
from structsvm.io.intervals import label_files
from structsvm.io.media import MEDIA, read_streams
from structsvm.io.options import USUAL, FileOptions
from structsvm.io.recording import Origin, Recording, listed, spelled
from structsvm.io.sniff import COMPRESSIONS, TEXT_KINDS, kind_of, stem_of
from structsvm.io.tables import (
    EXCEL,
    are_spelled,
    read_frame,
    recordings_in,
    refuse_repeated,
    with_all_categories,
)
from structsvm.io.windows import in_windows
from structsvm.partial_labels.labels import known_where
from structsvm.storage import archive as storage
from structsvm.storage import limits
from structsvm.storage.atomic import write_atomically
from structsvm.support.lazy import require
from structsvm.support.plain import counted, some_of
from structsvm.support.progress import stage

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]

ABOUT_TIME = ("name", "written", "lasting", "day_first", "is_either", "clock", "offset")
"""Fields of a time axis that a file stores besides the values."""
TABLES = (".npz", ".parquet", *TEXT_KINDS, *EXCEL)  # kinds that are read; texts may be compressed
KINDS = (*TABLES, *MEDIA)
"""Kinds of files; sound and films of a folder are read if it holds no tables."""
PROSE = ".txt"
"""A kind that is read if it is named, or alone in its folder: it may be a text for people."""
OTHER_TABLES = (".xls", ".ods", ".feather", ".arrow", ".npy", *COMPRESSIONS)
"""Kinds that may well hold recordings, but are not read."""
PREDICTIONS = ("_segments", "_clusters")
"""Ends of the names of tables of predictions."""
UNSEEN = (".", "~$")
"""Beginnings of the names of hidden files, and of open workbooks."""
NO_RECORDINGS = ("index.csv", "readme.txt")  # where there are other files
MODEL, PREDICTED, TRIED = "model.structsvm", "predicted", "tried.npz"
"""A model, and a folder and a file beside it, that ``structsvm try`` writes."""


# ---- recordings in ``.npz`` files: arrays that need no pickle


def read_npz(path: Path, name: str, options: FileOptions, wanted: Sequence[str]) -> Recording:
    """Read ``X``, ``y`` or ``bkps``, ``features`` and ``time``; anything else is left alone."""
    read = ("X", "y", "bkps", "features", "time", "about_time")
    try:
        with path.open("rb") as file:
            arrays, present = storage.read_npz(file, read, options.max_bytes)
    except limits.TooLarge as error:
        raise DataError(f"{path}: {error}") from error
    except Exception as error:  # a foreign file can raise nearly anything in the reader
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise DataError(
            f"{path}: damaged, no .npz file, or one with pickled objects, which are never loaded "
            f"(save names as text, np.array(list(y), dtype=str)): {reason}"
        ) from error
    X = arrays.get("X", np.empty(0))
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
        raise DataError(
            f"{path}: expected numbers 'X' (T, P), one row per sample, got {X.dtype} values of "
            f"shape {X.shape}; it holds {listed(present)}"
        )
    features = tuple(f"x{j}" for j in range(X.shape[1]))
    if "features" in arrays:
        features = tuple(map(str, np.atleast_1d(arrays["features"]).ravel().tolist()))
    if len(features) != X.shape[1]:
        names, columns = counted(len(features), "name"), counted(X.shape[1], "column")
        raise DataError(f"{path}: {names} in 'features', X has {columns}")
    refuse_repeated(path, features)
    y = _labels(path, arrays, options)
    if y is None and options.need_labels:
        raise DataError(f"{path}: no labels, neither 'y' nor 'bkps'; it holds {listed(present)}")
    time = _times(path, arrays, len(X))
    origin = Origin(path, np.arange(len(X)), options=options)
    whole = Recording(name, X.astype(np.float64), y, features, str(path), time=time, origin=origin)
    found = whole.choosing(options.chosen(path, features, wanted))
    return without_gaps([found], options, known=bool(wanted))[0]


def _labels(path: Path, arrays: Mapping[str, Any], options: FileOptions) -> NDArray[Any] | None:
    """Read one label per sample, from ``y`` or ``bkps``; refuse two that contradict each other."""
    T, segments = len(arrays["X"]), None
    if "bkps" in arrays:
        ends = arrays["bkps"]
        sizes = np.diff(ends.ravel().astype(np.int64), prepend=0)
        if ends.dtype.kind not in "iu" or (sizes <= 0).any() or sizes.sum() != T:
            raise DataError(
                f"{path}: bkps must increase and end with {T}, the number of rows; "
                f"got {ends.tolist()}"
            )
        segments = np.repeat(np.arange(sizes.size), sizes)
    if "y" not in arrays:
        return segments
    y = np.asarray(arrays["y"])
    if y.shape != (T,):
        raise DataError(f"{path}: y has shape {y.shape}, X has {T} rows")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise DataError(f"{path}: the label of row {row} is {y[row]}")
    if segments is not None and (options.need_labels or options.blanks):
        differ = np.flatnonzero((y[1:] != y[:-1]) != (segments[1:] != segments[:-1]))
        if differ.size:
            raise DataError(
                f"{path}: of 'y' and 'bkps' just one has a change at sample {differ[0] + 1}: leave "
                "one of them out"
            )
    missing = are_spelled(y.tolist(), options.missing_labels)
    return known_where(y, ~missing) if missing.any() else y


def _times(path: Path, arrays: Mapping[str, Any], n_samples: int) -> TimeAxis | None:
    """Read times; warn, and return None, if they are none."""
    if "time" not in arrays:
        return None
    try:
        about = {"name": "time"} | json.loads(str(arrays.get("about_time", "{}")))
        if about.get("offset") is not None:
            about["offset"] = np.timedelta64(about["offset"], "us")
        return time_axis(TimeAxis(values=arrays["time"], **about), n_samples)
    except (DataError, TypeError, ValueError) as error:
        warn(
            f"{path}: 'time' is not used, because {error}; samples are counted instead", DataWarning
        )
        return None


def write_recording(recording: Recording, path: str | PathLike[str]) -> None:
    """Write an ``.npz`` file that :func:`read_recordings` reads.

    It holds what is measured, labels, names of features and times, with their zone or clock and as
    they were written; masked values are NaN.

    Raises
    ------
    DataError
        When the name of the file has another ending, or labels are missing or of several kinds.

    Examples
    --------
    >>> from structsvm.io import read_recording, write_recording
    >>> def converted(path):
    ...     write_recording(read_recording(path), path.with_suffix(".npz"))
    """
    if Path(path).suffix.lower() != ".npz":
        raise DataError(f"{path}: the name must end with .npz, which is what is written")
    X = np.ma.filled(recording.X.astype(np.float64, copy=False), np.nan)
    arrays: dict[str, Any] = {"X": X, "features": np.array(recording.features)}
    if recording.y is not None:
        try:
            y = full_labels(recording.y)
        except DataError as error:
            raise DataError(f"{recording.where}: {error}") from error
        arrays["y"] = of_one_kind(y)
        kinds = sorted({type(label).__name__ for label in y}) if y.dtype == object else []
        if len(kinds) > 1 or arrays["y"].dtype == object:
            raise DataError(
                f"{recording.where}: labels of kind {' and '.join(kinds)} cannot be stored: make "
                "them all text, or all numbers"
            )
    if recording.time is not None:
        about = {name: value for name, value in vars(recording.time).items() if name in ABOUT_TIME}
        if recording.time.offset is not None:
            about["offset"] = int(recording.time.offset.astype("m8[us]").astype(np.int64))
        arrays |= {"time": recording.time.values, "about_time": np.array(json.dumps(about))}
    write_atomically(path, storage.npz(arrays, compressed=True))


# ---- files and folders


@dataclass(frozen=True)
class Found:
    """Files that contain recordings, and other files beside them."""

    files: tuple[Path, ...]
    names: tuple[str, ...]
    """Paths below the folder that was given, or that all have in common, without suffix."""
    skipped: tuple[Path, ...]
    """Other files beside them, such as predictions."""


def read_recordings(paths: Paths, **options: Any) -> list[Recording]:
    """Read recordings from files and folders.

    Parameters
    ----------
    paths : path or list of paths
        ``.npz`` files hold ``X`` (T, P), either ``y`` (T,) or ``bkps`` (sorted segment ends, the
        last being T), ``features``, the names of the columns, and ``time`` (T,), numbers or dates,
        if they are known. Tables have a header: ``.parquet``, ``.xlsx`` (its first sheet) and text,
        ``.csv``, ``.tsv``, ``.tab`` and ``.txt``, also compressed (``.gz``, ``.bz2``, ``.xz``,
        ``.zip``). Every column but the label and the time is a feature; one that only counts rows
        is left out, with a warning. Of a folder and its subfolders, all these files are read in
        the order of their names; the file ``ann/walk.csv`` in it is called ``ann/walk``. Sound and
        moving pictures are read as :func:`read_media` does; those of a folder if it holds no
        tables. Folders of images and of labels are left out, and hidden ones.
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
    found, given = find_recordings(paths), FileOptions(**options)
    return cleaned(read_files(found, given), given)


def read_files(
    found: Found, options: FileOptions = USUAL, wanted: Sequence[str] = ()
) -> list[Recording]:
    files = list(zip(found.files, found.names, strict=True))
    recordings = [
        replace(one, name=f"{name}/{one.name}") if len(several) > 1 < len(files) else one
        for path, name in stage("files", files)
        for several in [read_file(path, options, name=name, wanted=wanted)]
        for one in several
    ]
    share = not wanted and options.categories
    return with_all_categories(recordings, options) if share else recordings


def formats_in_words(recordings: Iterable[Recording]) -> list[str]:
    """Return sentences about files of text that are written in an unusual way."""
    files: dict[str, dict[str, str]] = {}
    for recording in recordings:
        words = str(recording.origin.format or "") if recording.origin is not None else ""
        if recording.origin is not None and words:
            about = files.setdefault(words, {})
            about[str(recording.origin.path)] = recording.origin.format.beginning.strip()
    return [
        f"{listed(list(paths), 1)} {'is' if len(paths) == 1 else 'are'} read with {words}"
        f"{f': {first!r}' if (first := next(iter(paths.values()))) else ''}"
        for words, paths in files.items()
    ]


def find_recordings(paths: Paths, *, labels: str | PathLike[str] | None = None) -> Found:
    """List the files that :func:`read_recordings` reads, and those that it skips."""
    paths = [paths] if isinstance(paths, str | PathLike) else paths
    files: dict[Path, Path] = {}
    skipped: list[Path] = []
    folders: list[Path] = []
    apart = set() if labels is None else {file.resolve() for file in label_files(Path(labels))}
    for path in map(Path, paths):
        is_folder = os.path.isdir(path)
        inside, beside = _search(path, apart) if is_folder else ([_checked(path)], [])
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
    return Found(
        tuple(files.values()), tuple(spelled(printable(name)) for name in names), tuple(skipped)
    )


def shared(folders: Iterable[Path]) -> tuple[str, ...]:
    """The parts of their paths that all have in common, from the outermost one on."""
    levels = zip(*(folder.parts for folder in folders), strict=False)
    return tuple(level[0] for level in takewhile(lambda level: len({*level}) == 1, levels))


def predictions_among(files: Iterable[Path]) -> list[Path]:
    """Return the tables that are called like predictions for a file beside them."""
    stems = {path: stem_of(path) for path in files}
    there = set(stems.values())
    return [
        path
        for path, stem in stems.items()
        if any(stem.endswith(end) and stem.removesuffix(end) in there for end in PREDICTIONS)
    ]


def read_recording(
    path: str | PathLike[str], *, name: str | None = None, **options: Any
) -> Recording:
    """Read one file; the options are the fields of :class:`FileOptions`.

    Examples
    --------
    >>> from structsvm.io import read_recording
    >>> def walk(folder):
    ...     return read_recording(f"{folder}/walk.csv", label_column="state", time_column="t")
    """
    (found,) = read_file(path, FileOptions(**options), name=name)
    return found


def from_long(
    frame: Any,
    recording: str | None = None,
    time: str | None = None,
    label: str | None = None,
    **options: Any,
) -> list[Recording]:
    """Split a long table into its recordings.

    Parameters
    ----------
    frame : pandas or polars data frame
        With a row for each sample. Columns that are neither of the three below are features.
    recording : str, optional
        Column, or level of the index, that says of which recording a row is. A pandas frame with a
        MultiIndex needs none: its first level is meant, and its last one is the time.
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
    DataError
        Naming the row and the column.
    SettingsError
        When nothing says which rows are one recording.

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
        recording, time = levels[0], levels[-1] if time is None else time
    if recording is None:
        raise SettingsError(
            "from_long needs recording=, the column that says of which recording a row is, or a "
            "frame with a MultiIndex whose first level does"
        )
    if label is None and "label" in {*map(str, frame.columns), *map(str, frame.index.names)}:
        label = "label"
    given = FileOptions(label, time, recording, blanks=True, need_labels=False, **options)
    found = recordings_in(frame, Origin(Path("frame"), np.arange(len(frame))), "frame", given)
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
        found, self._options = find_recordings(paths), FileOptions(**options)
        files = tuple(Path(os.path.abspath(path)) for path in found.files)  # of any process
        self.found = replace(found, files=files)

    def __len__(self) -> int:
        """Return the number of files."""
        return len(self.found.files)

    def __getitem__(self, i: int) -> Recording:
        """Read a recording."""
        path, name = self.found.files[i], self.found.names[i]
        recordings = read_file(path, self._options, name=name)
        if len(recordings) > 1:
            raise DataError(f"{path} holds {len(recordings)} recordings: one in each file is read")
        options = self._options
        whole = completed(read_labels_as(recordings, options.labels_are), options)
        (recording,) = in_windows(whole, options.window)
        return recording


def read_file(
    path: str | PathLike[str],
    options: FileOptions = USUAL,
    *,
    name: str | None = None,
    wanted: Sequence[str] = (),
) -> list[Recording]:
    """Read the recordings of one file, which are several if a column tells them apart."""
    found = _recordings_of(path, options, name, wanted)
    return [one if options.rate is None else _timed(one, options.rate) for one in found]


def _timed(recording: Recording, rate: float) -> Recording:
    """Return the recording with times, if it has none."""
    times = TimeAxis("seconds", np.arange(len(recording.X)) / rate)
    return replace(recording, time=times) if recording.time is None else recording


def _recordings_of(
    path: str | PathLike[str], options: FileOptions, name: str | None, wanted: Sequence[str]
) -> list[Recording]:
    file = _checked(Path(path))
    kind, name = kind_of(file), printable(stem_of(file)) if name is None else name
    if kind not in (".npz", *MEDIA):
        return recordings_in(*read_frame(file, options), name, options, wanted)
    if options.recording_column not in (None, *options.optional):
        raise DataError(
            f"{file} is one recording and has no column {options.recording_column!r}: only "
            "tables have"
        )
    if kind == ".npz":
        return [read_npz(file, name, options, wanted)]
    if options.need_labels:
        raise DataError(
            f"{file}: sound and pictures hold no labels: name the table that does, labels= (with "
            "need_labels=False they are read without, for with_labels)"
        )
    film = read_streams(file, name, options.stream, wanted)
    return [film.choosing(options.chosen(file, film.features, wanted))]


def _checked(path: Path) -> Path:
    # os.path.exists takes a name that is too long for one that is not there
    if not os.path.exists(path) or path.is_dir() or kind_of(path) not in KINDS:
        raise DataError(
            f"{path}: no such file or folder, or of no kind that is read; give "
            f"{', '.join(TABLES)}, or sound or pictures such as {', '.join(MEDIA[:2])}"
        )
    return path


def _below(folder: Path, above: Set[str] = frozenset()) -> Iterator[Path]:
    """Files of a folder and its subfolders by name, and subfolders that hold no recordings."""
    above = {*above, os.path.realpath(folder)}
    apart, made = (
        (*IMAGE_FOLDERS, *MASK_FOLDERS),
        (PREDICTED, TRIED) if (folder / MODEL).exists() else (),
    )
    inside = [path for path in folder.iterdir() if not path.name.startswith(UNSEEN)]
    for path in sorted(path for path in inside if path.name not in made):
        if not path.is_dir() or path.name.lower() in apart or os.path.realpath(path) in above:
            yield path
        else:
            yield from _below(path, above)


def _search(folder: Path, apart: Set[Path]) -> tuple[list[Path], list[Path]]:
    """Return the recordings of a folder and its subfolders, by name, and other files there."""
    files = [path for path in _below(folder) if not apart or path.resolve() not in apart]
    chosen = [path for path in files if kind_of(path) in TABLES and kind_of(path) != PROSE]
    chosen = chosen or [path for path in files if kind_of(path) in MEDIA]
    chosen = chosen or [path for path in files if kind_of(path) == PROSE]
    made = {*predictions_among(chosen)}
    chosen = [path for path in chosen if path not in made]
    chosen = [path for path in chosen if path.name.lower() not in NO_RECORDINGS] or chosen
    if not chosen:
        there = some_of([path.name for path in files])
        raise DataError(
            f"{folder}: no {', '.join(TABLES)} files in this folder or below, "
            f"{f'only {there}' if there else 'it is empty'}"
        )
    first: dict[Path, Path] = {}
    bare = [path.with_name(stem_of(path)) for path in chosen]
    twice = [p for p, stem in zip(chosen, bare, strict=True) if first.setdefault(stem, p) is not p]
    read = {*chosen}
    others = [path for path in files if path not in read]
    unread = [path for path in others if path.suffix.lower() in OTHER_TABLES]
    if twice or unread:
        why = "has the name of another file" if twice else "is of no kind that is read"
        raise DataError(
            f"{(twice or unread)[0]} {why}: name the files to read, move the others "
            f"away, or save them as {', '.join(TABLES)}"
        )
    return chosen, others
